import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// As `npm start` does. Tests start many processes and threads, and each would strip its types anew.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// These fetch packages of Debian: `npm run test:servers`.
const servers = 'test/servers/**';
const isOfServers = process.env.npm_lifecycle_event === 'test:servers';

/** From the fast to the slowest, which go first. A fresh clone does not know how long files take. */
const slow = [
  'config/re',
  'words',
  'pages',
  'lookups',
  'deliveries/worker',
  'readme',
  'restart',
  'start',
  'sandbox',
  // They wait: one at the end would keep a run from its end.
  'pages/browser',
  'ops/re',
  'templates',
  'connectors/google-sheets',
  'store/',
  'app.test',
  'simulation',
  'commands',
  'ops/replicas',
  'commands/serve',
  'faults',
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) =>
      slow.findLastIndex((name) => moduleId.includes(`/test/${name}`));
    // oxlint-disable-next-line unicorn/no-array-sort -- It is not an array's.
    const asUsual = await super.sort(files);
    return asUsual.toSorted((a, b) => rankOf(b) - rankOf(a));
  }
}

export default defineConfig({
  test: {
    // The tests wait as much as they compute.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: SlowFirst },
    // Each file would load all modules anew, and run them before they are compiled well.
    isolate: false,
    // Node loads them as it does at `npm start`: Vite would put a look-up in place of each use of an import.
    experimental: { viteModuleRunner: false },
    execArgv: ['--import', join(import.meta.dirname, 'test/fixtures/threads.ts')],
    restoreMocks: true,
    include: [isOfServers ? `${servers}/*.test.ts` : 'test/**/*.test.ts'],
    exclude: isOfServers ? [] : [servers],
    // Only one apt-get at a time.
    fileParallelism: !isOfServers,
    globalSetup: ['memory', 'postgres', 'program'].map((name) => `test/fixtures/${name}.ts`),
    // Some tests start a dozen processes; a busy machine takes its time over that.
    testTimeout: 120_000 * Number(process.env.TEST_RUNS ?? 1),
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
