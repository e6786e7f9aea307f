import {
  type Delivery,
  type DeliveryState,
  type Event,
  isMap,
  isUnderWay,
  lookupConnector,
} from '../../model.ts';
import { candidateIdIn, candidateNumberIn } from '../../support/candidate-traces.ts';
import { parseDeliveryId } from '../../support/ids.ts';
import { all, get, query, together, type Operation } from '../operation.ts';
import { type Condition, type EventStory, given, joined, storiesWhere } from './reading.ts';
import { candidateKey, isLookup, isRare, of, rareState, seqsPerEvent } from '../rows.ts';

/** Candidates: those with one of these ids; or, if they are too many to list, those whose ids begin so. */
export type Candidates = { readonly ids: readonly string[] } | { readonly beginning: string };

/** What is searched: events with all of these, and a delivery with all that is asked of a delivery. */
export interface EventSearch {
  readonly candidates?: Candidates | undefined;
  /** The correlation id of the event or of one of its duplicates. */
  readonly correlation?: string | undefined;
  readonly testId?: number | undefined;
  readonly status?: string | undefined;
  /** Received at or after (ms). */
  readonly since?: number | undefined;
  /** Received before (ms). */
  readonly until?: number | undefined;
  /** These three are asked of one delivery. */
  readonly rule?: string | undefined;
  readonly sink?: string | undefined;
  readonly states?: readonly DeliveryState[] | undefined;
  /**
   * Whether it was decided without a look-up's answer, and none came since, or one came and nothing was sent after it.
   * `unknown`: only those of the first kind.
   */
  readonly unanswered?: boolean | 'unknown' | undefined;
  /** The sink of a look-up: limits `unanswered` to this one. */
  readonly lookup?: string | undefined;
  /** The id of an event: only those after it in the list. */
  readonly after?: string | undefined;
  /** Default: 50. */
  readonly limit?: number | undefined;
}

export interface FoundEvents {
  readonly stories: readonly EventStory[];
  /** The `after` of the next page; null if there are no more. */
  readonly after: string | null;
}

/** How many events a search looks at that no index serves: as many as take some 50 ms. */
const mostLooked = 10_000;

/** Lists all events that a search asks for, newest first. Default limit: 100. */
export function* events(asked: EventSearch): Operation<EventStory[]> {
  return yield* storiesWhere([...(yield* ofCorrelation(asked)), ...conditionsOf(asked)], asked.limit ?? 100);
}

/** How many events are found by a correlation id: a sender may give all of its events the same one. */
const mostCorrelated = 100;

/**
 * The numbers of a table's blocks of 256 rows, newest first, to search each by an index that begins with the block: such an
 * index is cheap to write, as it is appended to.
 */
const blocksOf = (table: 'events' | 'duplicates'): string => `
  with recursive blocks (n) as (
    select max(seq) / 256 from ${table}
    union all select n - 1 from blocks where n > (select min(seq) / 256 from ${table}))`;

/** Selects the rows of a table with the correlation id $1, newest first. */
const correlated = (table: 'events' | 'duplicates', seq: string) =>
  query<{ readonly seq: number }>(`
  ${blocksOf(table)}
  select ${seq} as seq from blocks cross join ${table} t where t.seq / 256 = n and t.correlation_id = $1
  limit ${mostCorrelated}`);
const correlatedEvents = correlated('events', 't.seq');
const correlatedDuplicates = correlated('duplicates', 't.event_seq');

function* ofCorrelation({ correlation }: EventSearch): Operation<Condition[]> {
  if (correlation === undefined) return [];
  const rows = [
    ...(yield* all(correlatedEvents, correlation)),
    ...(yield* all(correlatedDuplicates, correlation)),
  ];
  const seqs = [...new Set(rows.map(({ seq }) => seq))];
  const text = seqs.length === 0 ? '1 = 0' : `e.seq in (${seqs.map(() => '?').join(', ')})`;
  return [{ text, values: seqs }];
}

/** Reads an index of all events: 50 ms for a million, far less than the search that it may spare. */
const anyOfTest = query<object>(`select 1 from events where test_id = $1 limit 1`);

/**
 * Finds events, newest first. Where no index serves the search, it looks at a bounded number of events, so it may return
 * fewer than `limit`; `after` then says where to go on.
 */
export function* search(asked: EventSearch): Operation<FoundEvents> {
  const { limit = 50 } = asked;
  const within = yield* looked(asked);
  if (within === null) return { stories: [], after: null };
  // One more than the limit, to see whether there are more.
  const found = yield* storiesWhere(within.such, limit + 1);
  const stories = found.slice(0, limit);
  return { stories, after: found.length > limit ? stories.at(-1)!.event.id : within.until };
}

/** The order of a list, with the comparisons for what comes after an event and up to one. */
interface Order {
  readonly by: string;
  readonly after: '<' | '>';
  readonly upTo: '>=' | '<=';
}
const newestFirst: Order = { by: 'e.received_at desc, e.seq desc', after: '<', upTo: '>=' };
const oldestFirst: Order = { by: 'e.received_at, e.seq', after: '>', upTo: '<=' };

const ended = (row: string): string => `${row}.state not in ('pending', 'sending')`;
/** The stored facts begin with their state. The condition of the index is weaker: a field may also be named `state`. */
const isUnknown = (row: string): string => `coalesce(${row}.progress, '') like '{"state":"unknown"%'`;
const inIndex = `d.state = 'discarded' and ${isLookup} and d.progress like '%"state":"unknown"%'`;
const unknownLookup = `${inIndex} and ${isUnknown('d')}`;
/** Finds an answer `a` to the unknown look-up `d`. */
const answered = `
  select 1 from deliveries a where a.seq ${of('e.seq')} and a.sink = d.sink and ${ended('a')}
    and not ${isUnknown('a')}`;
/** Finds such an answer that came before it, or after which something was sent. */
const answeredAndSent = `${answered}
    and (a.seq < d.seq or exists (
      select 1 from deliveries s where s.seq > a.seq and s.seq ${of('e.seq')} and s.connector <> '${lookupConnector}'))`;
function unanswered(kind: true | 'unknown', lookup: string | undefined): Condition {
  const [ofLookup] = given('d.sink = ?', lookup);
  const unknown = ofLookup ? `${unknownLookup} and ${ofLookup.text}` : unknownLookup;
  const values = ofLookup?.values ?? [];
  return {
    text: `e.seq in (select d.seq / ${seqsPerEvent} from deliveries d where ${unknown})
    and e.seq not in (select event_seq from undecided)
    and (select 1 from deliveries d where d.seq ${of('e.seq')} and ${unknown} and not exists (${kind === true ? answeredAndSent : answered}) limit 1) = 1`,
    values: [...values, ...values],
  };
}

/**
 * The conditions of a search, and the id of the last event that it looks at; `until` is null if it looks at all. Returns null
 * if it can find nothing.
 */
function* looked(
  asked: EventSearch,
  order = newestFirst,
): Operation<{ readonly such: readonly Condition[]; readonly until: string | null } | null> {
  const { candidates, correlation, testId, states } = asked;
  const hasIndex =
    correlation !== undefined ||
    (candidates !== undefined && 'ids' in candidates) ||
    Boolean(asked.unanswered) ||
    areRare(states);
  let until: string | null = null;
  if (!hasIndex) {
    if (testId !== undefined && asked.after === undefined && !(yield* get(anyOfTest, testId))) return null;
    const { since, until: before, status, after } = asked;
    const [where, values] = joined(conditionsOf({ since, until: before, status, after }, order));
    const last = query<{ readonly id: string }>(`
    select e.id from events e ${where} order by ${order.by} limit 1 offset ${mostLooked}`);
    until = (yield* get(last, ...values))?.id ?? null;
  }
  const bound = given(
    `(e.received_at, e.seq) ${order.upTo} (select received_at, seq from events where id = ?)`,
    until,
  );
  return { such: [...(yield* ofCorrelation(asked)), ...conditionsOf(asked, order), ...bound], until };
}

/** Counts what a search finds, up to `most`, and tells whether these are all. Looks as far as `search` does. */
export function* matches(
  asked: EventSearch,
  most: number,
): Operation<{ readonly count: number; readonly isAll: boolean }> {
  const within = yield* looked(asked);
  if (within === null) return { count: 0, isAll: true };
  const [where, values] = joined(within.such, most + 1);
  const counted = query<{ readonly n: number }>(
    `select count(*) as n from (select 1 from events e ${where} order by ${newestFirst.by} limit $1) as found`,
  );
  const many = (yield* get(counted, ...values))?.n ?? 0;
  return { count: Math.min(many, most), isAll: many <= most && within.until === null };
}

/** The ids of the events before and after one in what a search finds; null if there is none, or none near. */
export function* neighbours(
  asked: EventSearch,
  id: string,
): Operation<{ readonly newer: string | null; readonly older: string | null }> {
  function* next(order: Order): Operation<string | null> {
    const within = yield* looked({ ...asked, after: id }, order);
    const [where, values] = joined(within?.such ?? []);
    const first = query<{ readonly id: string }>(
      `select e.id from events e ${where} order by ${order.by} limit 1`,
    );
    return within && ((yield* get(first, ...values))?.id ?? null);
  }
  return { newer: yield* next(oldestFirst), older: yield* next(newestFirst) };
}

/** Whether few deliveries are in these states, so that an index of them serves a search. */
const areRare = (states: readonly DeliveryState[] = ['pending']): boolean => states.every(isRare);

/**
 * Whether an event was decided without a look-up's answer: `unknown` if none has come since, `late` if one came and nothing
 * was sent after it. See EventSearch.unanswered.
 */
export function unansweredOf({
  decided,
  deliveries,
  lookups,
}: Pick<EventStory, 'decided' | 'deliveries' | 'lookups'>): 'unknown' | 'late' | 'no' {
  if (!decided) return 'no';
  const placeOf = ({ id }: Delivery) => parseDeliveryId(id)?.n ?? 0;
  const lastSent = Math.max(0, ...deliveries.map(placeOf));
  const over = lookups.filter(({ state }) => !isUnderWay(state));
  const found = Map.groupBy(over, ({ sink }) => sink)
    .values()
    .map((tries) => {
      const isKnown = ({ progress }: Delivery) => !(isMap(progress) && progress['state'] === 'unknown');
      const answers = tries.filter(isKnown);
      if (answers.length === 0) return 'unknown';
      return answers[0] === tries[0] || answers.some((one) => placeOf(one) < lastSent) ? 'no' : 'late';
    })
    .toArray();
  return found.find((one) => one === 'unknown') ?? found.find((one) => one === 'late') ?? 'no';
}

/** Whether a search finds this event. */
export function isFound(asked: EventSearch, story: EventStory): boolean {
  const { event, deliveries } = story;
  const { candidates, testId, status, since = -Infinity, until = Infinity, rule, sink, states } = asked;
  const { candidateId, receivedAt } = event;
  const isSame = (wanted: unknown, value: unknown) => wanted === undefined || wanted === value;
  const lookups = story.lookups.filter((one) => isSame(asked.lookup, one.sink));
  const missing = unansweredOf({ ...story, lookups });
  const isMeant =
    candidates === undefined ||
    ('ids' in candidates
      ? candidates.ids.includes(candidateId)
      : candidateId.startsWith(candidates.beginning));
  return (
    isMeant &&
    (asked.unanswered === true ? missing !== 'no' : isSame(asked.unanswered || undefined, missing)) &&
    isSame(testId, event.testId) &&
    isSame(status, event.status) &&
    receivedAt >= since &&
    receivedAt < until &&
    ((rule ?? sink ?? states) === undefined ||
      deliveries.some(
        (one) => isSame(rule, one.rule) && isSame(sink, one.sink) && (states?.includes(one.state) ?? true),
      ))
  );
}

export function conditionsOf(asked: EventSearch, order = newestFirst): Condition[] {
  const { candidates, testId, status, since, until, after, rule, sink, states } = asked;
  const ofDelivery = [
    ...given('d.rule = ?', rule),
    ...given('d.sink = ?', sink),
    ...(states ? [{ text: `d.state in (${states.map(() => '?').join(', ')})`, values: states }] : []),
  ];
  const such =
    ofDelivery.length === 0 ? '' : [...ofDelivery.map(({ text }) => text), `not ${isLookup}`].join(' and ');
  const hasDelivery = areRare(states)
    ? `e.seq in (select d.seq / ${seqsPerEvent} from deliveries d where ${rareState} and ${such})`
    : // Not `exists`: SQLite would make a join of that, and for it an index of all deliveries.
      `(select 1 from deliveries d where d.seq ${of('e.seq')} and ${such} limit 1) = 1`;
  return [
    ...(candidates === undefined ? [] : [ofCandidates(candidates)]),
    ...given('e.test_id = ?', testId),
    ...given('e.status = ?', status),
    ...given('e.received_at >= ?', since),
    ...given('e.received_at < ?', until),
    ...given(
      `(e.received_at, e.seq) ${order.after} (select received_at, seq from events where id = ?)`,
      after,
    ),
    ...(asked.unanswered ? [unanswered(asked.unanswered, asked.lookup)] : []),
    ...(such === '' ? [] : [{ text: hasDelivery, values: ofDelivery.flatMap(({ values }) => values) }]),
  ];
}

function ofCandidates(candidates: Candidates): Condition {
  if ('beginning' in candidates) {
    const { beginning } = candidates;
    return {
      text: `substr(e.candidate_id, 1, cast(? as integer)) = ?`,
      values: [Array.from(beginning).length, beginning],
    };
  }
  const { ids } = candidates;
  return {
    text: `(${ids.map(() => 'e.candidate_key = ? and e.candidate_id = ?').join(' or ')})`,
    values: ids.flatMap((id) => [candidateKey(id), id]),
  };
}

/** With more candidates than these, a search goes through the events instead of looking up each. */
const mostIds = 100;
const shortestBeginning = 6;
const lastCharacter = '\u{10FFFF}';

const candidatesWhere = (condition: string, most: number) =>
  query<{ readonly id: string }>(`
  ${blocksOf('events')}
  select distinct e.candidate_id as id from blocks cross join events e where e.seq / 256 = n and ${condition} limit ${most}`);
export const candidatesBy = {
  number: candidatesWhere('e.candidate_numerical_id = $1', mostIds),
  beginning: candidatesWhere('e.candidate_id >= $1 and e.candidate_id < $2', mostIds + 1),
};
const withId = query<{ readonly id: string }>(`
  select candidate_id as id from events where candidate_key = $1 and candidate_id = $2 limit 1`);

/**
 * Finds the candidates that a person means by a text: the one with this id; else those with this number; else, with
 * `orBegins`, those whose ids begin so, from 6 characters on. If nobody is found, returns the text as an id.
 */
export function* candidatesMeant(text: string, orBegins = true): Operation<Candidates> {
  const [written, id] = [text.trim(), candidateIdIn(text)];
  for (const one of new Set([written, id]))
    if (yield* get(withId, candidateKey(one), one)) return { ids: [one] };
  const number = candidateNumberIn(id);
  const ofNumber = number === null ? [] : yield* all(candidatesBy.number, number);
  if (ofNumber.length > 0) return { ids: ofNumber.map((one) => one.id) };
  const isSearched = orBegins && Array.from(id).length >= shortestBeginning;
  const beginningWith = (start: string) => all(candidatesBy.beginning, start, start + lastCharacter);
  let found = isSearched ? yield* beginningWith(id) : [];
  // The beginning of a GUID in capitals. Other ids may have capitals.
  const small = id.toLowerCase();
  if (isSearched && found.length === 0 && small !== id && /^[0-9a-f]+$/.test(small))
    found = yield* beginningWith(small);
  if (found.length > mostIds) return { beginning: id };
  return found.length === 0 ? { ids: [id] } : { ids: found.map((one) => one.id) };
}

/** Whether `candidatesMeant` would mean this candidate, if there were an event of it. */
export function meansCandidate(
  text: string,
  { candidateId, candidateNumericalId }: Pick<Event, 'candidateId' | 'candidateNumericalId'>,
): boolean {
  const id = candidateIdIn(text);
  return (
    candidateId === text.trim() ||
    candidateId === id ||
    (candidateNumericalId !== null && candidateNumericalId === candidateNumberIn(id)) ||
    (Array.from(id).length >= shortestBeginning &&
      (candidateId.startsWith(id) || candidateId.startsWith(id.toLowerCase())))
  );
}

/**
 * Patterns of `like` for texts that name such a candidate. What is no letter or digit may be escaped, so it matches
 * anything.
 */
export const patternsOf = (text: string): string[] =>
  [text.trim(), candidateIdIn(text), candidateIdIn(text).toLowerCase()].map(
    (form) => `%${form.replaceAll(/[^a-z\d-]+/gi, '%')}%`,
  );

/**
 * Finds the ids of the candidates that have each of these numbers as their id, or else as their number. Reads all
 * events.
 */
export function* candidatesNumbered(numbers: readonly number[]): Operation<Map<number, string[]>> {
  const ids = new Map<number, string[]>();
  const exact = yield* together(numbers.map((one) => get(withId, candidateKey(`${one}`), `${one}`)));
  const others = numbers.filter((one, place) => {
    if (exact[place]) ids.set(one, [exact[place].id]);
    return !exact[place];
  });
  if (others.length === 0) return ids;
  const known = query<{ readonly number: number; readonly id: string }>(`
  select distinct candidate_numerical_id as number, candidate_id as id from events
  where candidate_numerical_id in (${others.map((_, place) => `$${place + 1}`).join(', ')})`);
  for (const { number, id } of yield* all(known, ...others))
    ids.getOrInsertComputed(number, () => []).push(id);
  return ids;
}
