import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// Fills the compile cache by importing every module, which starts nothing. Without it, stripping the types of a single
// file loads a compiler of 20 MB. Run at installation and when the image is built.
const root = join(import.meta.dirname, '../../..');
const inRoot = (file: string) => pathToFileURL(join(root, file)).href;
// Compared as URLs: Windows separates the parts of a path otherwise.
const runs = new Set(['src/main.ts', 'src/support/npm/precompile.ts'].map(inRoot));
for (const url of globSync('{src,connectors}/**/*.ts', { cwd: root }).map(inRoot)) {
  if (!runs.has(url)) await import(url);
}
