/** As `filter`, without a copy where all are kept. */
export function those<One, Kept extends One>(
  list: readonly One[],
  isMeant: (one: One) => one is Kept,
): readonly Kept[];
export function those<One>(list: readonly One[], isMeant: (one: One) => boolean): readonly One[];
export function those<One>(list: readonly One[], isMeant: (one: One) => boolean): readonly One[] {
  return list.every(isMeant) ? list : list.filter(isMeant);
}

/** As `Promise.all`, without a promise where there is none: waiting for what is there takes time and memory. */
export function all<One>(list: readonly (One | Promise<One>)[]): readonly One[] | Promise<One[]> {
  return list.some((one) => one instanceof Promise) ? Promise.all(list) : (list as readonly One[]);
}

/** Puts an entry at the end of a map that keeps the newest `most`. Returns its value. */
export function putLast<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): Value {
  map.delete(key);
  map.set(key, value);
  const [oldest = key] = map.keys();
  if (map.size > most) map.delete(oldest);
  return value;
}

/** The sum of what these count. */
export const totalOf = (counted: readonly { readonly count: number }[]): number =>
  counted.reduce((sum, one) => sum + one.count, 0);

/** Adds to the number under a key, which is 0 before. */
export const addTo = <Key>(sums: Map<Key, number>, key: Key, more = 1): void =>
  void sums.set(key, (sums.get(key) ?? 0) + more);
