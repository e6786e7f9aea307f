import { type Delivery, isStuck, type Json, lookupConnector, type Status } from '../../model.ts';
import type { Mentions } from '../../support/candidate-traces.ts';
import { personalMasker } from '../../support/masker.ts';
import { type Mask, maskTexts } from '../../support/secret.ts';
import type { Tallies } from '../tallies.ts';
import { type By, noteChange } from './audit.ts';
import { discard } from './by-hand.ts';
import { leaveUndecided } from './deciding.ts';
import { type FoundRow, withLanesLocked } from './deliveries.ts';
import { eraseEvent } from './housekeeping.ts';
import { all, get, lock, query, run, type Operation, type Value } from '../operation.ts';
import { sql as reading } from './reading.ts';
import { candidateKey, delivery, firstNoticeSeq, idOf, isLookup, of, seqsPerEvent } from '../rows.ts';
import { contentName } from './receiving.ts';

export interface Forgetting {
  readonly candidateId: string;
  /** The candidate's events that the caller knows of. */
  readonly eventIds: readonly string[];
  readonly mentions: Mentions;
}

export type Forgotten =
  | {
      readonly done: true;
      readonly events: number;
      readonly rejected: number;
      /** Rows about others, in whose texts the candidate was named. */
      readonly texts: number;
      /** The erased deliveries. */
      readonly deliveries: readonly Delivery[];
    }
  | {
      readonly done: false;
      /** An event that the caller does not know of. */
      readonly unexpected: string | null;
      /**
       * The ids of deliveries that are being sent, will be tried again in a digest with those of others, or carry such a digest
       * that may have arrived.
       */
      readonly underWay: readonly string[];
    };

interface FoundEvent {
  readonly seq: number;
  readonly id: string;
  readonly content: number;
  readonly config_id: string;
  readonly testId: number;
  readonly status: Status;
}

interface FoundDelivery extends Pick<FoundRow, 'seq' | 'carrier' | 'lane' | 'connector' | 'state'> {
  readonly id: string;
  readonly uncertain: number;
}

const sql = {
  eventsOf: query<FoundEvent>(`
  select seq, id, coalesce(content, seq) as content, config_id, test_id as "testId", status from events
  where candidate_key = $1 and candidate_id = $2 order by seq`),
  deliveriesOf: query<FoundDelivery>(`
  select d.seq, ${idOf('e.id', 'd.seq')} as id, d.carrier, d.lane, d.connector, d.state, d.uncertain
  from deliveries d join events e on e.seq = $1
  where d.seq ${of('$1')} order by d.seq`),
  othersIn: query<{ readonly seq: number }>(`
  select d.seq from deliveries d join events e on e.seq = d.seq / ${seqsPerEvent}
  where d.carrier = $1 and e.candidate_id <> $2 limit 1`),
  /** The messages of digests with deliveries of the event. */
  forgetMessages: `
  update deliveries set message = null where carrier in (select d.carrier from deliveries d where d.seq ${of('$1')})`,
  /** Look-ups whose personal fields are to be erased by now ($1). */
  personalUntil: query<{ readonly seq: number; readonly progress: string }>(`
  select seq, progress from deliveries where personal_until <= $1 order by personal_until limit $2`),
  forgetPersonal: `update deliveries set progress = $2, personal_until = null where seq = $1`,
  forgetSent: `update deliveries set message = null where seq ${of('$1')}`,
  textsOf: query<{
    readonly seq: number;
    readonly receipt: string | null;
    readonly last_error: string | null;
    readonly thread: string | null;
    readonly group_key: string | null;
    readonly lane: string;
  }>(`
  select d.seq, d.receipt, d.last_error, d.thread, d.group_key, d.lane from deliveries d
  where d.seq ${of('$1')} and not ${isLookup}`),
  /** What is not over keeps its lane, by which it is found. */
  keepTexts: `
  update deliveries set receipt = $2, last_error = $3, thread = $4, group_key = $5,
    lane = case when state in ('pending', 'sending') then lane else $6 end
  where seq = $1`,
  outcomesOf: query<{ readonly seq: number; readonly number: number; readonly outcome: string }>(`
  select delivery_seq as seq, number, cast(outcome as text) as outcome from attempts where delivery_seq ${of('$1')}`),
  keepOutcome: `update attempts set outcome = $3 where delivery_seq = $1 and number = $2`,
  deleteContent: `delete from correlations where content = $1`,
};

/**
 * Erases a candidate's events with their deliveries, pending ones too, their attempts and duplicates. Does nothing if there is
 * an event that the caller does not know of. If a delivery is under way, it discards what is pending, which would go out
 * meanwhile: here, as later it may be in a digest with those of others, who would not be told either. Writes an audit line that
 * does not name the candidate. Its locks hold off arrivals of the same content, claims and retention.
 */
export function* forget(
  tallies: Tallies,
  { candidateId, eventIds }: Forgetting,
  now: number,
  by: By,
): Operation<Forgotten> {
  yield* lock('prune');
  const found = () => all(sql.eventsOf, candidateKey(candidateId), candidateId);
  for (const { testId, status } of yield* found()) yield* lock(contentName({ candidateId, testId, status }));
  const events = yield* found();
  const unexpected = events.find(({ id }) => !eventIds.includes(id));
  if (unexpected) return { done: false, unexpected: unexpected.id, underWay: [] };
  const underWay: string[] = [];
  const pending: string[] = [];
  for (const { seq } of events) {
    for (const one of yield* withLanesLocked(() => all(sql.deliveriesOf, seq))) {
      // A look-up leaves nothing in a tool, and an answer that comes later is not kept.
      if (one.connector === lookupConnector) continue;
      const isShared =
        mayGoAgain(one) &&
        one.carrier !== null &&
        (yield* get(sql.othersIn, one.carrier, candidateId)) !== undefined;
      if (one.state === 'sending' || isShared) underWay.push(one.id);
      else if (one.state === 'pending') pending.push(one.id);
    }
  }
  if (underWay.length > 0) {
    yield* discard(tallies, pending, now, by);
    return { done: false, unexpected: null, underWay };
  }
  const deliveries: Delivery[] = [];
  for (const event of events) {
    const made = (yield* all(reading.deliveriesOf, event.seq)).map(delivery.read);
    deliveries.push(...made.filter(({ connector }) => connector !== lookupConnector));
    yield* run(sql.forgetMessages, event.seq);
    yield* leaveUndecided(event.seq);
    yield* eraseEvent(tallies, event);
    yield* run(sql.deleteContent, event.content);
  }
  if (events.length > 0) yield* noteChange('forget', now, by);
  return { done: true, events: events.length, rejected: 0, texts: 0, deliveries };
}

/**
 * Whether the digest of a delivery is tried again, or may be by a person after it may have arrived: without this delivery it
 * would go under another id, by which no tool knows it.
 */
const mayGoAgain = ({ seq, carrier, state, uncertain }: FoundDelivery): boolean =>
  state === 'pending' || (carrier === seq && uncertain === 1 && isStuck(state));

/** The part of what a look-up keeps that has to be known here. */
interface Found {
  readonly fields: { readonly [field: string]: Json };
  readonly personal: readonly string[];
}

/**
 * Erases the personal fields of look-ups whose time to keep them is over: from the look-up, from the messages that were sent
 * for its event, and from what tools answered. Returns for how many look-ups, at most `limit`.
 */
export function* forgetPersonal(now: number, limit: number): Operation<number> {
  yield* lock('prune');
  const rows = yield* all(sql.personalUntil, now, limit);
  for (const { seq, progress } of rows) {
    const found = JSON.parse(progress) as Found;
    const kept = Object.entries(found.fields).filter(([field]) => !found.personal.includes(field));
    const rest = { ...found, fields: Object.fromEntries(kept), personal: [] };
    yield* run(sql.forgetPersonal, seq, JSON.stringify(rest));
    const values = found.personal.map((field) => found.fields[field] ?? null);
    yield* forgetTold(Math.floor(seq / seqsPerEvent), personalMasker(values, '(erased)'));
  }
  return rows.length;
}

/** Erases personal texts from what was sent for an event and answered to it. `without` takes them out of a text. */
function* forgetTold(event: number, without: Mask): Operation<void> {
  yield* run(sql.forgetSent, event);
  yield* run(sql.forgetMessages, event);
  const inJson = (text: string) => JSON.stringify(maskTexts(JSON.parse(text) as Json, without));
  const inText = (text: string | null) => (text === null ? null : without(text));
  for (const told of yield* all(sql.textsOf, event))
    yield* run(
      sql.keepTexts,
      told.seq,
      told.receipt === null ? null : inJson(told.receipt),
      inText(told.last_error),
      inText(told.thread),
      inText(told.group_key),
      without(told.lane),
    );
  for (const { seq, number, outcome } of yield* all(sql.outcomesOf, event))
    yield* run(sql.keepOutcome, seq, number, inJson(outcome));
}

/** Columns with texts in which people or tools may have named a candidate. */
interface FreeText {
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Read only the rows that have one of the hints. */
  readonly isLarge?: boolean;
  /** A value below the first key to look at. */
  readonly from: Value;
}

const inDeliveries = ['last_error', 'progress', 'receipt', 'thread'];
const places: readonly FreeText[] = [
  { table: 'rejected_requests', key: ['seq'], columns: ['body', 'faults', 'correlation_id'], from: -1 },
  {
    table: 'refused_events',
    key: ['id'],
    columns: ['candidate_id', 'raw', 'correlation_id'],
    isLarge: true,
    from: '',
  },
  { table: 'notices', key: ['seq'], columns: ['cause', 'detail', 'advice'], from: -1 },
  { table: 'audit', key: ['seq'], columns: ['note'], from: -1 },
  { table: 'pauses', key: ['sink'], columns: ['detail'], from: '' },
  { table: 'person_pauses', key: ['sink', 'since'], columns: ['note'], from: '' },
  { table: 'sink_figures', key: ['sink'], columns: ['detail'], from: '' },
  { table: 'deliveries', key: ['seq'], columns: inDeliveries, isLarge: true, from: -1 },
  // Only those of notices: the messages of events are about their own candidates.
  { table: 'deliveries', key: ['seq'], columns: ['message'], from: firstNoticeSeq * seqsPerEvent },
  { table: 'attempts', key: ['delivery_seq', 'number'], columns: ['outcome'], isLarge: true, from: -1 },
];
/** Tables of refused requests, whose rows are deleted. */
const erasedWhole = new Set(['rejected_requests', 'refused_events']);
const inJson = new Set(['progress', 'receipt', 'message', 'outcome']);

type Row = Readonly<Record<string, Value>>;

/** A row that names the candidate. */
export interface Mention {
  readonly table: string;
  readonly key: Row;
  readonly before: Row;
}

const rowsAtOnce = 20_000;

const pick = (row: Row, columns: readonly string[]): Row =>
  Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));

/** Counts the refused requests that name a candidate and would be erased. Reads all of them. */
export function* requestsNaming(mentions: Mentions): Operation<number> {
  const requests = places.filter(({ table }) => erasedWhole.has(table));
  return (yield* findMentions(mentions, requests)).length;
}

/**
 * Finds rows outside the candidate's own events that name the candidate. Reads all texts, a part of a table at a time.
 */
export function* findMentions({ without, hints }: Mentions, within = places): Operation<Mention[]> {
  const found: Mention[] = [];
  for (const { table, key, columns, isLarge, from: start } of within) {
    const [first] = key;
    const texts = columns.map((column) => `cast(${column} as text)`);
    const likes = isLarge ? hints.map((hint) => `%${hint}%`) : [];
    const has = texts.flatMap((text) => likes.map((_, place) => `lower(${text}) like $${place + 3}`));
    const selected = [...key, ...texts.map((text, place) => `${text} as ${columns[place]}`)].join(', ');
    const part = query<Row>(`
    select ${selected} from ${table} where ${first} > $1 and (cast($2 as ${typeof start === 'string' ? 'text' : 'bigint'}) is null or ${first} <= $2)
      ${has.length === 0 ? '' : `and (${has.join(' or ')})`}`);
    const next = query<{ readonly at: Value }>(
      `select ${first} as at from ${table} where ${first} > $1 order by ${first} limit 1 offset ${rowsAtOnce}`,
    );
    for (let from: Value = start; from !== null;) {
      const to: Value = (yield* get(next, from))?.at ?? null;
      for (const row of yield* all(part, from, to, ...likes)) {
        const before = pick(row, columns);
        if (Object.values(before).some((text) => text !== null && without(String(text)) !== text))
          found.push({ table, key: pick(row, key), before });
      }
      from = to;
    }
  }
  return found;
}

/**
 * Takes the candidate out of texts that were found, unless they were changed since, and deletes refused requests. `noted`:
 * the audit has a line already. Returns how many requests were deleted, and in how many rows texts were changed.
 */
export function* eraseMentions(
  found: readonly Mention[],
  { without }: Mentions,
  noted: boolean,
  now: number,
  by: By,
): Operation<{ readonly rejected: number; readonly texts: number }> {
  let [rejected, texts] = [0, 0];
  for (const { table, key, before } of found) {
    if (erasedWhole.has(table)) {
      rejected += yield* run(
        `delete from ${table} where ${Object.keys(key)[0]} = $1`,
        Object.values(key)[0]!,
      );
      continue;
    }
    const at = Object.keys(key).map((column, place) => `${column} = $${place + 3}`);
    let changed = 0;
    for (const [column, text] of Object.entries(before)) {
      if (typeof text !== 'string' || without(text) === text) continue;
      const rest = inJson.has(column)
        ? JSON.stringify(maskTexts(JSON.parse(text) as Json, without))
        : without(text);
      const update = `update ${table} set ${column} = $1 where cast(${column} as text) = $2 and ${at.join(' and ')}`;
      changed += yield* run(update, rest, text, ...Object.values(key));
    }
    if (changed > 0) texts += 1;
  }
  if (rejected + texts > 0 && !noted) yield* noteChange('forget', now, by);
  return { rejected, texts };
}
