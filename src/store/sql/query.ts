import { seqsPerEvent } from '../rows.ts';

declare const row: unique symbol;

/** A statement that returns rows of this shape. Its text, with `$1`, `$2`, …, serves every backend word for word. */
export type Query<Row> = string & { readonly [row]: Row };

export function query<Row>(text: string): Query<Row> {
  return text as Query<Row>;
}

/** Deliveries as `d` with their events as `e`. */
export const deliveriesWithEvents = `deliveries d join events e on e.seq = d.seq / ${seqsPerEvent}`;

/** A delivery's seq from what its id says. */
export const seqOf = (eventId: string, n: string): string =>
  `(select seq from events where id = ${eventId}) * ${seqsPerEvent} + ${n}`;

/** The condition on the seq of an event's deliveries. */
export const ofEvent = (eventSeq: string): string =>
  `between ${eventSeq} * ${seqsPerEvent} and ${eventSeq} * ${seqsPerEvent} + ${seqsPerEvent - 1}`;

/** The condition of an index, which SQLite uses only where it finds it repeated. */
export const rareState = `d.state not in ('pending', 'delivered')`;
