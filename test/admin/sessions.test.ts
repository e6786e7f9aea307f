import { expect, test } from 'vitest';
import { sessionCookie, Sessions } from '../../src/admin/sessions.ts';

const host = 'hiring.example';
const hour = 3_600_000;

/** Sessions of one password, and who a session's id is at a time (ms). */
function sessionsOf(password: string) {
  const sessions = new Sessions();
  const started = (who: string, now = 0) => sessions.start({ who, role: 'full', host }, password, now);
  const whoAt = (id: string, now: number) =>
    sessions.find(sessionCookie(id, host, true), host, () => password, now)?.who ?? null;
  return { started, whoAt };
}

test('a session ends after twelve hours', () => {
  const { started, whoAt } = sessionsOf('a long password');
  const id = started('Dana');
  expect([whoAt(id, 12 * hour - 1), whoAt(id, 12 * hour), whoAt(id, 0)]).toEqual(['Dana', null, null]);
});

test('the oldest of more than 500 sessions ends', () => {
  const { started, whoAt } = sessionsOf('a long password');
  const ids = Array.from({ length: 501 }, (_, index) => started(`person ${index}`));
  expect([0, 1, 500].map((index) => whoAt(ids[index]!, 1))).toEqual([null, 'person 1', 'person 500']);
});
