#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Compiled modules are kept between starts; where the folder cannot be written, nothing is kept. `npm start` and the
// image set NODE_COMPILE_CACHE besides, which holds for this file, too: then Node needs no compiler of types at all.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'));

const { run } = await import('./commands/program.ts');

// Whoever reads us may have seen enough: `events | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  env: process.env,
  color: process.stdout.isTTY && !process.env['NO_COLOR'],
});
