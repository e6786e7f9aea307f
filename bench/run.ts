import { scriptOptions } from '../sandbox/script-options.ts';
import { benchAccept, benchPostgres } from './accept.ts';
import { benchBacklog } from './backlog.ts';
import { benchAlertmanager, benchBurst } from './burst.ts';
import { benchCheck } from './check.ts';
import { benchClaim } from './claim.ts';
import { benchCopies } from './copies.ts';
import { benchHistory, historyStores } from './history.ts';
import { benchLatency } from './latency.ts';
import { benchPages } from './pages.ts';
import type { BenchResult } from './result.ts';
import { benchRules } from './rules.ts';
import { benchStart } from './start.ts';

const usage = `Usage: npm run bench -- [NAME…] [options]

  --events N     the past events of \`history\` and \`pages\` (100000)
  --store NAME   \`history\` of ${historyStores.join(' or ')} alone
  --rounds N     fewer rounds of what is measured in turns, to try
  --table        print the table of docs/performance.md, too
  -h, --help     show this

Ends with 1 if a target is missed.`;

const { values, positionals, refuse, whole } = scriptOptions(usage, {
  allowPositionals: true,
  options: {
    events: { type: 'string', default: '100000' },
    store: { type: 'string' },
    rounds: { type: 'string' },
    table: { type: 'boolean', default: false },
  },
});

const events = whole('events', values.events, 1, 20_000_000);
const rounds = values.rounds === undefined ? undefined : whole('rounds', values.rounds, 1, 100);
const { store } = values;
if (store !== undefined && !historyStores.some((name) => name === store))
  refuse(`--store ${store}: ${historyStores.join(' or ')} is needed.`);

const benchmarks: { readonly [name: string]: () => Promise<BenchResult[]> } = {
  accept: () => benchAccept(rounds),
  postgres: () => benchPostgres(rounds),
  copies: () => benchCopies(rounds),
  burst: () => benchBurst(rounds),
  alertmanager: () => benchAlertmanager(rounds),
  latency: () => benchLatency(rounds),
  backlog: () => benchBacklog(rounds),
  history: () => benchHistory({ events, store, rounds }),
  pages: () => benchPages({ events }),
  claim: benchClaim,
  rules: benchRules,
  check: () => benchCheck(rounds),
  start: () => benchStart(rounds),
};

const chosen = positionals.length > 0 ? positionals : Object.keys(benchmarks);
const unknown = chosen.filter((name) => !Object.hasOwn(benchmarks, name));
if (unknown.length > 0)
  refuse(`There is no benchmark ${unknown.join(', ')}; there are ${Object.keys(benchmarks).join(', ')}.`);
const results: BenchResult[] = [];
for (const name of chosen) {
  for (const result of (await benchmarks[name]?.()) ?? []) {
    results.push(result);
    console.log(text(result));
    if (!result.met) process.exitCode = 1;
  }
}
if (values.table) console.log(table(results));

function text({ name, ratio, detail, target, met }: BenchResult): string {
  return `${met ? '✓' : '✗ MISSED'} ${name}: ${ratio.toFixed(2)} (target: ${target})\n    ${detail}`;
}

/** In Markdown, with a bar of ten characters for a ratio of 1. */
function table(measured: readonly BenchResult[]): string {
  const rows = measured.map(({ name, ratio, target, detail }) => {
    const bar = '█'.repeat(Math.min(20, Math.round(ratio * 10)));
    return `| ${name} | ${ratio.toFixed(2)} | ${bar} | ${target} | ${detail} |`;
  });
  return ['| what | ratio | | target | figures behind it |', '| --- | --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}
