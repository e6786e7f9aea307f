import { readFile } from 'node:fs/promises';

const largestFileBytes = 16 * 1024 ** 2;

const refusals: Record<string, string> = {
  ENOENT: 'there is no such file; --config FILE or CONNECTOR_CONFIG names another one',
  EACCES: 'the file may not be read by this user',
  EPERM: 'the file may not be read by this user',
  EISDIR: 'this is a folder; the config is one YAML file',
  ENOTDIR: 'there is no such file: a part of its path is not a folder',
};

/** A file's text, or why it has none. */
export type ReadText = { readonly text: string } | { readonly fault: string };

export async function readText(file: string): Promise<ReadText> {
  try {
    return decode(await readFile(file));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    return { fault: refusals[code] ?? `the file cannot be read: ${message}` };
  }
}

function decode(bytes: Buffer): ReadText {
  if (bytes.length > largestFileBytes) return { fault: 'the file is larger than 16 MB' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { fault: 'the file is not UTF-8 text; save it as UTF-8' };
  }
}
