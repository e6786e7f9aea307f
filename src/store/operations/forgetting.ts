import type { Delivery, DeliveryState } from '../../model.ts';
import type { By, Forgetting, Forgotten } from '../store.ts';
import type { Tallies } from '../tallies.ts';
import { sql as auditSql } from './audit.ts';
import { eraseEvent } from './housekeeping.ts';
import { all, lock, query, run, type Operation, type Value } from './operation.ts';
import { sql as reading } from './reading.ts';
import { candidateKey, firstNoticeSeq, idAt, of, seqsPerEvent, toDelivery } from './rows.ts';

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
  readonly event_id: string;
  readonly carrier: number | null;
  readonly lane: string;
  readonly state: DeliveryState;
}

/** A row's key, and a text in it. */
interface TextRow {
  readonly key: number | string;
  /** Of an attempt: its number. */
  readonly number: number;
  readonly text: string;
}

/** A column where people or tools may have written whom something was about. */
interface Place {
  readonly table: 'deliveries' | 'attempts' | 'notices' | 'audit' | 'pauses';
  readonly column: string;
  readonly key: 'seq' | 'delivery_seq' | 'sink';
}

const has = (column: string): string =>
  `replace(lower(cast(${column} as text)), lower($1), '') <> lower(cast(${column} as text))`;

const ofNotices = firstNoticeSeq * seqsPerEvent;

/** Deliveries of events are looked at only in a digest: the others are about one candidate. */
const textOf = ({ table, column, key }: Place, carrier: boolean) => {
  const number = table === 'attempts' ? 'number' : '0 as number';
  const narrowed = {
    notices: '',
    audit: '',
    pauses: '',
    deliveries: carrier ? 'and carrier = $2' : `and seq >= ${ofNotices}`,
    attempts: carrier ? 'and delivery_seq = $2' : `and delivery_seq >= ${ofNotices}`,
  };
  return query<TextRow>(
    `select ${key} as key, ${number}, cast(${column} as text) as text from ${table} where ${has(column)} ${narrowed[table]}`,
  );
};

const sql = {
  eventsOf: query<FoundEvent>(`
  select seq, id, coalesce(content, seq) as content, config_id, test_id, status from events
  where candidate_key = $1 and candidate_id = $2 order by seq`),
  deliveriesOf: query<FoundDelivery>(`
  select d.seq, e.id as event_id, d.carrier, d.lane, d.state from deliveries d join events e on e.seq = $1
  where d.seq ${of('$1')} order by d.seq`),
  othersIn: query<{ readonly seq: number }>(`
  select d.seq from deliveries d where d.carrier = $1 and d.seq not ${of('$2')} limit 1`),
  forgetMessage: `update deliveries set message = null where carrier = $1`,
  deleteContent: `delete from correlations where content = $1`,
  rejectedWith: query<TextRow>(`
  select seq as key, 0 as number, body || ' ' || faults as text from rejected_requests
  where ${has('body')} or ${has('faults')}`),
  deleteRejected: `delete from rejected_requests where seq = $1`,
};

const inDelivery = ['last_error', 'progress', 'receipt', 'thread'].map((column): Place => ({
  table: 'deliveries',
  column,
  key: 'seq',
}));
const inAttempt: Place = { table: 'attempts', column: 'outcome', key: 'delivery_seq' };
const inDigests: readonly Place[] = [...inDelivery, inAttempt];
const elsewhere: readonly Place[] = [
  ...['cause', 'detail', 'advice'].map((column): Place => ({ table: 'notices', column, key: 'seq' })),
  { table: 'deliveries', column: 'message', key: 'seq' },
  ...inDigests,
  { table: 'audit', column: 'note', key: 'seq' },
  { table: 'pauses', column: 'detail', key: 'sink' },
];

/** See Store.forget. Holds off whoever would count a repeat of these events, begin their deliveries or delete them. */
export function* forget(
  tallies: Tallies,
  { candidateId, eventIds, spellings }: Forgetting,
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
    deliveries.push(...(yield* all(reading.deliveriesOf, event.seq)).map(toDelivery));
    yield* eraseOne(tallies, event, spellings);
  }
  let rejected = 0;
  for (const spelling of spellings) {
    for (const place of elsewhere) yield* redact(place, spelling, null, spellings);
    for (const { key, text } of yield* all(sql.rejectedWith, spelling))
      if (isIn(text, spelling)) rejected += yield* run(sql.deleteRejected, key);
  }
  if (events.length + rejected > 0)
    yield* run(auditSql.insertChange, now, by.who, by.from, 'forget', by.note);
  return { done: true, events: events.length, rejected, deliveries };
}

/** Those that are being sent, or tried again under the id of a digest that has others in it. */
function* findUnderWay(events: readonly FoundEvent[]): Operation<string[]> {
  const ids: string[] = [];
  for (const { seq } of events) {
    const lanes = new Set((yield* all(sql.deliveriesOf, seq)).map(({ lane }) => lane));
    for (const lane of lanes) yield* lock(`lane ${lane}`);
    for (const one of yield* all(sql.deliveriesOf, seq)) {
      const isShared =
        one.state === 'pending' && one.carrier !== null && (yield* hasOthers(one.carrier, seq));
      if (one.state === 'sending' || isShared) ids.push(idAt(one.event_id, one.seq));
    }
  }
  return ids;
}

function* hasOthers(carrier: number, eventSeq: number): Operation<boolean> {
  return (yield* all(sql.othersIn, carrier, eventSeq)).length > 0;
}

function* eraseOne(tallies: Tallies, event: FoundEvent, spellings: readonly string[]): Operation<void> {
  const carriers = new Set((yield* all(sql.deliveriesOf, event.seq)).flatMap(({ carrier }) => carrier ?? []));
  for (const carrier of carriers) {
    yield* run(sql.forgetMessage, carrier);
    for (const spelling of spellings)
      for (const place of inDigests) yield* redact(place, spelling, carrier, spellings);
  }
  yield* eraseEvent(tallies, event);
  yield* run(sql.deleteContent, event.content);
}

/** In the digest of a carrier, or where there is none in what is not about a candidate. */
function* redact(
  place: Place,
  spelling: string,
  carrier: number | null,
  spellings: readonly string[],
): Operation<void> {
  const { table, column, key } = place;
  const narrowed: Value[] = carrier !== null ? [carrier] : [];
  const put = `update ${table} set ${column} = $1 where ${key} = $2`;
  for (const row of yield* all(textOf(place, carrier !== null), spelling, ...narrowed)) {
    const text = spellings.reduce(without, row.text);
    if (table === 'attempts') yield* run(`${put} and number = $3`, text, row.key, row.number);
    else yield* run(put, text, row.key);
  }
}

/** Where another digit follows, it is the number of somebody else. */
const isIn = (text: string, spelling: string): boolean =>
  new RegExp(`${RegExp.escape(spelling)}${/\d$/.test(spelling) ? String.raw`(?!\d)` : ''}`, 'i').test(text);

/** It stands within JSON, too. */
const erased = '(erased)';

const without = (text: string, spelling: string): string =>
  text.replaceAll(new RegExp(RegExp.escape(spelling), 'gi'), erased);
