import type { DeliveryState } from '../../model.ts';
import { all, get, query, together, type Operation } from '../operation.ts';
import { type Condition, type EventStory, given, joined, olderThan, storiesWhere } from './reading.ts';
import { candidateKey, of, rareState, seqsPerEvent } from './rows.ts';

/** Those with one of these ids; or, where there are too many to name them, those whose ids begin so. */
export type Candidates = { readonly ids: readonly string[] } | { readonly beginning: string };

/** Whether a candidate is of one of them. */
export const isOf = (candidates: Candidates, candidateId: string): boolean =>
  'beginning' in candidates
    ? candidateId.startsWith(candidates.beginning)
    : candidates.ids.includes(candidateId);

/** Events that have all of these; and with a delivery that has all that is asked of one. */
export interface EventSearch {
  readonly candidates?: Candidates | undefined;
  readonly testId?: number | undefined;
  readonly status?: string | undefined;
  /** Received at or after (ms). */
  readonly since?: number | undefined;
  /** Received before (ms). */
  readonly until?: number | undefined;
  /** Of a delivery. */
  readonly rule?: string | undefined;
  readonly sink?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Only events after the one with this id in the list. */
  readonly after?: string | undefined;
  /** Default: 50. */
  readonly limit?: number | undefined;
}

export interface FoundEvents {
  readonly stories: readonly EventStory[];
  /** Where to go on. Null: there are no more. */
  readonly after: string | null;
}

/** Events that are looked at for a search that no index serves: as many as take some 50 ms. */
const mostLooked = 10_000;
/** Of one event; more are very rare, and the next page has them. */
const deliveriesLooked = 20;
const defaultLimit = 50;

/**
 * Newest first. Looks at a bounded number of events where no index serves the search, so it may find fewer than there are;
 * `after` then says where to go on.
 */
export function* search(asked: EventSearch): Operation<FoundEvents> {
  const { limit = defaultLimit, state } = asked;
  if (state !== undefined && isRare(state)) return yield* byRareState(asked, state, limit);
  const hasIndex = asked.candidates !== undefined && 'ids' in asked.candidates;
  const until = hasIndex ? null : yield* lookedUntil(asked);
  const conditions = [...ofEvents(asked), ...ofDeliveries(asked), ...(until ? [notBefore(until)] : [])];
  // One more than are shown, to see whether there are any.
  const found = yield* storiesWhere(conditions, limit + 1);
  const stories = found.slice(0, limit);
  return { stories, after: found.length > limit ? stories.at(-1)!.event.id : until };
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

const notBefore = (id: string): Condition => ({
  text: `(e.received_at, e.seq) >= (select received_at, seq from events where id = ?)`,
  values: [id],
});

function ofEvents({ candidates, testId, status, since, until, after }: EventSearch): Condition[] {
  return [
    ...(candidates === undefined ? [] : [ofCandidates(candidates)]),
    ...given('e.test_id = ?', testId),
    ...given('e.status = ?', status),
    ...given('e.received_at >= ?', since),
    ...given('e.received_at < ?', until),
    ...olderThan(after),
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

/**
 * Whom a person means by a text: the candidate with this id; else those with this number; else those whose ids begin so, from
 * 6 characters on, if `orBegins`. Where nobody is meant yet, it is the id.
 */
export function* candidatesMeant(text: string, orBegins = true): Operation<Candidates> {
  const [written, id] = [text.trim(), asStored(text)];
  for (const one of new Set([written, id]))
    if (yield* get(withId, candidateKey(one), one)) return { ids: [one] };
  const number = /^-?\d{1,16}$/.test(id) ? Number(id) : Number.NaN;
  const ofNumber = Number.isSafeInteger(number) ? yield* all(numbered, number) : [];
  if (ofNumber.length > 0) return { ids: ofNumber.map((one) => one.id) };
  const [length, beginning] = begins(id);
  const isSearched = orBegins && length >= shortestBeginning;
  let found = isSearched ? yield* all(begun, length, beginning) : [];
  // Of a GUID, written in capitals; others' ids may have them.
  const small = beginning.toLowerCase();
  if (isSearched && found.length === 0 && /^[0-9a-f]+$/.test(small)) found = yield* all(begun, length, small);
  if (found.length > mostIds) return { beginning };
  return found.length === 0 ? { ids: [id] } : { ids: found.map((one) => one.id) };
}

/**
 * A GUID is stored as 32 hex digits, however it is written. Messages end the beginning of an id with "…", and put "Candidate"
 * before it or before the number, or "#".
 */
function asStored(text: string): string {
  const written = text
    .trim()
    .replace(/^(?:candidate\s+)?#?(?=\d+$|[0-9a-f-]{6,}…?$)/i, '')
    .replace(/…$/u, '');
  const digits = written.replaceAll(/[{}()-]/g, '');
  return /^[0-9a-f]{32}$/i.test(digits) || /^[0-9a-f]{8}-[0-9a-f-]{0,27}$/i.test(written)
    ? digits.toLowerCase()
    : written;
}

function ofDeliveries({ rule, sink, state }: EventSearch): Condition[] {
  const wanted = [...given('d.rule = ?', rule), ...given('d.sink = ?', sink), ...given('d.state = ?', state)];
  if (wanted.length === 0) return [];
  const both = wanted.map(({ text }) => text).join(' and ');
  const text = `exists (select 1 from deliveries d where d.seq ${of('e.seq')} and ${both})`;
  return [{ text, values: wanted.flatMap(({ values }) => values) }];
}

/** Few deliveries are in such a state, and they have an index: their events are found by them. */
function* byRareState(asked: EventSearch, state: DeliveryState, limit: number): Operation<FoundEvents> {
  const { rule, sink, after, ...rest } = asked;
  const [where, values] = joined([
    { text: `d.state = '${state}' and ${rareState}`, values: [] },
    ...ofEvents(rest),
    ...given('d.rule = ?', rule),
    ...given('d.sink = ?', sink),
    ...given(`d.seq < (select seq from events where id = ?) * ${seqsPerEvent}`, after),
  ]);
  const found = yield* all(
    query<{ readonly seq: number }>(`
    select e.seq from deliveries d join events e on e.seq = d.seq / ${seqsPerEvent} ${where}
    order by d.seq desc limit ${(limit + 1) * deliveriesLooked}`),
    ...values,
  );
  const seqs = [...new Set(found.map(({ seq }) => seq))];
  const shown = seqs.slice(0, limit);
  const stories = yield* together(
    shown.map((seq) => storiesWhere([{ text: 'e.seq = ?', values: [seq] }], 1)),
  );
  const listed = stories.flat();
  return { stories: listed, after: seqs.length > limit ? listed.at(-1)!.event.id : null };
}
