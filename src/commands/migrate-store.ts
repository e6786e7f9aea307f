import { moveStore } from '../store/open.ts';
import { withoutPassword } from '../support/store-url.ts';
import { exit, type Io, nowAndThen } from './output.ts';

interface MigrateStoreOptions {
  readonly from: string;
  readonly to: string;
}

/** Copies a store to another database, and tells on stderr how far it is. */
export async function migrateStore({ from, to }: MigrateStoreOptions, io: Io): Promise<number> {
  const moved = await moveStore(from, to, telling(io));
  const has = moved.filter(({ rows }) => rows > 0).map(({ table, rows }) => `  ${table.padEnd(20)}${rows}`);
  io.out(
    `${withoutPassword(to)} has every row of ${withoutPassword(from)}, compared by counts and checksums:`,
  );
  for (const line of has) io.out(line);
  io.out('Set store.url to it. Do not serve the old one again: it would send what waits a second time.');
  return exit.ok;
}

/** At the end of each table, and now and then where that takes long. */
function telling(io: Io) {
  const isTime = nowAndThen();
  return (done: string, table: string, rows: number, of: number) => {
    if (isTime(rows >= of)) io.err(`${done} ${table}: ${rows} of ${of} rows`);
  };
}
