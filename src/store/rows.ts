import {
  type Delivery,
  deliverySpec,
  type DeliveryState,
  type Event,
  eventSpec,
  type FieldSpec,
  type Json,
  lookupConnector,
  type PlannedDelivery,
} from '../model.ts';
import {
  type RaisedNotice,
  type RefusedEvent,
  refusedEventSpec,
  type WholeRefusedEvent,
} from '../model/notices.ts';
import type { Attempt } from '../model/outcomes.ts';
import { deliveryId } from '../support/ids.ts';
import type { Value } from './operation.ts';

/**
 * Hashes a candidate id to 47 bits, which SQLite stores in six bytes. Different ids may share a hash, so it only narrows a
 * search. It is stored, so this function must never change.
 */
export function candidateKey(candidateId: string): number {
  // FNV-1a, twice: with its own prime and with another one.
  let low = 0x811c9dc5;
  let high = 0x811c9dc5;
  for (let index = 0; index < candidateId.length; index += 1) {
    const unit = candidateId.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  return (high >>> 9) * 2 ** 24 + (low >>> 8);
}

/** The seqs of an event's or notice's deliveries are its seq * 65536 + n, with n from 1. So many are possible. */
export const seqsPerEvent = 65_536;

/** The first seq of notices. Their deliveries' seqs differ from those of events and are still safe integers. */
export const firstNoticeSeq = 2 ** 36;

/** Deliveries as `d`, each with its event as `e` or its notice as `n`. */
export const deliveries = `
  deliveries d left join events e on e.seq = d.seq / ${seqsPerEvent} left join notices n on n.seq = d.seq / ${seqsPerEvent}`;

/** The SQL of a delivery's seq by its id: $1 or $2 is the id of its event or notice, $3 its n. */
export const seqById = `coalesce((select seq from events where id = $1), (select seq from notices where id = $2))
    * ${seqsPerEvent} + $3`;

/** The SQL of a delivery's id by the id of its event or notice, and its seq. See `deliveryId`. */
export const idOf = (subject: string, seq: string): string =>
  `'dlv_' || substr(${subject}, 5) || '_' || (${seq} % ${seqsPerEvent})`;

export const deliveryIdAt = (subject: string, seq: number): string => deliveryId(subject, seq % seqsPerEvent);

/** The condition for the seqs of the deliveries of an event or notice. */
export const of = (seq: string): string =>
  `between ${seq} * ${seqsPerEvent} and ${seq} * ${seqsPerEvent} + ${seqsPerEvent - 1}`;

// The conditions of partial indexes. SQLite uses such an index only if the query repeats its condition.
export const rareState = `d.state not in ('pending', 'delivered')`;
export const isRare = (state: DeliveryState): boolean => state !== 'pending' && state !== 'delivered';
export const leads = `(d.carrier is null or d.carrier = d.seq)`;
export const waits = `d.state = 'pending' and ${leads}`;

/**
 * A `with` of `heads`: the lanes with pending deliveries. It jumps through their index, and reads one row for each
 * lane.
 */
export const pendingLanes = `recursive heads (lane) as (
    select * from (select d.lane from deliveries d where ${waits} order by d.lane limit 1) as first
    union all
    select (select d.lane from deliveries d where ${waits} and d.lane > heads.lane order by d.lane limit 1)
    from heads where heads.lane is not null
  )`;

/** The condition for a delivery in one of these states. */
export const isIn = (states: readonly DeliveryState[]): string =>
  `d.state in (${states.map((state) => `'${state}'`).join(', ')})`;

/** The condition for a delivery that is a look-up. */
export const isLookup = `d.connector = '${lookupConnector}'`;

/** The condition for a delivery of an event, and not of a notice. */
export const ofEvents = `d.seq < ${firstNoticeSeq * seqsPerEvent}`;

/** The condition for `a` to be the last attempt at the delivery `d`. */
export const isLastAttempt = 'a.delivery_seq = coalesce(d.carrier, d.seq) and a.number = d.attempts';

/** The condition for what went out for an event after that time, but not as meant; see Delivered.missed. */
export const missedAfter = (after: string): string =>
  `d.state = 'delivered' and d.last_error is not null and d.ended_at > ${after} and ${ofEvents}`;

/** The SQL of a StuckCount's cause. A rejection is about the action's message. Other failures are about the sink. */
export const causeOfDeath = `
  a.outcome ->> 'reason'
    || case when a.outcome ->> 'outcome' = 'rejected' then ' in ' || d.rule || ' ' || d.action else '' end`;

declare const record: unique symbol;

/** A row that has the columns of a record. */
export interface RowOf<T> {
  readonly [record]: T;
}

/**
 * How values are stored for which databases have no type. The store reads only what it wrote, so their shape is known.
 */
const json = {
  read: (text: Value): unknown => (text === null ? null : JSON.parse(text as string)),
  write: (value: never): Value => jsonOrNull(value),
};
const flag = { read: (value: Value): unknown => value === 1, write: (value: never): Value => Number(value) };
const codecs: Record<FieldSpec['kind'], Partial<typeof json>> = {
  json,
  map: json,
  flag,
  text: {},
  number: {},
  time: {},
};

interface Column extends Pick<FieldSpec, 'kind'> {
  /** Whether the record lacks the field where the column is null. */
  readonly isOptional?: true;
}

/**
 * Maps a record to a table: what is selected, read and inserted derives from the list of its fields. A field's column has
 * its name in snake_case. `elsewhere`: the SQL of fields without a column, or whose column has another name.
 */
function recordIn<T>(
  table: string,
  list: { readonly [field in keyof T]-?: Column },
  elsewhere: { readonly [field in keyof T]?: string } = {},
) {
  const fields = Object.entries<Column>(list).map(([name, { kind, isOptional = false }]) => {
    const field = name as keyof T;
    const snakeCase = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const sql = elsewhere[field] ?? `${table}.${snakeCase}`;
    const type = kind === 'number' || kind === 'time' || kind === 'flag' ? 'bigint' : 'text';
    return { field, sql, as: `${table}.${name}`, codec: codecs[kind], isOptional, type } as const;
  });
  // Copied and filled in, as an object that gets its fields one by one is several times as large. By `Object.assign`: a
  // spread that sees objects of many shapes copies field by field.
  const blank = Object.fromEntries(
    fields.flatMap(({ field, isOptional }) => (isOptional ? [] : [[field, null]])),
  ) as { readonly [field in keyof T]?: unknown };
  const written = fields.filter(({ sql }) => /^\w+\.\w+$/.test(sql) && sql.startsWith(`${table}.`));
  return {
    columns: fields.map(({ sql, as }) => `${sql} as "${as}"`).join(', '),
    read: (row: RowOf<T>): T => {
      const values = row as unknown as Readonly<Record<string, Value>>;
      const result: { [field in keyof T]?: unknown } = Object.assign({}, blank);
      for (const { field, as, codec, isOptional } of fields)
        if (!isOptional || values[as] !== null)
          result[field] = codec.read ? codec.read(values[as]!) : values[as];
      return result as T;
    },
    /** The columns that an insert fills; below, with their types. */
    written: written.map(({ sql }) => sql.slice(table.length + 1)),
    types: Object.fromEntries(written.map(({ sql, type }) => [sql.slice(table.length + 1), type])),
    /** The values of `written`, appended to `before`. */
    values: (one: T, before: Value[] = []): Value[] => {
      for (const { field, codec } of written)
        before.push(codec.write ? codec.write(one[field] as never) : ((one[field] ?? null) as Value));
      return before;
    },
  };
}

/** The parameters `$1, $2, …` for these columns, from the `first` one on. */
export const places = (columns: readonly string[], first = 1): string =>
  columns.map((_, place) => `$${first + place}`).join(', ');

export const event = recordIn<Event>('e', eventSpec);

const subject = 'coalesce(e.id, n.id)';

/** Selected from `deliveries`. */
export const delivery = recordIn<Delivery>('d', deliverySpec, {
  id: idOf(subject, 'd.seq'),
  eventId: 'e.id',
  noticeId: 'n.id',
  configId: 'coalesce(d.config_id, e.config_id, n.config_id)',
  group: 'd.group_key',
  carrier: idOf(`(select c.id from events c where c.seq = d.carrier / ${seqsPerEvent})`, 'd.carrier'),
  createdAt: 'coalesce(e.received_at, n.raised_at)',
  resendOf: idOf(subject, 'd.resend_of'),
});

const { rule, action, sink, connector, lane, dueAt, group, groupMax } = deliverySpec;

export const planned = recordIn<PlannedDelivery>(
  'd',
  { rule, action, sink, connector, lane, dueAt, group, groupMax },
  { group: 'd.group_key' },
);

const [text, number] = [{ kind: 'text' }, { kind: 'number' }] as const;

export const notice = recordIn<RaisedNotice>(
  'n',
  {
    id: text,
    alert: text,
    cause: text,
    sink: text,
    count: number,
    since: number,
    detail: text,
    advice: text,
    recovered: { kind: 'flag' },
    from: { kind: 'text', isOptional: true },
    raisedAt: number,
  },
  { from: 'n.origin' },
);

export const attempt = recordIn<Attempt>('a', {
  number,
  startedAt: number,
  endedAt: number,
  outcome: { kind: 'json' },
});

/**
 * A request that was refused for its content (400, 413, 415, 422), kept so that people notice a change at the sender.
 */
export interface RejectedRequest {
  readonly receivedAt: number;
  readonly address: string;
  /** Null where none came; empty of an event, most likely, of which nothing could be read. */
  readonly correlationId: string | null;
  readonly status: number;
  /** One line for each fault. */
  readonly faults: readonly string[];
  /** The start of the body. */
  readonly body: string;
}

export const rejectedRequest = recordIn<RejectedRequest>('r', {
  receivedAt: number,
  address: text,
  correlationId: text,
  status: number,
  faults: { kind: 'json' },
  body: text,
});

const refusedElsewhere = { at: 'f.came_at', from: 'f.origin' };

/** Leaves out the payload, which may be long. */
export const refusedEvent = recordIn<RefusedEvent>('f', refusedEventSpec, refusedElsewhere);

export const wholeRefusedEvent = recordIn<WholeRefusedEvent>(
  'f',
  { ...refusedEventSpec, raw: text },
  refusedElsewhere,
);

export function jsonOrNull(value: Json | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
