import type { Delivery, DeliveryState, Json } from '../../model.ts';
import type { Mentions } from '../../support/mentions.ts';
import { type Mask, maskTexts } from '../../support/secret.ts';
import type { Tallies } from '../tallies.ts';
import { type By, sql as auditSql } from './audit.ts';
import { eraseEvent } from './housekeeping.ts';
import { all, get, lock, query, run, type Operation, type Value } from '../operation.ts';
import { sql as reading } from './reading.ts';
import { candidateKey, delivery, firstNoticeSeq, idOf, of, seqsPerEvent } from './rows.ts';

export interface Forgetting {
  readonly candidateId: string;
  /** All events of the candidate that the caller knows of. */
  readonly eventIds: readonly string[];
  readonly mentions: Mentions;
}

export type Forgotten =
  | {
      readonly done: true;
      readonly events: number;
      readonly rejected: number;
      /** As they were at last. */
      readonly deliveries: readonly Delivery[];
    }
  | {
      readonly done: false;
      /** An event that the caller does not know of. */
      readonly unexpected: string | null;
      /** Deliveries that are being sent, or tried again in a digest with others. */
      readonly underWay: readonly string[];
    };

interface FoundEvent {
  readonly seq: number;
  readonly id: string;
  readonly content: number;
  readonly config_id: string;
  readonly test_id: number;
  readonly status: string;
}

interface FoundDelivery {
  readonly seq: number;
  readonly id: string;
  readonly carrier: number | null;
  readonly lane: string;
  readonly state: DeliveryState;
}

const sql = {
  eventsOf: query<FoundEvent>(`
  select seq, id, coalesce(content, seq) as content, config_id, test_id, status from events
  where candidate_key = $1 and candidate_id = $2 order by seq`),
  deliveriesOf: query<FoundDelivery>(`
  select d.seq, ${idOf('e.id', 'd.seq')} as id, d.carrier, d.lane, d.state from deliveries d join events e on e.seq = $1
  where d.seq ${of('$1')} order by d.seq`),
  othersIn: query<{ readonly seq: number }>(`
  select d.seq from deliveries d where d.carrier = $1 and d.seq not ${of('$2')} limit 1`),
  forgetMessage: `update deliveries set message = null where carrier = $1`,
  deleteContent: `delete from correlations where content = $1`,
  deleteRejected: `delete from rejected_requests where seq = $1`,
};

/**
 * Erases a candidate's events with their deliveries, attempts and repeats. Pending deliveries are given up with that. Does
 * nothing where a delivery is under way, or where there is an event that the caller does not know of. The audit gets a line
 * that does not say who it was. Holds off whoever would count a repeat of these events, begin their deliveries or delete
 * them.
 */
export function* forget(
  tallies: Tallies,
  { candidateId, eventIds }: Forgetting,
  now: number,
  by: By,
): Operation<Forgotten> {
  yield* lock('prune');
  const found = () => all(sql.eventsOf, candidateKey(candidateId), candidateId);
  for (const { test_id, status } of yield* found()) yield* lock(`${test_id} ${status} ${candidateId}`);
  const events = yield* found();
  const unexpected = events.find(({ id }) => !eventIds.includes(id));
  if (unexpected) return { done: false, unexpected: unexpected.id, underWay: [] };
  const underWay = yield* findUnderWay(events);
  if (underWay.length > 0) return { done: false, unexpected: null, underWay };
  const deliveries: Delivery[] = [];
  for (const event of events) {
    deliveries.push(...(yield* all(reading.deliveriesOf, event.seq)).map(delivery.read));
    yield* eraseOne(tallies, event);
  }
  if (events.length > 0) yield* note(now, by);
  return { done: true, events: events.length, rejected: 0, deliveries };
}

const note = (now: number, by: By) => run(auditSql.insertChange, now, by.who, by.from, 'forget', by.note);

/** Those that are being sent, or tried again under the id of a digest that has others in it. */
function* findUnderWay(events: readonly FoundEvent[]): Operation<string[]> {
  const ids: string[] = [];
  for (const { seq } of events) {
    const lanes = new Set((yield* all(sql.deliveriesOf, seq)).map(({ lane }) => lane));
    for (const lane of lanes) yield* lock(`lane ${lane}`);
    for (const one of yield* all(sql.deliveriesOf, seq)) {
      const isShared =
        one.state === 'pending' && one.carrier !== null && (yield* hasOthers(one.carrier, seq));
      if (one.state === 'sending' || isShared) ids.push(one.id);
    }
  }
  return ids;
}

function* hasOthers(carrier: number, eventSeq: number): Operation<boolean> {
  return (yield* all(sql.othersIn, carrier, eventSeq)).length > 0;
}

function* eraseOne(tallies: Tallies, event: FoundEvent): Operation<void> {
  const carriers = new Set((yield* all(sql.deliveriesOf, event.seq)).flatMap(({ carrier }) => carrier ?? []));
  for (const carrier of carriers) yield* run(sql.forgetMessage, carrier);
  yield* eraseEvent(tallies, event);
  yield* run(sql.deleteContent, event.content);
}

/** Where people or tools may have written whom something was about. */
interface FreeText {
  readonly table:
    | 'deliveries'
    | 'attempts'
    | 'notices'
    | 'audit'
    | 'pauses'
    | 'sink_figures'
    | 'rejected_requests';
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Only rows with a hint are read. */
  readonly isLarge?: boolean;
  /** Before the first key that is looked at. */
  readonly from: Value;
}

const places: readonly FreeText[] = [
  { table: 'rejected_requests', key: ['seq'], columns: ['body', 'faults', 'correlation_id'], from: -1 },
  { table: 'notices', key: ['seq'], columns: ['cause', 'detail', 'advice'], from: -1 },
  { table: 'audit', key: ['seq'], columns: ['note'], from: -1 },
  { table: 'pauses', key: ['sink'], columns: ['detail'], from: '' },
  { table: 'sink_figures', key: ['sink'], columns: ['detail'], from: '' },
  {
    table: 'deliveries',
    key: ['seq'],
    columns: ['last_error', 'progress', 'receipt', 'thread'],
    isLarge: true,
    from: -1,
  },
  // Those of events say what their own event does.
  { table: 'deliveries', key: ['seq'], columns: ['message'], from: firstNoticeSeq * seqsPerEvent },
  { table: 'attempts', key: ['delivery_seq', 'number'], columns: ['outcome'], isLarge: true, from: -1 },
];
const inJson = new Set(['progress', 'receipt', 'message', 'outcome']);

function withoutIn(column: string, text: string, without: Mask): string {
  return inJson.has(column) ? JSON.stringify(maskTexts(JSON.parse(text) as Json, without)) : without(text);
}

type Row = Readonly<Record<string, Value>>;

/** A row that names the candidate. */
export interface Mention extends Pick<FreeText, 'table'> {
  readonly key: Row;
  readonly before: Row;
}

const rowsAtOnce = 20_000;

/** What names a candidate in texts, apart from the candidate's own events. Reads all of them, a part at a time. */
export function* findMentions({ without, hints }: Mentions): Operation<Mention[]> {
  const found: Mention[] = [];
  for (const place of places) {
    const [first] = place.key;
    const next = query<{ readonly at: Value }>(
      `select ${first} as at from ${place.table} where ${first} > $1 order by ${first} limit 1 offset ${rowsAtOnce}`,
    );
    for (let from: Value = place.from; from !== null;) {
      const to: Value = (yield* get(next, from))?.at ?? null;
      for (const row of yield* rowsOf(place, from, to, hints)) {
        const before = pick(row, place.columns);
        if (Object.values(before).some((text) => text !== null && without(String(text)) !== text))
          found.push({ table: place.table, key: pick(row, place.key), before });
      }
      from = to;
    }
  }
  return found;
}

function rowsOf(
  { table, key, columns, isLarge }: FreeText,
  from: Value,
  to: Value,
  hints: readonly string[],
): Operation<Row[]> {
  const values = [from, ...(to === null ? [] : [to])];
  const likes = isLarge ? hints.map((hint, place) => ({ hint, place: values.length + place + 1 })) : [];
  const has = columns.flatMap((column) =>
    likes.map(({ place }) => `lower(cast(${column} as text)) like $${place}`),
  );
  const texts = columns.map((column) => `cast(${column} as text) as ${column}`);
  const conditions = [
    `${key[0]} > $1`,
    ...(to === null ? [] : [`${key[0]} <= $2`]),
    ...(has.length === 0 ? [] : [`(${has.join(' or ')})`]),
  ];
  return all(
    query<Row>(`select ${[...key, ...texts].join(', ')} from ${table} where ${conditions.join(' and ')}`),
    ...values,
    ...likes.map(({ hint }) => `%${hint}%`),
  );
}

const pick = (row: Row, columns: readonly string[]): Row =>
  Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));

/** Takes the candidate out of the texts that were found, unless they were changed since. Returns how many requests went. */
export function* eraseMentions(
  found: readonly Mention[],
  { without }: Mentions,
  noted: boolean,
  now: number,
  by: By,
): Operation<number> {
  let rejected = 0;
  for (const { table, key, before } of found) {
    if (table === 'rejected_requests') rejected += yield* run(sql.deleteRejected, key['seq']!);
    else yield* redact(table, key, before, without);
  }
  if (rejected > 0 && !noted) yield* note(now, by);
  return rejected;
}

function* redact(table: string, key: Row, before: Row, without: Mask): Operation<void> {
  const at = Object.keys(key).map((column, place) => `${column} = $${place + 3}`);
  for (const [column, text] of Object.entries(before)) {
    if (typeof text !== 'string' || without(text) === text) continue;
    const rest = withoutIn(column, text, without);
    const update = `update ${table} set ${column} = $1 where cast(${column} as text) = $2 and ${at.join(' and ')}`;
    yield* run(update, rest, text, ...Object.values(key));
  }
}
