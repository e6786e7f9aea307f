import type { DeliveryState } from '../../model.ts';
import { of, query } from './query.ts';

export interface PrunableRow {
  readonly seq: number;
  readonly config_id: string;
}

export interface PrunableEventRow extends PrunableRow {
  readonly content: number;
}

export interface HeirRow {
  readonly carrier: number;
  readonly heir: number;
}

export interface PlannedCountRow {
  readonly sink: string;
  readonly state: DeliveryState;
  /** null: the event's. */
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

export const unusedConfigs = query<{ readonly id: string }>(
  `select id from configs where uses = 0 and saved_at < $1`,
);

export const deleteConfig = `delete from configs where id = $1`;

const notFinal = (seq: string) =>
  `select 1 from deliveries d where d.seq ${of(seq)} and d.state in ('pending', 'sending', 'held')`;

/** Events whose deliveries are all final. */
export const prunableEvents = query<PrunableEventRow>(`
  select e.seq, coalesce(e.content, e.seq) as content, e.config_id from events e
  where e.received_at < $1 and not exists (${notFinal('e.seq')})
  order by e.received_at limit $2`);

export const prunableNotices = query<PrunableRow>(`
  select n.seq, n.config_id from notices n where n.raised_at < $1 and not exists (${notFinal('n.seq')})
  order by n.raised_at limit $2`);

/** The deliveries for an event or a notice. */
export const plannedFor = query<PlannedCountRow>(`
  select sink, state, config_id, count(*) as n from deliveries d where d.seq ${of('$1')}
  group by sink, state, config_id`);

/** The digests that go out under an event's deliveries, each with the last delivery of another event in it. */
export const carriedForOthers = query<HeirRow>(`
  select d.seq as carrier, max(other.seq) as heir from deliveries d join deliveries other on other.carrier = d.seq
  where d.seq ${of('$1')} and d.carrier = d.seq and other.seq not ${of('$1')} group by d.seq`);

// What is kept with a digest's carrier, $1, for its heir, $2.
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
