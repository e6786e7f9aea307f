import type { DeliveryState } from '../../model.ts';
import type { Candidates, EventSearch, EventStory, FoundEvents } from '../store.ts';
import { all, get, query, together, type Operation, type Value } from './operation.ts';
import { sql as reading, toStoryInList } from './reading.ts';
import { candidateKey, eventColumns, of, rareState, seqsPerEvent, type EventRow } from './rows.ts';

/** Events that are looked at for a search that no index serves: as many as take some 50 ms. */
const mostLooked = 10_000;
/** Of one event; more are very rare, and the next page has them. */
const deliveriesLooked = 20;
const defaultLimit = 50;

interface Condition {
  readonly text: string;
  readonly values: readonly Value[];
}

type Listed = EventRow & { readonly duplicates: number };

/** See Store.search. */
export function* search(asked: EventSearch): Operation<FoundEvents> {
  const { limit = defaultLimit, state } = asked;
  if (state !== undefined && isRare(state)) return yield* byRareState(asked, state, limit);
  const hasIndex = asked.candidates !== undefined && 'ids' in asked.candidates;
  const until = hasIndex ? null : yield* lookedUntil(asked);
  const conditions = [...ofEvents(asked), ...ofDeliveries(asked), ...(until ? [notBefore(until)] : [])];
  const rows = yield* list('events e', conditions, 'e.received_at desc, e.seq desc', limit + 1);
  const stories = yield* storiesOf(rows.slice(0, limit));
  return { stories, after: rows.length > limit ? stories.at(-1)!.event.id : until };
}

const isRare = (state: DeliveryState): boolean => state !== 'pending' && state !== 'delivered';

/** The event up to which this page looks; null where it looks at all that are left. */
function* lookedUntil(asked: EventSearch): Operation<string | null> {
  const [where, values] = joined(ofEvents({ ...asked, testId: undefined, candidates: undefined }));
  const row = yield* get(
    query<{ readonly id: string }>(`
    select e.id from events e ${where} order by e.received_at desc, e.seq desc limit 1 offset ${mostLooked}`),
    ...values,
  );
  return row?.id ?? null;
}

const place = (id: string): Condition => ({
  text: '(select received_at, seq from events where id = ?)',
  values: [id],
});

const notBefore = (id: string): Condition => ({
  text: `(e.received_at, e.seq) >= ${place(id).text}`,
  values: [id],
});

function ofEvents({ candidates, testId, status, since, until, after }: EventSearch): Condition[] {
  const given = (text: string, ...values: (Value | undefined)[]): Condition[] =>
    values.includes(undefined) ? [] : [{ text, values: values as Value[] }];
  return [
    ...(candidates === undefined ? [] : [ofCandidates(candidates)]),
    ...given('e.test_id = ?', testId),
    ...given('e.status = ?', status),
    ...given('e.received_at >= ?', since),
    ...given('e.received_at < ?', until),
    ...given(`(e.received_at, e.seq) < ${place('').text}`, after),
  ];
}

function ofCandidates(candidates: Candidates): Condition {
  if ('beginning' in candidates)
    return {
      text: `substr(e.candidate_id, 1, cast(? as integer)) = ?`,
      values: begins(candidates.beginning),
    };
  const { ids } = candidates;
  return {
    text: `(${ids.map(() => 'e.candidate_key = ? and e.candidate_id = ?').join(' or ')})`,
    values: ids.flatMap((id) => [candidateKey(id), id]),
  };
}

const begins = (beginning: string): [length: number, beginning: string] => [
  Array.from(beginning).length,
  beginning,
];

/** With more candidates than these, a search goes through the events instead of looking up each. */
const mostIds = 100;
const shortestBeginning = 6;

// They read all events: a million take some 80 ms on SQLite. An index would cost each event that is accepted.
const numbered = query<{ readonly id: string }>(`
  select distinct candidate_id as id from events where candidate_numerical_id = $1 limit ${mostIds}`);
const begun = query<{ readonly id: string }>(`
  select distinct candidate_id as id from events where substr(candidate_id, 1, cast($1 as integer)) = $2
  limit ${mostIds + 1}`);
const withId = query<{ readonly id: string }>(`
  select candidate_id as id from events where candidate_key = $1 and candidate_id = $2 limit 1`);

/** See Store.candidatesMeant. Where nobody is meant yet, it is the id. */
export function* candidatesMeant(text: string, orBegins = true): Operation<Candidates> {
  const id = asStored(text);
  const exact = { ids: [id] };
  if (yield* get(withId, candidateKey(id), id)) return exact;
  const number = /^-?\d{1,16}$/.test(id) ? Number(id) : Number.NaN;
  const ofNumber = Number.isSafeInteger(number) ? yield* all(numbered, number) : [];
  if (ofNumber.length > 0) return { ids: ofNumber.map((one) => one.id) };
  const [length, beginning] = begins(id);
  const found = !orBegins || length < shortestBeginning ? [] : yield* all(begun, length, beginning);
  if (found.length > mostIds) return { beginning };
  return found.length === 0 ? exact : { ids: found.map((one) => one.id) };
}

/** A GUID is stored as 32 hex digits, however it is written. Messages end the beginning of an id with "…". */
function asStored(text: string): string {
  const written = text.trim().replace(/…$/u, '');
  const digits = written.replaceAll(/[{}()-]/g, '');
  return /^[0-9a-f]{32}$/i.test(digits) || /^[0-9a-f]{8}-[0-9a-f-]{0,27}$/i.test(written)
    ? digits.toLowerCase()
    : written;
}

function ofDeliveries({ rule, sink, state }: EventSearch): Condition[] {
  const asked = Object.entries({ rule, sink, state }).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column, value }],
  );
  if (asked.length === 0) return [];
  const wanted = asked.map(({ column }) => `d.${column} = ?`).join(' and ');
  const text = `exists (select 1 from deliveries d where d.seq ${of('e.seq')} and ${wanted})`;
  return [{ text, values: asked.map(({ value }) => value) }];
}

/** Few deliveries are in such a state, and they have an index: their events are found by them. */
function* byRareState(asked: EventSearch, state: DeliveryState, limit: number): Operation<FoundEvents> {
  const { rule, sink, after, ...rest } = asked;
  const [where, values] = joined([
    { text: `d.state = '${state}' and ${rareState}`, values: [] },
    ...ofEvents(rest),
    ...(rule === undefined ? [] : [{ text: 'd.rule = ?', values: [rule] }]),
    ...(sink === undefined ? [] : [{ text: 'd.sink = ?', values: [sink] }]),
    ...(after === undefined
      ? []
      : [{ text: `d.seq < (select seq from events where id = ?) * ${seqsPerEvent}`, values: [after] }]),
  ]);
  const found = yield* all(
    query<{ readonly seq: number }>(`
    select e.seq from deliveries d join events e on e.seq = d.seq / ${seqsPerEvent} ${where}
    order by d.seq desc limit ${(limit + 1) * deliveriesLooked}`),
    ...values,
  );
  const seqs = [...new Set(found.map(({ seq }) => seq))];
  const shown = seqs.slice(0, limit);
  const rows = (yield* together(
    shown.map((seq) => list('events e', [{ text: 'e.seq = ?', values: [seq] }], 'e.seq', 1)),
  )).flat();
  return {
    stories: yield* storiesOf(rows),
    after: seqs.length > limit ? rows.at(-1)!.event_id : null,
  };
}

function list(
  from: string,
  conditions: readonly Condition[],
  order: string,
  limit: number,
): Operation<Listed[]> {
  const [where, values] = joined(conditions);
  return all(
    query<Listed>(`
    select ${eventColumns}, (select count(*) from duplicates where event_seq = e.seq) as duplicates
    from ${from} ${where} order by ${order} limit ${limit}`),
    ...values,
  );
}

/** With the values numbered in their order. */
function joined(conditions: readonly Condition[]): [where: string, values: Value[]] {
  if (conditions.length === 0) return ['', []];
  let number = 0;
  const text = conditions.map((one) => one.text).join(' and ');
  return [
    `where ${text.replaceAll('?', () => `$${(number += 1)}`)}`,
    conditions.flatMap(({ values }) => values),
  ];
}

function* storiesOf(rows: readonly Listed[]): Operation<EventStory[]> {
  const plannedFor = yield* together(rows.map((row) => all(reading.deliveriesOf, row.event_seq)));
  return rows.map((row, index) => toStoryInList(row, plannedFor[index]!));
}
