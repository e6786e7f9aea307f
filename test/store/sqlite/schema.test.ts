import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as byHand from '../../../src/store/sql/by-hand.ts';
import * as carryingOut from '../../../src/store/sql/carrying-out.ts';
import * as housekeeping from '../../../src/store/sql/housekeeping.ts';
import { query } from '../../../src/store/sql/query.ts';
import * as reading from '../../../src/store/sql/reading.ts';
import * as receiving from '../../../src/store/sql/receiving.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { migrations } from '../../../src/store/sqlite/migrations.ts';

let db: Database;

beforeAll(() => {
  db = new Database(':memory:');
  for (const migration of migrations) db.exec(migration);
});

afterAll(() => {
  db.close();
});

const unconditional = { since: false, status: false, candidateId: false, after: false };

/** How SQLite would go about a statement, step by step. */
function planOf(sql: string): string[] {
  const places = new Set(sql.match(/\$\d+/g));
  const values = Array.from(places, () => null);
  return db
    .all(query<{ detail: string }>(`explain query plan ${sql}`), ...values)
    .map(({ detail }) => detail);
}

describe('the cost of a statement does not grow with what is stored', () => {
  const { deliveriesOfEvent, attemptsOfEvent, duplicatesOfEvent, deliveryById, eventById } = reading;
  const detail = { deliveriesOfEvent, attemptsOfEvent, duplicatesOfEvent, deliveryById, eventById };
  const { newestReceipt, deliveriesIn } = reading;
  const { newestCorrelations: _, ...accepting } = receiving;
  const { unusedConfigs: __, writeProbe: ___, ...pruning } = housekeeping;
  const statements = {
    ...accepting,
    ...carryingOut,
    ...byHand,
    ...pruning,
    ...detail,
    newestReceipt,
    pending: deliveriesIn('pending'),
    dead: deliveriesIn('dead'),
    discarded: deliveriesIn('discarded'),
    eventsSince: reading.eventsWhere({ ...unconditional, since: true }),
    eventsAfter: reading.eventsWhere({ ...unconditional, after: true }),
    eventsOfStatus: reading.eventsWhere({ ...unconditional, status: true, after: true }),
    eventsOfCandidate: reading.eventsWhere({ ...unconditional, candidateId: true }),
  };

  /** What is pending may be walked over, and so may what a statement found itself. */
  const walks = /^SCAN (heads|first|\w+ USING (COVERING )?INDEX deliveries_pending)$/;
  /** A search for all rows after a given one reads as many as a scan. */
  const scans = /^SCAN|^SEARCH \w+ .*PRIMARY KEY \(rowid>\?\)$/;

  test.each(Object.entries(statements))('%s', (_name, sql) => {
    const steps = planOf(sql);
    expect(steps.filter((step) => scans.test(step) && !walks.test(step))).toEqual([]);
  });

  test('claims and lanes read what is pending in the order of their index', () => {
    const plans = [...planOf(carryingOut.dueInLane), ...planOf(carryingOut.laneHeads)];
    expect(plans.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
    expect(plans.join('\n')).toContain('deliveries_pending (lane=? AND due_at<?)');
  });

  test('a rare status is found by an index of its own', () => {
    const { eventsOfStatus } = statements;
    expect(planOf(eventsOfStatus).join('\n')).toContain('events_status (status=? AND received_at<?)');
  });

  test('the newest events come first without sorting all of them', () => {
    for (const status of [true, false]) {
      const all = reading.eventsWhere({ ...unconditional, status });
      expect(planOf(all).join('\n')).not.toContain('TEMP B-TREE');
    }
  });
});

describe('the schema ties a state to what belongs to it', () => {
  const delivery = {
    seq: 65_537,
    state: 'pending',
    attempts: 1,
    first_attempt_at: 1,
    started_at: null,
    delivered_at: null,
    receipt: null,
  };
  const insert = (changes: Partial<Record<keyof typeof delivery, string | number | null>>) => {
    const { seq, state, attempts, first_attempt_at, started_at, delivered_at, receipt } = {
      ...delivery,
      ...changes,
    };
    db.exec('savepoint attempt');
    try {
      db.run(
        `insert into deliveries (seq, rule, action, sink, connector, lane, due_at, since, state, attempts,
           first_attempt_at, started_at, delivered_at, receipt)
         values ($1, 'r', 0, 's', 'c', 'l', 1, 1, $2, $3, $4, $5, $6, $7)`,
        seq,
        state,
        attempts,
        first_attempt_at,
        started_at,
        delivered_at,
        receipt,
      );
    } finally {
      db.exec('rollback to attempt; release attempt');
    }
  };

  test.each([
    { state: 'pending' },
    { state: 'pending', attempts: 0, first_attempt_at: null },
    { state: 'sending', started_at: 1 },
    { state: 'delivered', delivered_at: 1, receipt: '{}' },
    { state: 'dead' },
    { state: 'held' },
    { state: 'discarded', attempts: 0, first_attempt_at: null },
  ])('takes %o', (changes) => {
    expect(() => insert(changes)).not.toThrow();
  });

  test.each([
    { state: 'lost' },
    { state: 'sending' },
    { state: 'pending', started_at: 1 },
    { state: 'delivered' },
    { state: 'delivered', delivered_at: 1 },
    { state: 'delivered', receipt: '{}' },
    { state: 'dead', receipt: '{}' },
    { state: 'dead', delivered_at: 1 },
    { state: 'dead', attempts: 0, first_attempt_at: null },
    { state: 'held', attempts: 0, first_attempt_at: null },
    { state: 'pending', attempts: 0 },
    { state: 'pending', first_attempt_at: null },
  ])('refuses %o', (changes) => {
    expect(() => insert(changes)).toThrow(/CHECK constraint failed/);
  });
});
