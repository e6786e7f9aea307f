import type { Place } from '../../connector.ts';
import type { Audiences } from '../audiences.ts';
import { actionsOf } from '../cells.ts';
import type { Action, Cell, Plan, ReachableRule, Rest, Truth } from '../plan.ts';
import { isAmong, placesOf, type Policy } from './policy.ts';

/** A message that may go to the place in question. */
export interface Hit {
  readonly action: Action;
  /** The rule's index among the reached ones; Infinity for a message that follows if no rule matches. */
  readonly at: number;
  /** Whether it goes there; null: that depends on the event. */
  readonly is: true | null;
}

/** Messages of a cell that are counted together, and the conditions that decide which of them follow. */
export interface Crowd {
  readonly hits: readonly Hit[];
  /** The rules of the messages and the final ones before them; all rules if the messages of `unmatched` are among them. `rest`: an index into `rests`. */
  readonly rules: readonly {
    readonly final: boolean;
    readonly rest: number | null;
    readonly hits: readonly Hit[];
  }[];
  readonly ifNone: readonly Hit[];
  /** How many rules can match at all. */
  readonly reached: number;
  /** The open conditions of the rules, without repeats. */
  readonly rests: readonly Rest[];
  /** An id: crowds with the same one are decided alike, whatever their cells. */
  readonly id: string;
}

interface Message {
  readonly action: Action;
  readonly at: number;
  /** Where the message goes; null if the cell does not decide that. */
  readonly places: readonly Place[] | null;
}

/** The messages of a cell, put together once for all policies. */
export class Crowds {
  readonly #reached: readonly ReachableRule[];
  readonly #bySink: ReadonlyMap<string, readonly Message[]>;
  readonly #made = new Map<string, Crowd>();
  #ofSamePlace: readonly (readonly Hit[])[] | null = null;

  constructor(plan: Plan, cell: Cell, reached: readonly ReachableRule[], audiences: Audiences) {
    this.#reached = reached;
    const messages = actionsOf(plan, reached).map(({ action, at }): Message => {
      const { audience, isSure } = audiences.of(action, cell);
      return { action, at, places: isSure ? placesOf(audience) : null };
    });
    this.#bySink = Map.groupBy(messages, ({ action }) => action.sink);
  }

  /** The crowds to look at for a policy: messages that could break it together, or that could keep it. */
  of({ wants, most, target }: Policy): Crowd[] {
    if (target) {
      const crowd = this.#made.getOrInsertComputed(JSON.stringify(target), () =>
        this.#crowdOf(hitsAt(this.#bySink.get(target.sink) ?? [], target.place)),
      );
      return wants === 'always' || crowd.hits.length > 0 ? [crowd] : [];
    }
    this.#ofSamePlace ??= [...this.#bySink.values()].flatMap(crowdsOf);
    return this.#ofSamePlace.flatMap((hits, index) =>
      hits.length > most ? [this.#made.getOrInsertComputed(`${index}`, () => this.#crowdOf(hits))] : [],
    );
  }

  #crowdOf(hits: readonly Hit[]): Crowd {
    const byRule = Map.groupBy(hits, ({ at }) => at);
    const last = Math.max(-1, ...byRule.keys());
    const ifNone = byRule.get(Infinity) ?? [];
    const rests = new Map<string, { readonly rest: Rest; readonly place: number }>();
    const rules = this.#reached.flatMap(({ final, rest }, at) => {
      const own = byRule.get(at) ?? [];
      if (own.length === 0 && !(final && at < last) && last !== Infinity) return [];
      const known = rest && rests.getOrInsertComputed(rest.id, () => ({ rest, place: rests.size }));
      return [{ final, rest: known?.place ?? null, hits: own }];
    });
    const told = rules.map(({ final, rest, hits: own }) => `${rest}${final ? '!' : ''}${shapeOf(own)}`);
    return {
      hits,
      rules,
      ifNone,
      reached: this.#reached.length,
      rests: Array.from(rests.values(), ({ rest }) => rest),
      id: [...rests.keys(), ...told, shapeOf(ifNone)].join('\n'),
    };
  }
}

const shapeOf = (hits: readonly Hit[]): string => hits.map(({ is }) => (is ? '+' : '?')).join('');

const hitOf = ({ action, at }: Message, is: Truth): Hit[] => (is === false ? [] : [{ action, at, is }]);

const hitsAt = (messages: readonly Message[], place: Place | null): Hit[] =>
  messages.flatMap((one) => hitOf(one, place === null || (one.places && isAmong(place, one.places))));

/** Messages of one sink that may go to the same place. */
function crowdsOf(messages: readonly Message[]): Hit[][] {
  const unsure = messages.filter(({ places }) => places === null);
  const places = new Map<string, { readonly place: Place; readonly to: Set<Message> }>();
  const idsOf = new Map<string | undefined, Set<string | undefined>>();
  for (const message of messages)
    for (const place of message.places ?? []) {
      places
        .getOrInsertComputed(JSON.stringify(place), () => ({ place, to: new Set(unsure) }))
        .to.add(message);
      idsOf.getOrInsertComputed(place.kind, () => new Set()).add(place.by);
    }
  const crowds = Array.from(places.values(), ({ place, to }) =>
    // Places with the same kind of id need not be compared.
    hitsAt(idsOf.get(place.kind)!.size === 1 ? [...to] : messages, place),
  );
  return [...crowds, unsure.flatMap((one) => hitOf(one, null))];
}
