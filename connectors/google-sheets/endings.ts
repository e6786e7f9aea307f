import { retry } from '../../src/connector.ts';
import type { Outcome } from '../../src/model.ts';
import type { PlannedRow, RowRequest } from './plan.ts';

/** A delivery and how its attempt ended. */
export type Ending = readonly [RowRequest, Outcome];

/** How deliveries end whose call succeeded: each with its own row. */
export function endApart<Planned extends PlannedRow>(
  planned: readonly Planned[],
  outcomeFor: (row: Planned, index: number) => Outcome,
): Ending[] {
  return planned.flatMap((row, index) => {
    const outcome = outcomeFor(row, index);
    return row.requests.map((request): Ending => [request, outcome]);
  });
}

/**
 * How deliveries end whose call failed. Google refuses all rows for the fault of one and does not say which: halves of
 * them go apart next time, and so on down to the one, for which alone a refusal is final. That takes a handful of calls
 * and harms no good row; a call that is too large is mended by it, too.
 */
export function endTogether(requests: readonly RowRequest[], outcome: Outcome): Ending[] {
  if (outcome.outcome !== 'rejected' || requests.length === 1) {
    return requests.map((request) => [request, outcome]);
  }
  const middle = Math.ceil(requests.length / 2);
  return [requests.slice(0, middle), requests.slice(middle)].flatMap((half) => {
    const detail = `${outcome.detail} It was said of ${requests.length} rows at once, so they go in smaller calls next.`;
    // The same delay for all of them, so that the halves stay together.
    const apart = { ...retry(outcome.reason, detail, 0), progress: { company: half[0]!.deliveryId } };
    return half.map((request): Ending => [request, apart]);
  });
}

/** Equal for rows that may share a call: those of one tab that no refusal has parted. */
export function companyOf({ message: { tab }, progress }: RowRequest): string {
  const isParted = typeof progress === 'object' && progress !== null && 'company' in progress;
  return JSON.stringify([tab, isParted ? progress.company : null]);
}
