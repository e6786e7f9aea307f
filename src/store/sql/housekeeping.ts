import { type DeliveryState, openStates } from '../../model.ts';
import { of, query } from './query.ts';

export interface OldRow {
  readonly seq: number;
  readonly config_id: string;
  readonly at: number;
  readonly over: number;
}

export interface OldEventRow extends OldRow {
  readonly content: number;
}

export interface HeirRow {
  readonly carrier: number;
  readonly heir: number;
}

export interface PlannedCountRow {
  readonly sink: string;
  readonly state: DeliveryState;
  /** Null: the event's. */
  readonly config_id: string | null;
  readonly n: number;
}

export const addToCount = `
  insert into delivery_counts (sink, state, n) values ($1, $2, $3)
  on conflict (sink, state) do update set n = delivery_counts.n + $3`;

export const addToUses = `update configs set uses = uses + $2 where id = $1`;

export const saveConfig = `
  insert into configs (id, source, saved_at) values ($1, $2, $3)
  on conflict (id) do update set saved_at = $3`;

export const configSource = query<{ readonly source: string }>(`select source from configs where id = $1`);

export const latestConfig = query<{
  readonly id: string;
  readonly source: string;
  readonly saved_at: number;
}>(`select id, source, saved_at from configs order by saved_at desc limit 1`);

export const unusedConfigs = query<{ readonly id: string }>(
  `select id from configs where uses = 0 and saved_at < $1`,
);

export const deleteConfig = `delete from configs where id = $1`;

/** Dead and held deliveries stay until a person decides, however old they are. */
const stays = (seq: string) =>
  `select 1 from deliveries d where d.seq ${of(seq)} and (d.state in (${openStates.map((state) => `'${state}'`).join(', ')})
    or coalesce(d.ended_at, d.discarded_at) >= $1)`;

/** The next ones from before $1, after the time $2 and the seq $3. `over`: nothing keeps it any more. */
export const oldEvents = query<OldEventRow>(`
  select e.seq, coalesce(e.content, e.seq) as content, e.config_id, e.received_at as at,
    case when exists (${stays('e.seq')}) then 0 else 1 end as over
  from events e where e.received_at < $1 and (e.received_at, e.seq) > ($2, $3)
  order by e.received_at, e.seq limit $4`);

export const oldNotices = query<OldRow>(`
  select n.seq, n.config_id, n.raised_at as at, case when exists (${stays('n.seq')}) then 0 else 1 end as over
  from notices n where n.raised_at < $1 and (n.raised_at, n.seq) > ($2, $3)
  order by n.raised_at, n.seq limit $4`);

/** The deliveries of an event or a notice. */
export const plannedFor = query<PlannedCountRow>(`
  select sink, state, config_id, count(*) as n from deliveries d where d.seq ${of('$1')}
  group by sink, state, config_id`);

/** The digests whose carriers are an event's deliveries, each with its last delivery of another event. */
export const carriedForOthers = query<HeirRow>(`
  select d.seq as carrier, max(other.seq) as heir from deliveries d join deliveries other on other.carrier = d.seq
  where d.seq ${of('$1')} and d.carrier = d.seq and other.seq not ${of('$1')} group by d.seq`);

// Moves what is stored with a digest's carrier, $1, to its next carrier, $2.
export const inheritMessage = `
  update deliveries set message = (select message from deliveries where seq = $1),
    thread = (select thread from deliveries where seq = $1)
  where seq = $2`;
export const inheritAttempts = `update attempts set delivery_seq = $2 where delivery_seq = $1`;
export const inheritDigest = `update deliveries set carrier = $2 where carrier = $1`;

export const deleteDeliveries = `delete from deliveries where seq ${of('$1')}`;

export const deleteCorrelations = `delete from correlations where content = $1 and event_seq = $2`;

export const deleteEvent = `delete from events where seq = $1`;

export const deleteNotice = `delete from notices where seq = $1`;

export const writeProbe = `update probe set written = 1 - written`;

export interface LifeRow {
  readonly seen_at: number;
  readonly doubted_at: number | null;
  readonly agreed_ms: number;
}

export const life = query<LifeRow>(`select seen_at, doubted_at, agreed_ms from life where id = 1`);

export const keepLife = `
  insert into life (id, seen_at, doubted_at, agreed_ms) values (1, $1, $2, $3)
  on conflict (id) do update set seen_at = $1, doubted_at = $2, agreed_ms = $3`;
