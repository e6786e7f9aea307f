import { type Event, type Facts, type Json, type LookupFacts, noFacts } from '../../model.ts';
import { sampleEvent } from '../../templates/data.ts';
import type { Cells } from '../cells.ts';
import { allHold, negated } from '../conditions.ts';
import { lookedUpFor } from '../decide.ts';
import { variableOf } from '../fields.ts';
import type { Ask, Cell, KnownValue, Plan, Rest, Truth } from '../plan.ts';
import { type Case, casesOf } from './cases.ts';
import type { Crowd, Hit } from './crowds.ts';
import { excludeEachOther } from './patterns.ts';
import { type Example, judged, type Policy, sampleTime } from './policy.ts';

/** The state of a condition after some of what it asks is known: decided, or the open rest. */
type Given = Truth | Rest;
export const isOpen = (given: Given): given is Rest => typeof given === 'object' && given !== null;

/** The steps that asking the rules about one event counts as. */
const stepsOfEvent = 50;
const stepsOfMessage = 20;
/** How many rules are counted in the time that one condition takes. */
const rulesOfStep = 50;

interface SearchReport {
  /** Counts steps. False when the search is over. */
  step(count: number): boolean;
  broken(example: Example): void;
  unclear(why: string): void;
}

/** What an open condition asks next, and all values of it: together, all events of the cell. */
interface Split {
  readonly variable: string;
  readonly values: readonly KnownValue[];
}

/** The states of conditions, and the indexes of those that may have changed. */
interface Standings {
  readonly given: Given[];
  readonly stale: Set<number>;
}

/** Where a goal is searched for. */
interface GoalContext {
  readonly plan: Plan;
  readonly cell: Cell;
  /** All cells of the plan. */
  readonly cells: Cells;
}

/** The search in one cell for an event that breaks a policy: from which too many messages of a crowd follow, or none. */
export class Goal {
  readonly #policy: Policy;
  readonly #crowd: Crowd;
  readonly #around: GoalContext;
  readonly #cases = new Map<string, readonly Case[]>();
  #asks: Map<string, Ask[]> | null = null;
  readonly #asking = new Map<string, AskIndex>();

  constructor(policy: Policy, crowd: Crowd, around: GoalContext) {
    this.#policy = policy;
    this.#crowd = crowd;
    this.#around = around;
  }

  search(report: SearchReport): void {
    const { rests } = this.#crowd;
    if (this.#isBroken(rests) !== false)
      this.#explore(new Map(), this.#policy.when.given(this.#around.cell), rests, report);
  }

  /** Tries all values of what is not known yet. `when`, `given`: the states of the policy's condition and of the rules' ones. */
  #explore(
    known: ReadonlyMap<string, KnownValue>,
    when: Given,
    given: readonly Given[],
    report: SearchReport,
  ): void {
    const verdict = when === true ? this.#isBroken(given) : null;
    if (verdict === false || !report.step(1 + this.#crowd.rules.length / rulesOfStep)) return;
    const cell = { ...this.#around.cell, known };
    const next = when === true ? (verdict === null ? this.#mostTelling(given) : null) : (when as Rest);
    if (next === null) return this.#ask(cell, known, given, report);
    const { variable, values } = this.#split(next, cell);
    let standing: Standings | undefined;
    for (const value of values) {
      const more = new Map(known).set(variable, value);
      const here = { ...cell, known: more };
      const now = (one: Given): Given => (isOpen(one) ? one.given(here) : one);
      const met = now(when);
      const changed = this.#changedBy(variable, value);
      for (const place of changed) standing?.stale.add(place);
      if (!report.step(1)) return;
      if (met === false || met === null) continue;
      // Most events that do not meet `when` are never looked at.
      if (met !== true) {
        this.#explore(more, met, given, report);
        continue;
      }
      // Few conditions tell neighbouring values apart.
      const last: Standings = standing ?? { given: [...given], stale: new Set(given.keys()) };
      for (const place of last.stale) last.given[place] = now(given[place]!);
      standing = { given: last.given, stale: new Set(changed) };
      if (!report.step(last.stale.size)) return;
      this.#explore(more, met, standing.given, report);
    }
  }

  /** Whether the policy is broken; null if that depends on more. */
  #isBroken(given: readonly Given[]): Truth {
    let [sure, possible] = [0, 0];
    /** Whether further rules are looked at, and whether none has matched so far. */
    let [looked, none]: [Truth, Truth] = [true, true];
    const count = (hits: readonly Hit[], follows: Truth): void => {
      if (follows === false) return;
      possible += hits.length;
      if (follows) for (const { is } of hits) sure += Number(is === true);
    };
    for (const { hits, final, rest } of this.#crowd.rules) {
      const matches = matchOf(rest, given);
      if (matches === false) continue;
      count(hits, allHold([looked, matches]));
      none = allHold([none, negated(matches)]);
      if (final) looked = allHold([looked, negated(matches)]);
      if (looked === false) break;
    }
    count(this.#crowd.ifNone, none);
    const { wants, most } = this.#policy;
    if (wants === 'always') return sure > 0 ? false : possible > 0 ? null : true;
    return possible <= most ? false : sure > most ? true : null;
  }

  /** The open condition to decide next: first those of rules with messages in question. */
  #mostTelling(given: readonly Given[]): Rest | null {
    const of = (isOwn: boolean): Rest | null => {
      for (const { rest, hits } of this.#crowd.rules) {
        const one = rest === null || hits.length > 0 !== isOwn ? true : given[rest]!;
        if (isOpen(one)) return one;
      }
      return null;
    };
    return of(true) ?? of(false);
  }

  /** Splits by something that a condition asks. */
  #split(rest: Rest, cell: Cell): Split {
    const known = cell.known!;
    const { field, patterns } = rest.asks.find((ask) => isUndecided(ask, known))!;
    const variable = variableOf(field);
    const now = known.get(variable);
    if (now) {
      const pattern = patterns.find((one) => now.found?.has(one) === false)!;
      const founds = [true, false].map((is) => new Map(now.found).set(pattern, is));
      const possible = founds.filter((found) => !excludeEachOther(found));
      return { variable, values: possible.map((found) => ({ value: now.value, found })) };
    }
    // A fact that nothing else uses is not looked up, but a policy that holds for all its values holds.
    const made = (field.fact && this.#around.plan.lookups.get(field.fact.lookup)?.given(cell)) ?? true;
    if (isOpen(made)) return this.#split(made, cell);
    if (!made) return { variable, values: [{ value: undefined }] };
    const values = this.#casesOf(variable).map((one): KnownValue =>
      one.isOpen ? { value: one.value, found: new Map() } : { value: one.value },
    );
    return { variable, values };
  }

  /** The indexes of conditions that may tell a value from its neighbours. */
  #changedBy(variable: string, { value }: KnownValue): readonly number[] {
    const { all, always, byValue } = this.#asking.getOrInsertComputed(variable, () =>
      askingOf(variable, this.#crowd.rests, this.#cases.get(variable) ?? []),
    );
    if (value === null || value === undefined) return all;
    const own = byValue.get(value) ?? [];
    return always.length === 0 ? own : [...always, ...own];
  }

  #casesOf(variable: string): readonly Case[] {
    const asks = (this.#asks ??= this.#allAsks());
    return this.#cases.getOrInsertComputed(variable, () => {
      const own = asks.get(variable) ?? [];
      return casesOf(own[0]!.field, own, this.#around.cells.known);
    });
  }

  /** All that conditions ask of each variable. */
  #allAsks(): Map<string, Ask[]> {
    const given = [
      this.#policy.when.given(this.#around.cell),
      ...this.#crowd.rests,
      ...Array.from(this.#around.plan.lookups.values(), (lookup) => lookup.given(this.#around.cell)),
    ];
    return Map.groupBy(
      given.flatMap((one) => (isOpen(one) ? one.asks : [])),
      ({ field }) => variableOf(field),
    );
  }

  /** Asks the rules about a real event with these values. */
  #ask(
    cell: Cell,
    known: ReadonlyMap<string, KnownValue>,
    given: readonly Given[],
    report: SearchReport,
  ): void {
    const { rules, ifNone, reached } = this.#crowd;
    const mayFollow = rules.flatMap(({ rest, hits }) => (matchOf(rest, given) === false ? [] : hits));
    const hits = [...mayFollow, ...ifNone];
    if (!report.step(stepsOfEvent + reached / 3 + hits.length * stepsOfMessage)) return;
    const made = this.#make(cell, known);
    const example = made && judged(this.#around.plan, this.#policy, made.event, made.facts);
    if (example) return report.broken(example);
    report.unclear(this.#whyUnclear(hits));
  }

  #whyUnclear(hits: readonly Hit[]): string {
    const unsure = hits.find(({ is }) => is === null);
    if (unsure) return `only an event shows where rule "${unsure.action.rule}" sends it to`;
    const missing = this.#policy.lookups.find((name) => !this.#around.plan.lookups.has(name));
    if (missing !== undefined)
      return `no rule and no message uses the facts of "${missing}", so they are not looked up`;
    return 'no event was found that meets some of the patterns and not others, and none could be ruled out';
  }

  /** Makes an event with these values; null if none was found. */
  #make(cell: Cell, known: ReadonlyMap<string, KnownValue>): { event: Event; facts: Facts } | null {
    const values = new Map<string, Json | undefined>();
    for (const [variable, { value, found = new Map() }] of known) {
      const all = this.#cases.get(variable) ?? [];
      const one = all.find((other) => other.value === value);
      const real = one ? one.real(found) : { value };
      if (!real) return null;
      values.set(variable, real.value);
    }
    const testId =
      cell.testId ?? (values.get('testId') as number | undefined) ?? this.#around.cells.others[0]!;
    const candidateId = values.get('candidateId') as string | undefined;
    const candidateNumericalId = (values.get('candidateNumericalId') ?? null) as number | null;
    const given = { status: cell.status, testId, candidateNumericalId, ...(candidateId && { candidateId }) };
    const event = sampleEvent(given, sampleTime);
    const facts = factsWith(values, this.#around.plan);
    return facts && { event, facts: lookedUpFor(this.#around.plan, event, facts) };
  }
}

/** The indexes of conditions that ask for a variable. */
interface AskIndex {
  readonly all: readonly number[];
  /** Those with a pattern, or with a bound that is no value of the variable. */
  readonly always: readonly number[];
  /** Those that compare it with a value, by the value. */
  readonly byValue: ReadonlyMap<Json, readonly number[]>;
}

function askingOf(variable: string, rests: readonly Rest[], cases: readonly Case[]): AskIndex {
  const values = new Set<Json | undefined>(cases.map(({ value }) => value));
  const [all, always] = [new Set<number>(), new Set<number>()];
  const byValue = new Map<Json, number[]>();
  for (const [place, { asks }] of rests.entries())
    for (const { field, named, bounds, patterns } of asks) {
      if (variableOf(field) !== variable) continue;
      all.add(place);
      if (patterns.length > 0 || !bounds.every((one) => values.has(one))) always.add(place);
      for (const value of [...named, ...bounds]) byValue.getOrInsertComputed(value, () => []).push(place);
    }
  return { all: [...all], always: [...always], byValue };
}

/** Whether a rule matches, by the state of its condition. */
function matchOf(rest: number | null, given: readonly Given[]): Truth {
  const one = rest === null ? true : given[rest]!;
  return isOpen(one) ? null : (one ?? false);
}

function isUndecided({ field, patterns }: Ask, known: ReadonlyMap<string, KnownValue>): boolean {
  const now = known.get(variableOf(field));
  return !now || (now.found !== undefined && patterns.some((pattern) => !now.found!.has(pattern)));
}

/** Facts with these values; null if no answer has them all, as two fields at the same place differ. */
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
