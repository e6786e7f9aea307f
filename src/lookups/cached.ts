import type { AnyConnector, AttemptRequest, Sink } from '../connector.ts';
import type { Json } from '../model.ts';
import type { Outcome } from '../model/outcomes.ts';
import { putLast } from '../support/lists.ts';

interface Kept {
  readonly outcome: Outcome;
  /** When it was asked for (ms). */
  readonly at: number;
}

/** Facts are small, so these are a few MB. */
const mostKept = 1000;

/**
 * Wraps a connector so that answers are kept in memory for a time. The same request gets the same answer, and waits for one
 * that is under way. A reload forgets the answers.
 */
export function cached(connector: AnyConnector, forMs: number): AnyConnector {
  return {
    ...connector,
    async connect(options, refreshTokens) {
      const sink: Sink<Json> = await connector.connect(options, refreshTokens);
      const kept = new Map<string, Kept>();
      const asking = new Map<string, Promise<Outcome>>();
      let calls = 0;
      const ask = async (request: AttemptRequest<Json>, key: string): Promise<Outcome> => {
        calls += 1;
        const outcome = await sink.deliver(request);
        if (outcome.outcome !== 'delivered') return outcome;
        putLast(kept, key, { outcome, at: request.now }, mostKept);
        return outcome;
      };
      return {
        ...sink,
        /** A kept answer takes nothing of the rate. */
        usage() {
          const usage = { account: connector.name, calls };
          calls = 0;
          return usage;
        },
        async deliver(request) {
          const key = JSON.stringify(request.message);
          const known = kept.get(key);
          const isRecent = known && request.now < known.at + forMs && known.at >= (request.askedAgainAt ?? 0);
          if (isRecent) return known.outcome;
          return asking.getOrInsertComputed(key, () => ask(request, key).finally(() => asking.delete(key)));
        },
      };
    },
  };
}
