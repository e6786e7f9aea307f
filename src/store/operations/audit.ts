import type { ChangeKind } from '../../model.ts';
import { all, get, insert, query, run, together, type Operation } from '../operation.ts';
import { idOf, of, seqsPerEvent } from '../rows.ts';

/** The person who changes something by hand, where they did it from, and why. */
export interface By {
  readonly who: string;
  /** A machine's name or address, and the way in: a command or a page. */
  readonly from: string;
  readonly note: string | null;
}

/**
 * A line of the audit. It is kept as long as the events it is about, and as long as an event that came at that time.
 */
export interface Change extends By {
  readonly id: number;
  readonly at: number;
  readonly action: ChangeKind;
  /** The sink, for changes to a sink; else null. */
  readonly sink: string | null;
  /**
   * The ids of the deliveries that were changed or made, at most 1000; with `about`, only those of that event or
   * notice.
   */
  readonly deliveries: readonly string[];
}

export interface AuditFilter {
  /** Only what is about this event or notice. */
  readonly about?: string;
  /** Only lines before the one with this id. For paging. */
  readonly after?: number;
  /** Default: 100. */
  readonly limit?: number;
}

type AuditRow = Omit<Change, 'deliveries'>;

const columns = 'a.seq as id, a.changed_at as "at", a.who, a.origin as "from", a.action, a.note, a.sink';

const aboutColumns = (condition: string) =>
  query<{ readonly id: string }>(`
  select ${idOf('coalesce(e.id, n.id)', 'x.delivery_seq')} as id from audit_deliveries x
    left join events e on e.seq = x.delivery_seq / ${seqsPerEvent}
    left join notices n on n.seq = x.delivery_seq / ${seqsPerEvent}
  where x.audit_seq = $1 ${condition} order by x.delivery_seq limit 1000`);

export const sql = {
  insertChange: `insert into audit (changed_at, who, origin, action, note, sink) values ($1, $2, $3, $4, $5, $6)`,
  insertAbout: `insert into audit_deliveries (audit_seq, delivery_seq) values ($1, $2)`,
  /** All of the digest whose carrier has the seq $2. */
  insertAboutDigest: `
  insert into audit_deliveries (audit_seq, delivery_seq) select $1, d.seq from deliveries d where d.carrier = $2`,
  subject: query<{ readonly seq: number }>(`
  select seq from events where id = $1 union all select seq from notices where id = $1`),
  /** $1: only those before this seq; $2: how many. */
  changes: query<AuditRow>(`select ${columns} from audit a where a.seq < $1 order by a.seq desc limit $2`),
  /** $3: the seq of the event or notice. */
  changesAbout: query<AuditRow>(`
  select ${columns} from audit a
  where a.seq in (select audit_seq from audit_deliveries where delivery_seq ${of('$3')}) and a.seq < $1
  order by a.seq desc limit $2`),
  about: aboutColumns(''),
  aboutOne: aboutColumns(`and x.delivery_seq ${of('$2')}`),
};

/** Writes an audit line, perhaps about a sink. Returns its seq. */
export const noteChange = (
  action: ChangeKind,
  now: number,
  by: By,
  sink: string | null = null,
): Operation<number> => insert(sql.insertChange, now, by.who, by.from, action, by.note, sink);

/** Writes an audit line about the deliveries that this transaction changed or made, if there are any. */
export function* note(
  action: ChangeKind,
  changed: readonly { readonly seq: number; readonly carrier?: number | null }[],
  now: number,
  by: By,
): Operation<void> {
  if (changed.length === 0) return;
  const seq = yield* noteChange(action, now, by);
  yield* together(
    changed.map(({ seq: delivery, carrier = null }) =>
      carrier === null ? run(sql.insertAbout, seq, delivery) : run(sql.insertAboutDigest, seq, carrier),
    ),
  );
}

/** Writes an audit line about an event that a person took in, and its deliveries. */
export function* noteMade(
  action: ChangeKind,
  eventSeq: number,
  deliveries: number,
  now: number,
  by: By,
): Operation<void> {
  const seq = yield* noteChange(action, now, by);
  yield* together(
    Array.from({ length: deliveries }, (_, n) => run(sql.insertAbout, seq, eventSeq * seqsPerEvent + n + 1)),
  );
}

/** Lists what people changed by hand, newest first. */
export function* audit({ about, after, limit = 100 }: AuditFilter): Operation<Change[]> {
  const before = after ?? Number.MAX_SAFE_INTEGER;
  const subject = about === undefined ? null : yield* get(sql.subject, about);
  if (subject === undefined) return [];
  const rows = subject
    ? yield* all(sql.changesAbout, before, limit, subject.seq)
    : yield* all(sql.changes, before, limit);
  const changed = yield* together(
    rows.map(({ id }) => (subject ? all(sql.aboutOne, id, subject.seq) : all(sql.about, id))),
  );
  return rows.map((row, place) => Object.assign(row, { deliveries: changed[place]!.map(({ id }) => id) }));
}
