import { planLookups } from '../../by-hand/late.ts';
import { foundBy } from '../../lookups/kept-facts.ts';
import { isUnderWay, type LookupFacts, lookupOf } from '../../model.ts';
import { type By, type EventDetail, unansweredOf } from '../../store/store.ts';
import { program } from '../../support/invocation.ts';
import { html, type Html, safeUrl } from '../../support/html.ts';
import { printable } from '../../support/text.ts';
import type { Form, PageRequest, Parts } from '../page.ts';
import { type Asking, askingForm, askingPage, type Choice } from '../frame/asking.ts';
import { attempts } from '../frame/attempts.ts';
import { chip, commandLine } from '../frame/fragments.ts';

/** The look-ups of an event on its page, and the form that makes them again. */

const tones = { answered: 'good', partly: 'bad', waiting: 'wait', unknown: 'bad', absent: 'idle' } as const;
const stateNames = {
  answered: 'answered',
  partly: 'answered in part',
  waiting: 'waiting',
  unknown: 'not found out',
  absent: 'there is none',
} as const;

/** An answer has a reason where a fact could not be read in it. */
const shownAs = (state: LookupFacts['state'], reason: string | null) =>
  state === 'answered' && reason !== null ? 'partly' : state;

const again: Choice = {
  action: 'lookup',
  button: 'Look up again',
  question:
    'Ask again what this event is about? Nothing is sent. The command apply then sends what a rule asks for by the answer, and resend what was sent before.',
};
const askingOf = (id: string): Asking => ({ path: `${pathOf(id)}/lookup` });
const pathOf = (id: string): string => `/events/${encodeURIComponent(id)}`;

/** The card of an event's look-ups: their states, the facts that they found, and their attempts. False where it has none. */
export function lookupsCard(shown: EventDetail, asked: PageRequest, parts: Parts): Html | false {
  const { event, decided, lookups } = shown;
  const found = Object.entries(foundBy(lookups));
  const isAsked = lookups.some(({ state }) => isUnderWay(state));
  const canAsk = !isAsked && !('fault' in planLookups(parts.config().plan, shown, asked.now));
  return (
    found.length > 0 &&
    html`<section class="card" id="lookups" ${decided && isAsked && html`data-refresh="1000"`}>
      <h2>What was looked up</h2>
      ${decided && isAsked && html`<p class="muted small">It is asked for again just now.</p>`}
      ${found.map(
        ([name, { state, at, reason, fields }]) =>
          html`<h3>
              ${printable(name)}
              ${chip(tones[shownAs(state, reason)], stateNames[shownAs(state, reason)], state)}
              ${at !== null && html`<span class="muted small">${asked.times.exact(at)}</span>`}
            </h3>
            ${reason !== null && html`<p class="small">${printable(reason)}</p>`}
            ${
              Object.keys(fields).length > 0 &&
              html`<dl class="facts">
                ${Object.entries(fields).map(
                  ([field, value]) =>
                    html`<dt>${printable(field)}</dt>
                      <dd>
                        ${value === null ? html`<span class="muted">none</span>` : linked(String(value))}
                      </dd>`,
                )}
              </dl>`
            }
            ${lookups
              .filter(({ sink, history }) => lookupOf(sink) === name && history.length > 0)
              .map(({ history }) => attempts(history, asked.times, undefined, stateNames.answered))}`,
      )}
      ${
        unansweredOf(shown) === 'late' &&
        html`<p class="small">
          It was decided before this was answered, and nothing was sent since.
          ${commandLine(`${program} apply --rule NAME`)} sends what a rule asks for by now.
        </p>`
      }
      ${canAsk && askingForm(askingOf(event.id), [again], asked, { isQuiet: true })}
    </section>`
  );
}

/** A fact as text; an address is a link. */
const linked = (value: string): Html | string =>
  /^https?:\/\/\S+$/.test(value)
    ? html`<a href="${safeUrl(value)}" rel="noreferrer" target="_blank">${printable(value)}</a>`
    : printable(value);

/** Makes the look-ups of an event again, by the config in force. Resolves to their ids, none where they are under way; or to why not. */
export async function lookUpAgain({ store, config, wake }: Parts, story: EventDetail, by: By) {
  const now = await store.now();
  const planned = planLookups(config().plan, story, now);
  if ('fault' in planned) return planned;
  const deliveries = await store.lookUp([planned], now, by);
  wake();
  return { deliveries };
}

export const lookupForm: Form = {
  path: '/events/:id/lookup',
  async carryOut(sent, parts) {
    const story = await parts.reads.event(sent.params['id'] ?? '');
    if (story === null) return null;
    const { id } = story.event;
    if (sent.form['confirmed'] !== 'yes') return askingPage(askingOf(id), again, pathOf(id), sent);
    const made = await lookUpAgain(parts, story, sent.by);
    if ('fault' in made)
      return {
        status: 409,
        title: 'It cannot be looked up again',
        body: html`<p class="break">${printable(made.fault)}</p>
          <p><a href="/events/${id}">Back to the event</a></p>`,
      };
    return pathOf(id);
  },
};
