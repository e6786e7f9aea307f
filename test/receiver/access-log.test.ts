import { expect, test } from 'vitest';
import { sample, startReceiver } from './receiver.ts';

const json = JSON.stringify(sample);
const accepted = { eventId: 'evt_1', duplicate: false, correlationReused: false };

test('one line for each request says how it ended', async () => {
  const receiver = await startReceiver();
  const ids = { 'x-service-correlationid': 'c-1' };
  await receiver.post(json, ids);
  receiver.inbox.answer = () => ({ ...accepted, duplicate: true });
  await receiver.post(json, ids);
  await receiver.post('{"testId":1}', ids);
  expect(receiver.lines).toEqual([
    {
      level: 'info',
      time: expect.any(Number),
      msg: 'request',
      outcome: 'accepted',
      status: 202,
      eventId: 'evt_1',
      correlationId: 'c-1',
      traceId: expect.any(String),
      address: '127.0.0.1',
      durationMs: expect.any(Number),
    },
    expect.objectContaining({ level: 'info', outcome: 'duplicate', status: 200, eventId: 'evt_1' }),
    expect.objectContaining({
      level: 'info',
      outcome: 'invalid',
      status: 422,
      eventId: null,
      faults: [expect.stringContaining('candidateId'), expect.stringContaining('status')],
    }),
  ]);
  expect(receiver.counted).toEqual(['accepted', 'duplicate', 'invalid']);
});

test('a correlation id used before with other content is a warning', async () => {
  const receiver = await startReceiver();
  receiver.inbox.answer = () => ({ ...accepted, correlationReused: true });
  await receiver.post(json, { 'x-service-correlationid': 'c-1' });
  expect(receiver.lines).toMatchObject([
    { level: 'warn', warning: expect.stringContaining('correlation id') },
  ]);
});

test('an unusable correlation id is a warning, and the event is accepted without it', async () => {
  const receiver = await startReceiver();
  await receiver.post(json, { 'x-service-correlationid': 'x'.repeat(201) });
  expect(receiver.inbox.received).toMatchObject([{ correlationId: null }]);
  expect(receiver.lines).toMatchObject([{ level: 'warn', outcome: 'accepted', correlationId: null }]);
});

test('health checks are not logged', async () => {
  const receiver = await startReceiver();
  await fetch(`http://127.0.0.1:${receiver.port}/healthz`);
  await fetch(`http://127.0.0.1:${receiver.port}/readyz`);
  expect(receiver.lines).toEqual([]);
  expect(receiver.counted).toEqual([]);
});
