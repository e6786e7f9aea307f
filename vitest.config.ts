import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Vitest leaves one core free, which on two cores is half of them; the tests wait more than they compute.
    maxWorkers: '100%',
    include: ['test/**/*.test.ts'],
    // Some tests start a dozen processes; a busy machine takes its time over that.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
