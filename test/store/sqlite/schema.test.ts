import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql as audit } from '../../../src/store/operations/audit.ts';
import { sql as byHand } from '../../../src/store/operations/by-hand.ts';
import { sql as claiming } from '../../../src/store/operations/claiming.ts';
import { sql as deciding } from '../../../src/store/operations/deciding.ts';
import { sql as deliveries } from '../../../src/store/operations/deliveries.ts';
import { sql as carryingOut } from '../../../src/store/operations/carrying-out.ts';
import { sql as housekeeping } from '../../../src/store/operations/housekeeping.ts';
import { query, run } from '../../../src/store/operation.ts';
import { deliveriesIn, eventsWhere, joined, sql as reading } from '../../../src/store/operations/reading.ts';
import {
  candidatesBy,
  conditionsOf,
  type EventSearch,
  search,
} from '../../../src/store/operations/searching.ts';
import { sql as sinksSql } from '../../../src/store/operations/sink-health.ts';
import { sql as counting } from '../../../src/store/operations/counting.ts';
import { stateSql } from '../../../src/store/operations/leases.ts';
import { sql as receiving } from '../../../src/store/operations/receiving.ts';
import { Database, runOn } from '../../../src/store/sqlite/database.ts';
import { sqliteSteps } from '../../../src/store/schema/steps.ts';

let db: Database;

beforeAll(() => {
  db = new Database(':memory:');
  for (const step of sqliteSteps) db.exec(step);
});

afterAll(() => {
  db.close();
});

/** How SQLite would go about a statement, step by step. */
function planOf(sql: string): string[] {
  const places = new Set(sql.match(/\$\d+/g));
  const values = Array.from(places, () => null);
  return db
    .all(query<{ detail: string }>(`explain query plan ${sql}`), ...values)
    .map(({ detail }) => detail);
}

const eventsFor = (asked: EventSearch) => eventsWhere(joined(conditionsOf(asked), 1)[0]);

describe('the cost of a statement does not grow with what is stored', () => {
  const { deliveriesOf, storiesOf, attemptsOf, duplicatesOfEvent, deliveryById, eventById } = reading;
  const { noticeById, noticesSince } = reading;
  const { deadSince, heldSince, newestReceipt, eventsSince, oldestPending } = counting;
  const detail = {
    deliveriesOf,
    storiesOf,
    attemptsOf,
    duplicatesOfEvent,
    deliveryById,
    eventById,
    noticeById,
  };
  const { newestCorrelations: _, ...accepting } = receiving;
  // Configs are few, as is what people changed by hand; read by commands and at the end of a deletion.
  const {
    unusedConfigs: __,
    prunePersonPauses: _______________,
    latestConfig: ___,
    writeProbe: ____,
    pruneAudit: ________,
    configsOfReplicas: ____________,
    // There are at most 1000.
    pruneRejected: __________________,
    // After a restore, what is undecided.
    distrustUndecided: ______________,
    ...pruning
  } = housekeeping;
  // Only after the clock was set back, step by step.
  const { putOff: _____, ...carrying } = carryingOut;
  // As many as there are copies.
  const { replicaStates: ______, forgetOthers: _______, ...looking } = stateSql;
  // What waits for look-ups, of one candidate or all.
  const { count: _____________, ...decided } = deciding;
  // As many as there are sinks, and as often as people paused one.
  const {
    figures: _________,
    retriesAsked: __________,
    personPauses: ________________,
    ...ofSinks
  } = sinksSql;
  const statements = {
    ...ofSinks,
    ...looking,
    ...accepting,
    ...deliveries,
    ...claiming,
    ...carrying,
    ...decided,
    ...audit,
    ...byHand,
    ...pruning,
    ...detail,
    noticesSince: noticesSince(false),
    noticesAfter: noticesSince(true),
    deadSince,
    heldSince,
    newestReceipt,
    eventsSince,
    oldestPending,
    dead: deliveriesIn('dead'),
    deadOfCause: deliveriesIn('dead', true),
    discarded: deliveriesIn('discarded'),
    eventsListedSince: eventsFor({ since: 0 }),
    eventsAfter: eventsFor({ after: 'evt_1' }),
    eventsOfStatus: eventsFor({ status: '', after: 'evt_1' }),
    eventsOfCandidate: eventsFor({ candidates: { ids: ['a'] } }),
    eventsDead: eventsFor({ states: ['dead', 'held'], sink: '' }),
  };

  const each = Object.entries(statements).flatMap(([name, sql]) => {
    if (typeof sql === 'string') return [[name, sql] as const];
    if ('many' in sql) return [[name, sql.sql] as const];
    return Object.entries(sql).map(([kind, one]) => [`${name}, ${kind}`, one] as const);
  });
  /** What is pending may be walked over, and so may what a statement found itself, and the few sinks that are paused. */
  const walks =
    /^SCAN (heads|first|joining|over|ahead|u|causes|pauses|CONSTANT ROW|\w+ USING (COVERING )?INDEX deliveries_pending)$/;
  /** A search for all rows after a given one reads as many as a scan. */
  const scans = /^SCAN|^SEARCH \w+ .*PRIMARY KEY \(rowid>\?\)$/;

  test.each(each)('%s', (_name, sql) => {
    const steps = planOf(sql);
    expect(steps.filter((step) => scans.test(step) && !walks.test(step))).toEqual([]);
  });

  test('a search for a test of which nothing came is over with one statement: the next ones would read all events', () => {
    const searching = search({ testId: 4711 });
    expect(searching.next().value).toMatchObject({ values: [4711] });
    expect(searching.next()).toEqual({ done: true, value: { stories: [], after: null } });
  });

  test('claims and lanes read what is pending in the order of their index', () => {
    const plans = [claiming.dueFirst, claiming.untriedLast, carryingOut.laneHeads].flatMap(planOf);
    expect(plans.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
    expect(plans.join('\n')).toContain('deliveries_pending (lane=? AND due_at>? AND due_at<?)');
  });

  test('a digest is gathered in the order of its index, and found again by its carrier', () => {
    const gathering = planOf(claiming.beginDigest);
    expect(gathering.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
    expect(gathering.join('\n')).toContain('deliveries_grouped (lane=? AND group_key=? AND due_at<?)');
    for (const { digest } of [claiming.claim, carryingOut.record, byHand.replay]) {
      expect(planOf(digest).join('\n')).toContain('deliveries_carried (carrier=?)');
    }
  });

  test('what went dead is found by when it did', () => {
    const plan = planOf(counting.deadSince).join('\n');
    expect(plan).toContain('deliveries_dead (ended_at>?)');
    expect(plan).toContain('deliveries_missed (ended_at>?)');
  });

  test('a rare status is found by an index of its own', () => {
    const { eventsOfStatus } = statements;
    expect(planOf(eventsOfStatus).join('\n')).toContain('events_status (status=? AND received_at<?)');
  });

  test('a number and the beginning of an id are looked for in the index of candidates', () => {
    expect(planOf(candidatesBy.number).join('\n')).toContain('COVERING INDEX events_candidate (<expr>=?)');
    const beginning = planOf(candidatesBy.beginning).join('\n');
    expect(beginning).toContain('events_candidate (<expr>=? AND candidate_id>? AND candidate_id<?)');
  });

  test('the newest events come first without sorting all of them', () => {
    for (const where of ['where e.status = $2', ''])
      expect(planOf(eventsWhere(where)).join('\n')).not.toContain('TEMP B-TREE');
  });
});

describe('the schema ties a state to what belongs to it', () => {
  const delivery = {
    seq: 65_537,
    state: 'pending',
    attempts: 1,
    first_attempt_at: 1,
    started_at: null,
    ended_at: null,
    receipt: null,
    group_key: null,
    group_max: null,
    carrier: null,
  };
  const insert = (changes: Partial<Record<keyof typeof delivery, string | number | null>>) => {
    const row = { ...delivery, ...changes };
    const columns = Object.keys(row);
    const places = columns.map((_, index) => `$${index + 1}`);
    db.exec('savepoint attempt');
    try {
      const values = `values ('r', 0, 's', 'c', 'l', 1, 1, ${places.join(', ')})`;
      const into = `rule, action, sink, connector, lane, due_at, since, ${columns.join(', ')}`;
      runOn(db, run(`insert into deliveries (${into}) ${values}`, ...Object.values(row)));
    } finally {
      db.exec('rollback to attempt; release attempt');
    }
  };

  test.each([
    { state: 'pending' },
    { state: 'pending', attempts: 0, first_attempt_at: null },
    { state: 'sending', started_at: 1 },
    { state: 'delivered', ended_at: 1, receipt: '{}' },
    { state: 'dead', ended_at: 1 },
    { state: 'held' },
    { state: 'pending', attempts: 0, first_attempt_at: null, group_key: 'g', group_max: 1 },
    { state: 'held', group_key: 'g', group_max: 1, carrier: 65_537 },
    { state: 'discarded', attempts: 0, first_attempt_at: null },
  ])('takes %o', (changes) => {
    expect(() => insert(changes)).not.toThrow();
  });

  test.each([
    { state: 'lost' },
    { state: 'sending' },
    { state: 'pending', started_at: 1 },
    { state: 'delivered' },
    { state: 'delivered', ended_at: 1 },
    { state: 'delivered', receipt: '{}' },
    { state: 'dead', ended_at: 1, receipt: '{}' },
    { state: 'dead' },
    { state: 'held', ended_at: 1 },
    { state: 'dead', ended_at: 1, attempts: 0, first_attempt_at: null },
    { state: 'held', attempts: 0, first_attempt_at: null },
    { state: 'pending', attempts: 0 },
    { state: 'pending', first_attempt_at: null },
    { state: 'held', group_key: 'g', group_max: 1 },
    { state: 'held', group_key: 'g', carrier: 65_537 },
    { state: 'held', group_key: 'g', group_max: 0, carrier: 65_537 },
    { state: 'held', group_max: 1 },
    { state: 'held', carrier: 65_537 },
  ])('refuses %o', (changes) => {
    expect(() => insert(changes)).toThrow(/CHECK constraint failed/);
  });
});
