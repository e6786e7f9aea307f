import type { DigestPart, Edit, PlannedMessage } from './differences.ts';
import { putLast } from '../support/lists.ts';

/** Digests that are remembered on each side. Events come in order, so that older ones are over. */
const mostDigests = 10_000;

/**
 * Sees whether another plan puts events together otherwise. Each digest of the one stands for one of the other, until an
 * event comes that is in another one. So another name for its rule is no difference, and neither is a `max` never reached.
 */
export class Digests {
  readonly #before = new Side();
  readonly #after = new Side();

  /** What differs for an event of which all else is the same; to be asked of each event of a digest, in order. */
  compare(was: PlannedMessage, planned: PlannedMessage): Edit[] {
    if (was.digest === null || planned.digest === null) return [];
    const before = this.#before.messageOf(was.digest);
    const after = this.#after.messageOf(planned.digest);
    const [leaves, joins] = [
      this.#before.partner(before, after) !== after,
      this.#after.partner(after, before) !== before,
    ];
    if (!leaves && !joins) return [];
    const said = leaves
      ? joins
        ? ['with other events', 'with others than these']
        : ['with other events', 'apart from them']
      : ['apart from other events', 'with them'];
    return [{ key: digestKey, before: said[0]!, after: said[1]! }];
  }
}

/** The key of such an edit. No action has a key like that besides its `digest`. */
export const digestKey = 'digest';

class Side {
  /** How many events each digest has. */
  readonly #sizes = new Map<string, number>();
  readonly #partners = new Map<string, string>();

  /** The message of a digest that its next event comes in. */
  messageOf({ key, max }: DigestPart): string {
    const size = this.#sizes.get(key) ?? 0;
    putLast(this.#sizes, key, size + 1, mostDigests);
    return `${Math.floor(size / max)} ${key}`;
  }

  /** The message of the other side that one stands for: the first that came with it. */
  partner(message: string, other: string): string {
    const known = this.#partners.get(message);
    if (known === undefined) putLast(this.#partners, message, other, mostDigests);
    return known ?? other;
  }
}
