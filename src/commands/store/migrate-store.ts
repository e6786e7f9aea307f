import { moveStore } from '../../store/open.ts';
import { withoutPassword } from '../../support/store-url.ts';
import { command, required, textOption } from '../command.ts';
import { exit, nowAndThen } from '../output.ts';

/** Copies a store to another database. Reports progress on stderr, at the end of each table and now and then. */
export const migrateStore = command({
  name: 'migrate-store',
  description: 'copy a stopped store to another database and compare the two',
  examples: [
    'migrate-store --from sqlite:/data/connector.db --to postgres://connector@db.internal/connector',
    'migrate-store --from postgres://connector@db.internal/connector --to sqlite:/data/connector.db',
  ],
  options: {
    from: required(
      textOption('--from <url>', 'the store to copy, as in store.url; nothing may serve it meanwhile'),
    ),
    to: required(
      textOption('--to <url>', 'where to; what is there must be empty, and is made if it is missing'),
    ),
  },
  async run({ from, to }, io) {
    const isTime = nowAndThen();
    const moved = await moveStore(from, to, (done, table, rows, of) => {
      if (isTime(rows >= of)) io.err(`${done} ${table}: ${rows} of ${of} rows`);
    });
    io.out(
      `${withoutPassword(to)} has every row of ${withoutPassword(from)}, compared by counts and checksums:`,
    );
    for (const { table, rows } of moved) if (rows > 0) io.out(`  ${table.padEnd(20)}${rows}`);
    io.out('Set store.url to it. Do not serve the old one again: it would send what waits a second time.');
    return exit.ok;
  },
});
