#!/usr/bin/env node
import './compile-cache.ts';

const { run } = await import('./commands/program.ts');

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  env: process.env,
  color: process.stdout.isTTY,
});
