// Runs a program of this folder as npm's scripts do, on any system: `node src/support/npm/run.js FILE ARGUMENTS`. What was
// compiled is kept, by threads too, which the environment tells.
import module from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

await import('./right-node.js');
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../../node_modules/.cache/compiled');
module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
// The shell that npm puts in between passes no SIGTERM on: it is gone then.
const shell = process.ppid;
const look = () => process.ppid !== shell && process.kill(process.pid, 'SIGTERM') && clearInterval(looks);
const looks = setInterval(look, 500).unref();

const file = resolve(process.argv[2]);
process.argv.splice(1, 2, file);
await import(pathToFileURL(file).href);
