import { expect, test } from 'vitest';
import { isOver, type Present } from '../../src/ops/alerts/over.ts';
import type { SinkState } from '../../src/ops/sink-states.ts';
import type { RaisedNotice } from '../../src/model/notices.ts';
import { day, minute, notice, t0 } from '../contract/store-fixtures.ts';

const stuck = {
  sink: 'slack',
  state: 'dead',
  cause: 'server',
  count: 1,
  doubtful: 0,
  firstAt: t0,
  reason: '503',
} as const;
const refused = { reason: 'address', from: '203.0.113.9', count: 1, first: t0, last: t0 } as const;

const slack = (state: SinkState, lastSuccessAt: number, failures = 0) => [
  { sink: 'slack', state, figures: { failures, lastSuccessAt } },
];

const calm: Present = {
  now: t0 + 10 * minute,
  sinks: slack('working', t0 + minute),
  refused: null,
  dead: [],
  held: [],
  refusedEvents: [],
  lastEventAt: t0 + minute,
};

const cases: readonly [Partial<RaisedNotice>, stillSo: Partial<Present>][] = [
  [{ alert: 'paused' }, { sinks: slack('paused', t0 + minute) }],
  [{ alert: 'paused' }, { sinks: slack('working', t0 - minute) }],
  [{ alert: 'paused' }, { sinks: slack('working', t0 + minute, 1) }],
  [{ alert: 'config', sink: null }, { refused: {} }],
  [{ alert: 'dead', cause: 'dead slack: server' }, { dead: [stuck] }],
  [{ alert: 'held', cause: 'held slack' }, { held: [{ ...stuck, cause: '' }] }],
  [{ alert: 'refused', cause: 'refused address' }, { refusedEvents: [refused] }],
  [{ alert: 'refused', cause: 'refused content' }, { refusedEvents: [{ ...refused, reason: 'content' }] }],
  [{ alert: 'silence', sink: null }, { lastEventAt: t0 - minute }],
];

test.each(cases)('%o is over when its trouble is, and not as long as that is there', (of, stillSo) => {
  const told = notice({ since: t0, ...of });
  expect(isOver(told, calm)).toBe(true);
  expect(isOver(told, { ...calm, ...stillSo })).toBe(false);
});

test('what is stuck for another cause, or refused for another reason, is another trouble', () => {
  const other = { ...calm, dead: [{ ...stuck, cause: 'auth' }], held: [stuck], refusedEvents: [refused] };
  expect(isOver(notice({ cause: 'dead slack: server' }), other)).toBe(true);
  expect(isOver(notice({ alert: 'refused', cause: 'refused token' }), other)).toBe(true);
});

test('the end of a trouble is over when that is there again, and a summary after a week', () => {
  const works = notice({ alert: 'paused', since: t0, recovered: true });
  expect(isOver(works, calm)).toBe(false);
  expect(isOver(works, { ...calm, sinks: slack('failing', t0 + minute) })).toBe(true);
  const week = notice({ alert: 'summary', sink: null });
  expect(isOver(week, { ...calm, now: t0 + 7 * day - 1 })).toBe(false);
  expect(isOver(week, { ...calm, now: t0 + 7 * day })).toBe(true);
});
