import type { IsStrict } from './engine.ts';
import { any } from './shapes.ts';
import type { Shape } from './shapes.ts';

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
