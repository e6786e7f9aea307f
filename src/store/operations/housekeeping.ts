import { type DeliveryState, type Json, openStates, stuckStates } from '../../model.ts';
import type { Tallies } from '../tallies.ts';
import { all, get, lock, query, run, type Operation, type Statement } from '../operation.ts';
import { isIn, of, rareState, waits } from '../rows.ts';
import { triedStatements } from './sink-health.ts';

export interface SavedConfig {
  readonly id: string;
  readonly source: Json;
  readonly savedAt: number;
}

/** A refresh token, encrypted (see keptRefreshTokens), or digests of receiver tokens (see CallerTokens). */
export interface KeptToken {
  readonly id: string;
  readonly sealed: string;
  readonly keptAt: number;
}

export interface Prune {
  readonly before: number;
  readonly limit: number;
  /** Where the step before ended. Absent in the first step of a round. */
  readonly after?: PruneMark;
}

export interface PruneMark {
  readonly of: 'events' | 'notices';
  readonly at: number;
  readonly seq: number;
}

export interface PruneResult {
  /** How many events and notices were deleted. */
  readonly count: number;
  /** Null at the end of a round. */
  readonly after: PruneMark | null;
}

/** When the store was last in use, so that nothing is deleted because a clock is wrong. */
export interface SignOfLife {
  /** When the store was last served, by a clock that was believed (ms). */
  readonly seenAt: number;
  /** What a clock says that is far from `seenAt`: its last time, and for how long it has run evenly. */
  readonly doubt: { readonly seenAt: number; readonly agreedMs: number } | null;
}

interface OldRow {
  /** The seq of the first event of the same content. */
  readonly content: number;
  readonly seq: number;
  readonly config_id: string;
  readonly at: number;
  readonly over: number;
}

/**
 * Finds what keeps an event or notice: deliveries that are not over, or ended after $1. Dead and held ones are never
 * over.
 */
const stays = (seq: string) =>
  `select 1 from deliveries d where d.seq ${of(seq)} and (${isIn(openStates)}
    or coalesce(d.ended_at, d.discarded_at) >= $1)`;

export const sql = {
  addToCount: `
  insert into delivery_counts (sink, state, n) values ($1, $2, $3)
  on conflict (sink, state) do update set n = delivery_counts.n + $3`,
  addToHour: `
  insert into hourly (hour, sink, what, delay_ms, n) values ($1, $2, $3, $4, $5)
  on conflict (hour, sink, what, delay_ms) do update set n = hourly.n + $5`,
  pruneHours: `delete from hourly where hour < $1`,
  addToUses: `update configs set uses = uses + $2 where id = $1`,
  saveConfig: `
  insert into configs (id, source, saved_at) values ($1, $2, $3)
  on conflict (id) do update set saved_at = $3`,
  configSource: query<{ readonly source: string }>(`select source from configs where id = $1`),
  latestConfig: query<Omit<SavedConfig, 'source'> & { readonly source: string }>(
    `select id, source, saved_at as "savedAt" from configs order by saved_at desc limit 1`,
  ),
  /** Only PostgreSQL has this table. */
  configsOfReplicas: query<{ readonly id: string }>(`select config_id as id from copies`),
  unusedConfigs: query<{ readonly id: string }>(`select id from configs where uses = 0 and saved_at < $1`),
  /** With the condition of `unusedConfigs`, as another replica may have begun to use it since. */
  deleteConfig: `delete from configs where id = $1 and uses = 0 and saved_at < $2`,
  /** The next events from before $1, after the time $2 and the seq $3. `over`: 1 if nothing keeps it any more. */
  oldEvents: query<OldRow>(`
  select e.seq, coalesce(e.content, e.seq) as content, e.config_id, e.received_at as at,
    case when exists (${stays('e.seq')}) or e.seq in (select event_seq from undecided) then 0 else 1 end as over
  from events e where e.received_at < $1 and (e.received_at, e.seq) > ($2, $3)
  order by e.received_at, e.seq limit $4`),
  oldNotices: query<OldRow>(`
  select n.seq, n.seq as content, n.config_id, n.raised_at as at, case when exists (${stays('n.seq')}) then 0 else 1 end as over
  from notices n where n.raised_at < $1 and (n.raised_at, n.seq) > ($2, $3)
  order by n.raised_at, n.seq limit $4`),
  /** The deliveries of an event or notice, counted. */
  plannedFor: query<{
    readonly sink: string;
    readonly state: DeliveryState;
    /** Null if it is that of the event or notice. */
    readonly config_id: string | null;
    readonly n: number;
  }>(`
  select sink, state, config_id, count(*) as n from deliveries d where d.seq ${of('$1')}
  group by sink, state, config_id`),
  /** The digests that an event's deliveries carry for others, each with its last delivery of another event. */
  carriedForOthers: query<{ readonly carrier: number; readonly heir: number }>(`
  select d.seq as carrier, max(other.seq) as heir from deliveries d join deliveries other on other.carrier = d.seq
  where d.seq ${of('$1')} and d.carrier = d.seq and other.seq not ${of('$1')} group by d.seq`),
  // Move what is stored with a digest's carrier, $1, to its next carrier, $2.
  inheritMessage: `
  update deliveries set message = (select message from deliveries where seq = $1),
    thread = (select thread from deliveries where seq = $1)
  where seq = $2`,
  inheritAttempts: `update attempts set delivery_seq = $2 where delivery_seq = $1`,
  inheritDigest: `update deliveries set carrier = $2 where carrier = $1`,
  deleteDeliveries: `delete from deliveries where seq ${of('$1')}`,
  deleteCorrelations: `delete from correlations where content = $1 and event_seq = $2`,
  deleteEvent: `delete from events where seq = $1`,
  /** Lines about nothing that is still stored. The table grows with what people do, not with events. */
  pruneAudit: `
  delete from audit where changed_at < $1
    and not exists (select 1 from audit_deliveries a where a.audit_seq = audit.seq)`,
  prunePersonPauses: `delete from person_pauses where until < $1`,
  pruneRejected: `delete from rejected_requests where received_at < $1`,
  deleteNotice: `delete from notices where seq = $1`,
  token: query<{ readonly sealed: string }>(`select sealed from tokens where id = $1`),
  keepToken: `
  insert into tokens (id, sealed, kept_at) values ($1, $2, $3)
  on conflict (id) do update set sealed = $2, kept_at = $3`,
  writeProbe: `update probe set written = 1 - written`,
  life: query<{ readonly seenAt: number; readonly doubtedAt: number | null; readonly agreedMs: number }>(
    `select seen_at as "seenAt", doubted_at as "doubtedAt", agreed_ms as "agreedMs" from life where id = 1`,
  ),
  keepLife: `
  insert into life (id, seen_at, doubted_at, agreed_ms) values (1, $1, $2, $3)
  on conflict (id) do update set seen_at = $1, doubted_at = $2, agreed_ms = $3`,
  saidLast: query<{ readonly at: number | null }>(
    `select max(said_at) as at from copy_states where said_at <= $1`,
  ),
  home: query<{ readonly place: string }>(`select place from home where id = 1`),
  keepHome: `insert into home (id, place) values (1, $1) on conflict (id) do update set place = $1`,
  distrustUndecided: `
  update undecided set uncertain = 1 where event_seq in (select event_seq from undecided where uncertain = 0 limit $1)`,
  /**
   * By the index of pending deliveries, which begins with the lane. `union`, as PostgreSQL reads the whole table for
   * `or`. $3: when the store was last in use where it was before: what it does not know was sent later than that, and not
   * before it was due, and is composed as of then.
   */
  distrust: `
  with waiting as (select d.seq from deliveries d where ${waits} and d.lane >= '' and (d.due_at <= $1 or d.attempts > 0)),
    doubtful as (
      select seq from waiting
      union all select d.seq from waiting w join deliveries d on d.carrier = w.seq
      union all select d.seq from deliveries d where ${rareState} and ${isIn(stuckStates)})
  update deliveries set uncertain = 1, replayed = 0,
    composed_at = case when state <> 'pending' or due_at > $1 then composed_at
      else coalesce(composed_at, case when due_at < $3 then $3 else due_at end) end
  where seq in (
    select d.seq from deliveries d where (d.uncertain = 0 or d.replayed = 1) and d.seq in (select seq from doubtful)
    limit $2)`,
};

/** What a transaction adds to the counts, always in the same order to avoid deadlocks. `uses`: by config. */
export function tallied(tallies: Tallies) {
  const { counts, uses, hours, tried } = tallies.drain();
  const statements: Statement[] = [
    ...counts.map((values) => ({ sql: sql.addToCount, values, wants: 'nothing' as const })),
    ...hours.map((values) => ({ sql: sql.addToHour, values, wants: 'nothing' as const })),
    ...triedStatements(tried),
  ];
  return { statements, uses };
}

/** Writes what a transaction adds to the counts, at its end. Throws where a config was never saved. */
export function* writeTallies(tallies: Tallies): Operation<void> {
  const { statements, uses } = tallied(tallies);
  for (const { sql: text, values } of statements) yield* run(text, ...values);
  for (const [configId, change] of uses)
    if ((yield* run(sql.addToUses, configId, change)) === 0)
      throw new Error(`Config ${configId} was never saved.`);
}

/**
 * Stores the part of a config that deliveries need. Storing it again only renews `savedAt`. Without it, `accept` and `replay`
 * by the config fail.
 */
export function saveConfig({ id, source, savedAt }: SavedConfig): Operation<number> {
  return run(sql.saveConfig, id, JSON.stringify(source), savedAt);
}

/** Stores the config of a command, for the deliveries that it makes. The config in force stays the latest one. */
export function* keepConfig({ id, source, savedAt }: SavedConfig): Operation<void> {
  const latest = yield* get(sql.latestConfig);
  if (latest?.id === id) return;
  yield* saveConfig({ id, source, savedAt: latest ? Math.min(savedAt, latest.savedAt - 1) : savedAt });
}

export function* config(id: string): Operation<Json | null> {
  const row = yield* get(sql.configSource, id);
  return row ? (JSON.parse(row.source) as Json) : null;
}

/** The config that is, or was last, in force; else that of the last command. */
export function* latestConfig(): Operation<SavedConfig | null> {
  const row = yield* get(sql.latestConfig);
  return row ? { ...row, source: JSON.parse(row.source) as Json } : null;
}

const oldest: PruneMark = { of: 'events', at: Number.MIN_SAFE_INTEGER, seq: 0 };

/**
 * Makes a step of retention: looks at the next `limit` events or notices that came before `before`, oldest first, and deletes
 * those whose deliveries were all delivered or discarded before `before`.
 */
export function* prune(tallies: Tallies, { before, limit, after = oldest }: Prune): Operation<PruneResult> {
  // Two replicas that delete the same would both subtract it from the counts.
  yield* lock('prune');
  const isOfEvents = after.of === 'events';
  const rows = yield* all(isOfEvents ? sql.oldEvents : sql.oldNotices, before, after.at, after.seq, limit);
  const over = rows.filter((row) => row.over === 1);
  for (const row of over) {
    if (isOfEvents) yield* eraseEvent(tallies, row);
    else yield* forget(tallies, row);
    if (!isOfEvents) yield* run(sql.deleteNotice, row.seq);
  }
  const last = rows.at(-1);
  const isMore = last !== undefined && rows.length === limit;
  const nextKind: PruneMark | null = isOfEvents ? { ...oldest, of: 'notices' } : null;
  return { count: over.length, after: isMore ? { of: after.of, at: last.at, seq: last.seq } : nextKind };
}

/**
 * Deletes an event with all that belongs to it. A digest that loses its carrier keeps its message and attempts: its last
 * remaining delivery becomes the carrier.
 */
export function* eraseEvent(tallies: Tallies, event: Omit<OldRow, 'at' | 'over'>): Operation<void> {
  // The last one is likely to stay longest, so the rows of a digest are rewritten once, and not for each deleted event.
  for (const { carrier, heir } of yield* all(sql.carriedForOthers, event.seq)) {
    yield* run(sql.inheritMessage, carrier, heir);
    yield* run(sql.inheritAttempts, carrier, heir);
    yield* run(sql.inheritDigest, carrier, heir);
  }
  yield* forget(tallies, event);
  yield* run(sql.deleteCorrelations, event.content, event.seq);
  yield* run(sql.deleteEvent, event.seq);
}

/** Deletes the deliveries of an event or notice, and takes them and its use of a config off the counts. */
function* forget(
  tallies: Tallies,
  { seq, config_id: configId }: Pick<OldRow, 'seq' | 'config_id'>,
): Operation<void> {
  for (const { sink, state, config_id, n } of yield* all(sql.plannedFor, seq)) {
    tallies.planned(sink, state, -n);
    if (config_id !== null) tallies.used(config_id, -n);
  }
  tallies.used(configId, -1);
  yield* run(sql.deleteDeliveries, seq);
}

/**
 * Ends a round of retention: deletes what is older than `before` and serves nothing any more. Those are audit lines about
 * nothing that is left, pauses, rejected requests, hourly counts, and unused configs, except those in `keep` and those of live
 * replicas.
 */
export function* endRound(before: number, keep: ReadonlySet<string>, shared: boolean): Operation<void> {
  // A replica may use its config although no event refers to it any more.
  const ofReplicas = shared ? (yield* all(sql.configsOfReplicas)).map(({ id }) => id) : [];
  for (const { id } of yield* all(sql.unusedConfigs, before))
    if (!keep.has(id) && !ofReplicas.includes(id)) yield* run(sql.deleteConfig, id, before);
  yield* run(sql.pruneAudit, before);
  yield* run(sql.prunePersonPauses, before);
  yield* run(sql.pruneRejected, before);
  yield* run(sql.pruneHours, Math.floor(before / 3_600_000));
}

/** Null in a store that was never served. */
export function* signOfLife(): Operation<SignOfLife | null> {
  const row = yield* get(sql.life);
  if (!row) return null;
  const { seenAt, doubtedAt, agreedMs } = row;
  return { seenAt, doubt: doubtedAt === null ? null : { seenAt: doubtedAt, agreedMs } };
}

export function* keepSignOfLife({ seenAt, doubt }: SignOfLife): Operation<void> {
  yield* run(sql.keepLife, seenAt, doubt?.seenAt ?? null, doubt?.agreedMs ?? 0);
}

/** Whether the store was restored or moved since it was last served. A new one was nowhere. */
export function* isMoved(isAt: (place: string) => boolean): Operation<boolean> {
  return movedFrom(yield* get(sql.home), isAt);
}

const movedFrom = (last: { readonly place: string } | undefined, isAt: (place: string) => boolean): boolean =>
  last !== undefined && !isAt(last.place);

/**
 * Call this before anything is delivered. If the store is not in the place where it was last served, it was restored or
 * moved, and what was due by `now` may have been sent from there: it becomes uncertain. Returns for how many deliveries, at
 * most `most`; null if the store is in its old place, or was never served. If it returns `most`, call it again: the new place
 * is kept only when all are marked.
 */
export function* settleIn(
  { isAt, next }: { isAt: (place: string) => boolean; next: () => string },
  now: number,
  most = Number.MAX_SAFE_INTEGER,
): Operation<number | null> {
  const last = yield* get(sql.home);
  const isHome = !movedFrom(last, isAt);
  // The clock of the machine before may have been ahead of this one.
  const seenAt = (yield* signOfLife())?.seenAt ?? now;
  const count = isHome
    ? null
    : yield* distrust(Math.max(now, seenAt), most, Math.max(seenAt, yield* saidLast(now)));
  if (count !== most && last?.place !== next()) yield* run(sql.keepHome, next());
  return count;
}

/** When a process that served the store gave its last sign, up to now (ms). */
function* saidLast(now: number): Operation<number> {
  return (yield* get(sql.saidLast, now))?.at ?? -Infinity;
}

/**
 * Keeps where the store is. Its mark changes each time, so that an older copy written over the store's file is noticed.
 */
export function* keepHome(next: () => string): Operation<void> {
  yield* run(sql.keepHome, next());
}

/** Marks a store as a copy, so that wherever it is served, it counts as moved. */
export function* leaveHome(): Operation<void> {
  yield* run(sql.keepHome, 'a copy');
}

/**
 * Marks as uncertain what may have been sent without this store knowing: pending deliveries that were due by `dueBy` or were
 * tried before (a person may have pulled them in), also replayed ones, and dead and held ones. The tool is asked before they
 * are sent, as after a crash. Undecided events are marked, too: they may have been decided, with the same delivery ids.
 * `seenAt`: when the store was last in use. Returns how many were marked, at most `most`.
 */
function* distrust(dueBy: number, most: number, seenAt: number): Operation<number> {
  // These first, so that what is decided meanwhile is found among the deliveries.
  const undecided = yield* run(sql.distrustUndecided, most);
  return undecided + (yield* run(sql.distrust, dueBy, most - undecided, seenAt));
}

/** A token's `sealed` text; null if none is kept under this id. */
export function* token(id: string): Operation<string | null> {
  return (yield* get(sql.token, id))?.sealed ?? null;
}

/** Keeps a token in place of the one before. */
export function* keepToken({ id, sealed, keptAt }: KeptToken): Operation<void> {
  yield* run(sql.keepToken, id, sealed, keptAt);
}

/** Writes something that nobody reads, to find out whether the store can be written. */
export function* writeProbe(): Operation<void> {
  yield* run(sql.writeProbe);
}
