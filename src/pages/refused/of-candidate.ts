import { refusedAbout, rejectedAbout } from '../../ops/not-taken-in.ts';
import type { Candidates } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { count } from '../../support/text.ts';
import { statusNames, testName } from '../frame/fragments.ts';
import { helpLink } from '../frame/troubles.ts';
import type { PageRequest, Parts } from '../page.ts';
import { keptRefused } from './events.ts';

/** Notices for somebody who looks for a candidate: that something about the candidate came and was not taken in. */

const mostSaid = 3;

/** The notice of refused events; null if there are none. `text`: what was searched for; `candidates`: whom it means. */
export async function refusedNotice(
  text: string,
  candidates: Candidates,
  parts: Parts,
  { times }: PageRequest,
): Promise<Html | null> {
  const found = refusedAbout(text, candidates, await keptRefused(parts));
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
    ${which}${found.length > mostSaid && '; …'}. Nobody is told of what was not taken in. ${helpLink()}
  </div>`;
}

/** The notice of requests that were not valid events; null if there are none. */
export async function rejectedNoticeAbout(text: string, { reads }: Parts): Promise<Html | null> {
  const many = (await rejectedAbout(text, reads)).length;
  if (many === 0) return null;
  return html`<p class="notice wait">
    <b
      >${count(many, 'request')} about this candidate
      ${many === 1 ? 'was not a valid event' : 'were not valid events'}</b
    >, so no message went out. <a href="/rejected">See what was wrong</a>
  </p>`;
}
