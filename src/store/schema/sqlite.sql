-- Each step brings a store from the version before to its own; `pragma user_version` counts the steps taken. A step that
-- was released is never edited. Times are integers (ms). JSON is text.

-- step 1
create table configs (
  id text primary key,
  source text not null,
  saved_at integer not null,
  -- Events, notices and replayed deliveries that refer to it. Kept by the writes, since counting them would read every event.
  uses integer not null default 0 check (uses >= 0)
) strict, without rowid;

create table events (
  seq integer primary key,
  id text not null unique,
  candidate_id text not null,
  -- See candidateKey.
  candidate_key integer not null,
  candidate_numerical_id integer,
  test_id integer not null,
  status text not null,
  -- The seq of the first event with this candidate, test and status, so that one number stands for one content;
  -- null in that first one.
  content integer,
  correlation_id text,
  raw text not null,
  received_at integer not null,
  config_id text not null
) strict;
-- Candidates come in no order, so each event rewrites some page of this index: the dearest part of accepting one.
-- That is why its keys are short and leave out the status, and why correlation ids have no index like it.
create index events_content on events (candidate_key, test_id);
create index events_received on events (received_at);
create index events_status on events (status, received_at);

-- The correlation ids of what came after a content's first event: its duplicates, and its later events.
create table correlations (
  content integer not null,
  correlation_id text not null,
  event_seq integer not null,
  primary key (content, correlation_id)
) strict, without rowid;

create table duplicates (
  seq integer primary key,
  event_seq integer not null references events (seq) on delete cascade,
  received_at integer not null,
  correlation_id text
) strict;
create index duplicates_event on duplicates (event_seq);

-- What the connector had to tell of itself.
create table notices (
  -- From 2^36 on, which no event's reaches.
  seq integer primary key check (seq >= 68719476736),
  id text not null unique,
  alert text not null,
  cause text not null,
  sink text,
  count integer not null,
  since integer not null,
  detail text not null,
  advice text not null,
  raised_at integer not null,
  config_id text not null
) strict;
create index notices_cause on notices (cause, raised_at);
create index notices_raised on notices (raised_at);

create table deliveries (
  -- The event's or notice's seq * 65536 + the n of the delivery's id, so that neither needs an index of its own.
  seq integer primary key,
  -- null: the event's or notice's. Another one after a replay.
  config_id text,
  rule text not null,
  action integer not null,
  sink text not null,
  connector text not null,
  lane text not null,
  group_key text,
  group_max integer check (group_max > 0),
  -- In a digest that was begun: the seq of the delivery that it goes out under. Never changed again, so that every
  -- attempt carries the same events. All deliveries of a digest have the same state and attempts.
  carrier integer,
  state text not null default 'pending'
    check (state in ('pending', 'sending', 'delivered', 'dead', 'held', 'discarded')),
  due_at integer not null,
  since integer not null,
  attempts integer not null default 0 check (attempts >= 0),
  first_attempt_at integer,
  started_at integer,
  -- When it was delivered or went dead.
  ended_at integer,
  uncertain integer not null default 0 check (uncertain in (0, 1)),
  progress text,
  receipt text,
  last_error text,
  message text,
  thread text,
  check ((attempts = 0) = (first_attempt_at is null)),
  check ((state = 'sending') = (started_at is not null)),
  check ((state in ('delivered', 'dead')) = (ended_at is not null)),
  check ((state = 'delivered') = (receipt is not null)),
  check (attempts > 0 or state in ('pending', 'discarded')),
  check ((group_key is null) = (group_max is null)),
  check (carrier is null or group_key is not null),
  -- What has a group is begun in a digest only, so a digest never takes up what has attempts of its own.
  check (group_key is null or carrier is not null or attempts = 0)
) strict;
create index deliveries_pending on deliveries (lane, due_at)
  where state = 'pending' and (carrier is null or carrier = seq);
create index deliveries_grouped on deliveries (lane, group_key, due_at)
  where state = 'pending' and group_key is not null and carrier is null;
create index deliveries_carried on deliveries (carrier) where carrier is not null;
create index deliveries_rare on deliveries (state) where state not in ('pending', 'delivered');
create index deliveries_dead on deliveries (ended_at) where state = 'dead';
create index deliveries_thread on deliveries (sink, thread, ended_at)
  where thread is not null and state = 'delivered';

create table attempts (
  delivery_seq integer not null references deliveries (seq) on delete cascade,
  number integer not null check (number > 0),
  started_at integer not null,
  ended_at integer not null,
  outcome text not null,
  primary key (delivery_seq, number)
) strict, without rowid;

create table rejected_requests (
  seq integer primary key,
  received_at integer not null,
  address text not null,
  correlation_id text,
  status integer not null,
  faults text not null,
  body text not null
) strict;

-- state: one of the deliveries', or 'planned' for all of them, counted once when they were planned.
create table delivery_counts (
  sink text not null,
  state text not null,
  n integer not null,
  primary key (sink, state)
) strict, without rowid;

-- Written to find out whether anything can be written.
create table probe (written integer not null) strict;
insert into probe values (0);

-- step 2
alter table deliveries add column replayed integer not null default 0 check (replayed in (0, 1));
update deliveries set replayed = 1 where state = 'pending' and attempts > 0 and due_at = since;

-- step 3
-- Retention counts from there; null also where it was discarded by an earlier version.
alter table deliveries add column discarded_at integer check (discarded_at is null or state = 'discarded');

-- When the store was last served, by a clock that was believed; and what another clock said since. See SignOfLife.
create table life (
  id integer primary key check (id = 1),
  seen_at integer not null,
  doubted_at integer,
  agreed_ms integer not null,
  check (doubted_at is not null or agreed_ms = 0)
) strict;
insert into life select 1, received_at, null, 0 from events order by received_at desc limit 1;

-- step 4
-- The sinks that fail for everyone, so that a restart does not begin to call them anew.
create table pauses (
  sink text primary key,
  since integer not null,
  probe_at integer not null,
  probes integer not null check (probes > 0)
) strict, without rowid;

-- step 5
-- One row while the store is an unfinished copy of another one.
create table unfinished_copy (
  source text not null,
  begun_at integer not null
) strict;

-- step 6
-- Why the sink's last attempt failed.
alter table pauses add column reason text;
alter table pauses add column detail text;
-- Whether a notice says that the trouble of an earlier one is over; null in those of versions that did not say it.
alter table notices add column recovered integer check (recovered in (0, 1));

-- step 7
-- What each process that serves the store says of itself.
create table copy_states (
  id text primary key,
  said_at integer not null,
  -- See ReplicaState.
  state text not null
) strict, without rowid;

-- step 8
-- Delivered, but not to all whom it was for.
create index deliveries_missed on deliveries (ended_at) where state = 'delivered' and last_error is not null;

-- step 9
-- What people changed by hand. It goes when nothing is left of what it is about, and is old.
create table audit (
  seq integer primary key,
  changed_at integer not null,
  who text not null,
  origin text not null,
  action text not null,
  note text
) strict;
create table audit_deliveries (
  delivery_seq integer not null references deliveries (seq) on delete cascade,
  audit_seq integer not null references audit (seq) on delete cascade,
  primary key (delivery_seq, audit_seq)
) strict, without rowid;
create index audit_deliveries_audit on audit_deliveries (audit_seq);

-- The seq of the delivery, of the same event or notice, that a person sent again as this one.
alter table deliveries add column resend_of integer;

-- step 10
-- How many events came, and how many deliveries ended, in each hour: for charts, which would have to read all of them.
create table hourly (
  -- Since the epoch.
  hour integer not null,
  -- Empty for events.
  sink text not null,
  -- An event's status; or delivered, dead or held.
  what text not null,
  -- No more than so long after the event came: a power of two. 0 for all that was not delivered.
  delay_ms integer not null,
  n integer not null,
  primary key (hour, sink, what, delay_ms)
) strict, without rowid;
insert into hourly select received_at / 3600000, '', status, 0, count(*) from events
  where received_at > (select max(received_at) from events) - 8000000000 group by 1, 3;

-- step 11
-- Where the store was when it was last served. See Store.settleIn.
create table home (
  id integer primary key check (id = 1),
  place text not null
) strict;

-- step 12
-- The newest refresh tokens, encrypted. See keptRefreshTokens.
create table tokens (
  id text primary key,
  sealed text not null,
  kept_at integer not null
) strict, without rowid;

-- step 13
-- Events that were refused, until a person has put them away. See RefusedEvents.
create table refused (
  reason text not null,
  origin text not null,
  n integer not null,
  first_at integer not null,
  last_at integer not null,
  primary key (reason, origin)
) strict, without rowid;
-- Of a notice about refused events: where these came from.
alter table notices add column origin text;

-- step 14
-- How calls to each sink fare. A sink without a row was never called.
create table sink_figures (
  sink text primary key,
  succeeded_at integer,
  -- Since then: attempts that ended retry or unknown, and why the last one did.
  failures integer not null,
  first_failed_at integer,
  last_failed_at integer,
  reason text,
  detail text,
  -- When a person asked to try it at once, until that is done.
  retry_asked_at integer
) strict, without rowid;
insert into sink_figures (sink, failures)
  select distinct sink, 0 from delivery_counts where state in ('delivered', 'dead', 'held') and n > 0;
-- A sink's attempts of the last hour, five minutes a row.
create table sink_attempts (
  sink text not null,
  place integer not null,
  -- Since the epoch. The place is its remainder, so that each row takes the place of an old one.
  slot integer not null,
  attempts integer not null,
  failures integer not null,
  primary key (sink, place)
) strict, without rowid;

-- step 15
-- Events that are not decided yet: their look-ups have not ended, or an earlier event of their candidate is not decided.
create table undecided (
  event_seq integer primary key references events (seq) on delete cascade,
  candidate_key integer not null,
  -- Its look-ups that have not ended, and one for the earlier event.
  waits integer not null check (waits >= 0),
  -- When the next of its look-ups is given up; 0 once nothing is waited for; null while only the earlier event is.
  until integer
) strict;
create index undecided_candidate on undecided (candidate_key, event_seq);
create index undecided_until on undecided (until);
-- When the personal fields go that a look-up has found.
alter table deliveries add column personal_until integer;
create index deliveries_personal on deliveries (personal_until) where personal_until is not null;

-- step 16
-- Correlation ids are random, so that an index of them alone would cost more than the rest of accepting an event: each would
-- go into a page of its own. In blocks, all go into the newest pages; a search looks into each block.
create index events_correlation on events (seq / 256, correlation_id);
create index duplicates_correlation on duplicates (seq / 256, correlation_id);

-- step 17
-- When the last backup was taken.
alter table home add column backed_up_at integer;

-- step 18
-- The store was promoted or restored since the event came: it may have been decided before, and its messages sent.
alter table undecided add column uncertain integer not null default 0 check (uncertain in (0, 1));

-- step 19
-- The header of W3C Trace Context, in those whose request had one. The trace of the others is made of their id.
alter table events add column traceparent text;

-- step 20
-- Events that were refused for who sent them, until a person takes them in or puts them away. See RefusedEvent.
create table refused_events (
  id text primary key,
  came_at integer not null,
  origin text not null,
  reason text not null,
  candidate_id text not null,
  candidate_numerical_id integer,
  test_id integer not null,
  status text not null,
  correlation_id text,
  attempts integer not null,
  raw text not null,
  unique (origin, candidate_id, test_id, status)
) strict;

-- step 21
-- When people have paused sinks: nothing was begun for them, and that time does not count for giving up.
create table person_pauses (
  sink text not null,
  since integer not null,
  -- When it ends by itself, or has ended; null: when a person ends it.
  until integer,
  -- asked; taken: whoever carries out the sink's deliveries begins none any more; ended: by a person.
  phase text not null,
  who text not null,
  note text,
  primary key (sink, since)
) strict, without rowid;
-- Of what was done to a sink: which one.
alter table audit add column sink text;

-- step 22
-- What may have arrived, which few are: later ones that take its place wait for it.
create index deliveries_uncertain on deliveries (lane, seq) where uncertain = 1 and state = 'pending';

-- step 23
-- Candidates by their number and by the beginning of their id: as events_correlation, it is appended to.
create index events_candidate on events (seq / 256, candidate_id, candidate_numerical_id);

-- step 24
-- Only of PostgreSQL: here, events_candidate is soon read.

-- step 25
-- Look-ups that ended without an answer, for events that were decided so.
create index deliveries_unanswered on deliveries (seq)
  where state = 'discarded' and connector = 'lookup' and progress like '%"state":"unknown"%';

-- step 26
-- Until when a sink's tool asked to wait, for a quarter of an hour or longer, since its last success.
alter table sink_figures add column asked_until integer;

-- step 27
-- Only of PostgreSQL: here, nothing is replicated by a table's key.

-- step 28
-- When a message was composed that may have arrived. See Delivery.composedAt.
alter table deliveries add column composed_at integer;
update deliveries set composed_at = (
  select max(a.started_at) from attempts a
  where a.delivery_seq = coalesce(carrier, deliveries.seq) and a.outcome ->> 'outcome' = 'unknown'
) where uncertain = 1 and state = 'pending' and replayed = 0;

-- step 29
-- Only of PostgreSQL: here, one process makes all calls.
