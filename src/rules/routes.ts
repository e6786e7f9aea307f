import type { Audience } from '../connector.ts';
import { statuses } from '../model.ts';
import { eventData, sampleEvent, type TemplateData } from '../templates/data.ts';
import type { Subject } from './fields.ts';
import type { Action, Cell, Plan, Possible, Rest } from './plan.ts';

/** Who hears of the events of a cell, as the rules say it before any event has come. */
export interface Route {
  readonly cell: Cell;
  readonly heardBy: readonly Heard[];
  /** True if nobody hears of any. */
  readonly nobody: boolean;
  /** True if somebody hears of some, and nobody of others. */
  readonly otherwiseNobody: boolean;
  /** Messages that the same people get about the same event. */
  readonly twice: readonly Twice[];
  /** Of some events nobody hears, and the config does not say that this is meant. */
  readonly unheard: Unheard | null;
  /** The rules that apply to some of the events, as indexes. */
  readonly reached: readonly number[];
  /** Rules that could apply, but a final one before them always does. */
  readonly taken: { readonly by: number; readonly rules: readonly number[] } | null;
}

/** One action that follows from events of a cell. */
export interface Heard {
  readonly action: Action;
  /** null: it follows from all of them. */
  readonly rest: Rest | null;
  /** Made when it is asked for, and once. */
  readonly audience: () => Audience;
}

export interface Twice {
  readonly first: Action;
  readonly second: Action;
  readonly place: string;
}

/** The rules that match, but have no actions. If there are none, no rule matches. */
export interface Unheard {
  readonly rules: readonly number[];
}

/** The routes of all cells: those of each test of the catalog, of each that a condition names, and of any other. */
export function* routesOf(plan: Plan): Generator<Route> {
  const known = new Set([...plan.testIds, ...plan.rules.namedTests]);
  const tests: Tests = { known, other: unusedId(known) };
  for (const testId of [...known, null])
    for (const status of statuses)
      yield routeOf(plan, { status, testId, test: plan.test(testId ?? tests.other) }, tests);
}

interface Tests {
  readonly known: ReadonlySet<number>;
  /** The id of a test that is not known. */
  readonly other: number;
}

function unusedId(known: ReadonlySet<number>, from = 1, step = 1): number {
  let testId = from;
  while (known.has(testId)) testId += step;
  return testId;
}

function routeOf(plan: Plan, cell: Cell, tests: Tests): Route {
  const possible = plan.rules.possible(cell);
  const end = possible.findIndex(({ final, rest }) => final && rest === null);
  const reached = end === -1 ? possible : possible.slice(0, end + 1);
  const heardBy = heardOf(plan, cell, reached);
  const cases = samplesOf(cell, reached, tests).map((sample) => ({
    sample,
    heard: heardBy.filter(({ rest }) => rest === null || rest.holds(sample)),
  }));
  const silent = cases.filter(({ heard }) => heard.length === 0);
  const pairs = cases.flatMap(({ heard }) => pairsOf(heard));
  return {
    cell,
    heardBy,
    nobody: heardBy.length === 0,
    otherwiseNobody: heardBy.length > 0 && silent.length > 0,
    twice: [...new Map(pairs.map((pair) => [keyOf(pair), pair])).values()],
    unheard: silent.map(({ sample }) => unheardOf(plan, reached, sample)).find((one) => one !== null) ?? null,
    reached: reached.map(({ rule }) => rule),
    taken:
      end === -1 ? null : { by: possible[end]!.rule, rules: possible.slice(end + 1).map(({ rule }) => rule) },
  };
}

function heardOf(plan: Plan, cell: Cell, reached: readonly Possible[]): Heard[] {
  const heard = (actions: readonly Action[], rest: Rest | null): Heard[] =>
    actions.map((action) => {
      let audience: Audience | undefined;
      return { action, rest, audience: () => (audience ??= audienceOf(action, cell)) };
    });
  const ofRules = reached.flatMap(({ rule, rest }, at) => {
    const before = reached.slice(0, at).filter(({ final }) => final);
    return heard(plan.then[rule] ?? [], unless(plan, rest, before));
  });
  if (reached.some(({ rest }) => rest === null)) return ofRules;
  return [...ofRules, ...heard(plan.unmatched, unless(plan, null, reached))];
}

const mostNamed = 3;

/** The condition `rest`, and that none of the rules applies; none of them is without a condition. */
function unless({ rules: { names } }: Plan, rest: Rest | null, rules: readonly Possible[]): Rest | null {
  if (rules.length === 0) return rest;
  const shown = rules.slice(0, mostNamed).map(({ rule }) => `"${names[rule]}"`);
  const more = rules.length - shown.length;
  const list = [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  const words = `${rules.length === 1 ? 'rule' : 'none of the rules'} ${list} ${rules.length === 1 ? 'does not apply' : 'applies'}`;
  const rests = rules.flatMap((one) => one.rest ?? []);
  return {
    holds: (subject) => rest?.holds(subject) !== false && !rests.some((one) => one.holds(subject)),
    words: rest === null ? words : `${rest.words} and ${words}`,
    values: [],
  };
}

/** Who gets an action's message. If that depends on more than the cell, as the config has it. */
function audienceOf(action: Action, cell: Cell): Audience {
  const { data, isEnough } = templateDataOf(action, cell);
  const rendered = action.audience(data);
  return (isEnough() ? rendered : null) ?? action.audience(null) ?? { place: '', members: [] };
}

const sample = sampleEvent({}, 0);
const sampleData = eventData(sample);

/** The data of an event of a cell. `isEnough` says afterwards whether only what the cell has was read. */
function templateDataOf({ rule }: Action, { status, testId, test }: Cell) {
  let isEnough = true;
  const unknown = (value: unknown) => ({
    enumerable: true,
    get() {
      isEnough = false;
      return value;
    },
  });
  const event = { ...sampleData, status };
  for (const key of Object.keys(event) as (keyof typeof event)[])
    if (key !== 'status' && key !== 'testId') Object.defineProperty(event, key, unknown(event[key]));
  const entry = { ...test };
  if (testId === null) Object.defineProperty(event, 'testId', unknown(sample.testId));
  else Object.assign(event, { testId });
  if (testId === null) Object.defineProperty(entry, 'id', unknown(sample.testId));
  const data: TemplateData = { event, test: entry, rule: { name: rule }, now: '' };
  Object.defineProperty(data, 'now', unknown(''));
  return { data, isEnough: () => isEnough };
}

const mostValues = 8;
/** A candidate id that few patterns match. */
const fewMatch = '-';

/** Events of a cell, of as many kinds as the conditions of rules tell apart. */
function samplesOf(cell: Cell, reached: readonly Possible[], { known, other }: Tests): Subject[] {
  const { candidateId, testId } = sample;
  const values = reached.flatMap(({ rest }) => rest?.values ?? []);
  const of = (name: string) => values.flatMap(({ field, value }) => (field.name === name ? [value] : []));
  const texts = of('candidateId').map(String);
  const ids = values.flatMap(({ field, value }) => (field.of === 'testId' ? around(value, known) : []));
  const events = product(
    [candidateId, fewMatch, texts.join(''), texts.toReversed().join(''), ...texts].filter(
      (text) => text !== '',
    ),
    [null, testId, ...of('candidateNumericalId').flatMap((value) => around(value))],
    cell.testId === null ? [other, ...ids] : [cell.testId],
  );
  return events.map(([candidate, number, id]) => ({
    event: { candidateId: candidate, candidateNumericalId: number, testId: id, status: cell.status },
    test: { ...cell.test, id },
  }));
}

/** A number and its neighbours, without those that are taken. */
function around(value: unknown, taken: ReadonlySet<number> = new Set()): number[] {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) return [];
  return [
    ...(taken.has(number) ? [] : [number]),
    unusedId(taken, number + 1, 1),
    unusedId(taken, number - 1, -1),
  ];
}

function product<A, B, C>(...lists: readonly [readonly A[], readonly B[], readonly C[]]): [A, B, C][] {
  const few = <T>(list: readonly T[]) => [...new Set(list)].slice(0, mostValues);
  const [as, bs, cs] = [few(lists[0]), few(lists[1]), few(lists[2])];
  return as.flatMap((a) => bs.flatMap((b) => cs.map((c): [A, B, C] => [a, b, c])));
}

/** Why nobody hears of an event, unless that is meant. */
function unheardOf({ silent }: Plan, reached: readonly Possible[], event: Subject): Unheard | null {
  const rules: number[] = [];
  for (const { rule, final, rest } of reached) {
    if (rest?.holds(event) === false) continue;
    rules.push(rule);
    if (final) break;
  }
  const isMeant = rules.length === 0 ? silent.unmatched : rules.some((rule) => silent.rules.has(rule));
  return isMeant ? null : { rules };
}

/** Nobody means to send more messages about one event. */
const mostCompared = 200;

/** Pairs of actions of which the same people get the same kind of message. */
function pairsOf(heard: readonly Heard[]): Twice[] {
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

const keyOf = ({ first, second, place }: Twice): string =>
  JSON.stringify([first.rule, first.action, second.rule, second.action, place]);
