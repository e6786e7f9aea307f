import { acceptRefused } from '../intake.ts';
import type { RefusedEvent } from '../model/notices.ts';
import { html, type Html } from '../support/html.ts';
import { program } from '../support/invocation.ts';
import { count } from '../support/text.ts';
import { confirmPage, noteField, notUnderstood } from './changes.ts';
import { chip, seen, testName } from './frame/fragments.ts';
import { actionsForm, type Form, type PageRequest, type Parts } from './page.ts';

/** Events that were refused for who sent them, and are kept for a person to take in. */

const shownSources = 20;

/** Those that are kept, also what came just now if the store can be written. Newest first. */
export async function keptRefused({
  refused,
  reads,
}: Pick<Parts, 'refused' | 'reads'>): Promise<RefusedEvent[]> {
  await refused.write().catch(() => {});
  return reads.refusedEvents({});
}

/** By source; null where none are kept. */
export async function refusedCard(parts: Parts, asked: PageRequest): Promise<Html | null> {
  const sources = [...Map.groupBy(await keptRefused(parts), ({ from }) => from)];
  if (sources.length === 0) return null;
  const others = sources.length - shownSources;
  return html`<section class="card">
    <h2>Refused, and kept</h2>
    <p>
      Valid events from an address or with a token that is not allowed. Take in what the service sent, as if
      it came now; what came meanwhile is not told again.
    </p>
    <div class="parts">
      ${sources.slice(0, shownSources).map(([from, events]) => sourcePart(from, events, parts, asked))}
      ${
        others > 0 &&
        html`<section>
          <p>
            There are events from ${count(others, 'more source')}:
            <code>${program} events --refused</code> lists all.
          </p>
        </section>`
      }
    </div>
  </section>`;
}

function sourcePart(
  from: string,
  events: readonly RefusedEvent[],
  { config }: Parts,
  asked: PageRequest,
): Html {
  const many = events.length === 1 ? '' : `${events.length}`;
  const about = html`<input type="hidden" name="from" value="${from}" />
    <input type="hidden" name="until" value="${asked.now}" />`;
  return html`<section>
    <h3>${chip('bad', `${events.length} kept`)} <span class="break">${seen(from)}</span></h3>
    ${buttons(about, many, from, html`${noteField}`, asked)}
    <details ${events.length === 1 && html`open`}>
      <summary>Which</summary>
      <ul class="plain items">
        ${events.map((one) => {
          const { id, at, candidateId, candidateNumericalId, status, testId, reason, attempts } = one;
          return html`<li>
            <p class="break">
              ${candidateNumericalId ?? seen(candidateId)} ${status}, ${testName(config(), testId)},
              ${asked.times.short(at)}
              <br /><span class="muted small"
                >refused for the ${reason}${attempts > 1 && ` ${attempts}×`}, candidate
                ${seen(candidateId)}</span
              >
            </p>
            ${
              events.length > 1 &&
              buttons(html`<input type="hidden" name="id" value="${id}" />`, '', id, null, asked)
            }
          </li>`;
        })}
      </ul>
    </details>
  </section>`;
}

const actions = {
  accept: { button: 'Accept', question: 'Take this in, as if it came now?' },
  ignore: { button: 'Ignore', question: 'Put this away? It cannot be taken in any more.' },
};

/** `about`: the fields that say which events; `what`: the same in words. */
function buttons(about: Html, many: string, what: string, more: Html | null, asked: PageRequest): Html {
  const button = (action: keyof typeof actions) =>
    html`<button
      ${(action === 'ignore' || more === null) && html`class="quiet"`}
      name="action"
      value="${action}"
      aria-label="${actions[action].button} ${what}"
      data-confirm="${actions[action].question}"
    >
      ${actions[action].button} ${many}
    </button>`;
  return actionsForm(
    '/attention/refused',
    html`${about} ${more} ${button('accept')} ${button('ignore')}`,
    asked,
  );
}

export const refusedForm: Form = {
  path: '/attention/refused',
  async carryOut(sent, parts) {
    const { action, id, from, until: untilText, confirmed } = sent.form;
    const until = Number(untilText);
    if ((action !== 'accept' && action !== 'ignore') || (id === undefined) === (from === undefined))
      return notUnderstood;
    if (from !== undefined && !Number.isSafeInteger(until)) return notUnderstood;
    const fields = Object.entries({ id, from, until: untilText }).map(
      ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}" />`,
    );
    if (confirmed !== 'yes')
      return confirmPage(
        { path: refusedForm.path, action, ...actions[action], fields: html`${fields}` },
        sent,
      );
    const { store } = parts;
    const ids =
      from === undefined
        ? [id!]
        : (await store.refusedEvents({ from, until })).map((one) => one.id).toReversed();
    if (action === 'ignore') await store.putAwayRefused(ids, { action, at: sent.now, by: sent.by });
    // In their order: a candidate's later event may follow from an earlier one.
    else for (const one of ids) await acceptRefused(one, sent.by, parts);
    return '/attention';
  },
};
