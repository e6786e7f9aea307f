import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Plugin, RolldownOptions } from 'rolldown';

/** What is found by its path comes along: a thread as a program of its own, anything else as it is. */
const foundByPath: Plugin = {
  name: 'found-by-path',
  transform: {
    filter: { id: /\.ts$/, code: 'import.meta.url' },
    handler(code, id) {
      return code.replaceAll(/new URL\('(\.[^']+)', import\.meta\.url\)/g, (_, path: string) => {
        const file = join(dirname(id), path);
        const emitted = path.endsWith('.ts')
          ? this.emitFile({ type: 'chunk', id: file })
          : this.emitFile({ type: 'asset', name: basename(file), source: readFileSync(file) });
        return `new URL(import.meta.ROLLDOWN_FILE_URL_${emitted})`;
      });
    },
  },
};

/**
 * What a module needs is one file of the bundle; the thread that reads the store needs the first alone. In 116 small files Node
 * looked for so many modules that its optimizing compiler was loaded for that: 5 MB, and 7 more.
 */
const wholes = [
  { name: 'whole-store', test: /src\/store\/(store|sqlite\/database|sqlite\/failures)\.ts$/, priority: 2 },
  { name: 'whole-app', test: /src\/app\.ts$/, priority: 1 },
];

/** The program in few files, which load in half the time: the image has them, made by `npm run bundle`. */
export default {
  input: 'src/main.ts',
  platform: 'node',
  // Large, and loaded when a sink first connects or a store in PostgreSQL is opened.
  external: /^(@slack\/web-api|googleapis|nodemailer|pg)(\/|$)/,
  plugins: [foundByPath],
  output: {
    dir: 'dist',
    codeSplitting: { groups: wholes },
    // The text of a file stays in memory, and takes twice as much where a single character is not of Latin-1.
    charset: 'ascii',
    comments: { legal: true, annotation: false, jsdoc: false },
  },
} satisfies RolldownOptions;
