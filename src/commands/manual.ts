import type { ManualResult } from '../store/store.ts';
import type { Io } from './io.ts';

/** Prints what a person's replay or discard did to each delivery; true if all went through. */
export function printManual(results: readonly ManualResult[], done: string, io: Io): boolean {
  for (const result of results) {
    if (result.done) io.out(`${result.deliveryId} ${done}`);
    else io.err(`${result.deliveryId}: ${result.state === null ? 'there is no such delivery' : `it is ${result.state}`}`);
  }
  return results.every((result) => result.done);
}
