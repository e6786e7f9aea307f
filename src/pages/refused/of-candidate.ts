import { type Event, isMap, type Json } from '../../model.ts';
import { type Candidates, keptRejected, type KeptRequest, meansCandidate } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { count } from '../../support/text.ts';
import { statusNames, testName } from '../frame/fragments.ts';
import { helpLink } from '../frame/troubles.ts';
import type { PageRequest, Parts } from '../page.ts';
import { keptRefused } from './events.ts';

/** Notices for somebody who looks for a candidate: that something about the candidate came and was not taken in. */

type Named = Pick<Event, 'candidateId' | 'candidateNumericalId'>;

const mostSaid = 3;

/** The notice of refused events; null if there are none. `text`: what was searched for; `candidates`: whom it means. */
export async function refusedNotice(
  text: string,
  candidates: Candidates,
  parts: Parts,
  { times }: PageRequest,
): Promise<Html | null> {
  const known = new Set('ids' in candidates ? candidates.ids : []);
  const kept = await keptRefused(parts);
  const found = kept.filter((one) => known.has(one.candidateId) || meansCandidate(text, one));
  if (found.length === 0) return null;
  const which = found
    .slice(0, mostSaid)
    .map(
      ({ status, testId, at }, place) =>
        html`${place > 0 && '; '}${statusNames[status]}, ${testName(parts.config(), testId)},
        ${times.short(at)}`,
    );
  const was = found.length === 1 ? 'was' : 'were';
  return html`<div class="notice bad">
    <b class="break">${count(found.length, 'event')} of this candidate ${was} refused</b>:
    ${which}${found.length > mostSaid && '; …'}. Nobody is told of what was not taken in.
    ${helpLink('/attention')}
  </div>`;
}

/** The notice of requests that were not valid events; null if there are none. */
export async function rejectedNoticeAbout(text: string, { reads }: Parts): Promise<Html | null> {
  const requests = await reads.rejectedRequests({ about: text, limit: keptRejected });
  const many = requests.filter((one) => meansCandidate(text, namedIn(one))).length;
  if (many === 0) return null;
  return html`<p class="notice wait">
    <b
      >${count(many, 'request')} about this candidate
      ${many === 1 ? 'was not a valid event' : 'were not valid events'}</b
    >, and nobody was told of it. <a href="/rejected">See what was wrong</a>
  </p>`;
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
