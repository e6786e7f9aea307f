import { statuses } from '../model.ts';
import { closest } from '../suggest.ts';
import type { IsStrict } from './engine.ts';

/** What is known of a value before any event comes. */
export type Shape =
  | { readonly kind: 'map'; readonly keys: ReadonlyMap<string, Shape> }
  | { readonly kind: 'list'; readonly entry: Shape }
  | { readonly kind: 'text' | 'number' | 'any' };

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

/** What `forloop` and `tablerowloop` have, inside of their tags. */
export const loopShapes: { readonly [name: string]: Shape } = {
  forloop: map(loopKeys),
  tablerowloop: map({ ...loopKeys, row: number, col: number, col0: number, col_first: any, col_last: any }),
};

/** One step of a path: a name, a place in a list, or null where it is known only when an event comes. */
export type Step = string | number | null;

/** What a step leads to, or null if there is no such thing. */
export function stepInto(shape: Shape, step: Step): Shape | null {
  if (shape.kind === 'any' || step === null) return any;
  if (step === 'size' && shape.kind !== 'number')
    return (shape.kind === 'map' && shape.keys.get('size')) || number;
  if (shape.kind === 'map') return shape.keys.get(String(step)) ?? null;
  if (shape.kind !== 'list') return null;
  return step === 'first' || step === 'last' || /^-?\d+$/.test(String(step)) ? shape.entry : null;
}

/** What a loop over a value gives: the entries of a list, pairs of an object, a text itself. */
export function entryOf(shape: Shape): Shape {
  if (shape.kind === 'list') return shape.entry;
  return shape.kind === 'text' ? text : any;
}

/** What is known of a value: what it is, and whether it comes with the event, so perhaps from a stranger. */
export interface Known {
  readonly shape: Shape;
  readonly hostile: boolean;
  /** It stands in `event.raw`, where anything may be missing. */
  readonly sent: boolean;
}

export const neverStrict: IsStrict = () => false;

/** What people elsewhere wrote is in these; a notice quotes what tools answered. */
const fromOutside: ReadonlySet<string> = new Set(['event', 'events', 'notice']);

export const unknown: Known = { shape: any, hostile: false, sent: false };

/** The names that a template can use at one place. Those of a loop end with it; assigned ones stay. */
export class Scope {
  readonly #roots: ReadonlyMap<string, Shape>;
  readonly #assigned = new Map<string, Known>();
  readonly #loops: Map<string, Known>[] = [];
  readonly #sent = new Set<string>();
  /** Names of values that have a `raw` of the sender's. */
  readonly #events = new Set(['event', 'events']);

  #readsRaw = false;

  constructor(roots: ReadonlyMap<string, Shape>) {
    this.#roots = roots;
  }

  find(name: string): Known | null {
    for (const loop of this.#loops.toReversed()) {
      const known = loop.get(name);
      if (known) return known;
    }
    return this.#assigned.get(name) ?? this.#root(name);
  }

  #root(name: string): Known | null {
    const shape = this.#roots.get(name);
    return shape ? { shape, hostile: fromOutside.has(name), sent: false } : null;
  }

  names(): string[] {
    return [
      ...this.#roots.keys(),
      ...this.#assigned.keys(),
      ...this.#loops.flatMap((loop) => [...loop.keys()]),
    ];
  }

  assign(name: string, known: Known): void {
    this.#assigned.set(name, known);
    this.#note(name, known);
  }

  within(loop: Map<string, Known>, visit: () => void): void {
    for (const [name, known] of loop) this.#note(name, known);
    this.#loops.push(loop);
    visit();
    this.#loops.pop();
  }

  noteRaw(): void {
    this.#readsRaw = true;
  }

  #note(name: string, { sent, hostile }: Known): void {
    if (sent) this.#sent.add(name);
    if (hostile) this.#events.add(name);
  }

  /** For a whole template that was seen. Most read nothing that may be missing, and share one answer. */
  isStrict(): IsStrict {
    if (!this.#readsRaw) return neverStrict;
    const sent = new Set<unknown>(this.#sent);
    const events = new Set<unknown>(this.#events);
    return ([root, ...rest]) =>
      rest.length > 0 && (sent.has(root) || (rest.includes('raw') && events.has(root)));
  }
}

/**
 * Says of a path which step leads nowhere, and what was probably meant. `within` is what is known of the value before
 * that step, null where the first name itself is unknown.
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
    return `\`${parent}\` is a list without \`${step}\`; go through it with \`{% for entry in ${parent} %}\``;
  if (within.kind !== 'map') return `\`${parent}\` is a ${within.kind} and has no \`${step}\``;
  return `unknown variable \`${name}\`${keyHint(parent, step, [...within.keys.keys()])}`;
}

const ofDigests = '; it is there only in actions with `digest`, in what they say and not in where that goes';

function rootHint(name: string, scope: Scope): string {
  if ((statuses as readonly string[]).includes(name)) return `; a text needs quotes: \`"${name}"\``;
  if (name === 'events' && !scope.names().includes('notice')) return ofDigests;
  if (name === 'notice') return '; it is there in the actions of alerts';
  if (name === 'forloop') return '; it is there inside of `for`';
  const inside = scope.names().find((root) => {
    const shape = scope.find(root)?.shape;
    return shape?.kind === 'map' && shape.keys.has(name);
  });
  const meant = inside === undefined ? closest(name, scope.names()) : `${inside}.${name}`;
  return meant === null ? `; there are ${list(scope.names())}` : `, did you mean \`${meant}\`?`;
}

function keyHint(parent: string, key: string, known: readonly string[]): string {
  const meant = closest(key, known);
  if (meant !== null) return `, did you mean \`${parent}.${meant}\`?`;
  if (parent === 'event')
    return `; what else the service sends is in \`event.raw\`, such as \`event.raw.${key}\``;
  if (parent === 'test') return `; no entry of the catalog has \`${key}\``;
  return `; \`${parent}\` has ${list(known)}`;
}

const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

function nameOf(path: readonly Step[]): string {
  return path.map((step, index) => stepText(step, index)).join('');
}

function stepText(step: Step, index: number): string {
  if (step === null) return '[…]';
  if (typeof step === 'number') return `[${step}]`;
  return index === 0 ? step : `.${step}`;
}
