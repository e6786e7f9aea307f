import { type Event, type Facts, type Json, type LookupFacts, noFacts } from '../../model.ts';
import { sampleEvent } from '../../templates/data.ts';
import type { Cells } from '../cells.ts';
import { lookedUpFor } from '../decide.ts';
import { variableOf } from '../fields.ts';
import type { Action, Ask, Cell, Known, Plan, Possible, Rest, Truth } from '../plan.ts';
import { type Case, casesOf } from './cases.ts';
import { excludeEachOther } from './patterns.ts';
import { type Example, judged, type Policy, sampleTime } from './policy.ts';

/** A message that may be one of those in question. */
export interface Hit {
  readonly action: Action;
  /** The rule's place in what is reached, or Infinity: it follows if no rule matches. */
  readonly at: number;
  /** Null: it may go to another place. */
  readonly is: true | null;
}

/** Where conditions stand after some of what they ask is known. */
type Given = Truth | Rest;
export const isOpen = (given: Given): given is Rest => typeof given === 'object' && given !== null;

/** What one event costs that the rules are asked about. */
const stepsOfEvent = 50;

interface Ears {
  /** False where it is over. */
  step(count: number): boolean;
  broken(example: Example): void;
  unclear(why: string): void;
}

/** Looks in one cell for an event of which too many of the messages follow, or none. */
export class Goal {
  readonly #plan: Plan;
  readonly #policy: Policy;
  readonly #cell: Cell;
  readonly #hits: readonly Hit[];
  readonly #cells: Cells;
  /** The rules that decide it: those of the messages, and final ones before; all of them where none may match. */
  readonly #rules: readonly (Possible & { readonly at: number; readonly hits: readonly Hit[] })[];
  readonly #ifNone: readonly Hit[];
  readonly #cases = new Map<string, readonly Case[] | null>();
  #asks: Map<string, Ask[]> | null = null;

  constructor(
    plan: Plan,
    policy: Policy,
    cell: Cell,
    reached: readonly Possible[],
    hits: readonly Hit[],
    cells: Cells,
  ) {
    this.#plan = plan;
    this.#policy = policy;
    this.#cell = cell;
    this.#hits = hits;
    this.#cells = cells;
    const byRule = Map.groupBy(hits, ({ at }) => at);
    const last = Math.max(-1, ...byRule.keys());
    this.#ifNone = byRule.get(Infinity) ?? [];
    this.#rules = reached.flatMap((one, at) => {
      const own = byRule.get(at) ?? [];
      const counts = own.length > 0 || (one.final && at < last) || last === Infinity;
      return counts ? [{ ...one, at, hits: own }] : [];
    });
  }

  search(ears: Ears): void {
    const rules = this.#rules.map(({ rest }) => rest ?? true);
    if (this.#isBroken(rules) !== false)
      this.#explore(new Map(), this.#policy.when.given(this.#cell), rules, ears);
  }

  /** `when`, `before`: where the conditions stand by what was known before. */
  #explore(known: ReadonlyMap<string, Known>, when: Given, before: readonly Given[], ears: Ears): void {
    const cell = { ...this.#cell, known };
    const now = (given: Given): Given => (isOpen(given) ? given.given(cell) : given);
    const met = now(when);
    if (met === false || met === null || !ears.step(1)) return;
    // Most of what does not meet `when` is never looked at.
    const rules = met === true ? before.map(now) : before;
    const verdict = met === true ? this.#isBroken(rules) : null;
    if (verdict === false || !ears.step(rules.length)) return;
    const next = met === true ? (verdict === null ? this.#mostTelling(rules) : null) : met;
    if (next === null) this.#ask(cell, known, rules, ears);
    else for (const more of this.#refined(next, cell, known, ears)) this.#explore(more, met, rules, ears);
  }

  /** Whether the policy is broken; null where that depends on more. */
  #isBroken(rules: readonly Given[]): Truth {
    let [sure, possible] = [0, 0];
    /** Whether rules are looked at, and whether none has matched. */
    let [looked, none]: [Truth, Truth] = [true, true];
    const count = (hits: readonly Hit[], follows: Truth): void => {
      if (follows === false) return;
      possible += hits.length;
      if (follows) for (const { is } of hits) sure += Number(is === true);
    };
    for (const [index, { hits, final }] of this.#rules.entries()) {
      const given = rules[index]!;
      const matches: Truth = isOpen(given) ? null : (given ?? false);
      const here = both(looked, matches);
      count(hits, here);
      none = both(none, opposite(matches));
      if (final) looked = both(looked, opposite(matches));
      if (looked === false) break;
    }
    count(this.#ifNone, none);
    const { wants, most } = this.#policy;
    if (wants === 'always') return sure > 0 ? false : possible > 0 ? null : true;
    return possible <= most ? false : sure > most ? true : null;
  }

  /** A condition that is still open: of a rule that has the messages, before those of others. */
  #mostTelling(rules: readonly Given[]): Rest | null {
    const of = (isOwn: boolean) =>
      rules.find((given, index) => isOpen(given) && this.#rules[index]!.hits.length > 0 === isOwn);
    return (of(true) ?? of(false) ?? null) as Rest | null;
  }

  /** What may be known besides, of something that a condition asks: all cases together. */
  *#refined(
    rest: Rest,
    cell: Cell,
    known: ReadonlyMap<string, Known>,
    ears: Ears,
  ): Generator<ReadonlyMap<string, Known>> {
    const { field, patterns } = rest.asks.find((ask) => isUndecided(ask, known))!;
    const variable = variableOf(field);
    const now = known.get(variable);
    const having = (one: Known) => new Map(known).set(variable, one);
    if (now) {
      const pattern = patterns.find((one) => now.found?.has(one) === false)!;
      for (const is of [true, false]) {
        const found = new Map(now.found).set(pattern, is);
        if (!excludeEachOther(found)) yield having({ ...now, found });
      }
      return;
    }
    if (field.fact) {
      // What nothing else uses is not looked up: if the policy holds whatever it is, it holds.
      const made = this.#plan.lookups.get(field.fact.lookup)?.given(cell) ?? true;
      if (isOpen(made)) yield* this.#refined(made, cell, known, ears);
      else if (!made) yield having({ value: undefined });
      if (made !== true) return;
    }
    const cases = this.#casesOf(variable);
    if (cases === null) ears.unclear(`the values of ${field.name} lie too close together`);
    for (const one of cases ?? [])
      yield having({ value: one.value, ...(one.isOpen && { found: new Map() }) });
  }

  #casesOf(variable: string): readonly Case[] | null {
    const asks = (this.#asks ??= this.#allAsks());
    return this.#cases.getOrInsertComputed(variable, () => {
      const own = asks.get(variable) ?? [];
      return casesOf(own[0]!.field, own, this.#cells.known);
    });
  }

  /** All that is asked of each variable, before anything is known. */
  #allAsks(): Map<string, Ask[]> {
    const given = [
      this.#policy.when.given(this.#cell),
      ...this.#rules.map(({ rest }) => rest),
      ...Array.from(this.#plan.lookups.values(), (lookup) => lookup.given(this.#cell)),
    ];
    return Map.groupBy(
      given.flatMap((one) => (one !== null && isOpen(one) ? one.asks : [])),
      ({ field }) => variableOf(field),
    );
  }

  /** Asks the rules about an event of this kind. */
  #ask(cell: Cell, known: ReadonlyMap<string, Known>, rules: readonly Given[], ears: Ears): void {
    if (!ears.step(stepsOfEvent + this.#plan.rules.names.length / 10)) return;
    const made = this.#make(cell, known);
    const example = made && judged(this.#plan, this.#policy, made.event, made.facts);
    if (example) return ears.broken(example);
    ears.unclear(this.#whyUnclear(rules));
  }

  #whyUnclear(rules: readonly Given[]): string {
    const unsure = this.#hits.find(({ is, at }) => {
      const index = this.#rules.findIndex((rule) => rule.at === at);
      return is === null && rules[index] !== false;
    });
    if (unsure) return `only an event shows where rule "${unsure.action.rule}" sends it to`;
    const missing = this.#policy.lookups.find((name) => !this.#plan.lookups.has(name));
    if (missing !== undefined)
      return `no rule and no message uses the facts of "${missing}", so they are not looked up`;
    return 'no event was found that meets some of the patterns and not others, and none could be ruled out';
  }

  /** Null where no event of this kind was found. */
  #make(cell: Cell, known: ReadonlyMap<string, Known>): { event: Event; facts: Facts } | null {
    const values = new Map<string, Json | undefined>();
    for (const [variable, { value, found = new Map() }] of known) {
      const all = this.#cases.get(variable) ?? [];
      const one = all.find((other) => other.value === value);
      const real = one ? one.real(found) : { value };
      if (!real) return null;
      values.set(variable, real.value);
    }
    const testId = cell.testId ?? (values.get('testId') as number | undefined) ?? this.#cells.others[0]!;
    const candidateId = values.get('candidateId') as string | undefined;
    const candidateNumericalId = (values.get('candidateNumericalId') ?? null) as number | null;
    const given = { status: cell.status, testId, candidateNumericalId, ...(candidateId && { candidateId }) };
    const event = sampleEvent(given, sampleTime);
    const facts = factsWith(values, this.#plan);
    return facts && { event, facts: lookedUpFor(this.#plan, event, facts) };
  }
}

const both = (a: Truth, b: Truth): Truth => (a === false || b === false ? false : a === null ? null : b);
const opposite = (a: Truth): Truth => (a === null ? null : !a);

function isUndecided({ field, patterns }: Ask, known: ReadonlyMap<string, Known>): boolean {
  const now = known.get(variableOf(field));
  return !now || (now.found !== undefined && patterns.some((pattern) => !now.found!.has(pattern)));
}

/** Facts with these values; null where no answer has all of them, as two are at the same place in it. */
function factsWith(values: ReadonlyMap<string, Json | undefined>, { lookups }: Plan): Facts | null {
  if (lookups.size === 0) return noFacts;
  const facts: { [lookup: string]: LookupFacts } = {};
  for (const [name, { fields }] of lookups) {
    const said = Array.from(fields.keys(), (key) => [key, values.get(`${name}.${key}`)] as const).filter(
      ([, value]) => value !== undefined,
    );
    const byPlace = Map.groupBy(said, ([key]) => fields.get(key)!.at);
    for (const same of byPlace.values()) if (new Set(same.map(([, value]) => value)).size > 1) return null;
    const state = said.length === 0 ? 'unknown' : 'answered';
    const found = Object.fromEntries(said) as LookupFacts['fields'];
    facts[name] = { state, at: sampleTime, reason: null, fields: found };
  }
  return facts;
}
