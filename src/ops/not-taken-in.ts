import { type Event, isMap, type Json } from '../model.ts';
import type { RefusedEvent } from '../model/notices.ts';
import {
  type Candidates,
  keptRejected,
  type KeptRequest,
  meansCandidate,
  type Store,
} from '../store/store.ts';

/** For somebody who looks for a candidate: what came about the candidate and was not taken in. */

type Named = Pick<Event, 'candidateId' | 'candidateNumericalId'>;

/** The refused events, of those that are kept. `text`: what was searched for; `candidates`: whom it means. */
export function refusedAbout(
  text: string,
  candidates: Candidates,
  kept: readonly RefusedEvent[],
): RefusedEvent[] {
  const known = new Set('ids' in candidates ? candidates.ids : []);
  return kept.filter((one) => known.has(one.candidateId) || meansCandidate(text, one));
}

/** The requests that were not valid events. */
export async function rejectedAbout(
  text: string,
  store: Pick<Store, 'rejectedRequests'>,
): Promise<KeptRequest[]> {
  const requests = await store.rejectedRequests({ about: text, limit: keptRejected });
  return requests.filter((one) => meansCandidate(text, namedIn(one)));
}

/** The candidate that a request names which was not a valid event, as far as its body can be read. */
export function namedIn({ body }: Pick<KeptRequest, 'body'>): Named {
  let read: Json;
  try {
    read = JSON.parse(body) as Json;
  } catch {
    read = null;
  }
  const { candidateId, candidateNumericalId: number } = isMap(read) ? read : {};
  return {
    candidateId: typeof candidateId === 'string' ? candidateId : '',
    candidateNumericalId: typeof number === 'number' ? number : null,
  };
}
