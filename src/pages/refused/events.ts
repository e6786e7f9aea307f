import { acceptRefused } from '../../intake.ts';
import { isKeptFor, type RefusedEvent, type RefusedEvents, refusalReasons } from '../../model/notices.ts';
import { cautionOf, reconcileCommand, type Refusals, refusals } from '../../ops/refusals.ts';
import { html, type Html } from '../../support/html.ts';
import { program } from '../../support/invocation.ts';
import { count, printable } from '../../support/text.ts';
import { type Asking, askingForm, askingPage, type Choice, notUnderstood, tickBox } from '../frame/asking.ts';
import { candidateName, commandLine, statusNames, testName, withCommand } from '../frame/fragments.ts';
import type { Form, PageRequest, Parts } from '../page.ts';

/** Refused events on the page of what needs a person: what happened, whom they are about, what to do; and the forms for that. */

const shownSources = 20;
/** So many are shown at once; the others are folded away. */
const unfolded = 10;
const shownEvents = 50;

/** The refused events that are kept, newest first. Those still in memory are written before, if the store can be. */
export async function keptRefused({
  refused,
  reads,
}: Pick<Parts, 'refused' | 'reads'>): Promise<RefusedEvent[]> {
  await refused.write().catch(() => {});
  return reads.refusedEvents({});
}

/** A card for each reason. */
export async function refusedCards(parts: Parts, asked: PageRequest): Promise<Html[]> {
  const kept = await keptRefused(parts);
  const { refused } = await asked.status();
  // One that was refused for two reasons is counted by both, and kept by the last.
  const alone = kept.filter((one) => refused.every(({ reason }) => reason !== one.reason));
  const uncounted = alone.map(({ reason, from, attempts, at }) => {
    return { reason, from, count: attempts, first: at, last: at };
  });
  const areOvertaken = await parts.reads.haveFollowers(kept);
  const overtaken = new Set(kept.filter((_, place) => areOvertaken[place]));
  return refusals([...refused, ...uncounted]).map((one) => {
    const events = kept.filter(({ reason }) => reason === one.reason);
    const canTick = events.length > 1 && asked.person.role === 'full';
    const isFromMany = events.some(({ from }) => from !== events[0]?.from);
    const items = events.map((each) => {
      const shown = { canTick, isFromMany, isOvertaken: overtaken.has(each) };
      return item(each, shown, parts, asked);
    });
    const listed = folded(items);
    const list =
      canTick && listed
        ? askingForm(askingOf({}), selectedChoices, asked, { boxes: listed, isQuiet: true })
        : listed;
    return card(one, events, list, asked);
  });
}

function card(
  { reason, words, from, why, fix, first, last, count: many }: Refusals<RefusedEvents['reason']>,
  kept: readonly RefusedEvent[],
  list: Html | null,
  asked: PageRequest,
): Html {
  const { times } = asked;
  const attempts = kept.reduce((sum, one) => sum + one.attempts, 0);
  return html`<section class="card">
    <h2>${words}</h2>
    <p class="break">
      From ${printable(from)}, ${last - first >= 60_000 && html`first ${times.short(first)}, last`}
      ${times.short(last)}: ${printable(why)}. Nobody is told of what was not taken in.
    </p>
    <div class="parts">
      ${
        list !== null &&
        html`<section>
          <h3>Whom ${many === 1 ? 'it is' : 'they are'} about</h3>
          ${list}
          ${
            isKeptFor(reason) &&
            attempts < many &&
            html`<p>
              ${count(many - attempts, 'more event')} ${many - attempts === 1 ? 'is' : 'are'} not kept: look
              in the testing service for who is not listed here.
            </p>`
          }
        </section>`
      }
      <section>
        <h3>What to do</h3>
        ${
          asked.person.role !== 'full' &&
          html`<p class="muted small">
            You can only look here: the commands <code>accept</code> and <code>ignore</code> take events in
            and put them away. ${commandLine(`${program} events --refused`)} lists them.
          </p>`
        }
        <ol class="steps">
          <li><p>${withCommand(fix, reconcileCommand())}</p></li>
          ${kept.length > 0 && acceptStep(reason, kept, asked)}
          <li>
            <p>
              ${
                kept.length > 0
                  ? 'Put away what nobody wants. It cannot be taken in after that.'
                  : 'When that is done, put this away.'
              }
            </p>
            ${seenButton(reason, many, asked)}
          </li>
        </ol>
      </section>
    </div>
  </section>`;
}

function acceptStep(
  reason: RefusedEvents['reason'],
  kept: readonly RefusedEvent[],
  asked: PageRequest,
): Html {
  const bySource = [...Map.groupBy(kept, ({ from }) => from)];
  const sources = bySource.toSorted(([, a], [, b]) => b.length - a.length);
  const others = sources.length - shownSources;
  return html`<li>
    <p>
      Then take in what the testing service sent: people are told as if it came now, and nobody hears again of
      what has come meanwhile.
    </p>
    ${sources.slice(0, shownSources).map(([from, events], place) => {
      const button = `Accept ${count(events.length, 'event')} from ${printable(from)}`;
      const choice = { action: 'accept', button, question: questionOf('accept', from) };
      const asking = askingOf({ from, reason, until: asked.now });
      return askingForm(asking, [choice], asked, { isQuiet: place > 0 || cautionOf(from) !== null });
    })}
    ${
      others > 0 &&
      html`<p>
        There are events from ${count(others, 'more source')}: ${commandLine(`${program} events --refused`)}
        lists all.
      </p>`
    }
  </li>`;
}

/** A list of items, as long as a page has room for; null if there are none. */
function folded(items: readonly Html[]): Html | null {
  if (items.length === 0) return null;
  const rest = items.slice(unfolded, shownEvents);
  const unseen = items.length - shownEvents;
  return html`<ul class="plain items">
      ${items.slice(0, unfolded)}
    </ul>
    ${
      rest.length > 0 &&
      html`<details>
        <summary>${items.length - unfolded} more</summary>
        <ul class="plain items">
          ${rest}
        </ul>
        ${unseen > 0 && html`<p>${commandLine(`${program} events --refused`)} lists all.</p>`}
      </details>`
    }`;
}

/** What an item of the list shows besides the event. */
interface Shown {
  readonly canTick: boolean;
  /** The events of the list came from several addresses. */
  readonly isFromMany: boolean;
  /** A later event of the same candidate and test has been accepted. */
  readonly isOvertaken: boolean;
}

function item(
  one: RefusedEvent,
  { canTick, isFromMany, isOvertaken }: Shown,
  { config }: Parts,
  asked: PageRequest,
): Html {
  const { id, at, from, status, testId, attempts } = one;
  const name = candidateName(one);
  return html`<li>
    ${canTick && tickBox(id, `Candidate ${name}`)}
    <p class="break">
      <b>${name}</b> ${statusNames[status]}, ${testName(config(), testId)}, ${asked.times.short(at)}
      <br /><span class="muted small"
        >${isFromMany && html`from ${printable(from)}, `}${attempts > 1 && `refused ${attempts}×, `}candidate
        ${printable(one.candidateId)}</span
      >
      ${
        isOvertaken &&
        html`<br />Older than what came of this candidate and test: taken in, a row or message that is kept up
          to date will show it instead.`
      }
    </p>
  </li>`;
}

const actions = {
  accept: {
    button: 'Accept',
    question: (which: string) => `Take in what is kept ${which}, as if it came now?`,
  },
  ignore: {
    button: 'Put away',
    question: (which: string) => `Put away what is kept ${which}? It cannot be taken in any more.`,
  },
};
type Action = keyof typeof actions;
const allActions: readonly Action[] = ['accept', 'ignore'];

const askingOf = (about: NonNullable<Asking['about']>): Asking => ({ path: '/attention/refused', about });

/** The question before something is done with all that is kept from a source. */
function questionOf(action: Action, from: string): string {
  const question = actions[action].question(`from ${printable(from)}`);
  const caution = action === 'accept' ? cautionOf(printable(from)) : null;
  return caution === null ? question : `${question} ${caution}`;
}

/** `many`: the events, on the button. */
const choiceOf = (action: Action, question: string, many = ''): Choice => ({
  action,
  button: `${actions[action].button} ${many}`.trim(),
  question,
});
const selectedChoices = allActions.map((action) =>
  choiceOf(action, actions[action].question('({count} selected)'), 'selected'),
);

export const refusedForm: Form = {
  path: '/attention/refused',
  async carryOut(sent, parts) {
    const { ids } = sent;
    const { action, from, reason: reasonText, until: untilText, confirmed } = sent.form;
    const reason = refusalReasons.find((one) => one === reasonText);
    const until = Number(untilText);
    if ((action !== 'accept' && action !== 'ignore') || (ids.length === 0) === (from === undefined))
      return notUnderstood;
    if (from !== undefined && !Number.isSafeInteger(until)) return notUnderstood;
    if (confirmed !== 'yes') {
      const question =
        from === undefined ? actions[action].question(`(${ids.length} selected)`) : questionOf(action, from);
      const asking = askingOf({ id: ids, from, reason, until: untilText });
      return askingPage(asking, choiceOf(action, question), '/attention', sent);
    }
    const { store } = parts;
    const filter = { from: from ?? '', until, ...(reason && { reason }) };
    const meant = from === undefined ? ids : (await store.refusedEvents(filter)).map(({ id }) => id);
    // Their ids are in the order in which they came; a candidate's later event may follow from an earlier one.
    const inOrder = meant.toSorted();
    if (action === 'ignore') await store.putAwayRefused(inOrder, { action, at: sent.now, by: sent.by });
    else for (const one of inOrder) await acceptRefused(one, sent.by, parts);
    return '/attention';
  },
};

/** The button that puts away the refused events of a reason, up to the time when the page was made. */
const seenButton = (reason: RefusedEvents['reason'], many: number, asked: PageRequest): Html =>
  askingForm(
    { path: '/attention/seen', about: { reason, until: asked.now } },
    [
      {
        action: 'seen',
        button: `Seen: put away ${count(many, 'event')}`,
        question: `Put away what is said of ${count(many, 'refused event')}?${isKeptFor(reason) ? ' Events of it that are kept cannot be taken in any more.' : ''}`,
      },
    ],
    asked,
    { isQuiet: true },
  );

export const seenForm: Form = {
  path: '/attention/seen',
  async carryOut({ form, now, by }, { store, refused }) {
    const reason = refusalReasons.find((one) => one === form['reason']);
    const until = Number(form['until']);
    if (reason === undefined || !Number.isSafeInteger(until)) return notUnderstood;
    // The page also showed those that this process has not written yet.
    await refused.write();
    await store.ignoreRefused({ reason, until }, now, by);
    return '/attention';
  },
};
