import type { Status } from '../../model.ts';
import { firstNoticeSeq } from '../rows.ts';
import { query } from './query.ts';

export interface StoredEvent {
  readonly seq: number;
  readonly id: string;
}

export interface StoredContent extends StoredEvent {
  /** The seq of the first event of this content. */
  readonly content: number;
  readonly received_at: number;
}

export interface CorrelationRow {
  readonly correlation_id: string | null;
  readonly candidate_id: string;
  readonly test_id: number;
  readonly status: Status;
}

export const latestWithContent = query<StoredContent>(`
  select seq, id, coalesce(content, seq) as content, received_at from events
  where candidate_key = $1 and candidate_id = $2 and test_id = $3 and status = $4 order by seq desc limit 1`);

/** The event of this content with the correlation id, or whose duplicate had it. */
export const eventOfCorrelation = query<StoredEvent>(`
  select seq, id from events where seq = $1 and correlation_id = $2
  union all
  select e.seq, e.id from correlations c join events e on e.seq = c.event_seq
  where c.content = $1 and c.correlation_id = $2`);

export const newestCorrelations = query<CorrelationRow>(`
  select correlation_id, candidate_id, test_id, status from events order by seq desc limit $1`);

export const insertEvent = `
  insert into events (id, candidate_key, candidate_id, candidate_numerical_id, test_id, status, content,
    correlation_id, raw, received_at, config_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

export const insertCorrelation = `
  insert into correlations (content, correlation_id, event_seq) values ($1, $2, $3)
  on conflict (content, correlation_id) do nothing`;

export const insertDuplicate = `
  insert into duplicates (event_seq, received_at, correlation_id) values ($1, $2, $3)`;

export const insertDelivery = `
  insert into deliveries (seq, rule, action, sink, connector, lane, group_key, group_max, due_at, since)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`;

/** Not later than $2 and later than $3. */
export const noticeWithin = query<{ readonly seq: number }>(`
  select seq from notices where cause = $1 and raised_at <= $2 and raised_at > $3 limit 1`);

export const insertNotice = `
  insert into notices (seq, id, alert, cause, sink, count, since, detail, advice, raised_at, config_id)
  select coalesce(max(seq) + 1, ${firstNoticeSeq}), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 from notices`;

export const insertRejectedRequest = `
  insert into rejected_requests (received_at, address, correlation_id, status, faults, body)
  values ($1, $2, $3, $4, $5, $6)`;

export const trimRejectedRequests = `
  delete from rejected_requests where seq <= (select max(seq) from rejected_requests) - $1`;
