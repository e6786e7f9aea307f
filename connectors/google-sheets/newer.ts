import type { RowRequest, RowThere, TabContent } from './plan.ts';

/**
 * The deliveries that come too late: a newer one has updated the row of the same key meanwhile, so it stays as it is. Pure.
 */
export function overtaken(requests: readonly RowRequest[], { keys, deliveries }: TabContent): RowThere[] {
  return requests.flatMap((request) => {
    const { key, row } = request.message;
    const rowIndex = key === undefined ? undefined : keys.get(key)?.get(String(row[key]));
    const isLate = rowIndex !== undefined && isNewer(deliveries[rowIndex], request.deliveryId);
    return isLate ? [{ rowIndex, row, requests: [request] }] : [];
  });
}

/** Whether a Delivery cell names a later event than an id does. Two deliveries of one event are of the same age. */
export function isNewer(cell: unknown, deliveryId: string): boolean {
  const [there, ours] = [timeOf(cell), timeOf(deliveryId)];
  return there !== null && ours !== null && there > ours;
}

/** The ULID of a delivery's id, which sorts by time; null for what people wrote into the cell. */
function timeOf(id: unknown): string | null {
  return /^dlv_([0-9a-z]{26})_\d+$/.exec(String(id))?.[1] ?? null;
}
