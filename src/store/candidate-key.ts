/**
 * A hash of a candidate id with 47 bits, which SQLite stores in six bytes. Different ids may share a hash, so it only
 * narrows a search. It is stored, so this function must never change.
 */
export function candidateKey(candidateId: string): number {
  // FNV-1a, twice: with its own prime and with another one.
  let low = 0x811c9dc5;
  let high = 0x811c9dc5;
  for (let index = 0; index < candidateId.length; index += 1) {
    const unit = candidateId.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  return (high >>> 9) * 2 ** 24 + (low >>> 8);
}
