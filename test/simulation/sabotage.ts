import type { Arrival, Store } from '../../src/store/store.ts';

/** A step of the real thing that is left out, to prove that the simulation would see it. */
export type Sabotage = 'no intent' | 'no find' | 'no transaction' | 'no pauses' | 'no order';

export function sabotaged(store: Store, sabotage: Sabotage | null, random: () => number): Store {
  if (sabotage === 'no pauses') return { ...store, pauses: async () => [] };
  if (sabotage === 'no intent') return forgetful(store);
  if (sabotage === 'no transaction')
    return { ...store, accept: (arrival) => acceptInTwo(store, arrival, random) };
  if (sabotage === 'no order') return { ...store, accept: (arrival) => store.accept(unordered(arrival)) };
  return store;
}

/** As if the event and its deliveries were two transactions: a death between them leaves an event without any. */
function acceptInTwo(store: Store, arrival: Arrival, random: () => number): ReturnType<Store['accept']> {
  const lost = random() < 0.2;
  if (!lost) return store.accept(arrival);
  return store.accept({ ...arrival, deliveries: [], begins: [] });
}

/** As if what has no look-up of its own waited for nobody. */
function unordered({ lookups, ...arrival }: Arrival): Arrival {
  return lookups && lookups.asked.length > 0 ? { ...arrival, lookups } : arrival;
}

/** As if it kept no record of what was begun: what a process that died left under way is taken for never sent. */
function forgetful(store: Store): Store {
  const begun = new Set<string>();
  return {
    ...store,
    async rescue(now) {
      for (const { id } of await store.deliveries({ states: ['sending'] })) begun.add(id);
      return store.rescue(now, 0);
    },
    async claim(query) {
      const claimed = await store.claim(query);
      return claimed.map((one) => {
        const { delivery } = one;
        if (!begun.delete(delivery.id)) return one;
        return Object.assign({}, one, { delivery: { ...delivery, uncertain: false } });
      });
    },
  };
}
