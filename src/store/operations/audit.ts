import type { ChangeKind } from '../../model.ts';
import { all, get, insert, query, run, together, type Operation } from '../operation.ts';
import { idOf, of, seqsPerEvent } from '../rows.ts';

/** Who changes something by hand, from where, and why. */
export interface By {
  readonly who: string;
  /** A machine's name or address, and the way in: a command or a page. */
  readonly from: string;
  readonly note: string | null;
}

/** What a person did. It is kept as long as an event that it is about, and at least as long as one that came then. */
export interface Change extends By {
  readonly id: number;
  readonly at: number;
  readonly action: ChangeKind;
  /** The sink that it was done to; null where it was done to deliveries, or to none. */
  readonly sink: string | null;
  /** Those that it changed or made: of the event or notice that was asked for, else at most 1000. */
  readonly deliveries: readonly string[];
}

export interface AuditFilter {
  /** Only what is about this event or notice. */
  readonly about?: string;
  /** Only what came before the one with this id. For paging. */
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
  insertChange: `insert into audit (changed_at, who, origin, action, note) values ($1, $2, $3, $4, $5)`,
  insertOfSink: `insert into audit (changed_at, who, origin, action, note, sink) values ($1, $2, $3, $4, $5, $6)`,
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

/** What a change was made to, or what it made. */
export interface ChangedDelivery {
  readonly seq: number;
  readonly carrier: number | null;
}

/** Writes a line for what was changed in this transaction, if anything was. */
export function* note(
  action: ChangeKind,
  changed: readonly ChangedDelivery[],
  now: number,
  by: By,
): Operation<void> {
  if (changed.length === 0) return;
  const seq = yield* insert(sql.insertChange, now, by.who, by.from, action, by.note);
  yield* together(
    changed.map((one) =>
      one.carrier === null
        ? run(sql.insertAbout, seq, one.seq)
        : run(sql.insertAboutDigest, seq, one.carrier),
    ),
  );
}

/** Writes a line for an event that was taken in by hand, with so many deliveries. */
export function* noteMade(
  action: ChangeKind,
  eventSeq: number,
  deliveries: number,
  now: number,
  by: By,
): Operation<void> {
  const seq = yield* insert(sql.insertChange, now, by.who, by.from, action, by.note);
  yield* together(
    Array.from({ length: deliveries }, (_, n) => run(sql.insertAbout, seq, eventSeq * seqsPerEvent + n + 1)),
  );
}

/** Writes a line for what was done to a sink. */
export function* noteSink(action: ChangeKind, sink: string, now: number, by: By): Operation<void> {
  yield* insert(sql.insertOfSink, now, by.who, by.from, action, by.note, sink);
}

/** What people changed by hand, newest first; written with the change itself. */
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
