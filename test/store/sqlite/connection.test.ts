import fs, {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { query, run } from '../../../src/store/operation.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { Database, runOn } from '../../../src/store/sqlite/database.ts';
import { ServingLock } from '../../../src/store/sqlite/serving-lock.ts';
import { StoreUnavailable } from '../../../src/store/driver.ts';

let folder: string;
let path: string;
let connection: Connection;
/** What the owner of the connection was told. */
let told: { message: string; over: boolean }[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'connection-'));
  path = join(folder, 'notes.db');
  told = [];
  connection = new Connection(path, { damaged: ({ message }, over) => void told.push({ message, over }) });
  connection.serve(new ServingLock(path));
  connection.open().exec('create table notes (text text); pragma application_id = 1667329636');
});

afterEach(() => {
  close();
  rmSync(folder, { recursive: true });
});

const close = () => connection.close();
function note(text: string): void {
  // A use looks by itself where nobody did lately.
  connection.look();
  runOn(connection.open(), run('insert into notes (text) values ($1)', text));
}
const allNotes = query<{ text: string }>('select text from notes order by rowid');
/** As somebody else finds them. */
function notesIn(file: string): string[] {
  const db = new Database(file);
  expect(db.get(query('pragma integrity_check'))).toEqual({ integrity_check: 'ok' });
  const notes = db.all(allNotes).map(({ text }) => text);
  db.close();
  return notes;
}
const failure = Object.assign(new Error('disk I/O error'), { errcode: 10 });
const rescued = () => readdirSync(folder).filter((name) => name.includes('.rescued-'));
const remove = (...suffixes: string[]) => suffixes.forEach((suffix) => rmSync(path + suffix));
function replace(suffix: string): void {
  writeFileSync(`${path}.new`, 'another file');
  renameSync(`${path}.new`, path + suffix);
}
/** Does something right after this process has next asked the system for a path, as another process may. */
function afterLookAt(file: string, change: () => void): void {
  const { statSync: ask } = fs;
  const use = (asks: typeof ask) => {
    fs.statSync = asks;
    syncBuiltinESMExports();
  };
  const asks = (...asked: Parameters<typeof ask>) => {
    const found = ask(...asked);
    if (asked[0] !== file) return found;
    use(ask);
    change();
    return found;
  };
  use(Object.assign(asks, ask));
  onTestFinished(() => use(ask));
}

test('while the system does not say what is there, nothing is stored, and it goes on when it says so again', () => {
  note('first');
  const aside = `${folder}-aside`;
  renameSync(folder, aside);
  // As a folder that nobody may enter any more: but that binds no root.
  symlinkSync(folder, folder);
  try {
    expect(() => note('late')).toThrow(StoreUnavailable);
    expect(() => note('late')).toThrow(`The system does not say what is at ${path} (ELOOP)`);
  } finally {
    rmSync(folder);
    renameSync(aside, folder);
  }
  note('second');
  expect(told).toEqual([]);
  close();
  expect(notesIn(path)).toEqual(['first', 'second']);
});

test.each([
  ['-wal was removed', () => remove('-wal')],
  ['-shm was removed', () => remove('-shm')],
  ['-wal was removed', () => remove('-wal', '-shm')],
  ['-wal was replaced', () => replace('-wal')],
  ['.serving was removed', () => remove('.serving')],
])('once its %s it is refused, and all is in the file', (what, change) => {
  note('first');
  note('second');
  change();
  expect(() => note('late')).toThrow(`${path}${what} while in use. Nothing is lost`);
  expect(() => connection.open()).toThrow('Start the connector again');
  expect(told).toEqual([{ message: expect.stringContaining(what), over: true }]);
  close();
  expect(notesIn(path)).toEqual(['first', 'second']);
});

test.each([
  ['removed', () => remove('-wal')],
  ['replaced', () => replace('-wal')],
])(
  'a WAL that is %s after a look has seen it, and before it is measured, is not taken for cut short',
  (what, change) => {
    note('first');
    note('second');
    afterLookAt(`${path}-wal`, change);
    expect(() => connection.look()).toThrow(`${path}-wal was ${what} while in use. Nothing is lost`);
    expect(rescued()).toEqual([]);
    close();
    expect(notesIn(path)).toEqual(['first', 'second']);
  },
);

test('a use looks by itself, though not each', async () => {
  note('first');
  remove('-wal');
  const use = async () => void connection.open();
  await expect.poll(() => use().catch(String)).toContain('Nothing is lost');
});

test.each(['-wal', ''])('nothing is lost where notes.db%s is removed right before it is closed', (suffix) => {
  note('first');
  remove(suffix);
  close();
  expect(notesIn(join(folder, rescued()[0] ?? 'notes.db'))).toEqual(['first']);
});

test('once it is closed the file alone has all, though somebody else has it open', () => {
  note('one');
  const other = new Database(path);
  other.get(allNotes);
  close();
  const copy = join(folder, 'copy.db');
  copyFileSync(path, copy);
  other.close();
  expect(notesIn(copy)).toEqual(['one']);
});

test('as long as a reader is in the way it is refused, and saved when that has ended', () => {
  note('first');
  const reader = new Database(path);
  reader.exec('begin; select * from notes');
  note('second');
  remove('-wal');
  const inTheWay =
    /-wal was removed while in use.* could not be saved yet: Another process has .*notes\.db open/;
  for (let n = 0; n < 2; n += 1) expect(() => connection.look()).toThrow(inTheWay);
  expect(told).toEqual([{ message: expect.stringMatching(inTheWay), over: false }]);
  reader.close();
  // Not tried for each request: it may take long.
  expect(() => connection.open()).toThrow(inTheWay);
  expect(() => connection.look()).toThrow('Nothing is lost');
  expect(told.map(({ over }) => over)).toEqual([false, true]);
  expect(notesIn(path)).toEqual(['first', 'second']);
});

test('a WAL that is removed while it is synced may be lost, so what it was synced for is not answered', async () => {
  close();
  const { promise, resolve } = Promise.withResolvers<void>();
  connection = new Connection(path, {}, () => promise);
  connection.serve(new ServingLock(path));
  const reader = new Database(path);
  reader.exec('begin; select * from notes');
  note('first');
  const synced = connection.synced();
  remove('-wal');
  expect(() => connection.look()).toThrow('could not be saved yet');
  resolve();
  await expect(synced).rejects.toThrow('could not be saved yet');
  reader.close();
});

test.each([
  ['removed', () => remove(''), 'backup.db'],
  ['removed', () => remove('', '-wal', '-shm'), 'backup.db'],
  ['removed', () => renameSync(path, join(folder, 'elsewhere.db')), 'backup.db'],
  ['replaced', () => renameSync(join(folder, 'backup.db'), path), 'notes.db'],
])('where the file was %s, all that it had is in another one, for its owner alone', (what, change, now) => {
  const backup = new Database(join(folder, 'backup.db'));
  backup.exec("create table notes (text text); insert into notes values ('old')");
  backup.close();
  note('first');
  note('second');
  change();
  expect(() => note('late')).toThrow(
    `${path} was ${what} while in use. All that the store had is in ${path}.rescued-`,
  );
  const [name = '', ...others] = rescued();
  expect(others).toEqual([]);
  expect(told).toEqual([{ message: expect.stringContaining(name), over: true }]);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(notesIn(join(folder, name))).toEqual(['first', 'second']);
  close();
  // Nothing of the old one gets into what is there now.
  expect(notesIn(join(folder, now))).toEqual(['old']);
});

test('where that cannot be written it is tried again, and it goes on where the file is put back', () => {
  const away = `${folder}.away`;
  note('first');
  renameSync(folder, away);
  expect(() => note('late')).toThrow(/notes\.db was removed while in use.* not be saved yet: .*ENOENT/);
  renameSync(away, folder);
  connection.look();
  note('second');
  renameSync(folder, away);
  expect(() => note('late')).toThrow('could not be saved yet');
  mkdirSync(folder);
  expect(() => connection.look()).toThrow('All that the store had is in');
  expect(notesIn(join(folder, rescued()[0]!))).toEqual(['first', 'second']);
  rmSync(away, { recursive: true });
});

test('a disk that fails is no reason to let go of a file that was removed', () => {
  note('first');
  remove('');
  expect(connection.failed(failure).message).toContain('All that the store had is in');
  expect(notesIn(join(folder, rescued()[0]!))).toEqual(['first']);
});

test('nor is another file opened that stands there when the disk works again', () => {
  expect(connection.failed(failure).message).toMatch(
    /^The disk reported an error on .*: it may be full, or broken\.$/,
  );
  note('first');
  connection.failed(failure);
  replace('');
  expect(() => note('late')).toThrow(/notes\.db was removed or replaced when the disk had failed/);
  expect(told).toEqual([{ message: expect.stringContaining('when the disk had failed'), over: true }]);
});

test.each([0, 4096])(
  'of a file that was cut short to %i bytes, what can be read is in another one',
  (bytes) => {
    note('first');
    connection.open().get(query('pragma wal_checkpoint(truncate)'));
    note('second');
    truncateSync(path, bytes);
    expect(() => note('late')).toThrow(/notes\.db was cut short while in use\. All that the store had is in/);
    expect(notesIn(join(folder, rescued()[0]!))).toEqual(['first', 'second']);
  },
);

test('where nothing can be read of it, its WAL stays as it was, and is not given up by the next start', () => {
  const other = new Database(path);
  for (let n = 0; n < 20; n += 1) other.exec(`insert into notes values ('${'x'.repeat(10_000)}')`);
  other.get(query('pragma wal_checkpoint(truncate)'));
  other.exec("insert into notes values ('newest')");
  other.close();
  const wal = readFileSync(`${path}-wal`);
  connection.look();
  truncateSync(path);
  expect(() => note('late')).toThrow(/cannot be read any more\. Copy .*notes\.db-wal to another folder/);
  close();
  expect(rescued()).toEqual([]);
  expect(readFileSync(`${path}-wal`)).toEqual(wal);
  expect(() => new Connection(path).open()).toThrow(/notes\.db was emptied\. Copy .*notes\.db-wal/);
});

test('where a backup was written over the file, it is left as it was, also at the end of the process', () => {
  note('first');
  connection.open().get(query('pragma wal_checkpoint(truncate)'));
  const backup = join(folder, 'backup.db');
  runOn(connection.open(), run('vacuum into $1', backup));
  // As long as the file was: it shows by nothing else.
  expect(statSync(backup).size).toBe(statSync(path).size);
  note('second');
  copyFileSync(backup, path);
  expect(() => note('late')).toThrow(/notes\.db was overwritten while in use, and has what a backup had/);
  expect(told).toEqual([{ message: expect.stringContaining('overwritten'), over: true }]);
  close();
  expect(rescued()).toEqual([]);
  expect(readFileSync(path)).toEqual(readFileSync(backup));
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  remove('-wal', '-shm');
  expect(notesIn(path)).toEqual(['first']);
});

test('a WAL that is cut short is seen, and nothing of it gets into the file', () => {
  for (let n = 0; n < 20; n += 1) note('old'.repeat(1000));
  connection.open().get(query('pragma wal_checkpoint(truncate)'));
  const other = new Database(path);
  other.exec("update notes set text = 'new'");
  other.close();
  truncateSync(`${path}-wal`, 20_000);
  expect(() => note('late')).toThrow(/-wal was cut short while in use\. What only that had is lost/);
  close();
  // What the next process finds.
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, join(folder, `left.db${suffix}`));
  expect(new Set(notesIn(join(folder, 'left.db')))).toEqual(new Set(['old'.repeat(1000)]));
});

test('what makes the files smaller by right is no damage', () => {
  for (let n = 0; n < 20; n += 1) note('x'.repeat(10_000));
  const other = new Database(path);
  other.exec('pragma wal_checkpoint(truncate); delete from notes');
  connection.look();
  other.exec('vacuum; pragma wal_checkpoint(truncate)');
  other.close();
  note('after');
  expect(told).toEqual([]);
});

test.each([['-wal', '-shm'], ['']])('whoever does not serve the store gives way (%s)', (...suffixes) => {
  note('first');
  const other = new Connection(path);
  other.open();
  remove(...suffixes);
  expect(() => other.open()).toThrow(
    /was removed while in use\. See what was done, and run the command again/,
  );
  expect(rescued()).toEqual([]);
  expect(() => note('late')).toThrow(/Nothing is lost|All that the store had is in/);
});

test('checkpoints come after every 16 MB, so that the WAL does not grow', () => {
  for (let n = 0; n < 5; n += 1) note('x'.repeat(10 * 2 ** 20));
  const { log = 0 } = connection.open().get(query<{ log: number }>('pragma wal_checkpoint(noop)')) ?? {};
  expect(log).toBeLessThan(8000);
});
