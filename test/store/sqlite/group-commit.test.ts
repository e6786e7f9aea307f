import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { all, get, query, run } from '../../../src/store/operation.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { sqliteDriver } from '../../../src/store/sqlite.ts';
import type { Driver } from '../../../src/store/driver.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import type { Tallies } from '../../../src/store/tallies.ts';

const insert = (text: string) =>
  function* insertNote() {
    yield* run('insert into notes (text) values ($1)', text);
    return text;
  };

/** Overwrites the first page of a table, as a broken disk does. */
function overwritePage(path: string, table: string): void {
  using db = new DatabaseSync(path, { readOnly: true });
  const { rootpage } = db.prepare('select rootpage from sqlite_schema where name = ?').get(table)!;
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(4096, 0xff), 0, 4096, (Number(rootpage) - 1) * 4096);
  closeSync(fd);
}

describe('a group commit', () => {
  let folder: string;
  let path: string;
  const drivers: Driver[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'group-commit-'));
    path = join(folder, 'notes.db');
    const driver = await open();
    await driver.write(() => run('create table notes (text text not null unique)'));
  });

  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.close()));
    rmSync(folder, { recursive: true });
  });

  async function open(limits = {}): Promise<Driver> {
    const driver = await sqliteDriver(path, { serve: false, limits });
    drivers.push(driver);
    return driver;
  }
  const notes = async (driver: Driver) =>
    (await driver.read(() => all(query<{ text: string }>('select text from notes order by rowid')))).map(
      ({ text }) => text,
    );

  test('puts writes of the same moment into one transaction, in order', async () => {
    const driver = await open();
    const texts = Array.from({ length: 64 }, (_, index) => `note ${index}`);
    expect(await Promise.all(texts.map((text) => driver.write(insert(text))))).toEqual(texts);
    expect(await notes(driver)).toEqual(texts);
    expect(driver.commits).toBe(1);
  });

  test('waits for more as long as each turn of the event loop brings some', async () => {
    const driver = await open();
    const works = [driver.write(insert('one')), driver.write(insert('two'))];
    await setImmediate();
    works.push(driver.write(insert('three')));
    await Promise.all(works);
    expect(driver.commits).toBe(1);
  });

  test('lets what may wait share the next commit, and waits for none that does not come', async () => {
    const driver = await open({ mayWaitMs: 3_600_000 });
    const patient = driver.write(insert('may wait'), true);
    // More than enough turns for a commit.
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    expect(driver.commits).toBe(0);
    await Promise.all([patient, driver.write(insert('does not'))]);
    expect([driver.commits, await notes(driver)]).toEqual([1, ['may wait', 'does not']]);
    const hasty = await open({ mayWaitMs: 1 });
    await hasty.write(insert('alone'), true);
    const left = driver.write(insert('left at the end'), true);
    await driver.close();
    await left;
    expect((await notes(hasty)).slice(2)).toEqual(['alone', 'left at the end']);
  });

  test('splits what is too much for one transaction', async () => {
    const driver = await open({ maxBatch: 10 });
    await Promise.all(Array.from({ length: 25 }, (_, index) => driver.write(insert(`note ${index}`))));
    expect(driver.commits).toBe(3);
  });

  test('undoes a write that fails, alone', async () => {
    const driver = await open();
    const failing = function* failing(tallies: Tallies) {
      yield* insert('half of it')();
      tallies.planned('slack', 'pending');
      throw new Error('a bug');
    };
    const results = await Promise.allSettled(
      [insert('before'), failing, insert('before'), insert('after')].map((work) => driver.write(work)),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { message: 'a bug' } });
    expect(await notes(driver)).toEqual(['before', 'after']);
    expect(await driver.read(() => all(query('select * from delivery_counts')))).toEqual([]);
    expect(driver.queued).toBe(0);
  });

  test('undoes a write that needs a damaged page, alone', async () => {
    await (await open()).write(() => run('create table damaged (text text)'));
    await Promise.all(drivers.splice(0).map((driver) => driver.close()));
    overwritePage(path, 'damaged');
    const driver = await open();
    const failing = () => run('insert into damaged (text) values (1)');
    const results = await Promise.allSettled(
      [insert('before'), failing, insert('after')].map((work) => driver.write<unknown>(work)),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { message: expect.stringContaining('is damaged') } });
    expect(await notes(driver)).toEqual(['before', 'after']);
  });

  test('refuses writes when too many wait, and keeps those that do', async () => {
    const driver = await open({ maxQueued: 2 });
    const waiting = [driver.write(insert('one')), driver.write(insert('two'))];
    await expect(driver.write(insert('three'))).rejects.toThrow(StoreUnavailable);
    await Promise.all(waiting);
    expect(await notes(driver)).toEqual(['one', 'two']);
    await driver.write(insert('four'));
  });

  test('keeps nothing of a transaction that the disk has no room for, and recovers', async () => {
    const driver = await open();
    await driver.read(() => get(query('pragma max_page_count = 4')));
    const works = [insert('small'), insert('large'.repeat(10_000))];
    for (const result of await Promise.allSettled(works.map((work) => driver.write(work))))
      expect(result).toMatchObject({
        reason: { name: 'StoreUnavailable', message: expect.stringMatching(/full/) },
      });
    expect(await notes(driver)).toEqual([]);
    // The limit was the connection's own, and it was opened again.
    await driver.write(insert('large'.repeat(10_000)));
    expect(await notes(driver)).toHaveLength(1);
  });

  describe('while another connection holds the lock', () => {
    let other: Database;

    beforeEach(() => {
      other = new Database(path);
      other.exec('begin immediate');
    });

    afterEach(() => {
      other.close();
    });

    test('waits without blocking the process', async () => {
      const driver = await open();
      const first = driver.write(insert('first'));
      await new Promise((resolve) => {
        setTimeout(resolve, 30);
      });
      const second = driver.write(insert('second'));
      expect(await notes(driver)).toEqual([]);
      other.exec('commit');
      await Promise.all([first, second]);
      expect(await notes(driver)).toEqual(['first', 'second']);
    });

    test('gives up in the end, and says why', async () => {
      const driver = await open({ busyForMs: 30 });
      const refused = driver.write(insert('first'));
      await expect(refused).rejects.toThrow(/Another process keeps .*notes\.db locked/);
      await expect(refused).rejects.toThrow(StoreUnavailable);
      other.exec('commit');
      await driver.write(insert('second'));
      expect(await notes(driver)).toEqual(['second']);
    });

    test('lets a write behind others wait no longer than those', async () => {
      const driver = await open({ busyForMs: 30, maxBatch: 1 });
      const [first, second] = [driver.write(insert('first')), driver.write(insert('second'))];
      const ended = Promise.allSettled([second]);
      await expect(first).rejects.toThrow(StoreUnavailable);
      for (let turns = 0; turns < 5; turns += 1) await setImmediate();
      other.exec('commit');
      expect(await ended).toMatchObject([{ reason: { name: 'StoreUnavailable' } }]);
    });

    test('finishes what waits when it is closed, and takes no more', async () => {
      const driver = await open();
      const waiting = driver.write(insert('first'));
      const closing = driver.close();
      await expect(driver.write(insert('second'))).rejects.toThrow('The store is closed.');
      other.exec('commit');
      await closing;
      await waiting;
      expect(await notes(await open())).toEqual(['first']);
    });
  });
});
