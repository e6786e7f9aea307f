import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { copyStore, moveStore, openStore } from '../../../src/store/open.ts';
import { query } from '../../../src/store/operation.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { unavailable } from '../../../src/store/sqlite/failures.ts';
import { ServingLock } from '../../../src/store/sqlite/serving-lock.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { sqliteSteps } from '../../../src/store/schema/steps.ts';
import { openSqlite } from '../../../src/store/sqlite.ts';
import { type ReplicaState, type Store, StoreUnavailable } from '../../../src/store/store.ts';
import {
  arrival,
  claimDue,
  configId,
  day,
  decider,
  delivered,
  lookupLane,
  person,
  planned,
  resultOf,
  retry,
  t0,
  undecided,
  unknown,
} from '../../contract/store-fixtures.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'));
  path = join(folder, 'connector.db');
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

const refusal = async (url: string) => {
  const error: unknown = await openStore(url, { serve: true }).catch((caught: unknown) => caught);
  if (!(error instanceof StoreUnavailable)) throw new Error('It was opened.', { cause: error });
  return error.message;
};

function write(sql: string): void {
  const db = new Database(path);
  db.exec(sql);
  db.close();
}

test.each(['sqlite:', 'sqlite://'])('makes the folder and the file that %s names', async (scheme) => {
  const store = await openStore(`${scheme}${folder}/a/b/connector.db`, { serve: true });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const { eventId } = await store.accept(arrival());
  await store.close();
  await store.close();
  const reopened = await openStore(`${scheme}${folder}/a/b/connector.db`, { serve: true });
  expect(await reopened.event(eventId)).not.toBeNull();
  await reopened.close();
});

test('what it makes may be read by its owner only', async () => {
  const store = await openStore(`sqlite:${folder}/a/b/connector.db`, { serve: true });
  const inside = readdirSync(`${folder}/a/b`);
  const made = ['a', 'a/b', ...inside.map((name) => `a/b/${name}`)];
  const others = made.filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);
  expect(inside.length).toBeGreaterThanOrEqual(4);
  expect(others).toEqual([]);
  await store.close();
});

test('takes a store that everybody may read from them, and leaves it to a group that was allowed to', async () => {
  const modes = async (mode: number) => {
    chmodSync(path, mode);
    const store = await openStore(`sqlite:${path}`, { serve: true });
    const names = readdirSync(folder).filter((name) => !name.includes('serving'));
    const found = new Set(names.map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8)));
    await store.close();
    return [...found];
  };
  writeFileSync(path, '');
  expect(await modes(0o644)).toEqual(['600']);
  expect(await modes(0o640)).toEqual(['640']);
});

test.each(['connector.db', 'connector.db.serving'])(
  'says of a disk that is full for %s which files belong to the store, its WAL too',
  (file) => {
    const { message } = unavailable(Object.assign(new Error('full'), { errcode: 13 }), `/data/${file}`);
    expect(message).toContain(
      'The disk that holds /data/connector.db is full. Make room, but leave each file',
    );
  },
);

test.each([
  ['a folder', () => folder, 'is a folder, and a store is a file. Name one in it: sqlite:'],
  ['a device', () => '/dev/null', '/dev/null is no file'],
  [
    'what lies below a file',
    () => (writeFileSync(path, ''), join(path, 'data/connector.db')),
    'of its path is a file',
  ],
  [
    'what lies in a file',
    () => (writeFileSync(path, ''), join(path, 'connector.db')),
    'of its path is a file',
  ],
])('says that %s is no store', async (_what, where, message) => {
  expect(await refusal(`sqlite:${where()}`)).toContain(message);
});

test.each([
  ['is below a file', () => join(path, 'connector.db'), 'There is no store at'],
  ['the system does not tell of', () => join(folder, 'a'.repeat(300)), 'The system does not say what is at'],
])('tells a command in plain words that its path %s', async (_what, where, message) => {
  writeFileSync(path, '');
  const opened = openStore(`sqlite:${where()}`, { serve: false, mustExist: true });
  await expect(opened).rejects.toThrow(new RegExp(message));
  await expect(copyStore(`sqlite:${where()}`, `${path}.copy`, () => {})).rejects.toThrow(new RegExp(message));
});

test('says of a file that is no store that this cannot be copied, not the copy', async () => {
  writeFileSync(path, 'no database '.repeat(100));
  const copied = copyStore(`sqlite:${path}`, `${path}.copy`, () => {});
  await expect(copied).rejects.toThrow(`${path} is not a SQLite database.`);
});

async function served<T>(use: (store: Store) => Promise<T>, at = path): Promise<T> {
  const store = await openStore(`sqlite:${at}`, { serve: true });
  return use(store).finally(() => store.close());
}

const said = (saidAt: number): ReplicaState => {
  const config = { id: configId, file: 'a.yaml', since: t0, refused: null, waiting: [] };
  return { id: 'one', saidAt, stopped: false, config, sinks: [] };
};

async function waiting(store: Store): Promise<void> {
  expect(await store.settleIn(t0)).toBeNull();
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  await store.accept(arrival({}, { deliveries: [planned({ dueAt: t0 }), planned({ dueAt: t0 + 2 })] }));
}

test.each([
  ['is a copy', () => (copyFileSync(path, `${path}.copy`), renameSync(`${path}.copy`, path))],
  ['was written over by an older copy', () => copyFileSync(`${path}.old`, path)],
  ['was written over by a copy that was made during its last run', () => copyFileSync(`${path}.live`, path)],
  [
    'was written over by such a copy, and so was what is beside it',
    () => {
      copyFileSync(`${path}.live`, path);
      copyFileSync(`${path}.live-by`, `${path}.serving-by`);
    },
  ],
  [
    'was written over by such a copy after that run was killed',
    () => {
      copyFileSync(`${path}.live`, path);
      renameSync(`${path}.killed-by`, `${path}.serving-by`);
    },
  ],
  [
    'was written over by a backup that was made since the last start',
    async () => {
      await copyStore(`sqlite:${path}`, `${path}.backup`, () => {});
      copyFileSync(`${path}.backup`, path);
    },
  ],
])(
  'notices that the file %s, and doubts what was due; what is due later was not sent',
  async (_what, restore: () => void | Promise<void>) => {
    await served(waiting);
    copyFileSync(path, `${path}.old`);
    // Opened to be moved, and not served.
    await served(async () => {});
    await served(async (store) => {
      expect(await store.settleIn(t0 + 1)).toBeNull();
      const other = new Database(path);
      other.exec(`vacuum into '${path}.live'`);
      other.close();
      copyFileSync(`${path}.serving-by`, `${path}.live-by`);
      await store.keepReplicaState(said(t0 + 60_001));
      // At the end of the run it is another file.
      linkSync(`${path}.serving-by`, `${path}.killed-by`);
    });
    await restore();
    await served(async (store) => {
      expect(await store.settleIn(t0 + 1)).toBe(1);
      const [story] = await store.events({});
      expect(story!.deliveries.map(({ uncertain }) => uncertain)).toEqual([true, false]);
      expect(await store.settleIn(t0 + 3)).toBeNull();
    });
    rmSync(`${path}.serving-by`);
    expect(await served((store) => store.settleIn(t0 + 3))).toBeNull();
  },
);

test('doubts what a person had replayed by then: whether it has arrived is unknown again', async () => {
  const again = await served(async (store) => {
    await waiting(store);
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, unknown)]);
    const deliveryId = claimed!.delivery.id;
    await store.replay([{ deliveryId, configId, planned: planned() }], t0, person);
    return deliveryId;
  });
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
  await served(async (store) => {
    expect(await store.settleIn(t0 + 1)).toBe(1);
    expect(await store.delivery(again)).toMatchObject({ uncertain: true, replayed: false });
  });
});

test('doubts what an event has that is decided only now: it may have been decided and sent before', async () => {
  await served(async (store) => {
    expect(await store.settleIn(t0)).toBeNull();
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    await store.accept(undecided('ana'));
  });
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
  await served(async (store) => {
    const later = decider({ decide: () => [planned({ dueAt: t0 + 2 })] });
    await store.settleIn(t0 + 1);
    await store.accept(undecided('ben', [lookupLane], t0 + 2));
    for (const claimed of await claimDue(store, t0 + 2, lookupLane))
      await store.record([resultOf(claimed, delivered)]);
    for (const { event } of await store.dueEvents(t0 + 2, 9)) await store.decide(event.id, later, t0 + 2);
    const claims = await claimDue(store, t0 + 2);
    // The tool is asked for what it has had since the event came.
    expect(
      claims.map(({ events, delivery: { uncertain, since } }) => [events[0]!.candidateId, uncertain, since]),
    ).toEqual([
      ['ana', true, t0],
      ['ben', false, t0 + 2],
    ]);
  });
});

test('doubts what was tried before, which a person may have pulled in; and goes by the later of two clocks', async () => {
  await served(async (store) => {
    await waiting(store);
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, retry, { dueAt: t0 + day })]);
  });
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
  await served(async (store) => {
    expect(await store.settleIn(t0 + 1)).toBe(1);
    await store.keepSignOfLife({ seenAt: t0 + 2, doubt: null });
  });
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
  await served(async (store) => {
    expect(await store.settleIn(t0 + 1)).toBe(1);
    const [story] = await store.events({});
    expect(story!.deliveries.map(({ uncertain }) => uncertain)).toEqual([true, true]);
  });
});

test('doubts what is moved from a copy, since the new store is where it belongs', async () => {
  await served(waiting);
  copyFileSync(path, `${path}.old`);
  await moveStore(`sqlite:${path}.old`, `sqlite:${folder}/new.db`, () => {});
  const uncertain = async (store: Store) =>
    (await store.events({})).flatMap(({ deliveries }) => deliveries.map((one) => one.uncertain));
  expect(await served(uncertain, `${folder}/new.db`)).toEqual([true, true]);
  await moveStore(`sqlite:${path}`, `sqlite:${folder}/newer.db`, () => {});
  expect(await served(uncertain, `${folder}/newer.db`)).toEqual([false, false]);
});

test('refuses a backup beside the WAL of the store before, which would damage it', async () => {
  const before = join(folder, 'before.db');
  const store = await openSqlite(before, { serve: true });
  await copyStore(`sqlite:${before}`, path, () => {});
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  copyFileSync(`${before}-wal`, `${path}-wal`);
  await store.close();
  expect(await refusal(`sqlite:${path}`)).toContain(`Move ${path}-wal and ${path}-shm to another folder`);
  rmSync(`${path}-wal`);
  await (await openSqlite(path, { serve: true })).close();
});

test('says of a copy that a WAL beside it has damaged to put it there again without that', async () => {
  const before = join(folder, 'before.db');
  const store = await openSqlite(before, { serve: true });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const db = new Database(before);
  db.exec('pragma wal_checkpoint(truncate)');
  copyFileSync(before, path);
  for (let n = 0; n < 300; n += 1) await store.accept(arrival());
  db.exec('pragma wal_checkpoint(truncate)');
  db.close();
  for (let n = 0; n < 300; n += 1) await store.accept(arrival());
  copyFileSync(`${before}-wal`, `${path}-wal`);
  await store.close();
  const opening = openStore(`sqlite:${path}`, { serve: true }).then(async (opened) => {
    try {
      return await opened.events({ limit: 1000 });
    } finally {
      await opened.close();
    }
  });
  await expect(opening).rejects.toThrow(
    `move it with ${path}-wal and ${path}-shm to another folder, as the rest of it can still be read there, and put a backup in its place. If you have just put one there beside these two`,
  );
});

test('refuses a copy that was made file by file while the store was written, and does not wait for what comes upon it', async () => {
  const before = join(folder, 'before.db');
  const store = await openSqlite(before, { serve: true });
  await store.settleIn(t0);
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const beside = new Database(before);
  const acceptMany = async () => {
    beside.exec('pragma wal_checkpoint(truncate)');
    await Promise.all(Array.from({ length: 300 }, () => store.accept(arrival())));
  };
  await acceptMany();
  beside.exec('pragma wal_checkpoint(truncate)');
  copyFileSync(before, path);
  for (let round = 0; round < 2; round += 1) await acceptMany();
  beside.close();
  copyFileSync(`${before}-wal`, `${path}-wal`);
  await store.close();
  expect(await refusal(`sqlite:${path}`)).toContain(
    `${path} is damaged. Stop the connector, move it with ${path}-wal`,
  );
  // A command may still read what is whole.
  await (await openSqlite(path, { serve: false })).close();
});

test('says which folder it cannot make', async () => {
  writeFileSync(path, 'a file');
  expect(await refusal(`sqlite:${path}/below/connector.db`)).toContain(
    `${path}/below cannot be made (a part of its path is a file)`,
  );
});

test('says that a file is no store', async () => {
  writeFileSync(path, 'Dear diary, this is no database at all. '.repeat(100));
  expect(await refusal(`sqlite:${path}`)).toBe(`${path} is not a SQLite database.`);
  // And at once: only a lock is worth waiting for.
  const patient = openSqlite(path, { serve: false, limits: { busyForMs: Infinity } });
  await expect(patient).rejects.toThrow(StoreUnavailable);
});

test('says what to set in a store of which a tool copied the rows alone, as `.dump` of sqlite3 does', async () => {
  await (await openStore(`sqlite:${path}`, { serve: true })).close();
  const marks = 'pragma application_id = 1667329636; pragma user_version = ';
  write('pragma application_id = 0; pragma user_version = 0');
  const refused = await refusal(`sqlite:${path}`);
  expect(refused).toContain('`.dump`');
  expect(refused).toContain(`sqlite3 ${path} '${marks}`);
  write(`${marks}${sqliteSteps.length}`);
  await (await openStore(`sqlite:${path}`, { serve: true })).close();
});

test("refuses another program's database, and leaves it as it is", async () => {
  write('create table diary (entry text)');
  const before = readFileSync(path);
  expect(await refusal(`sqlite:${path}`)).toBe(`${path} is the database of another program.`);
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(folder)).toEqual(['connector.db']);
});

test('creates the store that a link leads to, with its lock beside it', async () => {
  const link = join(folder, 'link.db');
  symlinkSync(join('below', 'connector.db'), link);
  const store = await openStore(`sqlite:${link}`, { serve: true });
  const real = join(folder, 'below', 'connector.db');
  expect(await refusal(`sqlite:${real}`)).toContain('Another connector serves this store');
  expect(existsSync(`${real}-wal`)).toBe(true);
  await store.close();
});

test('refuses a store that has a second name, and one that got it later goes on', async () => {
  const store = await openStore(`sqlite:${path}`, { serve: true });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  linkSync(path, join(folder, 'other.db'));
  await expect(store.accept(arrival())).resolves.toMatchObject({ duplicate: false });
  expect(await refusal(`sqlite:${folder}/other.db`)).toMatch(/other\.db has 2 names \(hard links\)/);
  await store.close();
  expect(await refusal(`sqlite:${path}`)).toMatch(/connector\.db has 2 names/);
});

test('refuses a store that a newer version wrote', async () => {
  await (await openStore(`sqlite:${path}`, { serve: true })).close();
  write('pragma user_version = 99');
  const before = readFileSync(path);
  expect(await refusal(`sqlite:${path}`)).toMatch(
    /newer version of the connector \(schema 99, this one knows \d+\)/,
  );
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('brings a store of an older version up to date, with all that is in it', async () => {
  const [first = ''] = sqliteSteps;
  write(`${first}
    insert into configs (id, source, saved_at, uses) values ('${configId}', '{}', ${t0}, 1);
    insert into events values
      (1, 'evt_01jd3v5m8k2q4r6t8w0y1z3a5c', 'Dana', 1, null, 7, 'Completed', null, null, '{}', ${t0}, '${configId}');
    insert into deliveries (seq, rule, action, sink, connector, lane, due_at, since)
      values (65537, 'all', 0, 'slack', 'slack', 'slack #hiring', ${t0}, ${t0});
    pragma application_id = 1667329636; pragma user_version = 1`);
  const store = await openStore(`sqlite:${path}`, { serve: true });
  const [claimed] = await store.claim({ lane: 'slack #hiring', now: t0, limit: 1 });
  expect(claimed?.delivery).toMatchObject({ replayed: false, attempts: 1 });
  expect(await store.signOfLife()).toEqual({ seenAt: t0, doubt: null });
  await store.close();
});

test('a command changes no schema while a connector of an older version serves the store, which could not start again', async () => {
  write(`${sqliteSteps[0]} pragma application_id = 1667329636; pragma user_version = 1`);
  const lock = new ServingLock(path);
  const asCommand = () => openStore(`sqlite:${path}`, { serve: false, mustExist: true });
  await expect(asCommand()).rejects.toThrow(
    /^A connector of an older version serves this store \(schema 1, this one knows \d+\)/,
  );
  const db = new Database(path);
  expect(db.get(query('pragma user_version'))).toEqual({ user_version: 1 });
  db.close();
  // For the way back, before an update.
  await copyStore(`sqlite:${path}`, `${path}.copy`, () => {});
  const copy = new Database(`${path}.copy`);
  expect(copy.get(query('pragma user_version'))).toEqual({ user_version: 1 });
  copy.close();
  lock.release();
  await (await asCommand()).close();
});

test('does not keep the right to serve where opening failed', async () => {
  writeFileSync(path, 'Dear diary, this is no database at all. '.repeat(100));
  await refusal(`sqlite:${path}`);
  rmSync(path);
  const store = await openStore(`sqlite:${path}`, { serve: true });
  await expect(store.close()).resolves.toBeUndefined();
});

test('refuses other kinds of stores without telling their password', async () => {
  const message = await refusal('mysql://user:hunter2@host/db');
  expect(message).toMatch(/^mysql: is not a supported store/);
  expect(message).not.toContain('hunter2');
  expect(await refusal('data/connector.db')).toContain('Expected sqlite:./data/connector.db');
  expect(await refusal('sqlite::memory:')).toContain('must outlive the process');
});

// NORMAL: a checkpoint syncs, and commits are synced by Wal. A start that reconnects has it, too.
test.each([
  [2, () => {}],
  [1, (connection: Connection) => connection.serve(new ServingLock(path))],
  [
    1,
    (connection: Connection) => {
      connection.serve(new ServingLock(path));
      connection.failed(Object.assign(new Error('disk I/O error'), { errcode: 10 }));
    },
  ],
])('has every commit on disk before it is answered (synchronous=%i)', (synchronous, prepare) => {
  const connection = new Connection(path);
  connection.open();
  prepare(connection);
  const db = connection.open();
  expect(db.get(query('pragma synchronous'))).toEqual({ synchronous });
  expect(db.get(query('pragma journal_mode'))).toEqual({ journal_mode: 'wal' });
  expect(db.get(query('pragma foreign_keys'))).toEqual({ foreign_keys: 1 });
  connection.close();
});
