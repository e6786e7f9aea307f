import type { Audience } from '../connector.ts';
import { type Facts, noFacts } from '../model.ts';
import { sampleEvent } from '../templates/data.ts';
import { firstOnes, lazily } from '../support/text.ts';
import { Audiences } from './audiences.ts';
import { type Cells, cellsOf, reachedIn } from './cells.ts';
import { type PatternResults, wordOf } from './conditions.ts';
import type { Field, ConditionInput } from './fields.ts';
import type { Action, Ask, Cell, Plan, ReachableRule, Rest } from './plan.ts';
import { casesOf } from './policies/cases.ts';

/** Who hears of the events of a cell by the rules, before any event has come. */
export interface Route {
  readonly cell: Cell;
  readonly heardBy: readonly RoutedAction[];
  /** Whether nobody hears of any. */
  readonly nobody: boolean;
  /** Whether somebody hears of some, and nobody of others. */
  readonly otherwiseNobody: boolean;
  /** If nobody hears of events only where facts are missing: which ones, for people. Continues "if". Else null. */
  readonly nobodyIf: string | null;
  /** Messages that the same people get about the same event. */
  readonly twice: readonly Twice[];
  /**
   * The indexes of the rules that match an event of which nobody hears, though the config does not say that this is meant:
   * rules without actions, or none. Null if there is no such event.
   */
  readonly unheard: readonly number[] | null;
  /** The indexes of the rules that apply to some of the events. */
  readonly reached: readonly number[];
  /** Rules that could apply, were it not for a final one before them that always does. */
  readonly taken: { readonly by: number; readonly rules: readonly number[] } | null;
}

/** One action that follows from events of a cell. */
export interface RoutedAction {
  readonly action: Action;
  /** The condition under which it follows; null: from all of them. */
  readonly rest: Condition | null;
  /** Who gets it; made when first asked for. */
  readonly audience: () => Audience;
}

type Condition = Pick<Rest, 'holds' | 'words'>;

interface Twice {
  readonly first: Action;
  readonly second: Action;
  readonly place: string;
}

export function* routesOf(plan: Plan): Generator<Route> {
  const { cells, known, others } = cellsOf(plan);
  const audiences = new Audiences(plan);
  for (const cell of cells) yield routeOf(plan, cell, { known, others, audiences });
}

interface RouteContext extends Pick<Cells, 'known' | 'others'> {
  readonly audiences: Audiences;
}

function routeOf(plan: Plan, cell: Cell, { known, others, audiences }: RouteContext): Route {
  const { possible, reached, end } = reachedIn(plan, cell);
  const heardBy = heardOf(plan, cell, reached, audiences);
  const cases = samplesOf(cell, reached, known, others).map(({ event, missing }) => ({
    event,
    missing,
    heard: heardBy.filter(({ rest }) => rest === null || rest.holds(event) === true),
  }));
  const silent = cases.filter(({ heard }) => heard.length === 0);
  const pairs = cases.flatMap(({ heard }) => pairsOf(heard));
  const idOf = ({ first, second, place }: Twice): string =>
    JSON.stringify([first.rule, first.action, second.rule, second.action, place]);
  return {
    cell,
    heardBy,
    nobody: heardBy.length === 0,
    otherwiseNobody: heardBy.length > 0 && silent.length > 0,
    nobodyIf: heardBy.length > 0 ? missingIn(silent.map(({ missing }) => missing)) : null,
    twice: [...new Map(pairs.map((pair) => [idOf(pair), pair])).values()],
    unheard: silent.map(({ event }) => unheardOf(plan, reached, event)).find((one) => one !== null) ?? null,
    reached: reached.map(({ rule }) => rule),
    taken:
      end === -1 ? null : { by: possible[end]!.rule, rules: possible.slice(end + 1).map(({ rule }) => rule) },
  };
}

function heardOf(
  plan: Plan,
  cell: Cell,
  reached: readonly ReachableRule[],
  audiences: Audiences,
): RoutedAction[] {
  const heard = (actions: readonly Action[], rest: Condition | null): RoutedAction[] =>
    actions.map((action) => ({
      action,
      rest,
      audience: lazily(() => audiences.of(action, cell).audience),
    }));
  const ofRules = reached.flatMap(({ rule, rest }, at) => {
    const before = reached.slice(0, at).filter(({ final }) => final);
    return heard(plan.then[rule] ?? [], unless(plan, rest, before));
  });
  if (reached.some(({ rest }) => rest === null)) return ofRules;
  return [...ofRules, ...heard(plan.unmatched, unless(plan, null, reached))];
}

const mostNamed = 3;

/** The condition that `rest` holds and that none of the rules applies, each of which has a condition. */
function unless(
  { rules: { names } }: Plan,
  rest: Condition | null,
  rules: readonly ReachableRule[],
): Condition | null {
  if (rules.length === 0) return rest;
  const named = rules.map(({ rule }) => `"${names[rule]}"`);
  const list = firstOnes(named, mostNamed).join(', ');
  const words = rules.length === 1 ? `rule ${list} does not apply` : `none of the rules ${list} applies`;
  const rests = rules.flatMap((one) => one.rest ?? []);
  return {
    holds: (subject) =>
      (rest === null || rest.holds(subject) === true) && !rests.some((one) => one.holds(subject) === true),
    words: rest === null ? words : `${rest.words} and ${words}`,
  };
}

const sample = sampleEvent({}, 0);

const mostValues = 8;
/** A candidate id that few patterns match. */
const fewMatch = '-';

/** How many combinations of facts are tried. Of more, so many that are spread over all. */
const mostFacts = 500;
/** Coprime to the numbers of values that facts have, so that each value is among those that are tried. */
const stride = 7919;
/** Of more patterns on a field, not all combinations are tried. */
const mostPatterns = 3;

/** Facts, and which of them are missing. */
interface FactsCase {
  readonly facts: Facts;
  /** `unknown` or `absent`, by the name of the fact. */
  readonly missing: ReadonlyMap<string, string>;
}

/** Combinations of facts that conditions tell apart. First that of which nothing is known. */
function factsOf(asks: readonly Ask[]): readonly FactsCase[] {
  const asked = Map.groupBy(
    asks.filter(({ field }) => field.fact),
    ({ field }) => field.name,
  );
  let cases: readonly FactsCase[] = [{ facts: noFacts, missing: new Map() }];
  for (const [name, same] of asked) {
    const { field } = same[0]!;
    const values = valuesOf(field, same);
    cases = spread(
      cases.flatMap(({ facts, missing }) =>
        values.map((value) => ({
          facts: value === undefined ? facts : having(facts, field, value),
          missing: new Map([...missing, ...missed(name, value)]),
        })),
      ),
    );
  }
  return cases;
}

type Fact = string | number | boolean | null;

const missed = (name: string, value: Fact | undefined): [string, string][] =>
  value === undefined ? [[name, 'unknown']] : value === null ? [[name, 'absent']] : [];

/** Values of a fact, one of each kind that conditions tell apart; undefined where it is unknown. */
function valuesOf(field: Field, asks: readonly Ask[]): (Fact | undefined)[] {
  const patterns = [...new Set(asks.flatMap((ask) => ask.patterns))];
  const results = resultsOf(patterns);
  const values = casesOf(field, asks, new Set()).flatMap((one) =>
    (one.isOpen ? results : [new Map<string, boolean>()]).flatMap((found) => one.real(found) ?? []),
  );
  return [...new Set(values.map(({ value }) => value as Fact | undefined))];
}

/** Results that patterns can have: all combinations, or of many patterns that none, one or all are found. */
function resultsOf(patterns: readonly string[]): PatternResults[] {
  const few = patterns.length <= mostPatterns;
  const sets = few
    ? Array.from({ length: 2 ** patterns.length }, (_, bits) =>
        patterns.filter((_one, at) => bits & (1 << at)),
      )
    : [[], ...patterns.map((one) => [one]), patterns];
  return sets.map((found) => new Map(patterns.map((one) => [one, found.includes(one)])));
}

/** At most so many of all as are tried. */
function spread<T>(all: readonly T[]): readonly T[] {
  if (all.length <= mostFacts) return all;
  return Array.from({ length: mostFacts }, (_, at) => all[(at * stride) % all.length]!);
}

function having(facts: Facts, { fact }: Field, value: Fact): Facts {
  const { lookup, key } = fact!;
  const fields = { ...facts[lookup]?.fields, [key]: value };
  return { ...facts, [lookup]: { state: 'answered', at: 0, reason: null, fields } };
}

/** The missing facts because of which nobody hears, for people; null if there are other reasons, too. */
function missingIn(silent: readonly FactsCase['missing'][]): string | null {
  if (silent.length === 0 || silent.some(({ size }) => size === 0)) return null;
  const fewest = Math.min(...silent.map(({ size }) => size));
  const words = silent
    .filter(({ size }) => size === fewest)
    .map((missing) => Array.from(missing, ([name, state]) => `${name} is ${state}`).join(' and '));
  return firstOnes([...new Set(words)].toSorted().toReversed(), mostNamed).join(', or ');
}

/** Sample events of a cell, one of each kind that the rules' conditions tell apart. */
function samplesOf(
  { status, testId, test }: Cell,
  reached: readonly ReachableRule[],
  known: ReadonlySet<number>,
  others: readonly number[],
): { readonly event: ConditionInput; readonly missing: FactsCase['missing'] }[] {
  const asks = reached.flatMap(({ rest }) => rest?.asks ?? []);
  const values = asks.flatMap(({ field, named, bounds, patterns }) =>
    [...named, ...bounds, ...patterns.map(wordOf)].map((value) => ({ field, value })),
  );
  const of = (isIt: (field: Field) => boolean) =>
    values.flatMap(({ field, value }) => (isIt(field) ? [value] : []));
  /** The values of a field and their neighbours. */
  const around = (isIt: (field: Field) => boolean) =>
    of(isIt)
      .map(Number)
      .flatMap((number) => [number, number + 1, number - 1])
      .filter(Number.isSafeInteger);
  const texts = of(({ name }) => name === 'candidateId').filter((value) => typeof value === 'string');
  const few = <T>(list: readonly T[]) => [...new Set(list)].slice(0, mostValues);
  const isAsked = (name: string) => asks.some(({ field }) => field.name === name);
  const candidates = isAsked('candidateId')
    ? [sample.candidateId, fewMatch, texts.join(''), texts.toReversed().join(''), ...texts]
    : [sample.candidateId];
  const numbers = isAsked('candidateNumericalId')
    ? [null, sample.testId, ...around(({ name }) => name === 'candidateNumericalId')]
    : [null];
  const facts = factsOf(asks);
  const unknown = [...others, ...around((field) => field.of === 'testId').filter((id) => !known.has(id))];
  const ids = testId === null ? few(unknown) : [testId];
  return few(candidates.filter((text) => text !== '')).flatMap((candidateId) =>
    few(numbers).flatMap((candidateNumericalId) =>
      ids.flatMap((id) =>
        facts.map((one) => ({
          event: {
            event: { candidateId, candidateNumericalId, testId: id, status },
            test: { ...test, id },
            facts: one.facts,
          },
          missing: one.missing,
        })),
      ),
    ),
  );
}

/** The indexes of the rules that match an event of which nobody hears; null if that is meant. */
function unheardOf(
  { silent }: Plan,
  reached: readonly ReachableRule[],
  event: ConditionInput,
): readonly number[] | null {
  const rules: number[] = [];
  for (const { rule, final, rest } of reached) {
    if (rest !== null && rest.holds(event) !== true) continue;
    rules.push(rule);
    if (final) break;
  }
  const isMeant = rules.length === 0 ? silent.unmatched : rules.some((rule) => silent.rules.has(rule));
  return isMeant ? null : rules;
}

/** More messages than anybody means to send about one event. */
const mostCompared = 200;

/** Pairs of actions that send the same people the same kind of message. */
function pairsOf(heard: readonly RoutedAction[]): Twice[] {
  const bySink = Map.groupBy(
    heard.slice(0, mostCompared),
    ({ action: { sink, digest } }) => `${sink} ${JSON.stringify(digest?.windows)}`,
  );
  return [...bySink.values()].flatMap((several) => {
    if (several.length === 1) return [];
    const firsts = new Map<string, Action>();
    return several.flatMap(({ action: second, audience }) => {
      const { place, members } = audience();
      return members.flatMap((member) => {
        const first = firsts.getOrInsert(member, second);
        return first === second ? [] : [{ first, second, place: members.length === 1 ? place : member }];
      });
    });
  });
}
