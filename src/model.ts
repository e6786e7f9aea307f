/** The words that all parts share, as types. This file imports nothing. */

/** The final states that the service reports. */
export const statuses = ['Completed', 'DidNotTake', 'Canceled'] as const;
export type Status = (typeof statuses)[number];

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonMap = { readonly [key: string]: Json };

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * What a field of a record may hold. Times are milliseconds since the epoch in the code, and ISO 8601 in UTC outside.
 */
interface Kinds {
  readonly text: string;
  readonly number: number;
  readonly time: number;
  readonly flag: boolean;
  readonly json: Json;
  readonly map: JsonMap;
}

/** A field of a record. Rows, JSON, CSV, the API and templates derive from the lists of these. */
export interface FieldSpec {
  readonly kind: keyof Kinds;
  readonly nullable?: true;
  /** The only texts that it may be. */
  readonly values?: readonly string[];
  /** Whether the payload has it. */
  readonly sent?: true;
  /**
   * Where JSON, CSV and the API have it: in lists and for a single record, or with `detail` only for a single record.
   */
  readonly shown?: 'list' | 'detail';
  /** Its description in the API. */
  readonly about?: string;
}

export type FieldList = { readonly [field: string]: FieldSpec };

type ValueOf<Spec extends FieldSpec> =
  | (Spec extends { readonly values: readonly (infer Text)[] } ? Text : Kinds[Spec['kind']])
  | (Spec extends { readonly nullable: true } ? null : never);

export type RecordOf<List extends FieldList> = { readonly [field in keyof List]: ValueOf<List[field]> };

/** A record as JSON, CSV and templates have it: times as ISO 8601 in UTC. */
export type JsonOf<List extends FieldList, Field extends keyof List> = {
  readonly [field in Field]: List[field]['kind'] extends 'time'
    ? string | Extract<ValueOf<List[field]>, null>
    : ValueOf<List[field]>;
};

/** Makes JSON of some of a record's fields, in the order given. */
export function told<List extends FieldList, Field extends keyof List & string>(
  list: List,
  fields: readonly Field[],
  record: RecordOf<List>,
): JsonOf<List, Field> {
  // A loop, as this runs for every delivery.
  const made: { [field in Field]?: unknown } = {};
  for (const field of fields) {
    const value = record[field];
    made[field] =
      list[field]!.kind === 'time' && value !== null ? new Date(value as number).toISOString() : value;
  }
  return made as JsonOf<List, Field>;
}

type ShownIn<List extends FieldList, Where> = {
  [field in keyof List]: List[field] extends { readonly shown: Where } ? field : never;
}[keyof List] &
  string;

export function shownIn<List extends FieldList, Where extends string>(list: List, where: Where) {
  return Object.keys(list).filter((field) => list[field]!.shown === where) as ShownIn<List, Where>[];
}

/** The fields of an event. */
export const eventSpec = {
  id: { kind: 'text', shown: 'list' },
  candidateId: { kind: 'text', sent: true, shown: 'list' },
  /** Only one variant of the payload has it. */
  candidateNumericalId: { kind: 'number', nullable: true, sent: true, shown: 'list' },
  testId: { kind: 'number', sent: true, shown: 'list' },
  status: { kind: 'text', values: statuses, sent: true, shown: 'list' },
  receivedAt: { kind: 'time', shown: 'list' },
  correlationId: { kind: 'text', nullable: true, shown: 'list' },
  /** From the request; see readTraceparent. */
  traceparent: { kind: 'text', nullable: true },
  /** The parsed request body, unknown fields included. */
  raw: { kind: 'map' },
} as const satisfies FieldList;

export type Event = RecordOf<typeof eventSpec>;

/** An event as templates and connectors see it. Commands and the API leave out `raw`. */
export type EventData = JsonOf<typeof eventSpec, keyof Event>;
export const shownOfEvent = shownIn(eventSpec, 'list');

type NullableField = {
  [field in keyof Event]: null extends Event[field] ? field : never;
}[keyof Event];

/** The nullable fields of an event, all null. */
export const unknownOfEvent = Object.fromEntries(
  Object.entries<FieldSpec>(eventSpec).flatMap(([field, { nullable }]) => (nullable ? [[field, null]] : [])),
) as { readonly [field in NullableField]: null };

type SentField = {
  [field in keyof Event]: (typeof eventSpec)[field] extends { readonly sent: true } ? field : never;
}[keyof Event];

/** The payload, normalized: a GUID is 32 lowercase hex digits, numbers are safe integers. */
export type CandidateEvent = Pick<Event, SentField>;

/** What a look-up found out about an event. */
export interface LookupFacts {
  /**
   * waiting: it is asked, or will be. answered: the API answered. absent: the API says that there is none (404 until `waitFor`
   * was over). unknown: it was not answered in time, refused, or broken.
   */
  readonly state: 'waiting' | 'answered' | 'unknown' | 'absent';
  /** When it came into this state (ms); null while it waits. */
  readonly at: number | null;
  /** Why it is unknown, absent or waiting, or which fields had a wrong type; null if there is nothing to say. */
  readonly reason: string | null;
  /** The fields that were found. Null: the API says that there is no value. A missing field is unknown. */
  readonly fields: { readonly [field: string]: string | number | boolean | null };
}

/** Facts by the look-up's name. A look-up that was not made for the event has no entry: its fields are unknown. */
export type Facts = { readonly [lookup: string]: LookupFacts };

export const noFacts: Facts = {};

/** The connector's name in the deliveries that are look-ups. They are no messages, and not counted as such. */
export const lookupConnector = 'lookup';
const lookupPrefix = `${lookupConnector}:`;
/** The sink's name in the deliveries of a look-up. No sink of a config can have such a name. */
export const lookupSink = (lookup: string): string => lookupPrefix + lookup;
/** The name of a sink's look-up; null for a sink that sends messages. */
export const lookupOf = (sink: string): string | null =>
  sink.startsWith(lookupPrefix) ? sink.slice(lookupPrefix.length) : null;

/** Facts as JSON and templates have them: times as ISO 8601 in UTC. */
export interface ToldFacts {
  readonly [lookup: string]: Omit<LookupFacts, 'at'> & { readonly at: string | null };
}

/** Makes JSON of facts, with the fields for which `isTold` is true. */
export const toldFacts = (
  facts: Facts,
  isTold: (lookup: string, field: string) => boolean = () => true,
): ToldFacts =>
  Object.fromEntries(
    Object.entries(facts).map(([name, { state, at, reason, fields }]) => {
      const some = Object.entries(fields).filter(([field]) => isTold(name, field));
      const time = at === null ? null : new Date(at).toISOString();
      return [name, { state, at: time, reason, fields: Object.fromEntries(some) }];
    }),
  );

/** An event with its facts. */
export interface EventWithFacts {
  readonly event: Event;
  readonly facts: Facts;
}

/** An action of a config: the rule's name and the action's index in its `then`. */
export interface ActionRef {
  readonly rule: string;
  readonly action: number;
}

/**
 * pending: waits until dueAt. sending: claimed, the intent to send is on disk. dead: given up. held: it may have
 * arrived and a person has to say. discarded: for ever.
 */
export const deliveryStates = ['pending', 'sending', 'delivered', 'dead', 'held', 'discarded'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** What a person can do that changes the store, as the audit names it. */
export const changeKinds = [
  'replay',
  'discard',
  'resend',
  'apply',
  'lookup',
  'forget',
  'ignore',
  'accept',
  'reconcile',
  'retry',
  'pause',
  'resume',
] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** States in which a person has to decide. Such deliveries are kept until then. */
export const stuckStates = ['dead', 'held'] as const satisfies readonly DeliveryState[];
export type StuckState = (typeof stuckStates)[number];
export const isStuck = (state: string): state is StuckState => stuckStates.some((one) => one === state);
/** Whether a delivery in this state goes on by itself. */
export const isUnderWay = (state: DeliveryState): boolean => state === 'pending' || state === 'sending';
export const discardableStates: readonly DeliveryState[] = ['pending', ...stuckStates];
/** States of deliveries that are not over, so that their events are kept. */
export const openStates: readonly DeliveryState[] = ['sending', ...discardableStates];

/** The fields of a delivery. */
export const deliverySpec = {
  /** Tools get it as metadata, Message-ID, header or column. */
  id: { kind: 'text', shown: 'list', about: 'Stable over all attempts; the tools see it.' },
  /** The event that it is for; null where it is for a notice. */
  eventId: { kind: 'text', nullable: true },
  noticeId: { kind: 'text', nullable: true },
  configId: { kind: 'text' },
  rule: { kind: 'text', shown: 'list' },
  action: { kind: 'number', shown: 'list', about: "The action's place in the rule, from 0 on." },
  sink: { kind: 'text', shown: 'list' },
  /** The connector's name, so that an old delivery can still be read after its sink has changed. */
  connector: { kind: 'text', shown: 'list' },
  /** Deliveries of one lane share a rate and an order, for example one channel. Starts with the sink's name. */
  lane: { kind: 'text' },
  /** Deliveries with the same group become one message (a digest). */
  group: { kind: 'text', nullable: true },
  /** How many deliveries of the group one message may carry. */
  groupMax: { kind: 'number', nullable: true },
  state: { kind: 'text', values: deliveryStates, shown: 'list' },
  dueAt: { kind: 'time', shown: 'list' },
  createdAt: { kind: 'time' },
  /** `giveUpAfter` counts from here: the first due time, or the last replay. */
  since: { kind: 'time' },
  attempts: { kind: 'number', shown: 'list', about: 'Begun, including the one in flight.' },
  firstAttemptAt: { kind: 'time', nullable: true },
  /** Whether a person has replayed it since the last attempt, or made it to send another one again. */
  replayed: { kind: 'flag' },
  receipt: { kind: 'map', nullable: true, shown: 'list', about: "The tool's own proof." },
  /** The last failure, with what to try. */
  lastError: { kind: 'text', nullable: true, shown: 'list' },
  /**
   * The id of the delivery that carries the message of its digest, perhaps its own. Set by the first attempt and not changed
   * any more, so that every attempt has the same events.
   */
  carrier: { kind: 'text', nullable: true, shown: 'detail' },
  /** The id of the delivery that a person sent again as this one. */
  resendOf: { kind: 'text', nullable: true, shown: 'detail' },
  /** Whether an earlier attempt ended unknown, so that the tool may have the message. */
  uncertain: { kind: 'flag', shown: 'detail' },
  /**
   * When the message was first composed that may have arrived. Until it is known what became of it, every attempt composes it as
   * of then: the tool is asked about that one, and at its place. Null where none may have arrived since the last replay.
   */
  composedAt: { kind: 'time', nullable: true },
  /** What earlier attempts did in part, in the connector's own format. */
  progress: { kind: 'json', nullable: true },
} as const satisfies FieldList;

export type Delivery = RecordOf<typeof deliverySpec>;

export const shownOfDelivery = shownIn(deliverySpec, 'list');
/** Shown besides for a single delivery. */
export const shownInDetail = shownIn(deliverySpec, 'detail');

/** One action to carry out for one event, before it has an id. */
export type PlannedDelivery = Pick<
  Delivery,
  keyof ActionRef | 'sink' | 'connector' | 'lane' | 'dueAt' | 'group' | 'groupMax'
>;
