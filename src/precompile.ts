import { globSync } from 'node:fs';
import { join } from 'node:path';

// Imports every module, which starts nothing, so that the compile cache has them: stripping the types of a single file
// takes a compiler of 20 MB into memory. Run when it is installed and when the image is built.
const root = join(import.meta.dirname, '..');
const runs = new Set(['src/main.ts', 'src/precompile.ts']);
for (const file of globSync('{src,connectors}/**/*.ts', { cwd: root })) {
  if (!runs.has(file)) await import(join(root, file));
}
