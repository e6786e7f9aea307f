import { expect, test } from 'vitest';
import { Traffic } from '../../src/deliveries/traffic.ts';
import type { Outcome } from '../../src/model.ts';
import { configFor, ScriptedTool } from './scripted.ts';

const sink = configFor(new ScriptedTool()).sinks.get('tool')!;
const one = { sink: 'tool', lane: 'tool one' };
const other = { sink: 'tool', lane: 'tool other' };
const down: Outcome = { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };
const later = 60_000;

function paused(): Traffic {
  const traffic = new Traffic(() => 0.5);
  for (let failure = 0; failure < 5; failure += 1) {
    const { calls, probe } = traffic.permit(one, sink, 0);
    traffic.giveBack(one, calls - 1, probe);
    traffic.ended(traffic.started(one, sink, 0, probe), [down], sink, 0);
  }
  expect(traffic.paused()).toEqual([{ sink: 'tool', since: 0 }]);
  return traffic;
}

test('lanes that ask at the same time get one probe of their paused sink between them', () => {
  const traffic = paused();
  expect(traffic.permit(one, sink, later)).toMatchObject({ calls: 1, probe: true });
  expect(traffic.permit(other, sink, later)).toMatchObject({ calls: 0, askAgainAt: Infinity });
});

test('a probe that found nothing to do leaves its turn to another lane', () => {
  const traffic = paused();
  const { calls, probe } = traffic.permit(one, sink, later);
  traffic.giveBack(one, calls, probe);
  expect(traffic.permit(other, sink, later)).toMatchObject({ calls: 1, probe: true });
});

test('a call permitted before the pause is no probe when it ends after it', () => {
  const traffic = new Traffic(() => 0.5);
  const early = traffic.permit(other, { ...sink, concurrency: 1 }, 0);
  const roomy = { ...sink, concurrency: 2 };
  for (let failure = 0; failure < 5; failure += 1) {
    const { probe } = traffic.permit(one, roomy, 0);
    traffic.ended(traffic.started(one, roomy, 0, probe), [down], roomy, 0);
  }
  expect(traffic.started(other, roomy, 0, early.probe)).toMatchObject({ probe: false });
});
