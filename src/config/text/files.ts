import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

const noRegularFile = 'it is not a regular file';

/** Without O_NONBLOCK, opening a pipe would block until somebody writes into it. */
const withoutBlocking = constants.O_RDONLY | constants.O_NONBLOCK;

const largestFileBytes = 16 * 1024 ** 2;

const refusals: Record<string, string> = {
  ENOENT: 'there is no such file; --config FILE or CONNECTOR_CONFIG names another one',
  EACCES: 'the file may not be read by this user',
  EPERM: 'the file may not be read by this user',
  EISDIR: 'this is a folder; the config is one YAML file',
  ENOTDIR: 'there is no such file: a part of its path is not a folder',
};

/** What an office program may have saved under the config's name, by how it begins. */
const documents = [
  ['{\\rtf', 'a document with formats (RTF)'],
  ['PK\x03\x04', 'a document of an office program, or an archive'],
] as const;

/** A file's text, or why it cannot be read. */
export type ReadText = { readonly text: string } | { readonly fault: string };

/** Reads a config file. `onlyRegular`: refuses pipes and devices, which could block a running service or fill its memory. */
export async function readText(file: string, { onlyRegular = false } = {}): Promise<ReadText> {
  try {
    await using handle = await open(file, onlyRegular ? withoutBlocking : 'r');
    const stat = await handle.stat();
    if (onlyRegular && !stat.isFile() && !stat.isDirectory())
      return { fault: `${noRegularFile}; save it as one` };
    const chunks = await Array.fromAsync(
      handle.createReadStream({ end: largestFileBytes, autoClose: false }),
    );
    const bytes = Buffer.concat(chunks as Buffer[]);
    if (bytes.length > largestFileBytes) return { fault: 'the file is larger than 16 MB' };
    const document = documents.find(([begins]) => bytes.toString('latin1', 0, 9).startsWith(begins))?.[1];
    if (document) return { fault: `the file is ${document}; save it as plain text, in UTF-8` };
    const text = new TextDecoder().decode(bytes);
    if (isUtf8(bytes)) return { text };
    const line = text.slice(0, text.indexOf('\uFFFD')).split('\n').length;
    return { fault: `the file is not UTF-8 text, as line ${line} shows; save it as UTF-8` };
  } catch (thrown) {
    const { code = '', message } = thrown as NodeJS.ErrnoException;
    return { fault: refusals[code] ?? `the file cannot be read: ${message}` };
  }
}

const largestSecretBytes = 1024 ** 2;

/** Reads a file for `${file:…}`. Throws if it is large or not a regular file: a pipe could block. */
export function readSecretFile(path: string): string {
  const fd = openSync(path, withoutBlocking);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error(noRegularFile);
    if (stat.size > largestSecretBytes) throw new Error('it is larger than 1 MB');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** A `readFile` of contents that were read before, so that a config is compiled from the files that were checked. */
export const readFrom = (files: ReadonlyMap<string, string>) => (path: string) => {
  const content = files.get(path);
  if (content === undefined) throw new Error('it could not be read');
  return content;
};
