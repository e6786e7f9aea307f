import { expect, test } from 'vitest';
import { Plans } from '../../src/config/plans.ts';
import type { Json } from '../../src/model.ts';
import type { Plan } from '../../src/rules/plan.ts';
import { load } from './tools.ts';

const { plan } = load('rules: []');
const called = (id: string): Plan => ({ ...plan, id });

/** Plans from a store with these sources. `compiled`: what was compiled, in order. */
function plansFrom(
  sources: Readonly<Record<string, Json>>,
  compile = (source: Json) => called(source as string),
) {
  const compiled: Json[] = [];
  const plans = new Plans(
    async (id) => sources[id] ?? null,
    (source) => {
      compiled.push(source);
      return compile(source);
    },
  );
  return { plans, compiled };
}

test('a plan that many ask for at once is compiled once', async () => {
  const { plans, compiled } = plansFrom({ old: 'old' });
  const got = await Promise.all(Array.from({ length: 500 }, () => plans.get('old')));
  expect(new Set(got).size).toBe(1);
  expect(await plans.get('old')).toBe(got[0]);
  expect(compiled).toEqual(['old']);
});

test('a few plans are kept, the newest', async () => {
  const { plans, compiled } = plansFrom({ first: 'first' });
  await plans.get('first');
  for (let n = 0; n < 8; n += 1) plans.add(called(`plan ${n}`));
  await plans.get('plan 0');
  await plans.get('first');
  expect(compiled).toEqual(['first', 'first']);
});

test('one that is gone, or cannot be used any more, is lost in plain words', async () => {
  const { plans } = plansFrom({ odd: 'odd' }, () => {
    throw new Error('the connector "fax" is unknown');
  });
  expect(await plans.get('gone')).toEqual({
    lost: 'The config that decided this delivery is not in the store any more.',
  });
  expect(await plans.get('odd')).toEqual({
    lost: 'The config that decided this delivery cannot be used any more: the connector "fax" is unknown',
  });
});

test('a store that could not be read is asked again', async () => {
  let readable = false;
  const read = async () => {
    if (!readable) throw new Error('busy');
    return 'old';
  };
  const plans = new Plans(read, (source) => called(source as string));
  await expect(plans.get('old')).rejects.toThrow('busy');
  readable = true;
  expect(await plans.get('old')).toMatchObject({ id: 'old' });
});
