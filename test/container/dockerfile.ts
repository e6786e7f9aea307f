import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');

export const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** One instruction of the Dockerfile, its continuation lines joined and comments left out. */
export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

export function instructions(): Instruction[] {
  const text = read('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\s*\\\n\s*/g, ' ');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [name = '', ...rest] = line.split(' ');
      return { name, rest: rest.join(' ') };
    });
}

/** What follows the last instruction of this name: the one that the image ends up with. */
export function last(name: string): string {
  const found = instructions().findLast((instruction) => instruction.name === name);
  if (!found) throw new Error(`the Dockerfile has no ${name}`);
  return found.rest;
}

/** The variables that the image sets. */
export function imageEnv(): Record<string, string> {
  const pairs = last('ENV').matchAll(/(\w+)=(\S+)/g);
  return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, value]));
}
