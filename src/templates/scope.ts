import { type Status, statuses } from '../model.ts';
import { closest } from '../support/text.ts';
import type { IsStrict } from './engine.ts';

/** What is known about a value before any event arrives. */
export type Shape =
  | { readonly kind: 'map'; readonly keys: ReadonlyMap<string, Shape> }
  | { readonly kind: 'list'; readonly entry: Shape }
  /**
   * `fact`: the name of a fact that may be unknown, so that printing it needs a default. `flag`: the name of one that is true or
   * false, of which Liquid's `default` takes the latter for missing.
   */
  | { readonly kind: 'text' | 'number' | 'any'; readonly fact?: string; readonly flag?: string };

export const text: Shape = { kind: 'text' };
export const number: Shape = { kind: 'number' };
export const any: Shape = { kind: 'any' };

export const map = (keys: { readonly [key: string]: Shape }): Shape => ({
  kind: 'map',
  keys: new Map(Object.entries(keys)),
});

const loopKeys = {
  length: number,
  index: number,
  index0: number,
  rindex: number,
  rindex0: number,
  first: any,
  last: any,
};

export const loopShapes: { readonly [name: string]: Shape } = {
  forloop: map(loopKeys),
  tablerowloop: map({ ...loopKeys, row: number, col: number, col0: number, col_first: any, col_last: any }),
};

/** One step of a path: a key, an index, or null if only an event decides it. */
export type Step = string | number | null;

/** The shape that a step leads to; null if there is none. */
export function stepInto(shape: Shape, step: Step): Shape | null {
  if (shape.kind === 'any' || step === null) return any;
  if (step === 'size' && shape.kind !== 'number')
    return (shape.kind === 'map' && shape.keys.get('size')) || number;
  if (shape.kind === 'map') return shape.keys.get(String(step)) ?? null;
  if (shape.kind !== 'list') return null;
  return step === 'first' || step === 'last' || /^-?\d+$/.test(String(step)) ? shape.entry : null;
}

/** What a loop over a value yields: the entries of a list, the pairs of a map, or the whole text. */
export function entryOf(shape: Shape): Shape {
  if (shape.kind === 'list') return shape.entry;
  return shape.kind === 'text' ? text : any;
}

/** What is known about a value: its shape and its origin. */
export interface ValueInfo {
  readonly shape: Shape;
  /** Whether outsiders may have written it: it comes from an event, a look-up, or a tool's answer in a notice. */
  readonly untrusted: boolean;
  /** Whether it is `event.raw` or inside it, where anything may be missing. */
  readonly raw: boolean;
}

/** Names that outsiders cannot write. All others come from an event, a look-up or a tool. */
const trustedNames: ReadonlySet<string> = new Set(['test', 'rule', 'now']);

/** The names that a template may have without look-ups. */
const ownNames: ReadonlySet<string> = new Set(['event', 'events', 'test', 'links', 'rule', 'now', 'notice']);

export const unknown: ValueInfo = { shape: any, untrusted: false, raw: false };

export const neverStrict: IsStrict = () => false;

/** The names that a template can use at one place. A loop's names end with the loop; assigned names stay. */
export class Scope {
  readonly #roots: ReadonlyMap<string, Shape>;
  readonly #assigned = new Map<string, ValueInfo>();
  readonly #loops: ReadonlyMap<string, ValueInfo>[] = [];
  /** Every name that was ever given to a value inside `event.raw`. */
  readonly #rawNames = new Set<unknown>();
  readonly #untrustedNames = new Set<unknown>(['event', 'events']);
  #readsRaw = false;

  constructor(roots: ReadonlyMap<string, Shape>) {
    this.#roots = roots;
  }

  find(name: string): ValueInfo | null {
    const loop = this.#loops.findLast((names) => names.has(name));
    const known = loop?.get(name) ?? this.#assigned.get(name);
    if (known) return known;
    const shape = this.#roots.get(name);
    return shape ? { shape, untrusted: !trustedNames.has(name), raw: false } : null;
  }

  names(): string[] {
    return [this.#roots, this.#assigned, ...this.#loops].flatMap((names) => Array.from(names.keys()));
  }

  /** What look-ups find, as in `candidate.score`. */
  facts(): string[] {
    return Array.from(this.#roots).flatMap(([name, shape]) =>
      ownNames.has(name) || shape.kind !== 'map'
        ? []
        : Array.from(shape.keys.keys(), (key) => `${name}.${key}`),
    );
  }

  assign(name: string, known: ValueInfo): void {
    this.#assigned.set(name, known);
    this.#remember(name, known);
  }

  /** Visits the body of a loop, where `names` exist. */
  within(names: ReadonlyMap<string, ValueInfo>, visit: () => void): void {
    for (const [name, known] of names) this.#remember(name, known);
    this.#loops.push(names);
    visit();
    this.#loops.pop();
  }

  noteRaw(): void {
    this.#readsRaw = true;
  }

  #remember(name: string, { raw, untrusted }: ValueInfo): void {
    if (raw) this.#rawNames.add(name);
    if (untrusted) this.#untrustedNames.add(name);
  }

  /**
   * To be called when the whole template was visited. Only values inside `event.raw` may be missing. Most templates do
   * not read it and share one function, which keeps large configs small.
   */
  isStrict(): IsStrict {
    if (!this.#readsRaw) return neverStrict;
    const rawNames = this.#rawNames;
    const untrusted = this.#untrustedNames;
    return ([root, ...rest]) =>
      rest.length > 0 && (rawNames.has(root) || (rest.includes('raw') && untrusted.has(root)));
  }
}

/**
 * The message for a path whose step `at` does not exist, with what was probably meant. `within`: what the steps before
 * it lead to; null if the first name is unknown.
 */
export function unknownVariable(
  path: readonly Step[],
  at: number,
  within: Shape | null,
  scope: Scope,
): string {
  const name = nameOf(path.slice(0, at + 1));
  const step = String(path[at]);
  if (within === null) return `unknown variable \`${name}\`${rootHint(step, scope)}`;
  const parent = nameOf(path.slice(0, at));
  if (within.kind === 'list')
    return `\`${parent}\` is a list without \`${step}\`; loop over it with \`{% for entry in ${parent} %}\``;
  if (within.kind !== 'map')
    return `\`${parent}\` is ${within.kind === 'text' ? 'text' : 'a number'} and has no \`${step}\``;
  const beside = namedBeside(path, at, scope);
  if (beside !== null) return `unknown variable \`${name}\`, did you mean \`${beside}\`?`;
  return `unknown variable \`${name}\`${keyHint(parent, step, [...within.keys.keys()], scope)}`;
}

/** What has times of an event in other programs. */
const timeOfEvent = /^(?:date|time|timestamp|(?:created|completed|finished)(?:_?(?:at|on))?)$/i;

/** What was meant by a part that the event or the test lacks: its other spelling, or what stands beside it, as `test.name` for `event.testName`. */
function namedBeside(path: readonly Step[], at: number, scope: Scope): string | null {
  const [parent, step, inner] = [path[0], String(path[at]), String(path[at + 1])];
  if (at !== 1 || (parent !== 'event' && parent !== 'test')) return null;
  // First its own parts: those of look-ups are others, even where their names are alike.
  const maps = mapsIn(scope, [parent, ...scope.names()]);
  const whole = maps.find(({ name }) => name === step);
  if (whole) return whole.keys.has(inner) ? `${step}.${inner}` : step;
  for (const { name, keys } of maps) {
    const key = spelling(step).startsWith(name) ? spelling(step).slice(name.length) : spelling(step);
    const meant = [...keys.keys()].find((one) => [key, spelling(step)].includes(spelling(one)));
    // A name may be the candidate's, the test's or the rule's.
    if (meant !== undefined && step !== 'name') return `${name}.${meant}`;
  }
  return timeOfEvent.test(step) ? 'event.receivedAt' : null;
}

const mapsIn = (scope: Scope, names: readonly string[] = scope.names()) =>
  names.flatMap((name) => {
    const shape = scope.find(name)?.shape;
    return shape?.kind === 'map' ? [{ name, keys: shape.keys }] : [];
  });

/** A name as all that spell it alike have it: `testId`, `test_id`, `TestID`. */
const spelling = (name: string): string => name.replaceAll('_', '').toLowerCase();

function nameOf(path: readonly Step[]): string {
  return path
    .map((step, index) => {
      if (step === null) return '[…]';
      if (typeof step === 'number') return `[${step}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

function rootHint(name: string, scope: Scope): string {
  if (statuses.includes(name as Status)) return `; text needs quotes: \`"${name}"\``;
  if (name === 'events' && !scope.names().includes('notice'))
    return '; it is available only in actions with `digest`, and not in the keys that say where the message goes';
  if (name === 'notice') return '; it is available only in the actions of alerts';
  if (name === 'links' && !scope.names().includes('notice'))
    return '; it needs `links` at the top of the config, such as `links: { candidate: "https://…" }`';
  if (/^candidate(?:_?(?:name|e?mail|phone))?$/i.test(name)) return sendsNoNames(scope);
  if (name === 'forloop') return '; it is available only inside `for`';
  const parent = mapsIn(scope).find(({ keys }) => keys.has(name));
  const meant = parent ? `${parent.name}.${name}` : closest(name, scope.names());
  return meant === null ? `; there are ${inCode(scope.names())}` : `, did you mean \`${meant}\`?`;
}

function sendsNoNames(scope: Scope): string {
  const facts = scope.facts();
  if (facts.length > 0) return `; your look-ups find ${inCode(facts)}`;
  return '; the service sends no names or addresses of candidates, only `event.candidateId` and, not always, `event.candidateNumericalId`; `lookups` can ask its API for them';
}

function keyHint(parent: string, key: string, keys: readonly string[], scope: Scope): string {
  if (parent === 'event' && /name|mail|phone/i.test(key)) return sendsNoNames(scope);
  const meant = closest(key, keys);
  if (meant !== null) return `, did you mean \`${parent}.${meant}\`?`;
  if (parent === 'event')
    return `; other fields that the service sends are in \`event.raw\`, such as \`event.raw.${key}\``;
  if (parent === 'test') return `; no entry of the catalog has \`${key}\``;
  return `; \`${parent}\` has ${inCode(keys)}`;
}

const inCode = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
