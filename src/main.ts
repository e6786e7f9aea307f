#!/usr/bin/env node
import { enableCompileCache, registerHooks } from 'node:module';
import { join } from 'node:path';
import type { Interface } from 'node:readline';

await import('./support/npm/right-node.js');
// Where nobody says another place, that which npm ci fills; threads take it over. What follows is compiled once then.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/compiled');
enableCompileCache();
// Zod loads its messages in all languages, which takes a twentieth of a start. They are used in English only.
registerHooks({
  resolve(specifier, context, next) {
    const isAll = specifier === '../locales/index.js' && context.parentURL?.includes('/zod/');
    return next(isAll ? '../locales/en.js' : specifier, context);
  },
});

const { run } = await import('./commands/program.ts');
const { exit, printer } = await import('./commands/output.ts');
const { wantsColor } = await import('./support/text.ts');

const stdout = printer(process.stdout);
process.stderr.on('error', () => {});
let reader: Interface | null = null;
let lines: AsyncIterator<string, unknown> | null = null;

/** Reads a line. One reader for all, because answers may be pasted at once. Ctrl-C and Ctrl-D end the program. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  reader ??= createInterface({ input: process.stdin, output: process.stdout });
  lines ??= reader[Symbol.asyncIterator]();
  reader.setPrompt(question);
  reader.prompt();
  const { value, done } = await lines.next();
  return done ? process.exit(exit.problems) : value;
}

process.exitCode = await run(process.argv.slice(2), {
  out: stdout.out,
  drained: stdout.drained,
  err: (text) => void process.stderr.write(`${text}\n`),
  ...(process.stdin.isTTY && process.stdout.isTTY && { ask }),
  env: process.env,
  color: wantsColor(process.stdout, process.env),
});

if (reader !== null) (reader as Interface).close();

const fault: NodeJS.ErrnoException | null = await stdout.fault();
// A reader may stop early, as with `events | head`. But a file that cannot be written is incomplete.
if (fault !== null && !['EPIPE', 'EIO'].includes(fault.code ?? '')) {
  process.stderr.write(`candidate-connector: not all output could be written: ${fault.message}\n`);
  process.exitCode = exit.problems;
}
