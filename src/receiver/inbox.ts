import type { CandidateEvent, JsonMap } from '../model.ts';
import type { Acceptance, RejectedRequest } from '../store/store.ts';

/** Where the receiver puts what came. It knows nothing of what happens behind. */
export interface Inbox {
  /** Resolves when the event is on disk. Throws StoreUnavailable when it cannot be. */
  accept(received: Received): Promise<Acceptance>;
  /** Keeps a request that was refused for its content, if it can: it must not throw, and nobody waits for it. */
  keepRejected(request: RejectedRequest): void;
}

export interface Received {
  readonly event: CandidateEvent;
  /** The parsed body as it came. */
  readonly raw: JsonMap;
  readonly correlationId: string | null;
  readonly receivedAt: number;
}
