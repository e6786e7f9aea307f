import { expect, test } from 'vitest';
import { DueLanes } from '../../src/deliveries/due-lanes.ts';
import type { LaneHead } from '../../src/store/store.ts';

/** A store that takes `tookMs` for each look at everything, and says which looks there were. */
function store() {
  const clock = { now: () => 1_000_000 + clock.elapsedMs, elapsed: () => clock.elapsedMs, elapsedMs: 0 };
  const looks: (readonly LaneHead[] | undefined)[] = [];
  const on = { clock, looks, tookMs: 0, heads: [] as LaneHead[] };
  const lanes = async (from?: readonly LaneHead[]) => {
    looks.push(from);
    if (!from) clock.elapsedMs += on.tookMs;
    return on.heads;
  };
  const due = new DueLanes({ lanes }, { ...clock, after: () => () => {} });
  return { ...on, on, due };
}

const head = (lane: string, dueAt: number, seq = 7): LaneHead => ({ lane, sink: lane, dueAt, seq });

test('all lanes are looked at each time, as long as that is cheap', async () => {
  const { due, looks, on } = store();
  on.tookMs = 20;
  on.heads = [head('a', 1)];
  for (let look = 0; look < 3; look += 1) expect(await due.look()).toEqual(on.heads);
  expect(looks).toEqual([undefined, undefined, undefined]);
});

test('one dear look alone puts off nothing, as it may be chance', async () => {
  const { due, looks, on } = store();
  on.tookMs = 1500;
  await due.look();
  on.tookMs = 5;
  await due.look();
  on.tookMs = 1500;
  await due.look();
  await due.look();
  await due.look();
  expect(looks).toEqual([undefined, undefined, undefined, undefined, []]);
});

test('after dear looks the next ones go through the known lanes from where they began, or from what may still come late', async () => {
  const { due, looks, on, clock } = store();
  on.tookMs = 600;
  on.heads = [head('backlog', 5), head('later', 2_000_000)];
  await due.look();
  await due.look();
  on.heads = [head('backlog', 6)];
  await due.look();
  const late = 1_000_000 + 600 - 5000;
  expect(looks[2]).toEqual([head('backlog', 5), head('later', late, 0)]);
  clock.elapsedMs += 1000;
  await due.look();
  expect(looks[3]).toEqual([head('backlog', 6), head('later', late + 600, 0)]);
  clock.elapsedMs = 2 * 600 + 20 * 600;
  await due.look();
  expect(looks[4]).toBeUndefined();
});

test('a look at everything is never more than half a minute away, and comes at once where it is said to be needed', async () => {
  const { due, looks, on, clock } = store();
  on.tookMs = 10_000;
  await due.look();
  await due.look();
  clock.elapsedMs += 30_000;
  await due.look();
  await due.look();
  due.forget();
  await due.look();
  expect(looks).toEqual([undefined, undefined, undefined, [], undefined]);
});

test('a lane in which something was stored after such a look is looked at, too', async () => {
  const { due, looks, on } = store();
  on.tookMs = 600;
  on.heads = [head('backlog', 5)];
  await due.look();
  await due.look();
  due.expect([head('new', 3_000_000), head('backlog', 3_000_000)]);
  await due.look();
  expect(looks[2]).toEqual([head('backlog', 5), head('new', 1_000_000 + 2 * 600 - 5000, 0)]);
});
