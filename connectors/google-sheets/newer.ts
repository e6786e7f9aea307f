/** Whether a Delivery cell names a later event than an id does. Two deliveries of one event are of the same age. */
export function isNewer(cell: unknown, deliveryId: string): boolean {
  const [there, ours] = [timeOf(cell), timeOf(deliveryId)];
  return there !== null && ours !== null && there > ours;
}

/** The ULID of a delivery's id, which sorts by time; null for what people wrote into the cell. */
function timeOf(id: unknown): string | null {
  return /^dlv_([0-9a-z]{26})_\d+$/.exec(String(id))?.[1] ?? null;
}
