import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// As `npm start` does. Tests start many processes and threads, and each would strip its types anew.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// These fetch packages of Debian: `npm run test:servers`.
const servers = 'test/servers/**';
const isOfServers = process.env.npm_lifecycle_event === 'test:servers';

export default defineConfig({
  test: {
    // Vitest leaves one core free, which on two cores is half of them; the tests wait more than they compute.
    maxWorkers: '100%',
    // Each file would load all modules anew, and run them before they are compiled well.
    isolate: false,
    restoreMocks: true,
    include: [isOfServers ? `${servers}/*.test.ts` : 'test/**/*.test.ts'],
    exclude: isOfServers ? [] : [servers],
    // Only one apt-get at a time.
    fileParallelism: !isOfServers,
    globalSetup: 'test/fixtures/postgres.ts',
    // Some tests start a dozen processes; a busy machine takes its time over that.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
