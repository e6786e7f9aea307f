import { expect, test } from 'vitest';
import { Plans } from '../../src/config/live/stored-plans.ts';
import type { Json } from '../../src/model.ts';
import type { Plan } from '../../src/rules/plan.ts';
import { load } from './tools.ts';

const { plan } = load('rules: []');
const called = (id: string): Plan => ({ ...plan, id });

/** Plans from a store with these sources. `compiled`: the sources that were compiled, in order. */
function plansFrom(
  sources: Readonly<Record<string, Json>>,
  compile = (source: Json) => called(source as string),
) {
  const compiled: Json[] = [];
  const plans = new Plans(
    async (id) => sources[id] ?? null,
    async (source) => {
      compiled.push(source);
      return compile(source);
    },
  );
  return { plans, compiled };
}

test('a plan that many ask for at once is compiled once', async () => {
  const { plans, compiled } = plansFrom({ old: 'old' });
  const got = await Promise.all(Array.from({ length: 500 }, async () => plans.get('old')));
  expect(new Set(got).size).toBe(1);
  expect(await plans.get('old')).toBe(got[0]);
  expect(compiled).toEqual(['old']);
});

test('a few plans are kept, those that were used last', async () => {
  const ids = Array.from({ length: 8 }, (_, n) => `plan ${n}`);
  const { plans, compiled } = plansFrom(Object.fromEntries([...ids, 'one more'].map((id) => [id, id])));
  for (const id of ids) await plans.get(id);
  await plans.get('plan 0');
  await plans.get('one more');
  await plans.get('plan 0');
  expect(compiled).toEqual([...ids, 'one more']);
  await plans.get('plan 1');
  expect(compiled.at(-1)).toBe('plan 1');
});

test('what cannot be compiled is not tried for each delivery, but again when a config comes into force', async () => {
  let isSet = false;
  const { plans, compiled } = plansFrom({ old: 'old' }, (source) => {
    if (!isSet) throw new Error('the environment variable GREETING is not set');
    return called(source as string);
  });
  for (let delivery = 0; delivery < 3; delivery += 1) expect(await plans.get('old')).toHaveProperty('fault');
  expect(compiled).toHaveLength(1);
  isSet = true;
  plans.adopt(called('next'));
  expect(await plans.get('old')).toMatchObject({ id: 'old' });
  expect(await plans.get('next')).toMatchObject({ id: 'next' });
  expect(compiled).toHaveLength(2);
});

test('a plan that was being read when another config came into force is not kept', async () => {
  const source = Promise.withResolvers<Json>();
  const plans = new Plans(
    () => source.promise,
    async (read) => called(read as string),
  );
  const before = plans.get('old');
  plans.adopt(called('next'));
  source.resolve('old');
  expect(await plans.get('old')).not.toBe(await before);
});

test('one that is gone, or cannot be used any more, gives the fault', async () => {
  const { plans } = plansFrom({ odd: 'odd' }, () => {
    throw new Error('the connector "fax" is unknown');
  });
  expect(await plans.get('gone')).toEqual({
    fault: 'The config that decided this delivery is not in the store any more.',
  });
  expect(await plans.get('odd')).toEqual({
    fault: 'The config that decided this delivery cannot be used any more: the connector "fax" is unknown',
  });
});

test('a store that could not be read is asked again', async () => {
  let readable = false;
  const read = async () => {
    if (!readable) throw new Error('busy');
    return 'old';
  };
  const plans = new Plans(read, async (source) => called(source as string));
  await expect(plans.get('old')).rejects.toThrow('busy');
  readable = true;
  expect(await plans.get('old')).toMatchObject({ id: 'old' });
});
