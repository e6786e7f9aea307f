import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { query, run } from '../../../src/store/operations/operation.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { Database, runOn } from '../../../src/store/sqlite/database.ts';
import { ServingLock } from '../../../src/store/sqlite/serving-lock.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';

let folder: string;
let path: string;
let connection: Connection;
let warnings: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'connection-'));
  path = join(folder, 'notes.db');
  warnings = [];
  connection = serving();
  write((db) => db.exec('create table notes (text text); pragma application_id = 1667329636'));
});

afterEach(() => {
  connection.close(new StoreUnavailable('done'));
  rmSync(folder, { recursive: true });
});

function serving(): Connection {
  const made = new Connection(path, (message) => void warnings.push(message));
  made.serve(new ServingLock(path));
  return made;
}

/** As a group commit does it; `beforeEnd` and `afterwards` are what somebody else does meanwhile. */
function write(work: (db: Database) => void, beforeEnd = () => {}, afterwards = () => {}): void {
  const db = connection.openToWrite();
  db.exec('begin immediate');
  work(db);
  beforeEnd();
  db.exec('commit');
  afterwards();
  connection.confirm();
}

const note = (text: string) => (db: Database) =>
  void runOn(db, run('insert into notes (text) values ($1)', text));
const allNotes = query<{ text: string }>('select text from notes order by rowid');
const notes = () =>
  connection
    .open()
    .all(allNotes)
    .map(({ text }) => text);
const empty = () => truncateSync(`${path}-wal`);
const checkpoint = (db: Database) => db.get(query('pragma wal_checkpoint(passive)'));

function isWhole(): void {
  connection.close(new StoreUnavailable('done'));
  connection = serving();
  expect(connection.open().get(query('pragma integrity_check'))).toEqual({ integrity_check: 'ok' });
}

test('a WAL that is emptied during a transaction is put back, with what that adds', () => {
  write(note('before'));
  write(note('during'), empty);
  expect(warnings).toEqual([expect.stringMatching(/notes\.db-wal was emptied or written over while in use/)]);
  isWhole();
  expect(notes()).toEqual(['before', 'during']);
});

test.each([
  ['a new WAL', () => {}],
  ['an old WAL', () => write(note('before'))],
  ['a WAL that begins anew', () => void checkpoint(connection.open())],
])(
  'what was emptied out of %s with the last commit is not answered for, and all else stays',
  (_, prepare) => {
    write(note('first'));
    prepare();
    const before = notes();
    expect(() => write(note('spoilt'), undefined, empty)).toThrow(
      /emptied or written over .* took this write/,
    );
    expect(notes()).toEqual(before);
    write(note('after'));
    isWhole();
    expect(notes()).toEqual([...before, 'after']);
  },
);

test('a reader keeps what is lost, and writes are refused until it ends', () => {
  write(note('first'));
  const reader = new Database(path);
  reader.exec('begin; select * from notes');
  expect(() => write(note('spoilt'), undefined, empty)).toThrow(StoreUnavailable);
  for (let n = 0; n < 3; n += 1) {
    expect(() => write(note('spoilt'))).toThrow(
      /emptied or written over .* put back, .* another process has .*notes\.db open/,
    );
  }
  const putBack = expect.stringMatching(/Nothing that was answered for is lost: it is put back/);
  expect(warnings).toEqual([putBack]);
  reader.close();
  write(note('after'));
  empty();
  write(note('later'));
  expect(warnings).toEqual([putBack, putBack]);
  isWhole();
  expect(notes()).toEqual(['first', 'after', 'later']);
});

test('nothing is written beside a file that was emptied, nor is its WAL given up', () => {
  write(note('first'));
  const wal = readFileSync(`${path}-wal`);
  expect(() => write(note('during'), () => truncateSync(path))).toThrow(/notes\.db was emptied/);
  expect(() => write(note('after'))).toThrow(
    /notes\.db was emptied.* Copy .*notes\.db-wal to another folder/,
  );
  for (const [name, bytes] of [
    ['left.db', Buffer.alloc(0)],
    ['left.db-wal', wal],
  ] as const)
    writeFileSync(join(folder, name), bytes);
  expect(() => new Connection(join(folder, 'left.db')).open()).toThrow(/left\.db was emptied/);
  expect(readFileSync(join(folder, 'left.db-wal'))).toEqual(wal);
});

test('a WAL that was begun anew many times is followed', () => {
  for (let n = 0; n < 20; n += 1) {
    write(note(`${n}`));
    checkpoint(connection.open());
    if (n % 3 === 0) connection.open().get(query('pragma wal_checkpoint(truncate)'));
  }
  expect(warnings).toEqual([]);
  expect(notes()).toHaveLength(20);
});

test('a WAL that is too large to be put back is said to be lost, and nothing more is written', () => {
  write(note('first'));
  checkpoint(connection.open());
  const reader = new Database(path);
  reader.exec('begin');
  reader.get(allNotes);
  write(note('x'.repeat(70 * 2 ** 20)));
  write(note('small'));
  empty();
  for (const text of ['second', 'third']) {
    expect(() => write(note(text))).toThrow(/too large .* answered for among it\. Start the connector again/);
  }
  reader.close();
  isWhole();
  expect(notes()).toEqual(['first']);
});

test('checkpoints come after every 16 MB, so that the WAL does not grow', () => {
  for (let n = 0; n < 5; n += 1) write(note('x'.repeat(10 * 2 ** 20)));
  const { log = 0 } = connection.open().get(query<{ log: number }>('pragma wal_checkpoint(noop)')) ?? {};
  expect(log).toBeLessThan(8000);
});
