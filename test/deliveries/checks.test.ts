import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Deadlines } from '../../src/deliveries/limits/deadlines.ts';
import { checkSecrets } from '../../src/deliveries/sinks/checks.ts';
import { ConnectedSinks } from '../../src/deliveries/sinks/connected-sinks.ts';
import { type Clock, systemClock } from '../../src/support/clock.ts';
import { eventually } from '../fixtures/eventually.ts';
import { configFor, ScriptedTool } from './scripted.ts';

test('secrets that do not work are checked again less and less often, and at least once an hour', async () => {
  const tool = new ScriptedTool();
  let tried = 0;
  tool.check = () => {
    tried += 1;
    return [{ ok: tried === 7, what: 'login', detail: 'The password is wrong.' }];
  };
  const config = configFor(tool, 'retry: {}');
  const sinks = new ConnectedSinks();
  const changed = sinks.newSecrets.recall(
    [{ sink: 'tool', since: 0, detail: 'Wrong.' }],
    config.sinks,
    'UTC',
  );
  const minutes: number[] = [];
  let goOn = () => {};
  const clock: Clock = {
    ...systemClock,
    after(delayMs, run) {
      minutes.push(delayMs / 60_000);
      goOn = run;
      return () => {};
    },
  };
  const pauses = [5, 10, 20, 40, 60, 60, 60];
  const works: string[] = [];
  let isPaused = false;
  checkSecrets(
    {
      sinks,
      clock,
      deadlines: new Deadlines(systemClock, new AbortController().signal),
      log: pino({ level: 'silent' }),
      mask: (text) => text,
      sinkOf: (name) => config.sinks.get(name),
      isPausedByPerson: () => isPaused,
      work: (name) => works.push(name),
      checked: () => {},
    },
    changed,
  );
  for (const known of pauses.keys()) {
    await eventually(() => expect(minutes).toEqual(pauses.slice(0, known + 1)));
    // While a person has paused the sink it is not asked, and this is no check that failed.
    isPaused = known === 5;
    goOn();
  }
  await eventually(() => expect(works).toEqual(['tool']));
  expect(tried).toBe(7);
});
