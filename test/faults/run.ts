import { scriptOptions } from '../../sandbox/script-options.ts';

const usage = `Usage: npm run faults -- [options]

  --rounds N     how many rounds (10)
  --seed N       the seed of the first one (1)
  --copies N     so many connectors beside each other; more than one are on PostgreSQL (1)
  --store NAME   sqlite or postgres (sqlite)
  -h, --help     show this

Ends with 1 if a round broke the promise.`;

const { values, refuse, whole } = scriptOptions(usage, {
  options: {
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    copies: { type: 'string', default: '1' },
    store: { type: 'string', default: 'sqlite' },
  },
});
const rounds = whole('rounds', values.rounds);
const firstSeed = whole('seed', values.seed);
const copies = whole('copies', values.copies);
if (!['sqlite', 'postgres'].includes(values.store))
  refuse(`--store ${values.store}: sqlite or postgres is needed.`);
// Loaded here, so that who mistypes an option need not wait.
const { PostgresServer } = await import('../fixtures/postgres.ts');
const { runRound, runRoundOfCopies } = await import('./round.ts');
const server = copies > 1 || values.store === 'postgres' ? await PostgresServer.start() : null;

const totals = {
  kills: 0,
  edits: 0,
  sent: 0,
  accepted: 0,
  stored: 0,
  lost: 0,
  mail: 0,
  webhook: 0,
  broken: 0,
};
for (let seed = firstSeed; seed < firstSeed + rounds; seed += 1) {
  const report = await (server && copies > 1
    ? runRoundOfCopies(seed, copies, server)
    : runRound(seed, server));
  totals.kills += report.kills;
  totals.edits += report.edits;
  totals.sent += report.sent;
  totals.accepted += report.accepted;
  totals.stored += report.stored;
  totals.lost += report.lost;
  totals.mail += report.repeats.mail;
  totals.webhook += report.repeats.webhook;
  const verdict = report.breaches.length === 0 ? 'kept' : 'BROKEN';
  console.log(
    `seed ${seed}: ${verdict} · ${report.kills} kills · ${report.edits} edits · ${report.sent} sent · ${report.accepted} accepted · ${report.lost} lost with a primary · repeats: ${report.repeats.mail} mails, ${report.repeats.webhook} calls`,
  );
  for (const breach of report.breaches.slice(0, 10)) console.log(`  ${breach}`);
  if (report.breaches.length === 0) continue;
  console.log(`  kept in ${report.kept}`);
  totals.broken += 1;
}
console.log(
  `${rounds} rounds, ${totals.kills} kills, ${totals.edits} edits of the sheet: ${totals.sent} events sent, ${totals.accepted} accepted, ${totals.stored} stored, ${totals.lost} lost with a primary whose standby was behind. ` +
    `Slack and the sheet had each delivery exactly once in ${rounds - totals.broken} rounds; ${totals.mail} mails and ${totals.webhook} calls came again under the same id. ` +
    `${totals.broken} rounds broke the promise.`,
);
await server?.remove();
process.exitCode = totals.broken === 0 ? 0 : 1;
