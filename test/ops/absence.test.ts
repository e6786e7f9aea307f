import { expect, onTestFinished, test } from 'vitest';
import { Absences, absencesIn } from '../../src/ops/absence.ts';
import { openStore } from '../../src/store/open.ts';
import { arrival, configId, minute, t0 } from '../contract/store-fixtures.ts';
import { freshSchema } from '../fixtures/postgres.ts';

test('two replicas that were suspended together tell of one time in which nobody served', async () => {
  const store = await openStore(await freshSchema(), { serve: true });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  await store.accept(arrival());
  let time = t0;
  const clock = { now: () => time, elapsed: () => 0, after: () => () => {} };
  const replica = (id: string) => Absences.before({ store, clock, id, found: () => {} }, []);
  const [first, second] = [await replica('first'), await replica('second')];
  const config = { id: configId, file: 'a.yaml', since: t0, refused: null, waiting: [] };
  /** It looks, and says so a moment later. */
  const says = async (id: string, { known: absences }: Absences) =>
    store.keepReplicaState({ id, saidAt: (time += 3), stopped: false, absences, config, sinks: [] });
  await says('first', first);
  time += 4000;
  await second.look();
  await says('second', second);
  time += 10 * minute;
  await Promise.all([first.look(), second.look()]);
  await says('first', first);
  await says('second', second);
  const told = absencesIn(await store.replicaStates(), time);
  expect(told.map(({ from, to }) => Math.round((to - from) / minute))).toEqual([10]);
});
