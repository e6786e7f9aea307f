import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

const chunkBytes = 4 * 2 ** 20;

/** Counts these texts in files, as UTF-8 and in any case. Does not see a text that goes on in another page. */
export async function countIn(paths: readonly string[], texts: readonly string[]): Promise<number> {
  const wanted = texts.map((text) => lower(Buffer.from(text)));
  const overlap = Math.max(...wanted.map(({ length }) => length)) - 1;
  const chunk = Buffer.alloc(chunkBytes + overlap);
  let count = 0;
  for (const path of paths.filter((name) => existsSync(name))) {
    const fd = openSync(path, 'r');
    try {
      let length = chunk.length;
      for (let from = 0; length === chunk.length; from += chunkBytes) {
        length = readSync(fd, chunk, 0, chunk.length, from);
        const part = lower(chunk.subarray(0, length));
        for (const text of wanted) {
          // What begins in the overlap is counted in the next chunk.
          for (let at = part.indexOf(text); at !== -1 && at < chunkBytes; at = part.indexOf(text, at + 1))
            count += 1;
        }
        await turn();
      }
    } finally {
      closeSync(fd);
    }
  }
  return count;
}

/** A character for each byte. */
const lower = (bytes: Buffer): string => bytes.toString('latin1').toLowerCase();
