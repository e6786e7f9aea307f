import { acceptRefused } from '../intake.ts';
import type { RefusedEvent } from '../model/notices.ts';
import { html, type Html } from '../support/html.ts';
import { program } from '../support/invocation.ts';
import { count } from '../support/text.ts';
import { notUnderstood } from './changes.ts';
import { type Asking, askingForm, askingPage, type Choice, tickBox } from './frame/asking.ts';
import { candidateName, chip, seen, testName } from './frame/fragments.ts';
import type { Form, PageRequest, Parts } from './page.ts';

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
  const kept = await keptRefused(parts);
  if (kept.length === 0) return null;
  const areOvertaken = await parts.reads.haveFollowers(kept);
  const overtaken = new Set(kept.filter((_, place) => areOvertaken[place]));
  const sources = [...Map.groupBy(kept, ({ from }) => from)];
  const others = sources.length - shownSources;
  return html`<section class="card">
    <h2>Refused, and kept</h2>
    <p>
      Valid events from an address or with a token that is not allowed. Take in what the service sent, as if
      it came now; what came meanwhile is not told again. Look there for who is not here.
    </p>
    <div class="parts">
      ${sources.slice(0, shownSources).map(([from, events]) => sourcePart(from, events, overtaken, parts, asked))}
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
  overtaken: ReadonlySet<RefusedEvent>,
  { config }: Parts,
  asked: PageRequest,
): Html {
  const many = events.length;
  const list = (isTicked: boolean) =>
    html`<ul class="plain items">
      ${events.map((one) => {
        const { id, at, status, testId, reason, attempts } = one;
        const name = candidateName(one);
        return html`<li>
          ${isTicked && tickBox(id, `Candidate ${name}`)}
          <p class="break">
            ${name} ${status}, ${testName(config(), testId)}, ${asked.times.short(at)}
            <br /><span class="muted small"
              >refused for the ${reason}${attempts > 1 && ` ${attempts}×`}, candidate
              ${seen(one.candidateId)}</span
            >
            ${
              overtaken.has(one) &&
              html`<br />Older than what came of this candidate and test: taken in, a row or message that is
                kept up to date will show it instead.`
            }
          </p>
        </li>`;
      })}
    </ul>`;
  const canTick = many > 1 && asked.person.role === 'full';
  return html`<section>
    <h3>${chip('bad', `${many} kept`)} <span class="break">${seen(from)}</span></h3>
    ${askingForm(
      askingOf({ from, until: asked.now }),
      allActions.map((action) => choiceOf(action, `from ${seen(from)}`, many > 1 ? `all ${many}` : '')),
      asked,
    )}
    <details ${many === 1 && html`open`}>
      <summary>Which</summary>
      ${
        canTick
          ? askingForm(
              askingOf({}),
              allActions.map((action) => choiceOf(action, '({count} selected)', 'selected')),
              asked,
              { boxes: list(true) },
            )
          : list(false)
      }
    </details>
  </section>`;
}

const actions = {
  accept: {
    button: 'Accept',
    question: (which: string) => `Take in what is kept ${which}, as if it came now?`,
  },
  ignore: {
    button: 'Ignore',
    question: (which: string) => `Put away what is kept ${which}? It cannot be taken in any more.`,
  },
};
type Action = keyof typeof actions;
const allActions: readonly Action[] = ['accept', 'ignore'];

const askingOf = (about: NonNullable<Asking['about']>): Asking => ({ path: '/attention/refused', about });

/** `which`: in the question. */
const choiceOf = (action: Action, which: string, many = ''): Choice => ({
  action,
  button: `${actions[action].button} ${many}`.trim(),
  question: actions[action].question(which),
});

export const refusedForm: Form = {
  path: '/attention/refused',
  async carryOut(sent, parts) {
    const { ids } = sent;
    const { action, from, until: untilText, confirmed } = sent.form;
    const until = Number(untilText);
    if ((action !== 'accept' && action !== 'ignore') || (ids.length === 0) === (from === undefined))
      return notUnderstood;
    if (from !== undefined && !Number.isSafeInteger(until)) return notUnderstood;
    if (confirmed !== 'yes') {
      const which = from === undefined ? `(${ids.length} selected)` : `from ${seen(from)}`;
      const asking = askingOf({ id: ids, from, until: untilText });
      return askingPage(asking, choiceOf(action, which), '/attention', sent);
    }
    const { store } = parts;
    const meant = from === undefined ? ids : (await store.refusedEvents({ from, until })).map(({ id }) => id);
    // Their ids are in the order in which they came; a candidate's later event may follow from an earlier one.
    const inOrder = meant.toSorted();
    if (action === 'ignore') await store.putAwayRefused(inOrder, { action, at: sent.now, by: sent.by });
    else for (const one of inOrder) await acceptRefused(one, sent.by, parts);
    return '/attention';
  },
};
