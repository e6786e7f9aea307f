import type { z } from 'zod';
import { isMap, type Json } from '../../model.ts';
import type { Path } from '../../support/json.ts';
import { error, type Report } from './problems.ts';

/** A top section of the config that is a map from names to entries, such as `sinks`. */
export interface NamedSection {
  readonly section: string;
  /** What the section is, as in "a map from names to sinks". */
  readonly is: string;
  /** Which names it takes. Default: any. */
  readonly names?: z.ZodType;
  /** How an entry is known that stands where its name should: by a key that every entry has. Default: it is not. */
  readonly nameless?: { readonly key: string; readonly one: string; readonly name: string };
}

interface NamedEntry {
  readonly name: string;
  readonly written: Json;
  readonly path: Path;
}

/** Whether a section is an entry without its name. */
export const isNameless = (raw: Json | undefined, { nameless }: NamedSection): boolean =>
  isMap(raw) && nameless !== undefined && Object.hasOwn(raw, nameless.key) && !isMap(raw[nameless.key]);

/**
 * The entries of a section, each with its path. Reports a section that is no map, or that is an entry without its name, and the
 * names that it does not take.
 */
export function* namedIn(raw: Json | undefined, of: NamedSection, report: Report): Generator<NamedEntry> {
  const { section, is, names, nameless } = of;
  if (raw !== undefined && !isMap(raw)) report(error([section], `expected ${is}`));
  if (nameless && isNameless(raw, of)) {
    const { key, one, name } = nameless;
    const message = `this is of ${one}: indent it, and the keys beside it, below ${name}`;
    report(error([section, key], message, 'key'));
    return;
  }
  for (const [name, written] of Object.entries(isMap(raw) ? raw : {})) {
    const path = [section, name];
    const fault = names?.safeParse(name).error;
    if (fault) report(error(path, `${fault.issues[0]?.message}, got "${name}"`, 'key'));
    yield { name, written, path };
  }
}
