import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../../src/store/sqlite/database.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { arrival, configId } from '../../contract/store-fixtures.ts';

/**
 * Another process that uses a store: `node child.ts PLAY PATH`. It tells its parent what it has done, message by
 * message, and lives until it is killed or has played to the end.
 */
const plays: { readonly [play: string]: (path: string) => Promise<void> } = {
  async serve(path) {
    await openStore(`sqlite:${path}`, { serve: true });
    tell('serving');
    setInterval(() => undefined, 1000);
  },

  async accept(path) {
    await acceptWithoutEnd(await openStore(`sqlite:${path}`, { serve: false }));
  },

  async 'serve and accept'(path) {
    await acceptWithoutEnd(await openStore(`sqlite:${path}`, { serve: true }));
  },

  /** Keeps the store locked until it hears from its parent. */
  async lock(path) {
    const db = new Database(path);
    db.exec('begin immediate');
    tell('locked');
    await new Promise((resolve) => {
      process.once('message', resolve);
    });
    db.exec('commit');
    db.close();
    process.disconnect?.();
  },

  /** Started under a limit on the size of files: fills the store, lifts the limit, goes on. */
  async fill(path) {
    const store = await openStore(`sqlite:${path}`, { serve: true });
    await store.saveConfig({ id: configId, source: {}, savedAt: 0 });
    const accepted: string[] = [];
    const raw = { filler: 'x'.repeat(50_000) };
    const accept = async () => {
      const { eventId } = await store.accept(arrival({ id: `evt_${accepted.length}`, raw }));
      accepted.push(eventId);
    };
    const refused = await untilRefused(accept);
    const probe = await store.probe().then(
      () => 'writable',
      (error: Error) => error.name,
    );
    const readable = await store.events({ limit: 1000 });
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited']);
    await store.probe();
    await accept();
    await store.close();
    tell({ ...refused, probe, readable: readable.length, accepted });
    process.disconnect?.();
  },

  /** Opens a store that it may read but not write, as user nobody where it was started by root. */
  async trespass(path) {
    if (process.getuid?.() === 0) process.setuid?.(65_534);
    const refused = await untilRefused(async () => {
      const store = await openStore(`sqlite:${path}`, { serve: true });
      await store.accept(arrival());
      await sleep(1);
    });
    tell(refused);
    process.disconnect?.();
  },
};

/** A few events at a time. */
async function acceptWithoutEnd(store: Store): Promise<never> {
  await store.saveConfig({ id: configId, source: {}, savedAt: 0 });
  for (let n = 0; ; n += 1) {
    const batch = [0, 1, 2].map((index) => {
      const id = `evt_child_${process.pid}_${n}_${index}`;
      return store.accept(arrival({ id, candidateId: id, correlationId: id }));
    });
    const accepted = await Promise.all(batch);
    for (const { eventId } of accepted) tell(eventId);
  }
}

async function untilRefused(write: () => Promise<void>): Promise<{ name: string; message: string }> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      if (error instanceof Error) return { name: error.name, message: error.message };
    }
  }
}

function tell(message: unknown): void {
  process.send?.(message);
}

const [play = '', path = ''] = process.argv.slice(2);
await plays[play]?.(path);
