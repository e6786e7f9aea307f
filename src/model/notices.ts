import { type FieldList, type RecordOf, shownIn, statuses, stuckStates } from '../model.ts';

/** A notice as stored. Its id is `ntc_…`. */
export interface RaisedNotice extends Notice {
  readonly id: string;
  readonly raisedAt: number;
}

/**
 * What alerts are about. dead: deliveries given up. held: deliveries held for a person. paused: a paused sink. config: a
 * refused config. refused: refused events. silence: no event for a long time.
 */
export const alertKinds = [...stuckStates, 'paused', 'config', 'refused', 'silence'] as const;
export type AlertKind = (typeof alertKinds)[number];

/** The beginning of the cause of what went out, but not as meant (Delivered.missed); rule and action follow. */
export const missedCause = 'missed in';

/** Why a valid event was not taken in, though it is kept: its sender's address or token, or the path of the URL it was sent to. */
const keptReasons = ['address', 'token', 'path'] as const;

/** Why a valid event was not taken in. `store`: it could not be written; `connections`: there was no room for its connection. */
export const refusalReasons = ['store', 'connections', ...keptReasons] as const;

/** Whether what is refused for this may be taken in later. */
export const isKeptFor = (reason: NotTakenIn['reason']): reason is (typeof keptReasons)[number] =>
  keptReasons.some((one) => one === reason);

type RefusalReason = (typeof refusalReasons)[number];

/** What was not taken in for one reason, from one source. `content`: what came was not a valid event. */
export interface NotTakenIn<Reason = RefusalReason | 'content'> {
  readonly reason: Reason;
  /** The sender's address, or the network of an IPv6 one. */
  readonly from: string;
  readonly count: number;
  /** When the first and the last of them came (ms). */
  readonly first: number;
  readonly last: number;
}

/** Valid events that were refused. */
export type RefusedEvents = NotTakenIn<RefusalReason>;

/**
 * The fields of a valid event that was refused for who sent it, or where to, and is kept until a person takes it in or puts it away.
 */
export const refusedEventSpec = {
  id: { kind: 'text', shown: 'list' },
  /** When it came. */
  at: { kind: 'time', shown: 'list' },
  from: { kind: 'text', shown: 'list', about: 'An address; of IPv6 a network.' },
  reason: { kind: 'text', values: keptReasons, shown: 'list' },
  candidateId: { kind: 'text', shown: 'list' },
  candidateNumericalId: { kind: 'number', nullable: true },
  testId: { kind: 'number', shown: 'list' },
  status: { kind: 'text', values: statuses, shown: 'list' },
  correlationId: { kind: 'text', nullable: true, shown: 'list' },
  attempts: { kind: 'number', shown: 'list', about: 'How often it was refused.' },
} as const satisfies FieldList;

export type RefusedEvent = RecordOf<typeof refusedEventSpec>;
export const shownOfRefused = shownIn(refusedEventSpec, 'list');

/** A refused event with its payload as JSON. */
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
  /** For refused events: the senders that they came from. */
  readonly from?: string;
  /** How many deliveries it is about; for refused events and a summary, how many events. */
  readonly count: number;
  /** When it began (ms). */
  readonly since: number;
  /** What is wrong. */
  readonly detail: string;
  /** What to do about it. */
  readonly advice: string;
  /** Whether it says that the trouble of an earlier notice is over. */
  readonly recovered: boolean;
}
