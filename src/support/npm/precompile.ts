import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// Fills the compile cache by importing every module, which starts nothing. Without it, stripping the types of a single
// file loads a compiler of 20 MB. Run at installation and when the image is built.
const root = join(import.meta.dirname, '../../..');
const runs = new Set(['src/main.ts', 'src/support/npm/precompile.ts']);
for (const file of globSync('{src,connectors}/**/*.ts', { cwd: root })) {
  if (!runs.has(file)) await import(pathToFileURL(join(root, file)).href);
}
