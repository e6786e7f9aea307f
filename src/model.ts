/** Events and deliveries, as all parts share them. This file imports nothing. */

/** The final states that the service reports. */
export const statuses = ['Completed', 'DidNotTake', 'Canceled'] as const;
export type Status = (typeof statuses)[number];

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonMap = { readonly [key: string]: Json };

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a field of a record may hold. Times are milliseconds since the epoch in the code, and ISO 8601 in UTC outside. */
interface Kinds {
  readonly text: string;
  readonly number: number;
  readonly time: number;
  readonly flag: boolean;
  readonly json: Json;
  readonly map: JsonMap;
}

/** A field of a record. What is stored, printed, answered and rendered of the record derives from the list of these. */
export interface FieldSpec {
  readonly kind: keyof Kinds;
  readonly nullable?: true;
  /** The only texts that it may be. */
  readonly values?: readonly string[];
  /** The payload has it. */
  readonly sent?: true;
  /** In JSON, CSV and the API: `list` where records are listed and where one is looked at, `detail` only there. */
  readonly shown?: 'list' | 'detail';
  /** For the API's description. */
  readonly about?: string;
}

export type FieldList = { readonly [field: string]: FieldSpec };

type ValueOf<Spec extends FieldSpec> =
  | (Spec extends { readonly values: readonly (infer Text)[] } ? Text : Kinds[Spec['kind']])
  | (Spec extends { readonly nullable: true } ? null : never);

export type RecordOf<List extends FieldList> = { readonly [field in keyof List]: ValueOf<List[field]> };

/** A record as it is told outside of the code: times as ISO 8601 in UTC. */
export type JsonOf<List extends FieldList, Field extends keyof List> = {
  readonly [field in Field]: List[field]['kind'] extends 'time'
    ? string | Extract<ValueOf<List[field]>, null>
    : ValueOf<List[field]>;
};

/** Some of a record's fields, in the order given. */
export function told<List extends FieldList, Field extends keyof List & string>(
  list: List,
  fields: readonly Field[],
  record: RecordOf<List>,
): JsonOf<List, Field> {
  // Not from a list of entries: it runs for every delivery.
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

/** Of an event as received. */
export const eventSpec = {
  id: { kind: 'text', shown: 'list' },
  candidateId: { kind: 'text', sent: true, shown: 'list' },
  /** Only one variant of the payload has it. */
  candidateNumericalId: { kind: 'number', nullable: true, sent: true, shown: 'list' },
  testId: { kind: 'number', sent: true, shown: 'list' },
  status: { kind: 'text', values: statuses, sent: true, shown: 'list' },
  receivedAt: { kind: 'time', shown: 'list' },
  correlationId: { kind: 'text', nullable: true, shown: 'list' },
  /** As the request had it; see readTraceparent. */
  traceparent: { kind: 'text', nullable: true },
  /** The parsed request body, unknown fields included. */
  raw: { kind: 'map' },
} as const satisfies FieldList;

export type Event = RecordOf<typeof eventSpec>;

/** An event as templates and connectors see it, and as it is printed and answered, there without `raw`. */
export type EventData = JsonOf<typeof eventSpec, keyof Event>;
export const shownOfEvent = shownIn(eventSpec, 'list');

type NullableField = {
  [field in keyof Event]: null extends Event[field] ? field : never;
}[keyof Event];

/** Of an event, what need not be known. */
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
   * waiting: asked, or to be asked. answered: the API answered. absent: it says that there is none (404 until `waitFor` was
   * over). unknown: not found out in time, refused, or broken.
   */
  readonly state: 'waiting' | 'answered' | 'unknown' | 'absent';
  /** When that became so (ms); null while it waits. */
  readonly at: number | null;
  /** Why it is unknown, absent or still waiting, or which fields had a wrong type; null if there is nothing to say. */
  readonly reason: string | null;
  /** Those that were found out; null: the API says that there is none. One that is not here is unknown. */
  readonly fields: { readonly [field: string]: string | number | boolean | null };
}

/** By the look-up's name. A look-up that was not made for the event has no entry: its fields are unknown. */
export type Facts = { readonly [lookup: string]: LookupFacts };

export const noFacts: Facts = {};

/** A look-up is made as a delivery of this connector, though where people count messages it is none. */
export const lookupConnector = 'lookup';
/** The sink that a look-up is made by, as deliveries name it. No sink of a config can have such a name. */
const lookupPrefix = `${lookupConnector}:`;
export const lookupSink = (lookup: string): string => lookupPrefix + lookup;
/** The look-up of a sink; null for those that send messages. */
export const lookupOf = (sink: string): string | null =>
  sink.startsWith(lookupPrefix) ? sink.slice(lookupPrefix.length) : null;

/** Facts as they are told outside of the code: times as ISO 8601 in UTC. */
export interface ToldFacts {
  readonly [lookup: string]: Omit<LookupFacts, 'at'> & { readonly at: string | null };
}

/** `isTold`: whether a field is. */
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

/** An event, and what look-ups found out about it. */
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

/** What a person can do that changes what is stored. */
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

/** A person has to decide about these; they are kept until then. */
export const replayableStates: readonly DeliveryState[] = ['dead', 'held'];
export const discardableStates: readonly DeliveryState[] = ['pending', ...replayableStates];
/** Their events are not yet over. */
export const openStates: readonly DeliveryState[] = ['sending', ...discardableStates];

/** Of a delivery. */
export const deliverySpec = {
  /** As metadata, a Message-ID, a header, a column. */
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
  /** A person has replayed it since the last attempt, or made it to send another one again. */
  replayed: { kind: 'flag' },
  receipt: { kind: 'map', nullable: true, shown: 'list', about: "The tool's own proof." },
  /** The last failure, with what to try. */
  lastError: { kind: 'text', nullable: true, shown: 'list' },
  /**
   * In a digest that has been attempted: the id of the delivery that carries its message, which may be this one. It never
   * changes, so every attempt has the same events. Null otherwise.
   */
  carrier: { kind: 'text', nullable: true, shown: 'detail' },
  /** The id of the delivery that a person sent again as this one. */
  resendOf: { kind: 'text', nullable: true, shown: 'detail' },
  /** An earlier attempt ended unknown: the tool may have the message already. */
  uncertain: { kind: 'flag', shown: 'detail' },
  /** What earlier attempts did in part, in the connector's own format. */
  progress: { kind: 'json', nullable: true },
} as const satisfies FieldList;

export type Delivery = RecordOf<typeof deliverySpec>;

export const shownOfDelivery = shownIn(deliverySpec, 'list');
/** Where one is looked at, these besides. */
export const shownInDetail = shownIn(deliverySpec, 'detail');

/** One action to carry out for one event, before it has an id. */
export type PlannedDelivery = Pick<
  Delivery,
  keyof ActionRef | 'sink' | 'connector' | 'lane' | 'dueAt' | 'group' | 'groupMax'
>;
