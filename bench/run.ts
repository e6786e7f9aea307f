import { scriptOptions } from '../sandbox/script-options.ts';
import { type BenchResult, historyStores } from './result.ts';

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

/** Each is loaded when it runs: who mistypes an option need not wait for them. */
const benchmarks: { readonly [name: string]: () => Promise<BenchResult[]> } = {
  accept: async () => (await import('./accept.ts')).benchAccept(rounds),
  postgres: async () => (await import('./accept.ts')).benchPostgres(rounds),
  copies: async () => (await import('./copies.ts')).benchCopies(rounds),
  burst: async () => (await import('./burst.ts')).benchBurst(rounds),
  alertmanager: async () => (await import('./burst.ts')).benchAlertmanager(rounds),
  latency: async () => (await import('./latency.ts')).benchLatency(rounds),
  backlog: async () => (await import('./backlog.ts')).benchBacklog(rounds),
  history: async () => (await import('./history.ts')).benchHistory({ events, store, rounds }),
  pages: async () => (await import('./pages.ts')).benchPages({ events }),
  claim: async () => (await import('./claim.ts')).benchClaim(),
  rules: async () => (await import('./rules.ts')).benchRules(),
  check: async () => (await import('./check.ts')).benchCheck(rounds),
  start: async () => (await import('./start.ts')).benchStart(rounds),
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
