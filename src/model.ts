/** The types that all parts share. This file imports nothing. */

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

type RecordOf<List extends FieldList> = { readonly [field in keyof List]: ValueOf<List[field]> };

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
  const value = (field: Field) =>
    list[field]!.kind === 'time' && record[field] !== null
      ? new Date(record[field] as number).toISOString()
      : record[field];
  return Object.fromEntries(fields.map((field) => [field, value(field)])) as JsonOf<List, Field>;
}

type ShownIn<List extends FieldList, Where> = {
  [field in keyof List]: List[field] extends { readonly shown: Where } ? field : never;
}[keyof List] &
  string;

function shownIn<List extends FieldList, Where extends string>(list: List, where: Where) {
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
export const lookupSink = (lookup: string): string => `${lookupConnector}:${lookup}`;
/** The look-up of a sink; null for those that send messages. */
export const lookupOf = (sink: string): string | null =>
  sink.startsWith(lookupSink('')) ? sink.slice(lookupSink('').length) : null;

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

/** A notice as stored. Its id is `ntc_…`. */
export interface RaisedNotice extends Notice {
  readonly id: string;
  readonly raisedAt: number;
}

/** What alerts tell of: deliveries given up, or held for a person; a sink that is paused; a config or events refused; no event for long. */
export const alertKinds = ['dead', 'held', 'paused', 'config', 'refused', 'silence'] as const;
export type AlertKind = (typeof alertKinds)[number];
/** The alerts of deliveries in the state of the same name. */
export type StuckState = Extract<AlertKind, DeliveryState>;

/** How the cause of what was delivered, but not to all whom it was for, begins; which action missed somebody follows. */
export const missedCause = 'missed in';

/** Why an event was not taken: the store could not write, its sender's address is not allowed, or its token was wrong. */
export const refusalReasons = ['store', 'address', 'token'] as const;

/** Events that were refused for one reason, from one source. */
export interface RefusedEvents {
  readonly reason: (typeof refusalReasons)[number];
  /** The sender's address, or the network of an IPv6 one. */
  readonly from: string;
  readonly count: number;
  /** When the first and the last of them came (ms). */
  readonly first: number;
  readonly last: number;
}

/** Of a valid event that was refused for who sent it, and is kept until a person takes it in or puts it away. */
export const refusedEventSpec = {
  id: { kind: 'text', shown: 'list' },
  /** When it came first. */
  at: { kind: 'time', shown: 'list' },
  from: { kind: 'text', shown: 'list', about: 'An address; of IPv6 a network.' },
  reason: { kind: 'text', values: ['address', 'token'], shown: 'list' },
  candidateId: { kind: 'text', shown: 'list' },
  candidateNumericalId: { kind: 'number', nullable: true },
  testId: { kind: 'number', shown: 'list' },
  status: { kind: 'text', values: statuses, shown: 'list' },
  correlationId: { kind: 'text', nullable: true, shown: 'list' },
  attempts: { kind: 'number', shown: 'list', about: 'How often it was refused.' },
} as const satisfies FieldList;

export type RefusedEvent = RecordOf<typeof refusedEventSpec>;
export const shownOfRefused = shownIn(refusedEventSpec, 'list');

/** With its payload, as JSON. */
export interface WholeRefusedEvent extends RefusedEvent {
  readonly raw: string;
}

/** What an alert, or the weekly summary, says about the connector. */
export interface Notice {
  readonly alert: AlertKind | 'summary';
  /** The same for each notice about the same trouble. At most one an hour is raised for each cause. */
  readonly cause: string;
  /** The sink in trouble, if it is about one. */
  readonly sink: string | null;
  /** Of refused events: which senders they came from. */
  readonly from?: string;
  /** How many deliveries it is about; of refused ones and of a summary, how many events. */
  readonly count: number;
  /** When it began (ms). */
  readonly since: number;
  /** What is wrong. */
  readonly detail: string;
  /** What to do about it. */
  readonly advice: string;
  /** It says that the trouble of an earlier notice is over. */
  readonly recovered: boolean;
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

/** Why an attempt did not deliver. A closed list: metrics and logs use it as it is. */
export const reasons = [
  'timeout',
  'network',
  'rate_limited',
  'server',
  'auth',
  'invalid',
  'not_found',
  'unexpected',
] as const;
export type Reason = (typeof reasons)[number];

/** The tool's proof of a delivery: the place and time of a message, the range of a row, a server's reply. */
export type Receipt = { readonly [key: string]: Json };

export interface Delivered {
  readonly outcome: 'delivered';
  readonly receipt: Receipt;
  /** What people should know about a flawed success: a refused recipient, a shortened text. */
  readonly note?: string;
  /** Somebody did not get it, or it stands elsewhere than meant: a person has to know, and the note says what. */
  readonly missed?: true;
}

/** It did not arrive, or only perhaps where `perhapsDone` says so, and trying again may help. */
export interface Retry {
  readonly outcome: 'retry';
  readonly reason: Reason;
  readonly detail: string;
  /** The delay that the tool or the connector asks for. It replaces the backoff. */
  readonly retryAfterMs?: number;
  /**
   * True if every message to the sink would fail. `perhaps` if that is not known: many such failures in a row count as
   * one of the sink.
   */
  readonly sinkWide?: boolean | 'perhaps';
  /** The tool, or what stands before it, may have answered so after the work was done. */
  readonly perhapsDone?: true;
  /** What this attempt did in part, for the next one. */
  readonly progress?: Json;
}

/** It certainly did not arrive, and trying again cannot help until somebody changes something. */
export interface Rejected {
  readonly outcome: 'rejected';
  readonly reason: Reason;
  readonly detail: string;
  /** The fix to try. */
  readonly advice: string;
}

/** It may have arrived. */
export interface Unknown {
  readonly outcome: 'unknown';
  readonly reason: Reason;
  readonly detail: string;
  /** What the next attempt needs to know of this one; handed to it. */
  readonly progress?: Json;
}

export type Outcome = Delivered | Retry | Rejected | Unknown;

/** Whether nobody knows if the message arrived. */
export const mayHaveArrived = (outcome: Outcome): boolean =>
  outcome.outcome === 'unknown' || (outcome.outcome === 'retry' && outcome.perhapsDone === true);

/** What an attempt that failed says of why. */
export type Failure = Pick<Retry, 'reason' | 'detail'>;

/** A record, so that none can be missing. */
const outcomes: { readonly [kind in Outcome['outcome']]: true } = {
  delivered: true,
  retry: true,
  rejected: true,
  unknown: true,
};
export const outcomeKinds: readonly string[] = Object.keys(outcomes);

/** One try at a delivery, as stored. */
export interface Attempt {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}
