import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

const chunkBytes = 4 * 2 ** 20;

/**
 * How often any of these texts stands in the files, as UTF-8, in small or capital letters. A text that goes on in another
 * page is not seen.
 */
export async function countIn(paths: readonly string[], texts: readonly string[]): Promise<number> {
  const wanted = texts.map((text) => lower(Buffer.from(text)));
  let count = 0;
  for (const path of paths) if (existsSync(path)) count += await countInOne(path, wanted);
  return count;
}

async function countInOne(path: string, wanted: readonly string[]): Promise<number> {
  const overlap = Math.max(...wanted.map(({ length }) => length)) - 1;
  const chunk = Buffer.alloc(chunkBytes + overlap);
  const fd = openSync(path, 'r');
  let count = 0;
  try {
    for (let at = 0; ; at += chunkBytes) {
      const length = readSync(fd, chunk, 0, chunk.length, at);
      const part = lower(chunk.subarray(0, length));
      for (const text of wanted) count += countInPart(part, text);
      if (length < chunk.length) return count;
      await turn();
    }
  } finally {
    closeSync(fd);
  }
}

/** A character for each byte. */
const lower = (bytes: Buffer): string => bytes.toString('latin1').toLowerCase();

/** Those that begin before the next part does. */
function countInPart(part: string, text: string): number {
  let count = 0;
  for (let at = part.indexOf(text); at !== -1 && at < chunkBytes; at = part.indexOf(text, at + 1)) count += 1;
  return count;
}
