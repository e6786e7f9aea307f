import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ActionName,
  change,
  type ChangeResult,
  leftOut,
  NotThere,
  pauseSink,
  planLookups,
  retrySink,
  selected,
} from '../deliveries/by-hand.ts';
import { type Delivery, type DeliveryState, openStates, replayableStates } from '../model.ts';
import { type RefusedEvents, refusalReasons } from '../model/notices.ts';
import { inParts } from '../store/paging.ts';
import { type By, type Change, type EventDetail, StoreUnavailable } from '../store/store.ts';
import { chip, seen, stateNames, tones } from './frame/fragments.ts';
import type { Config } from '../config/config.ts';
import { program } from '../support/invocation.ts';
import { html, type Html } from '../support/html.ts';
import { count } from '../support/text.ts';
import { type Asking, askingForm, askingPage, type Choice } from './frame/asking.ts';
import { actionsForm, type PageRequest, type Form, type Page, type Parts, type PageContent } from './page.ts';
import type { Times } from './frame/times.ts';

/** What people do to deliveries on the pages: forms that ask first, and pages that show how far it is. */

/** Which deliveries a form is about. */
export interface Chosen {
  /** These alone. Else, where it is empty, those in these states, to this sink, for this cause. */
  readonly ids: readonly string[];
  readonly states: readonly ('dead' | 'held')[];
  readonly sink: string;
  readonly cause?: string | undefined;
  /** How many there are now. */
  readonly count: number;
  /** Which of them may have arrived. */
  readonly doubt: Doubt;
}

type Doubt = 'none' | 'some' | 'all';

export const doubtOf = (doubtful: number, all: number): Doubt =>
  doubtful === 0 ? 'none' : doubtful < all ? 'some' : 'all';

/** Whether people get a message twice. The tool is asked first where it can be. */
function twice(doubt: Doubt, isOne: boolean): string {
  if (doubt === 'none')
    return isOne
      ? 'It has not arrived, so nobody gets it twice.'
      : 'None has arrived, so nobody gets one twice.';
  const which = isOne ? 'It' : doubt === 'some' ? 'Some of them' : 'They';
  return `${which} may have arrived already: where the tool cannot tell, people get ${isOne ? 'it' : 'them'} twice.`;
}

const actions = {
  replay: {
    button: 'Replay',
    done: 'sent again',
    question: (which: string, doubt: Doubt, isOne: boolean) =>
      `Send ${which} again, by the config in force? ${twice(doubt, isOne)}`,
  },
  discard: {
    button: 'Discard',
    done: 'discarded',
    question: (which: string) => `Discard ${which} for good? Nothing will be sent.`,
  },
};
type Action = keyof typeof actions;

/** What the two buttons do, where they are; whom to ask, where they are not. */
export const changesExplained = (asked: PageRequest): Html =>
  asked.person.role === 'full'
    ? html`<p class="muted small">
        <b>Replay</b> sends a message again, by the config in force. <b>Discard</b> ends it for good: nothing
        is sent.
      </p>`
    : asked.person.role === 'open'
      ? html`<p class="muted small">
          This page only shows, as there is no <code>admin.password</code>. The commands
          <code>replay</code> and <code>discard</code> do it: <code>${program} status</code> has them ready.
        </p>`
      : html`<p class="muted small">You can only look here: ask somebody who may replay or discard.</p>`;

const askingOf = ({ ids, states, sink, cause, count: many, doubt }: Chosen): Asking => ({
  path: '/attention/change',
  about: { id: ids, states: states.join(' '), sink, cause, count: many, doubt },
});

/** `which`: in the question. */
const choiceOf = (
  action: Action,
  which: string,
  { doubt, count: of }: Pick<Chosen, 'doubt' | 'count'>,
  many = '',
  label?: string,
): Choice => ({
  action,
  button: `${actions[action].button} ${many}`.trim(),
  question: actions[action].question(which, doubt, of === 1),
  label,
});
const allActions: readonly Action[] = ['replay', 'discard'];

const whichOf = ({ count: many, sink }: Chosen): string =>
  `${many === 1 ? 'this delivery' : `these ${many} deliveries`} to ${sink}`;

/** Two buttons for the same deliveries; `many`: what the buttons say besides. */
export function choiceForm(chosen: Chosen, many: string, asked: PageRequest): Html {
  const [alone] = chosen.ids;
  const choices = allActions.map((action) => choiceOf(action, whichOf(chosen), chosen, many, alone));
  return askingForm(askingOf(chosen), choices, asked, { isQuiet: alone !== undefined });
}

/** The same for those that are ticked of some. */
export function tickForm(
  { sink, doubt }: Pick<Chosen, 'sink' | 'doubt'>,
  boxes: Html,
  asked: PageRequest,
): Html {
  const chosen: Chosen = { ids: [], states: [], sink, count: 0, doubt };
  const choices = allActions.map((action) =>
    choiceOf(action, `the selected deliveries to ${sink} ({count})`, chosen, 'selected'),
  );
  return askingForm(askingOf(chosen), choices, asked, { boxes });
}

export const changeForm: Form = {
  path: '/attention/change',
  async carryOut(sent, parts) {
    const { ids } = sent;
    const { action, states = '', sink = '', cause, count: many, doubt: given, confirmed } = sent.form;
    const named = states.split(' ').filter((state) => state === 'dead' || state === 'held');
    if (action !== 'replay' && action !== 'discard') return notUnderstood;
    if (ids.length === 0 && (named.length === 0 || sink === '')) return notUnderstood;
    const doubt = given === 'none' || given === 'all' ? given : 'some';
    const chosen: Chosen = { ids, states: named, sink, cause, count: ids.length || Number(many) || 0, doubt };
    if (confirmed !== 'yes')
      return askingPage(askingOf(chosen), choiceOf(action, whichOf(chosen), chosen), '/attention', sent);
    return `/attention/changes/${await start(parts, action, chosen, sent.by)}`;
  },
};

/** Most are done by then, and the next page shows the end. */
const patienceMs = 1500;

export const notUnderstood: PageContent = {
  status: 400,
  title: 'This form is not understood',
  body: html`<p>Nothing was changed. <a href="/attention">Back to what needs a person</a></p>`,
};

export const changePage: Page = {
  path: '/attention/changes/:id',
  async show({ params }, parts) {
    const run = runsOf(parts).get(params['id'] ?? '');
    if (run === undefined) return null;
    const open = [...run.states].filter(([, state]) => isUnderWay(state)).slice(0, lookedAt);
    const found = await inParts(open, ([id]) => parts.reads.delivery(id));
    for (const [place, [id]] of open.entries()) {
      const { state, lastError = null } = found[place] ?? {};
      run.states.delete(id);
      // At the end, so that the others are looked at next.
      if (state) run.states.set(id, state);
      if (lastError !== null && state && replayableStates.includes(state)) run.reasons.add(lastError);
    }
    const isOver = run.isDone && run.states.values().every((state) => !isUnderWay(state));
    return {
      title: `${actions[run.action].button} to ${run.sink}`,
      body: html`<div id="progress" class="stack" ${isOver ? null : html`data-refresh="1000"`}>
        ${progress(run)}
      </div>`,
    };
  },
};

function progress({ action, isDone, states, reasons, eventId, refused, fault }: Run): Html {
  const byState = [...Map.groupBy(states.values(), (state) => state)];
  const isAlone = states.size + refused.length === 1;
  return html`<section class="card" role="status">
      <h2>${count(states.size, 'delivery')} ${actions[action].done}${!isDone && ' so far'}</h2>
      ${
        action === 'replay' &&
        html`<ul class="chips plain">
          ${byState.map(([state, all]) => html`<li>${chip(tones[state], `${all.length} ${stateNames[state]}`)}</li>`)}
        </ul>`
      }
      ${[...reasons].slice(0, shownReasons).map((reason) => html`<p class="notice bad break">${seen(reason)}</p>`)}
      ${fault !== null && html`<p class="notice bad">${fault}</p>`}
      ${
        refused.length > 0 &&
        html`<h3>
            ${count(refused.length, 'delivery')} stayed as ${refused.length === 1 ? 'it was' : 'they were'}
          </h3>
          <ul>
            ${refused.slice(0, shownRefused).map(({ id, says }) => html`<li class="break"><span class="id">${id}</span>: ${seen(says)}</li>`)}
          </ul>`
      }
    </section>
    <p>
      <a href="/attention">Back to what needs a person</a>
      ${isAlone && eventId !== null && html`· <a href="/events/${eventId}">Its event</a>`}
    </p>`;
}

const shownRefused = 20;
const shownReasons = 3;
/** More would keep others waiting for the store. */
const lookedAt = 500;

const isUnderWay = (state: DeliveryState): boolean =>
  openStates.includes(state) && !replayableStates.includes(state);

/** One request of a person, which may take a while. */
interface Run {
  readonly action: Action;
  readonly sink: string;
  /** Of what was changed: what became of it, as far as was looked. */
  readonly states: Map<string, DeliveryState>;
  /** Why some need a person again. */
  readonly reasons: Set<string>;
  readonly refused: ChangeResult[];
  /** Of the last one; null of a notice. */
  eventId: string | null;
  /** Why it ended early. */
  fault: string | null;
  isDone: boolean;
}

const keptRuns = 50;
/** The last ones, by id, for as long as the connector runs; the audit has all. */
const runs = new WeakMap<Parts, Map<string, Run>>();
const runsOf = (parts: Parts): Map<string, Run> => runs.getOrInsertComputed(parts, () => new Map());

/** Resolves to its id when it is done, or when most are. */
async function start(parts: Parts, action: Action, chosen: Chosen, by: By): Promise<string> {
  const run: Run = {
    action,
    sink: chosen.sink,
    states: new Map(),
    reasons: new Set(),
    refused: [],
    eventId: null,
    fault: null,
    isDone: false,
  };
  const all = runsOf(parts);
  const runId = randomUUID();
  all.set(runId, run);
  const [oldest = ''] = all.keys();
  if (all.size > keptRuns) all.delete(oldest);
  const go = async () => {
    for await (const { page, over } of selected(parts, action, chosen)) {
      run.eventId = page.at(-1)?.eventId ?? null;
      for (const one of await carryOut(parts, action, page, by)) {
        if (one.ok) run.states.set(one.id, action === 'replay' ? 'pending' : 'discarded');
        else run.refused.push(one);
      }
      run.refused.push(...over.map(leftOut));
    }
  };
  const ended = go()
    .catch((error: unknown) => {
      const isKnown = error instanceof StoreUnavailable || error instanceof NotThere;
      run.fault = isKnown ? error.message : 'It stopped because of a bug in the connector. See the log.';
      if (!isKnown) parts.log.error({ err: error, action }, 'a change by hand failed');
    })
    .finally(() => (run.isDone = true));
  await Promise.race([ended, sleep(patienceMs)]);
  return runId;
}

/** Puts away what was said of refused events, as far as it was seen. */
export const seenButton = (reason: RefusedEvents['reason'], many: number, asked: PageRequest): Html =>
  askingForm(
    { path: '/attention/seen', about: { reason, until: asked.now } },
    [
      {
        action: 'seen',
        button: `Seen: put away ${count(many, 'event')}`,
        question: `Put away what is said of ${count(many, 'refused event')}?${reason !== 'store' ? ' Events of it that are kept cannot be taken in any more.' : ''}`,
      },
    ],
    asked,
    { isQuiet: true },
  );

/** For a paused or failing sink. */
export const retryButton = (sink: string, asked: PageRequest): Html =>
  actionsForm(
    '/attention/retry',
    html`<button class="quiet" name="sink" value="${sink}" aria-label="Try now: ${sink}">Try now</button>`,
    asked,
  );

export const retryForm: Form = {
  path: '/attention/retry',
  async carryOut({ form: { sink = '' }, by }, parts) {
    if (!isCalled(parts.config(), sink)) return notUnderstood;
    await tryNow(parts, sink, by);
    await sleep(patienceMs);
    return '/attention';
  },
};

/** Whether it is a sink of the config, or a look-up's. */
export const isCalled = ({ sinks, lookups }: Config, sink: string): boolean =>
  sinks.has(sink) || lookups.has(sink);

export async function tryNow(parts: Parts, sink: string, by: By) {
  const found = await retrySink(parts.reads, parts.store, sink, by);
  parts.wake();
  return found;
}

/** The look-ups of an event, made again by the config in force: their ids, none where they are under way; or why not. */
export async function lookUpAgain({ store, config, wake }: Parts, story: EventDetail, by: By) {
  const now = await store.now();
  const planned = planLookups(config().plan, story, now);
  if ('fault' in planned) return planned;
  const deliveries = await store.lookUp([planned], now, by);
  wake();
  return { deliveries };
}

/** Resolves to when the pause ends; null where somebody has to end it. */
export const pause = ({ store, wake }: Parts, sink: string, forMs: number | null, by: By) =>
  pauseSink(store, sink, forMs, by, wake);

/** Returns whether a person had paused it. */
export async function resume({ store, wake }: Parts, sink: string, by: By): Promise<boolean> {
  const isDone = await store.resumeByPerson(sink, await store.now(), by);
  wake();
  return isDone;
}

export const seenForm: Form = {
  path: '/attention/seen',
  async carryOut({ form, now, by }, { store, refused }) {
    const reason = refusalReasons.find((one) => one === form['reason']);
    const until = Number(form['until']);
    if (reason === undefined || !Number.isSafeInteger(until)) return notUnderstood;
    // What this process has not written yet was shown, too.
    await refused.write();
    await store.ignoreRefused({ reason, until }, now, by);
    return '/attention';
  },
};

/** Does it by the config in force. What was changed goes at once. */
export async function carryOut(
  parts: Parts,
  action: ActionName,
  deliveries: readonly Delivery[],
  by: By,
): Promise<ChangeResult[]> {
  const results = await change(parts, action, deliveries, parts.config().plan, by);
  parts.wake();
  return results;
}

/** Who did what, newest first. */
export function changeList(changes: readonly Change[], times: Times, withLinks: boolean): Html {
  return html`<ul class="plain spaced">
    ${changes.map(({ at, who, from, action, note, sink, deliveries }) => {
      const [first] = deliveries;
      return html`<li class="break">
        <b>${action}</b>
        ${action !== 'lookup' && deliveries.length > 0 && html`of ${count(deliveries.length, 'delivery')}`}
        ${sink !== null && html`of <a href="/sinks/${sink}">${seen(sink)}</a>`} by ${seen(who)}
        <span class="muted">${times.exact(at)}, from ${seen(from)}</span>
        ${
          withLinks &&
          first !== undefined &&
          html`<a class="small" href="/events/${eventOf(first)}"
            >${deliveries.length === 1 ? 'Its event' : 'One of their events'}</a
          >`
        }
        ${note !== null && html`<div class="small">“${seen(note)}”</div>`}
      </li>`;
    })}
  </ul>`;
}

const eventOf = (deliveryId: string): string => deliveryId.replace(/^dlv_(.*)_\d+$/, 'evt_$1');
