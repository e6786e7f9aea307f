import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { scriptOptions } from '../../sandbox/script-options.ts';
import type { Store } from '../../src/store/store.ts';

const usage = `Usage: npm run simulate -- [options]

  --seeds N      so many runs, on all cores (1000)
  --seed N       run one, and print its steps; so does the first that breaks the promise
  --play NAME    model, whose tools are models; by-hand: with people who replay, resend and edit the config;
                 slack, sheets or mail: its connector and sandbox (model)
  --store NAME   sqlite, or postgres: on a server of its own (sqlite)
  --url URL      a PostgreSQL server that runs already
  -h, --help     show this

Ends with 1 if the promise is broken.`;

const { values, refuse, whole } = scriptOptions(usage, {
  options: {
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    /** What a child runs: from this seed on, each so many. */
    from: { type: 'string' },
    by: { type: 'string', default: '1' },
    play: { type: 'string', default: 'model' },
    store: { type: 'string', default: 'sqlite' },
    url: { type: 'string' },
  },
});
const seeds = whole('seeds', values.seeds);
if (!['sqlite', 'postgres'].includes(values.store))
  refuse(`--store ${values.store}: sqlite or postgres is needed.`);
type Open = (() => Promise<Store>) | undefined;
type Playing = (
  seed: number,
  given: { open: Open },
) => Promise<{ breaches: readonly string[]; steps: readonly string[] }>;
const plays: {
  readonly [name: string]: { readonly load: () => Promise<Playing>; readonly promise: string };
} = {
  model: {
    load: async () => {
      const { simulate } = await import('./simulate.ts');
      return (seed, { open }) => simulate(seed, null, open);
    },
    promise:
      'nothing lost, nothing twice where the tool can be asked, candidates in order, digests exact, rates held',
  },
  slack: {
    load: async () => (await import('./tools/slack/slack.ts')).playSlack,
    promise: 'nobody left out, nothing twice in a channel, all in the right one, one thread for each key',
  },
  mail: {
    load: async () => (await import('./tools/mail/mail.ts')).playMail,
    promise: 'nobody left out, a mail twice only where nobody knew that it had been taken',
  },
  'by-hand': {
    load: async () => (await import('./by-hand/by-hand.ts')).playByHand,
    promise: 'what people do by hand does what it said, tells nobody twice and leaves nobody out',
  },
  sheets: {
    load: async () => (await import('./tools/sheets/sheets.ts')).playSheets,
    promise: 'nobody left out, no row twice, one row for each key, which tells the newest',
  },
};
const { load, promise } =
  plays[values.play] ?? refuse(`--play ${values.play}: ${Object.keys(plays).join(', ')} are possible.`);
// Loaded here, so that who mistypes an option need not wait.
const { PostgresServer } = await import('../fixtures/postgres.ts');
const play = await load();
/** Since this process began. */
const elapsedS = () => (performance.now() / 1000).toFixed(1);
const server =
  values.store === 'postgres' && values.url === undefined
    ? await PostgresServer.start({ fsync: 'off', plan_cache_mode: 'force_generic_plan' })
    : null;
const url = values.url ?? server?.url();
/** That of all seeds of this process: to make one takes longer than most runs do. */
let shared = null as Awaited<ReturnType<typeof sharedStore>> | null;

if (values.seed !== undefined) process.exitCode = (await run(whole('seed', values.seed), true)) ? 0 : 1;
else if (values.from !== undefined)
  process.exitCode = (await runShare(Number(values.from), Number(values.by))) ? 0 : 1;
else process.exitCode = (await runAll()) ? 0 : 1;
await shared?.close();
await server?.remove();

async function runAll(): Promise<boolean> {
  const ofServer = url === undefined ? [] : ['--url', url];
  const options = ['--seeds', values.seeds, '--play', values.play, ...ofServer];
  const cores = availableParallelism();
  const shares = Array.from({ length: cores }, (_, share) =>
    fork(import.meta.filename, [...options, '--from', String(share + 1), '--by', String(cores)]),
  );
  const codes = await Promise.all(shares.map(async (child) => ((await once(child, 'exit')) as [number])[0]));
  const isKept = codes.every((code) => code === 0);
  if (isKept) console.log(`${seeds} seeds in ${elapsedS()} s: ${promise}.`);
  return isKept;
}

async function runShare(first: number, step: number): Promise<boolean> {
  for (let seed = first, played = 1; seed <= seeds; seed += step, played += 1) {
    if (!(await run(seed, false))) return false;
    if (played % 1000 === 0) console.log(`${played} seeds up to ${seed} in ${elapsedS()} s`);
  }
  return true;
}

async function run(seed: number, show: boolean): Promise<boolean> {
  const open =
    url === undefined
      ? undefined
      : async () => (shared ??= await sharedStore(url, `seeds_${process.pid}`)).empty();
  const { breaches, steps } = await play(seed, { open });
  if (show || breaches.length > 0) for (const step of steps) console.log(step);
  for (const breach of breaches) console.log(`BROKEN: ${breach}`);
  if (breaches.length > 0)
    console.log(`Seed ${seed} broke the promise: npm run simulate -- --play ${values.play} --seed ${seed}`);
  return breaches.length === 0;
}

async function sharedStore(to: string, schema: string) {
  const [{ Client }, { openPostgres }] = await Promise.all([
    import('pg'),
    import('../../src/store/postgres.ts'),
  ]);
  // The tables stay small, and nobody's commit is worth waiting for in a world whose clock stands still.
  const store = await openPostgres(`${to}?schema=${schema}`, { limits: { keeps: 'all', mayWaitMs: 0 } });
  const client = new Client({ connectionString: to });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = $1 and tablename not in ('schema_version', 'probe')`,
    [schema],
  );
  const empty = rows.map(({ name }) => `delete from ${name}`).join('; ');
  return {
    async empty(): Promise<Store> {
      // Truncating them takes fifty times as long.
      await client.query(empty);
      return { ...store, close: async () => {} };
    },
    close: () => Promise.all([store.close(), client.end()]),
  };
}
