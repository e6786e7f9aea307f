import { deliveryColumns, eventColumns, seqsPerEvent } from './rows.ts';

/**
 * The statements that every backend shares, word for word. A delivery is found by its event's id and its own n.
 */

const pair = `d join events e on e.seq = d.seq / ${seqsPerEvent}`;
const seqOf = (eventId: string, n: string) =>
  `(select seq from events where id = ${eventId}) * ${seqsPerEvent} + ${n}`;
const ofEvent = (eventSeq: string) =>
  `between ${eventSeq} * ${seqsPerEvent} and ${eventSeq} * ${seqsPerEvent} + ${seqsPerEvent - 1}`;

// Receiving

export const latestWithContent = `
  select seq, id, coalesce(content, seq) as content, received_at from events
  where candidate_id = $1 and test_id = $2 and status = $3 order by seq desc limit 1`;

export const eventOfCorrelation = `
  select e.seq, e.id from correlations c join events e on e.seq = c.event_seq
  where c.correlation_id = $1 and c.content = $2`;

export const correlationSeen = `select 1 as seen from correlations where correlation_id = $1 limit 1`;

export const insertEvent = `
  insert into events (id, candidate_id, candidate_numerical_id, test_id, status, content, correlation_id, raw,
    received_at, config_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

export const insertCorrelation = `
  insert into correlations (correlation_id, content, event_seq) values ($1, $2, $3)
  on conflict (correlation_id, content) do nothing`;

export const insertDuplicate = `
  insert into duplicates (event_seq, received_at, correlation_id) values ($1, $2, $3)`;

export const insertDelivery = `
  insert into deliveries (seq, rule, action, sink, connector, lane, group_key, due_at, since)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`;

export const insertRejectedRequest = `
  insert into rejected_requests (received_at, address, correlation_id, status, faults, body)
  values ($1, $2, $3, $4, $5, $6)`;

export const trimRejectedRequests = `
  delete from rejected_requests where seq <= (select max(seq) from rejected_requests) - $1`;

// Carrying out

/** Walks from lane to lane through the index of what is pending, so rows that are not a lane's first cost nothing. */
export const laneHeads = `
  with recursive heads (lane) as (
    select * from (select lane from deliveries where state = 'pending' order by lane limit 1) as first
    union all
    select (select lane from deliveries where state = 'pending' and lane > heads.lane order by lane limit 1)
    from heads where heads.lane is not null
  )
  select d.lane, d.sink, d.due_at from heads join deliveries d on d.seq = (
    select seq from deliveries where state = 'pending' and lane = heads.lane order by due_at, seq limit 1
  )`;

export const dueInLane = `
  select ${deliveryColumns}, ${eventColumns} from deliveries ${pair}
  where d.state = 'pending' and d.lane = $1 and d.due_at <= $2 order by d.due_at, d.seq limit $3`;

export const claimDelivery = `
  update deliveries set state = 'sending', attempts = attempts + 1, started_at = $2,
    first_attempt_at = coalesce(first_attempt_at, $2)
  where seq = $1`;

/** $3: the number of the attempt that ended, so that a late result cannot end a later attempt. */
export const recordResult = `
  update deliveries set state = $4, started_at = null, due_at = coalesce($5, due_at), uncertain = $6, progress = $7,
    last_error = $8, message = coalesce($9, message), thread = coalesce($10, thread), receipt = $11,
    delivered_at = $12
  where seq = ${seqOf('$1', '$2')} and state = 'sending' and attempts = $3
  returning seq, sink`;

export const insertAttempt = `
  insert into attempts (delivery_seq, number, started_at, ended_at, outcome) values ($1, $2, $3, $4, $5)`;

/** The condition is the index's own, which SQLite uses only when it finds it repeated. */
const open = `d.state in ('sending', 'dead', 'held')`;

export const leftSending = `
  select d.seq, d.sink, d.attempts, d.started_at from deliveries d
  where ${open} and d.state = 'sending' order by d.seq limit $1`;

export const rescueDelivery = `
  update deliveries set state = 'pending', started_at = null, due_at = $2, uncertain = 1, last_error = $3
  where seq = $1`;

export const releaseDelivery = `
  update deliveries set state = 'pending', started_at = null, attempts = attempts - 1,
    first_attempt_at = case when attempts = 1 then null else first_attempt_at end
  where seq = ${seqOf('$1', '$2')} and state = 'sending'
  returning sink`;

export const receiptOfThread = `
  select receipt from deliveries where sink = $1 and thread = $2 and state = 'delivered'
  order by delivered_at, seq limit 1`;

// By hand

export const stateOfDelivery = `
  select seq, sink, connector, config_id, state from deliveries where seq = ${seqOf('$1', '$2')}`;

/** $10: progress is kept in the connector's own form, so it means nothing to another one. */
export const replayDelivery = `
  update deliveries set state = 'pending', config_id = $2, rule = $3, action = $4, sink = $5, connector = $6,
    lane = $7, group_key = $8, due_at = $9, since = $9, progress = case when $10 = 1 then progress else null end
  where seq = $1`;

export const discardDelivery = `update deliveries set state = 'discarded' where seq = $1`;

// Reading

export interface EventConditions {
  readonly since: boolean;
  readonly status: boolean;
  readonly candidateId: boolean;
}

/** Values: those of the conditions, in this order, then the limit. */
export function eventsWhere(conditions: EventConditions): string {
  const wanted = [
    conditions.since && 'e.received_at >= ',
    conditions.status && 'e.status = ',
    conditions.candidateId && 'e.candidate_id = ',
  ].filter((text) => text !== false);
  const where = wanted.map((text, index) => `${text}$${index + 1}`).join(' and ');
  return `
    select ${eventColumns}, (select count(*) from duplicates where event_seq = e.seq) as duplicates from events e
    ${where && `where ${where}`} order by e.seq desc limit $${wanted.length + 1}`;
}

export const eventById = `select ${eventColumns} from events e where e.id = $1`;

export const deliveriesOfEvent = `
  select ${deliveryColumns}, d.message from deliveries ${pair} where d.seq ${ofEvent('$1')} order by d.seq`;

export const attemptsOfEvent = `
  select delivery_seq, number, started_at, ended_at, outcome from attempts
  where delivery_seq ${ofEvent('$1')} order by delivery_seq, number`;

export const duplicatesOfEvent = `
  select received_at, correlation_id from duplicates where event_seq = $1 order by seq limit $2`;

export const deliveryById = `
  select ${deliveryColumns} from deliveries ${pair} where d.seq = ${seqOf('$1', '$2')}`;

/** $1 sink and $2 since may be null; $3: only those after this seq. */
const filtered = `
  (cast($1 as text) is null or d.sink = $1) and (cast($2 as bigint) is null or e.received_at >= $2) and d.seq > $3
  order by d.seq limit $4`;

export const openInState = (state: 'sending' | 'dead' | 'held') => `
  select ${deliveryColumns} from deliveries ${pair} where ${open} and d.state = '${state}' and ${filtered}`;

export const anyInState = (state: string) => `
  select ${deliveryColumns} from deliveries ${pair} where d.state = '${state}' and ${filtered}`;

export const rejectedRequests = `
  select received_at, address, correlation_id, status, faults, body from rejected_requests
  order by seq desc limit $1`;

export const deliveryCounts = `select sink, state, n from delivery_counts order by sink, state`;

export const newestReceipt = `select max(received_at) as received_at from events`;

// Keeping house

export const addToCount = `
  insert into delivery_counts (sink, state, n) values ($1, $2, $3)
  on conflict (sink, state) do update set n = delivery_counts.n + $3`;

export const addToUses = `update configs set uses = uses + $2 where id = $1`;

export const saveConfig = `
  insert into configs (id, source, saved_at) values ($1, $2, $3)
  on conflict (id) do update set saved_at = $3`;

export const configSource = `select source from configs where id = $1`;

export const unusedConfigs = `select id from configs where uses = 0 and saved_at < $1`;

export const deleteConfig = `delete from configs where id = $1`;

/** Events whose deliveries are all final. */
export const prunableEvents = `
  select e.seq, coalesce(e.content, e.seq) as content, e.correlation_id, e.config_id from events e
  where e.received_at < $1 and not exists (
    select 1 from deliveries d where d.seq ${ofEvent('e.seq')} and d.state in ('pending', 'sending', 'held')
  ) order by e.received_at limit $2`;

export const countsOfEvent = `
  select sink, state, config_id, count(*) as n from deliveries d where d.seq ${ofEvent('$1')}
  group by sink, state, config_id`;

export const deleteDeliveriesOfEvent = `delete from deliveries where seq ${ofEvent('$1')}`;

export const deleteDuplicatesCorrelations = `
  delete from correlations where event_seq = $1 and content = $2
    and correlation_id in (select correlation_id from duplicates where event_seq = $1)`;

export const deleteCorrelation = `delete from correlations where correlation_id = $1 and content = $2`;

export const deleteEvent = `delete from events where seq = $1`;

export const writeProbe = `update probe set written = 1 - written`;
