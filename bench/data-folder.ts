import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** On the project's own disk: a system's folder for temporary files may be memory, which syncs for free. */
export async function dataFolder(): Promise<string> {
  const folder = join(import.meta.dirname, '../data');
  await mkdir(folder, { recursive: true });
  return folder;
}
