import type { DeliveryState } from '../../model.ts';
import { ofEvent, query } from './query.ts';

export interface PrunableRow {
  readonly seq: number;
  readonly content: number;
  readonly config_id: string;
}

export interface EventCountRow {
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

/** Events whose deliveries are all final. */
export const prunableEvents = query<PrunableRow>(`
  select e.seq, coalesce(e.content, e.seq) as content, e.config_id from events e
  where e.received_at < $1 and not exists (
    select 1 from deliveries d where d.seq ${ofEvent('e.seq')} and d.state in ('pending', 'sending', 'held')
  ) order by e.received_at limit $2`);

export const countsOfEvent = query<EventCountRow>(`
  select sink, state, config_id, count(*) as n from deliveries d where d.seq ${ofEvent('$1')}
  group by sink, state, config_id`);

export const deleteDeliveriesOfEvent = `delete from deliveries where seq ${ofEvent('$1')}`;

export const deleteCorrelations = `delete from correlations where content = $1 and event_seq = $2`;

export const deleteEvent = `delete from events where seq = $1`;

export const writeProbe = `update probe set written = 1 - written`;
