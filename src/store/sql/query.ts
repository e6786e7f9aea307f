import { seqsPerEvent } from '../rows.ts';

declare const row: unique symbol;

/** A statement that returns rows of this shape. Its text has `$1`, `$2`, …, as PostgreSQL takes them. */
export type Query<Row> = string & { readonly [row]: Row };

export function query<Row>(text: string): Query<Row> {
  return text as Query<Row>;
}

/** Deliveries as `d`, each with what it is for: its event as `e` or its notice as `n`. */
export const deliveries = `
  deliveries d left join events e on e.seq = d.seq / ${seqsPerEvent} left join notices n on n.seq = d.seq / ${seqsPerEvent}`;

/** A delivery's seq from what its id says: the event's and the notice's id that it may be for, and its n. */
export const seqOf = (eventId: string, noticeId: string, n: string): string =>
  `coalesce((select seq from events where id = ${eventId}), (select seq from notices where id = ${noticeId}))
    * ${seqsPerEvent} + ${n}`;

/** The condition on the seqs of the deliveries for an event or a notice. */
export const of = (seq: string): string =>
  `between ${seq} * ${seqsPerEvent} and ${seq} * ${seqsPerEvent} + ${seqsPerEvent - 1}`;

// The conditions of indexes, which SQLite uses only where it finds them repeated.
export const rareState = `d.state not in ('pending', 'delivered')`;
export const leads = `(d.carrier is null or d.carrier = d.seq)`;
export const waits = `d.state = 'pending' and ${leads}`;

/** A change to a delivery that is in no digest, whose seq is $1, and to all of a digest, whose carrier's seq is $1. */
export interface Change {
  readonly alone: string;
  readonly digest: string;
}

export function change(assignments: string): Change {
  const update = `update deliveries set ${assignments}`;
  return { alone: `${update} where seq = $1`, digest: `${update} where carrier = $1` };
}
