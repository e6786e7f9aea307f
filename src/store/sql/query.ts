import { seqsPerEvent } from '../rows.ts';

declare const row: unique symbol;

/** A statement that returns rows of this shape. Its parameters are `$1`, `$2`, … as in PostgreSQL. */
export type Query<Row> = string & { readonly [row]: Row };

export function query<Row>(text: string): Query<Row> {
  return text as Query<Row>;
}

/** Deliveries as `d`, each with its event as `e` or its notice as `n`. */
export const deliveries = `
  deliveries d left join events e on e.seq = d.seq / ${seqsPerEvent} left join notices n on n.seq = d.seq / ${seqsPerEvent}`;

/** A delivery's seq from its id: the id of its event or notice, and its n. */
export const seqOf = (eventId: string, noticeId: string, n: string): string =>
  `coalesce((select seq from events where id = ${eventId}), (select seq from notices where id = ${noticeId}))
    * ${seqsPerEvent} + ${n}`;

/** The condition for the deliveries of an event or a notice. */
export const of = (seq: string): string =>
  `between ${seq} * ${seqsPerEvent} and ${seq} * ${seqsPerEvent} + ${seqsPerEvent - 1}`;

// The conditions of partial indexes. SQLite uses such an index only if the query repeats its condition.
export const rareState = `d.state not in ('pending', 'delivered')`;
export const leads = `(d.carrier is null or d.carrier = d.seq)`;
export const waits = `d.state = 'pending' and ${leads}`;

/** An update of the one delivery with the seq $1, and of all deliveries in the digest whose carrier has the seq $1. */
export interface Change {
  readonly alone: string;
  readonly digest: string;
}

export function change(assignments: string): Change {
  const update = `update deliveries set ${assignments}`;
  return { alone: `${update} where seq = $1`, digest: `${update} where carrier = $1` };
}
