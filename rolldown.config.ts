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

/** The program in few files, which load in half the time: the image has them, made by `npm run bundle`. */
export default {
  input: 'src/main.ts',
  platform: 'node',
  // Large, and loaded when a sink first connects or a store in PostgreSQL is opened.
  external: /^(@slack\/web-api|googleapis|nodemailer|pg)(\/|$)/,
  plugins: [foundByPath],
  output: { dir: 'dist' },
} satisfies RolldownOptions;
