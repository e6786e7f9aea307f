import { escapeAt } from './engine.ts';
import type { IsStrict, Place } from './engine.ts';
import type { Escaping } from './filter-check.ts';
import { parse } from './parse.ts';
import type { Fault } from './parse.ts';
import type { Shape } from './shapes.ts';
import { Walk } from './walk.ts';

export interface PlacedFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/**
 * All that can be said of a template before an event comes: what cannot be parsed, or else which variables and filters
 * there will not be. `isStrict` is for rendering it: only what the service sends beyond its documented fields may turn
 * out to be missing.
 */
export function check(
  source: string,
  place: Place,
  roots: ReadonlyMap<string, Shape>,
): { readonly faults: readonly PlacedFault[]; readonly isStrict: IsStrict } {
  const parsed = parse(source);
  const walk = new Walk(roots, escapingOf(place));
  walk.visitAll(parsed.templates);
  const faults = parsed.namesAreSound ? [...parsed.faults, ...walk.faults] : parsed.faults;
  return {
    faults: faults.toSorted((a, b) => a.offset - b.offset).map((fault) => placed(fault, source)),
    isStrict: walk.scope.isStrict(),
  };
}

function escapingOf(place: Place): Escaping {
  const escaped = escapeAt(place, '<');
  if (escaped === '%3C') return 'percent';
  return escaped === '<' && !place.medium.join ? null : 'signs';
}

function placed({ offset, message }: Fault, source: string): PlacedFault {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1, message };
}
