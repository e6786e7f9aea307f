import type { DeliveryState } from '../../model.ts';
import { query, seqOf } from './query.ts';

export interface StateRow {
  readonly seq: number;
  readonly sink: string;
  readonly connector: string;
  /** null: the event's. */
  readonly config_id: string | null;
  readonly state: DeliveryState;
}

export const stateOfDelivery = query<StateRow>(`
  select seq, sink, connector, config_id, state from deliveries where seq = ${seqOf('$1', '$2')}`);

/** $10: progress is kept in the connector's own form, so it means nothing to another one. */
export const replayDelivery = `
  update deliveries set state = 'pending', config_id = $2, rule = $3, action = $4, sink = $5, connector = $6,
    lane = $7, group_key = $8, due_at = $9, since = $9, progress = case when $10 = 1 then progress else null end
  where seq = $1`;

export const discardDelivery = `update deliveries set state = 'discarded' where seq = $1`;
