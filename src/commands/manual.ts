import type { ManualResult } from '../store/store.ts';
import { printable } from '../support/text.ts';
import type { Io } from './io.ts';

/** What a person's replay or discard is called, and what it can be done with. */
export interface ManualWords {
  readonly done: string;
  readonly possible: string;
}

/** Prints what was done to each delivery, or why it was not; true if all went through. */
export function printManual(results: readonly ManualResult[], words: ManualWords, io: Io): boolean {
  for (const result of results) {
    const id = printable(result.deliveryId);
    if (result.done) io.out(`${id} ${words.done}`);
    else if (result.state === null) io.err(`${id}: there is no such delivery; \`events\` lists them`);
    else io.err(`${id}: it is ${result.state}, and only ${words.possible} deliveries can be chosen`);
  }
  return results.every((result) => result.done);
}
