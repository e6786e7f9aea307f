import type { ChangeKind } from '../../model.ts';
import type { AuditFilter, By, Change } from '../store.ts';
import { all, get, insert, query, run, together, type Operation } from './operation.ts';
import { idAt, of, seqsPerEvent } from './rows.ts';

interface AuditRow {
  readonly seq: number;
  readonly changed_at: number;
  readonly who: string;
  readonly origin: string;
  readonly action: ChangeKind;
  readonly note: string | null;
}

interface AboutRow {
  readonly delivery_seq: number;
  /** Of its event or notice. */
  readonly id: string;
}

const columns = 'a.seq, a.changed_at, a.who, a.origin, a.action, a.note';

const aboutColumns = (condition: string) =>
  query<AboutRow>(`
  select x.delivery_seq, coalesce(e.id, n.id) as id from audit_deliveries x
    left join events e on e.seq = x.delivery_seq / ${seqsPerEvent}
    left join notices n on n.seq = x.delivery_seq / ${seqsPerEvent}
  where x.audit_seq = $1 ${condition} order by x.delivery_seq limit 1000`);

export const sql = {
  insertChange: `insert into audit (changed_at, who, origin, action, note) values ($1, $2, $3, $4, $5)`,
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
export interface Changed {
  readonly seq: number;
  readonly carrier: number | null;
}

/** Writes a line for what was changed in this transaction, if anything was. */
export function* note(action: ChangeKind, changed: readonly Changed[], now: number, by: By): Operation<void> {
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

/** See Store.audit. */
export function* audit({ about, after, limit = 100 }: AuditFilter): Operation<Change[]> {
  const before = after ?? Number.MAX_SAFE_INTEGER;
  if (about === undefined) {
    const rows = yield* all(sql.changes, before, limit);
    const changed = yield* together(rows.map(({ seq }) => all(sql.about, seq)));
    return rows.map((row, place) => toChange(row, changed[place]!));
  }
  const subject = yield* get(sql.subject, about);
  if (!subject) return [];
  const rows = yield* all(sql.changesAbout, before, limit, subject.seq);
  const changed = yield* together(rows.map(({ seq }) => all(sql.aboutOne, seq, subject.seq)));
  return rows.map((row, place) => toChange(row, changed[place]!));
}

function toChange(row: AuditRow, changed: readonly AboutRow[]): Change {
  const { seq, changed_at, who, origin, action, note: why } = row;
  const deliveries = changed.map(({ id, delivery_seq }) => idAt(id, delivery_seq));
  return { id: seq, at: changed_at, who, from: origin, action, note: why, deliveries };
}
