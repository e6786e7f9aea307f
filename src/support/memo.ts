/** Remembers what `make` made of the newest `most` keys. For pure functions whose results are costly or large. */
export function memo<Value>(most: number, make: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    const value = known.getOrInsertComputed(key, make);
    const oldest = known.keys().next();
    if (known.size > most && !oldest.done) known.delete(oldest.value);
    return value;
  };
}
