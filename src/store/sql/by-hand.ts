import { change } from './query.ts';

/** $9: whether to keep progress, which has no meaning for another connector. */
export const replay = change(`
  state = 'pending', ended_at = null, config_id = $2, rule = $3, action = $4, sink = $5, connector = $6, lane = $7,
  due_at = $8, since = $8, replayed = 1, progress = case when $9 = 1 then progress else null end`);

export const discard = change(`state = 'discarded', ended_at = null, discarded_at = $2`);
