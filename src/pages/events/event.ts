import { type PlanFault, type Verdicts, verdictsBy, verdictsOf } from '../../config/live/stored-plans.ts';
import { messageAhead } from '../../deliveries/explained.ts';
import { type Delivery, isStuck, isUnderWay, type Json, lookupOf } from '../../model.ts';
import { type Obstacles, obstaclesNow } from '../../ops/pauses.ts';
import type { Plan } from '../../rules/plan.ts';
import type { DeliveryStory, EventDetail } from '../../store/store.ts';
import { traceIdOf } from '../../support/trace.ts';
import { changeList } from '../changes/done.ts';
import { changesExplained, choiceForm, doubtOf } from '../changes/question.ts';
import { isSearch, searched, searchOf } from './events.ts';
import {
  candidateName,
  chip,
  commandLine,
  copiedId,
  knownOf,
  ruleName,
  stateChip,
  statusNames,
  testName,
  toolOf,
  waitsFor,
} from '../frame/fragments.ts';
import { html, type Html, pathWith, safeUrl } from '../../support/html.ts';
import { program } from '../../support/invocation.ts';
import { printable, printableLines } from '../../support/text.ts';
import { type PageRequest, type Page, type Parts, storyFor } from '../page.ts';
import { attempts } from '../frame/attempts.ts';
import { lookupsCard } from './lookups.ts';
import { preview, previewOf } from '../frame/previews.ts';
import type { Times } from '../frame/times.ts';

export const eventPage: Page = {
  path: '/events/:id',
  async show(asked, parts) {
    const found = await storyFor(asked.person, parts, asked.params['id'] ?? '');
    if (found === null) return null;
    const { story, shown } = found;
    const [plan, obstacles, changes, beside] = await Promise.all([
      parts.plan(story.configId),
      obstaclesNow(parts.reads, asked.now),
      parts.reads.audit({ about: story.event.id }),
      searchOf(asked, parts).then((wanted) => parts.reads.neighbours(wanted, story.event.id)),
    ]);
    const { event, deliveries } = shown;
    const ahead = asked.person.role === 'full' ? await messagesAhead(story, asked, parts) : new Map();
    const known = knownOf(shown.lookups, asked.person, event.status);
    const test = testName(parts.config(), event.testId);
    return {
      title: `Candidate ${candidateName(event, known)}: ${[statusNames[event.status], test, known.score].filter(Boolean).join(', ')}`,
      beside: besideLinks(beside, asked),
      body: html`<div class="story">
        <div class="stack">
          <h2>
            ${!story.decided ? 'Not decided yet' : deliveries.length === 0 ? 'Nobody was told' : 'Messages'}
          </h2>
          ${
            deliveries.length === 0 &&
            html`<p class="card">
              ${story.decided ? 'The rules asked for no message.' : decidedWhen(story, plan, asked.times)}
            </p>`
          }
          ${deliveries.map((one) => deliveryCard(one, ahead.get(one.id) ?? null, shown, obstacles, asked, parts))}
          ${
            changes.length > 0 &&
            html`<section class="card">
              <h2>What people changed</h2>
              ${changeList(changes, asked.times, false)}
            </section>`
          }
        </div>
        <div class="stack">
          ${factsCard(shown, asked, parts)} ${lookupsCard(shown, asked, parts)}
          ${story.decided && rulesCard(verdictsOf(plan, story), verdictsBy(story))}
          <section class="card">
            <details>
              <summary>Ids, and the payload as it came</summary>
              ${idsOf(shown)}
              <pre tabindex="0">${printableLines(JSON.stringify(event.raw, null, 2))}</pre>
            </details>
          </section>
        </div>
      </div>`,
    };
  },
};

/** What an undecided event waits for, and until when at most. */
function decidedWhen({ lookups }: EventDetail, plan: Plan | PlanFault, times: Times): Html {
  const open = lookups.filter(({ state }) => isUnderWay(state));
  if (open.length === 0) return html`It waits for an earlier event of its candidate, and goes on by itself.`;
  const nameOf = ({ sink }: Delivery) => lookupOf(sink) ?? sink;
  const asked = 'fault' in plan ? undefined : plan.lookups;
  const until = Math.max(...open.map((one) => one.createdAt + (asked?.get(nameOf(one))?.waitForMs ?? NaN)));
  return html`It waits for the answer of the look-up
  ${printable(open.map(nameOf).join(', '))}${!Number.isNaN(until) && html`, until ${times.short(until)} at the latest`}.
  Then it goes on by itself, with what is known.`;
}

/** Links to the list that somebody came from, and to the events before and after this one in it. */
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

const fact = (name: string, value: Html | string): Html =>
  html`<dt>${name}</dt>
    <dd>${value}</dd>`;

function factsCard({ event, duplicates }: EventDetail, { times }: PageRequest, parts: Parts): Html {
  const { candidateId, candidateNumericalId, testId } = event;
  const test = testName(parts.config(), testId);
  return html`<section class="card">
    <h2>What came</h2>
    <dl class="facts">
      ${candidateNumericalId !== null && fact('Candidate', String(candidateNumericalId))}
      ${fact('Candidate id', copiedId(candidateId, 'candidate id', printable(candidateId)))}
      ${fact('Test', test.includes(String(testId)) ? test : `${test} (${testId})`)}
      ${fact('Status', statusNames[event.status])} ${fact('Received', times.exact(event.receivedAt))}
      ${duplicates.map((one) => fact('Repeated', times.exact(one.receivedAt)))}
    </dl>
    <p class="actions">
      <a href="/events?candidate=${candidateId}">All events of this candidate</a>
    </p>
  </section>`;
}

/** The ids by which the event is found in logs and at the testing service. */
function idsOf({ event, duplicates }: EventDetail): Html {
  const correlation = (id: string | null) =>
    id === null ? 'none' : copiedId(id, 'correlation id', printable(id));
  return html`<dl class="facts">
    ${fact('Event id', copiedId(event.id, 'event id', event.id))}
    ${fact('Correlation id', correlation(event.correlationId))}
    ${duplicates.map((one) => fact('Of the repeat', correlation(one.correlationId)))}
    ${fact('Trace id', html`<span class="id">${traceIdOf(event)}</span>`)}
  </dl>`;
}

function rulesCard(rules: Verdicts, by: string): Html {
  const isKnown = !('fault' in rules);
  return html`<section class="card">
    <h2>Why ${isKnown && html`<small>${by}</small>`}</h2>
    ${!isKnown && html`<p>${printable(rules.fault)}</p>`}
    ${isKnown && rules.length === 0 && html`<p class="muted">There was no rule.</p>`}
    ${
      isKnown &&
      rules.length > 0 &&
      html`<ul class="plain spaced">
        ${rules.map(
          ({ rule, matched, because }) =>
            html`<li>
              ${chip(matched ? 'good' : 'idle', matched ? 'applies' : 'does not apply')}
              <b>${printable(rule)}</b>
              <div class="muted small">${printable(because)}</div>
            </li>`,
        )}
      </ul>`
    }
  </section>`;
}

/** The messages that wait for their first attempt, as they would be sent, by the ids of their deliveries. */
async function messagesAhead(
  story: EventDetail,
  { now }: PageRequest,
  parts: Parts,
): Promise<ReadonlyMap<string, Json>> {
  const waiting = story.deliveries.filter((one) => one.state === 'pending' && one.attempts === 0);
  const found = waiting.map(async (one) => {
    const plan = await parts.plan(one.configId);
    return [one.id, 'fault' in plan ? null : messageAhead(parts.config(), plan, one, story, now)] as const;
  });
  return new Map(await Promise.all(found));
}

function deliveryCard(
  one: DeliveryStory,
  ahead: Json,
  { event, deliveries }: EventDetail,
  obstacles: Obstacles,
  asked: PageRequest,
  parts: Parts,
): Html {
  const { times } = asked;
  const waits = waitsFor(one, obstacles, times);
  const inDigest = one.carrier !== null && one.carrier !== one.id;
  const carrier = deliveries.find(({ id }) => id === one.carrier);
  const arrived = one.history.findLast(({ outcome }) => outcome.outcome === 'delivered');

  const link = one.receipt && parts.connectors.get(one.connector)?.describe?.link?.(one.receipt);
  const receipt = Object.entries(one.receipt ?? {}).map(
    ([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const id = html`<p class="muted small id">${one.id}</p>`;
  const noAttempt = html`${
      ahead !== null &&
      html`<p class="muted small">This goes out then:</p>
        ${preview({ ...one, message: ahead }, parts, null)}`
    }
    <details>
      <summary>Not tried yet</summary>
      ${id}
    </details>`;
  return html`<article class="card delivery" id="${one.id}">
    <h3>
      <a href="/sinks/${one.sink}">${printable(one.sink)}</a>
      <span class="muted"
        >${[toolOf(one.sink, one.connector), ruleName(one.rule)].filter(Boolean).join(', ')}</span
      >
      <span class="state"
        >${arrived !== undefined && html`<span class="muted">${times.exact(arrived.endedAt)}</span> `}${stateChip(one, times.now)}</span
      >
    </h3>
    ${waits && html`<p class="muted small">It waits: ${waits}.</p>`}
    ${
      one.lastError !== null &&
      html`<p class="notice ${['pending', 'delivered'].includes(one.state) ? 'wait' : 'bad'}">
        ${printable(one.lastError)}
      </p>`
    }
    ${
      isStuck(one.state) &&
      html`${choiceForm({ ids: [one.id], states: [], sink: one.sink, count: 1, doubt: doubtOf(Number(one.uncertain), 1) }, '', asked)}
      ${one.carrier !== null && html`<p class="muted small">It is one message with the other events of its digest: both are for all of them.</p>`}
      ${changesExplained(asked)}`
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
    ${link && html`<p class="small"><a href="${safeUrl(link.url)}" rel="noreferrer" target="_blank">${link.name}</a></p>`}
    ${
      one.history.length === 0
        ? inDigest
          ? id
          : noAttempt
        : attempts(
            one.history,
            times,
            html`${receipt.length > 0 && html`<p class="muted small break">Receipt: ${printable(receipt.join(', '))}</p>`}
            ${id}
            ${
              one.state === 'delivered' &&
              asked.person.role !== 'viewer' &&
              html`<p class="small break">
                To send it a second time on purpose: ${commandLine(`${program} resend ${one.id}`)}
              </p>`
            }`,
          )
    }
  </article>`;
}

/** A message that is an HTML document, such as a mail, for the frame on the page of its event. */
export const messagePage: Page = {
  path: '/events/:id/message/:delivery',
  async show({ params, person }, parts) {
    const found = await storyFor(person, parts, params['id'] ?? '');
    const one = found?.shown.deliveries.find(({ id }) => id === params['delivery']);
    const foreign = one?.message && previewOf(one, parts).document;
    return foreign ? { title: '', body: html``, foreign } : null;
  },
};
