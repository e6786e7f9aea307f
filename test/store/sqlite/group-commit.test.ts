import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { query, run } from '../../../src/store/operation.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import {
  defaultLimits,
  SqliteGroupCommit,
  type SqliteLimits,
} from '../../../src/store/sqlite/group-commit.ts';
import type { Tallies } from '../../../src/store/tallies.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';

const insert = (text: string) =>
  function* insertNote() {
    yield* run('insert into notes (text) values ($1)', text);
    return text;
  };

describe('a group commit', () => {
  let folder: string;
  let connection: Connection;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'group-commit-'));
    connection = new Connection(join(folder, 'notes.db'));
    connection
      .open()
      .exec('create table notes (text text not null unique); pragma application_id = 1667329636');
  });

  afterEach(() => {
    connection.close(new StoreUnavailable('done'));
    rmSync(folder, { recursive: true });
  });

  const groupCommit = (limits: Partial<SqliteLimits> = {}) =>
    new SqliteGroupCommit(connection, { ...defaultLimits, ...limits });
  const notes = () =>
    connection
      .open()
      .all(query<{ text: string }>('select text from notes order by rowid'))
      .map(({ text }) => text);

  test('puts writes of the same moment into one transaction, in order', async () => {
    const commit = groupCommit();
    const texts = Array.from({ length: 64 }, (_, index) => `note ${index}`);
    expect(await Promise.all(texts.map((text) => commit.write(insert(text))))).toEqual(texts);
    expect(notes()).toEqual(texts);
    expect(commit.commits).toBe(1);
  });

  test('splits what is too much for one transaction', async () => {
    const commit = groupCommit({ maxBatch: 10 });
    await Promise.all(Array.from({ length: 25 }, (_, index) => commit.write(insert(`note ${index}`))));
    expect(commit.commits).toBe(3);
  });

  test('undoes a write that fails, alone', async () => {
    const commit = groupCommit();
    const failing = commit.write(function* failing(tallies: Tallies) {
      yield* insert('half of it')();
      tallies.planned('slack', 'pending');
      throw new Error('a bug');
    });
    const results = await Promise.allSettled([
      commit.write(insert('before')),
      failing,
      commit.write(insert('before')),
      commit.write(insert('after')),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { message: 'a bug' } });
    expect(notes()).toEqual(['before', 'after']);
  });

  test('refuses writes when too many wait, and keeps those that do', async () => {
    const commit = groupCommit({ maxQueued: 2 });
    const waiting = [commit.write(insert('one')), commit.write(insert('two'))];
    await expect(commit.write(insert('three'))).rejects.toThrow(StoreUnavailable);
    await Promise.all(waiting);
    expect(notes()).toEqual(['one', 'two']);
    await commit.write(insert('four'));
  });

  test('keeps nothing of a transaction that the disk has no room for, and recovers', async () => {
    const commit = groupCommit();
    connection.open().exec('pragma max_page_count = 4');
    const results = await Promise.allSettled([
      commit.write(insert('small')),
      commit.write(insert('large'.repeat(10_000))),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({
        reason: { name: 'StoreUnavailable', message: expect.stringMatching(/full/) },
      });
    }
    expect(notes()).toEqual([]);
    // The limit was the connection's own, and it was opened again.
    await commit.write(insert('large'.repeat(10_000)));
    expect(notes()).toHaveLength(1);
  });

  describe('while another connection holds the lock', () => {
    let other: Database;

    beforeEach(() => {
      other = new Database(connection.path);
      other.exec('begin immediate');
    });

    afterEach(() => {
      other.close();
    });

    test('waits without blocking the process, then commits what came meanwhile together', async () => {
      const commit = groupCommit();
      const first = commit.write(insert('first'));
      await new Promise((resolve) => {
        setTimeout(resolve, 30);
      });
      const second = commit.write(insert('second'));
      expect(notes()).toEqual([]);
      other.exec('commit');
      await Promise.all([first, second]);
      expect(notes()).toEqual(['first', 'second']);
      expect(commit.commits).toBe(1);
    });

    test('gives up in the end, and says why', async () => {
      const commit = groupCommit({ busyForMs: 30 });
      const refused = commit.write(insert('first'));
      await expect(refused).rejects.toThrow(/Another process keeps .*notes\.db locked/);
      await expect(refused).rejects.toThrow(StoreUnavailable);
      other.exec('commit');
      await commit.write(insert('second'));
      expect(notes()).toEqual(['second']);
    });

    test('finishes what waits when it is closed, and takes no more', async () => {
      const commit = groupCommit();
      const waiting = commit.write(insert('first'));
      const closing = commit.close(new StoreUnavailable('closed'));
      await expect(commit.write(insert('second'))).rejects.toThrow('closed');
      other.exec('commit');
      await closing;
      expect(notes()).toEqual(['first']);
      await waiting;
    });
  });
});
