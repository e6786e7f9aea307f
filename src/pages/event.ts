import { type Verdicts, verdictsOf } from '../config/live/stored-plans.ts';
import { traceIdOf } from '../support/trace.ts';
import { replayableStates } from '../model.ts';
import { type Pauses, pausesNow } from '../ops/pauses.ts';
import type { DeliveryStory, EventDetail } from '../store/store.ts';
import { changeList, choiceForm } from './changes.ts';
import { isSearch, searched, searchOf } from './events.ts';
import {
  candidateName,
  chip,
  copiedId,
  seen,
  stateChip,
  testName,
  toolOf,
  waitsFor,
} from './frame/fragments.ts';
import { html, type Html, pathWith, safeUrl } from '../support/html.ts';
import { printableLines } from '../support/text.ts';
import { type PageRequest, type Page, type Parts, storyFor } from './page.ts';
import { attempts } from './frame/attempts.ts';
import { lookupsCard } from './frame/lookups.ts';
import { preview, previewOf } from './frame/previews.ts';

/** One event's whole story: what came, why who was told, and what the tools answered. */

export const eventPage: Page = {
  path: '/events/:id',
  async show(asked, parts) {
    const found = await storyFor(asked.person, parts, asked.params['id'] ?? '');
    if (found === null) return null;
    const { story, shown } = found;
    const [plan, pauses, changes, beside] = await Promise.all([
      parts.plan(story.configId),
      pausesNow(parts.reads, asked.now),
      parts.reads.audit({ about: story.event.id }),
      searchOf(asked, parts).then((wanted) => parts.reads.neighbours(wanted, story.event.id)),
    ]);
    const { event, deliveries } = shown;
    return {
      title: `Candidate ${candidateName(event)}: ${event.status}, ${testName(parts.config(), event.testId)}`,
      beside: besideLinks(beside, asked),
      body: html`<div class="story">
        <div class="stack">
          <h2>
            ${!story.decided ? 'Not decided yet' : deliveries.length === 0 ? 'Nobody was told' : 'Who was told'}
          </h2>
          ${deliveries.map((one) => deliveryCard(one, shown, pauses, asked, parts))}
          ${
            changes.length > 0 &&
            html`<section class="card">
              <h2>What people changed</h2>
              ${changeList(changes, asked.times, false)}
            </section>`
          }
        </div>
        <div class="stack">
          ${factsCard(shown, asked)} ${lookupsCard(shown, asked, parts)} ${rulesCard(verdictsOf(plan, story))}
          <section class="card">
            <details>
              <summary>Payload as it came</summary>
              <pre tabindex="0">${printableLines(JSON.stringify(event.raw, null, 2))}</pre>
            </details>
          </section>
        </div>
      </div>`,
    };
  },
};

/** To the events beside it in the list that somebody came from. */
function besideLinks(
  { newer, older }: { newer: string | null; older: string | null },
  { query }: PageRequest,
): Html {
  const found = searched(query);
  const link = (id: string | null, rel: 'prev' | 'next', name: string, key: string) =>
    id === null
      ? html`<span class="button quiet" aria-disabled="true">${name}</span>`
      : html`<a
          class="button quiet"
          rel="${rel}"
          href="${pathWith(`/events/${id}`, found)}"
          data-key="${key}"
          data-does="${name} event"
          >${name}</a
        >`;
  return html`<nav class="beside" aria-label="Other events">
    <a href="${pathWith('/events', found)}">${isSearch(query) ? 'What was searched' : 'All events'}</a>
    ${link(newer, 'prev', 'Newer', 'k')} ${link(older, 'next', 'Older', 'j')}
  </nav>`;
}

function factsCard({ event, duplicates }: EventDetail, { times }: PageRequest): Html {
  const fact = (name: string, value: Html | string) =>
    html`<dt>${name}</dt>
      <dd>${value}</dd>`;
  return html`<section class="card">
    <h2>What came</h2>
    <dl class="facts">
      ${fact('Candidate', copiedId(event.candidateId, 'candidate id', seen(event.candidateId)))}
      ${event.candidateNumericalId !== null && fact('Number', String(event.candidateNumericalId))}
      ${fact('Test', String(event.testId))} ${fact('Status', event.status)}
      ${fact('Received', times.exact(event.receivedAt))}
      ${fact('Correlation id', event.correlationId === null ? 'none' : copiedId(event.correlationId, 'correlation id', seen(event.correlationId)))}
      ${fact('Trace id', html`<span class="id">${traceIdOf(event)}</span>`)}
      ${fact('Event id', copiedId(event.id, 'event id', event.id))}
      ${duplicates.map((one) =>
        fact(
          'Repeated',
          html`${times.exact(one.receivedAt)}, correlation id
            <span class="id">${seen(one.correlationId ?? 'none')}</span>`,
        ),
      )}
    </dl>
    <p class="actions">
      <a href="/events?candidate=${event.candidateId}">All events of this candidate</a>
    </p>
  </section>`;
}

function rulesCard(rules: Verdicts): Html {
  const isKnown = !('fault' in rules);
  return html`<section class="card">
    <h2>Why ${isKnown && html`<small>by the config that was in force</small>`}</h2>
    ${!isKnown && html`<p>${seen(rules.fault)}</p>`}
    ${isKnown && rules.length === 0 && html`<p class="muted">There was no rule.</p>`}
    ${
      isKnown &&
      rules.length > 0 &&
      html`<ul class="plain spaced">
        ${rules.map(
          ({ rule, matched, because }) =>
            html`<li>
              ${chip(matched ? 'good' : 'idle', matched ? 'applies' : 'does not apply')} <b>${seen(rule)}</b>
              <div class="muted small">${seen(because)}</div>
            </li>`,
        )}
      </ul>`
    }
  </section>`;
}

function deliveryCard(
  one: DeliveryStory,
  { event, deliveries }: EventDetail,
  pauses: Pauses,
  asked: PageRequest,
  parts: Parts,
): Html {
  const { times } = asked;
  const waits = waitsFor(one, pauses, times);
  const inDigest = one.carrier !== null && one.carrier !== one.id;
  const carrier = deliveries.find(({ id }) => id === one.carrier);
  // Where the tool has such a place.
  const link = one.receipt && parts.connectors.get(one.connector)?.describe?.link?.(one.receipt);
  const receipt = Object.entries(one.receipt ?? {}).map(
    ([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return html`<article class="card delivery" id="${one.id}">
    <h3>
      <a href="/sinks/${one.sink}">${seen(one.sink)}</a>
      <span class="muted"
        >${[toolOf(one.sink, one.connector), `rule ${seen(one.rule)}`].filter(Boolean).join(', ')}</span
      >
      <span class="state">${stateChip(one.state)}</span>
    </h3>
    ${waits && html`<p class="muted small">It waits: ${waits}.</p>`}
    ${
      one.state !== 'delivered' &&
      one.lastError !== null &&
      html`<p class="notice ${one.state === 'pending' ? 'wait' : 'bad'}">${seen(one.lastError)}</p>`
    }
    ${
      replayableStates.includes(one.state) &&
      choiceForm({ ids: [one.id], states: [], sink: one.sink, count: 1 }, '', asked)
    }
    ${one.resendOf !== null && html`<p class="muted small">Sent again by hand, as ${one.resendOf} was before.</p>`}
    ${inDigest && !carrier && html`<p class="muted small">It went out in the digest ${one.carrier}.</p>`}
    ${one.message && preview(one, parts, event.id)}
    ${
      one.message === null &&
      one.attempts > 0 &&
      asked.person.role === 'viewer' &&
      html`<p class="muted small">Viewers do not see messages that may say who a candidate is.</p>`
    }
    ${
      one.receipt &&
      html`<p class="small">
        ${link && html`<a href="${safeUrl(link.url)}" rel="noreferrer" target="_blank">${link.name}</a> · `}<span
          class="muted break"
          >Receipt: ${seen(receipt.join(', '))}</span
        >
      </p>`
    }
    ${one.history.length > 0 && attempts(one.history, times)}
    <p class="muted small id">${one.id}</p>
  </article>`;
}

/** A message that is a whole document, for the frame on the page of its event: it is somebody else's, and can do nothing there. */
export const messagePage: Page = {
  path: '/events/:id/message/:delivery',
  async show({ params, person }, parts) {
    const found = await storyFor(person, parts, params['id'] ?? '');
    const one = found?.shown.deliveries.find(({ id }) => id === params['delivery']);
    const foreign = one?.message && previewOf(one, parts).document;
    return foreign ? { title: '', body: html``, foreign } : null;
  },
};
