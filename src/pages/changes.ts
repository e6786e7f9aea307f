import {
  type ActionName,
  change,
  type ChangeResult,
  NotThere,
  retrySink,
  selected,
} from '../deliveries/by-hand.ts';
import type { SinkState } from '../ops/needs.ts';
import {
  type Delivery,
  type DeliveryState,
  openStates,
  type RefusedEvents,
  refusalReasons,
  replayableStates,
} from '../model.ts';
import { inParts } from '../store/pages.ts';
import { type By, type Change, StoreUnavailable } from '../store/store.ts';
import { chip, seen, tones } from './frame/fragments.ts';
import { html, type Html } from '../support/html.ts';
import {
  actionsForm,
  type PageRequest,
  csrfField,
  type Form,
  type Page,
  type Parts,
  type FormRequest,
  type PageContent,
} from './page.ts';
import type { Times } from './frame/times.ts';

/** What people do to deliveries on the pages: forms that ask first, and pages that show how far it is. */

/** Which deliveries a form is about. */
export interface Chosen {
  /** One alone. Else those in these states, to this sink, for this cause. */
  readonly id?: string;
  readonly states: readonly ('dead' | 'held')[];
  readonly sink: string;
  readonly cause?: string;
  /** How many there are now. */
  readonly count: number;
}

export const deliveriesOf = (many: number): string => (many === 1 ? '1 delivery' : `${many} deliveries`);

const questions = {
  replay: (which: string) => `Send ${which} again, by the config in force?`,
  discard: (which: string) => `Give up ${which} for good? Nothing will be sent.`,
};
type Action = keyof typeof questions;
const buttons = { replay: 'Replay', discard: 'Discard' } as const;

const inWords = ({ count: many, sink }: Pick<Chosen, 'count' | 'sink'>): string =>
  `${many === 1 ? 'this delivery' : `these ${many} deliveries`} to ${sink}`;

/** Two buttons for the same deliveries; `many`: what the buttons say besides. */
export function choiceForm(chosen: Chosen, many: string, asked: PageRequest): Html {
  const button = (action: Action) =>
    html`<button
      ${(action === 'discard' || chosen.id !== undefined) && html`class="quiet"`}
      name="action"
      value="${action}"
      aria-label="${[buttons[action], many, chosen.id].filter(Boolean).join(' ')}"
      data-confirm="${questions[action](inWords(chosen))}"
    >
      ${buttons[action]} ${many}
    </button>`;
  const inside = html`${choiceFields(chosen)}
  ${
    chosen.id === undefined &&
    html`<label class="note"
      ><span class="hidden">Why</span><input name="note" maxlength="500" placeholder="Why (others see it)"
    /></label>`
  }
  ${button('replay')} ${button('discard')}`;
  return actionsForm('/attention/change', inside, asked);
}

const choiceFields = ({ id, states, sink, cause, count: many }: Chosen): Html =>
  html`${id !== undefined && html`<input type="hidden" name="id" value="${id}" />`}
    <input type="hidden" name="states" value="${states.join(' ')}" />
    <input type="hidden" name="sink" value="${sink}" />
    ${cause !== undefined && html`<input type="hidden" name="cause" value="${cause}" />`}
    <input type="hidden" name="count" value="${many}" />`;

/** What a form asks for; null if none of ours sent it. */
function wishOf({ form }: FormRequest): { action: Action; chosen: Chosen; note: string | null } | null {
  const { action, id, states = '', sink = '', cause, count: many = '', note = '' } = form;
  if (action !== 'replay' && action !== 'discard') return null;
  const named = states.split(' ').filter((state) => state === 'dead' || state === 'held');
  if (id === undefined && (named.length === 0 || sink === '')) return null;
  const chosen = {
    states: named,
    sink,
    count: Number(many) || 0,
    ...(id !== undefined && { id }),
    ...(cause !== undefined && { cause }),
  };
  return { action, chosen, note: note.trim().slice(0, 500) || null };
}

export const changeForm: Form = {
  path: '/attention/change',
  async carryOut(sent, parts) {
    const wish = wishOf(sent);
    if (wish === null) return notUnderstood;
    const { action, chosen, note } = wish;
    if (sent.form['confirmed'] !== 'yes') return confirmPage(action, chosen, note, sent);
    const run = runsOf(parts).start(parts, action, chosen, {
      who: sent.by.who,
      from: `the page, ${sent.by.from}`,
      note,
    });
    await Promise.race([run.ended, new Promise((resolve) => setTimeout(resolve, patienceMs))]);
    return `/attention/changes/${run.id}`;
  },
};

/** Most are done by then, and the next page shows the end. */
const patienceMs = 1500;

const notUnderstood: PageContent = {
  status: 400,
  title: 'This form is not understood',
  body: html`<p>Nothing was changed. <a href="/attention">Back to what needs a person</a></p>`,
};

/** For browsers without scripts; the others ask in a dialog. */
function confirmPage(action: Action, chosen: Chosen, note: string | null, asked: PageRequest): PageContent {
  return {
    title: `${buttons[action]}?`,
    body: html`<form class="card" method="post" action="/attention/change">
      <p>${questions[action](inWords(chosen))}</p>
      ${csrfField(asked)} ${choiceFields(chosen)}
      <input type="hidden" name="confirmed" value="yes" />
      <label>Why <input name="note" maxlength="500" value="${note}" /></label>
      <p class="actions">
        <button name="action" value="${action}">${buttons[action]}</button>
        <a class="button quiet" href="/attention">Cancel</a>
      </p>
    </form>`,
  };
}

export const changePage: Page = {
  path: '/attention/changes/:id',
  async show({ params }, parts) {
    const run = runsOf(parts).find(params['id'] ?? '');
    if (run === null) return null;
    await run.look(parts);
    return {
      title: `${run.action === 'replay' ? 'Replay' : 'Discard'} to ${run.sink}`,
      body: html`<div id="progress" class="stack" ${run.isOver ? null : html`data-refresh="1000"`}>
        ${progress(run)}
      </div>`,
    };
  },
};

function progress(run: Run): Html {
  const states = [...Map.groupBy(run.states.values(), (state) => state)];
  const { refused, fault } = run;
  const [alone] = run.states.keys();
  const others = run.states.size - 1 + refused.length;
  return html`<section class="card" role="status">
      <h2>${headOf(run)}</h2>
      ${
        run.action === 'replay' &&
        html`<ul class="chips plain">
          ${states.map(([state, all]) => html`<li>${chip(tones[state], `${all.length} ${state}`)}</li>`)}
        </ul>`
      }
      ${fault !== null && html`<p class="notice bad">${fault}</p>`}
      ${
        refused.length > 0 &&
        html`<h3>
            ${deliveriesOf(refused.length)} stayed as ${refused.length === 1 ? 'it was' : 'they were'}
          </h3>
          <ul>
            ${refused.slice(0, shownRefused).map(({ id, says }) => html`<li class="break"><span class="id">${id}</span>: ${seen(says)}</li>`)}
          </ul>`
      }
    </section>
    <p>
      <a href="/attention">Back to what needs a person</a>
      ${alone !== undefined && others === 0 && html`· <a href="/events/${eventOf(alone)}">Its event</a>`}
    </p>`;
}

const shownRefused = 20;

function headOf({ action, isDone, states }: Run): string {
  const many = deliveriesOf(states.size);
  if (action === 'discard') return `${many} discarded${isDone ? '' : ' so far'}`;
  return `${many} sent again${isDone ? '' : ' so far'}`;
}

/** One request of a person, which may take a while. */
class Run {
  readonly id: string;
  readonly action: Action;
  readonly sink: string;
  /** Of what was changed: what became of it, as far as was looked. */
  readonly states = new Map<string, DeliveryState>();
  readonly refused: ChangeResult[] = [];
  /** Why it ended early. */
  fault: string | null = null;
  isDone = false;
  readonly ended: Promise<void>;

  constructor(id: string, parts: Parts, action: Action, chosen: Chosen, by: By) {
    this.id = id;
    this.action = action;
    this.sink = chosen.sink;
    this.ended = this.#go(parts, chosen, by);
  }

  /** Nothing more is to be seen. */
  get isOver(): boolean {
    return this.isDone && this.states.values().every((state) => !isUnderWay(state));
  }

  async look({ reads }: Parts): Promise<void> {
    const open = [...this.states].filter(([, state]) => isUnderWay(state)).slice(0, lookedAt);
    const found = await inParts(open, ([id]) => reads.delivery(id));
    for (const [place, [id]] of open.entries()) {
      const state = found[place]?.state;
      this.states.delete(id);
      // At the end, so that the others are looked at next.
      if (state) this.states.set(id, state);
    }
  }

  async #go(parts: Parts, { id, ...rest }: Chosen, by: By): Promise<void> {
    try {
      const pages = selected(parts.reads, { ...rest, ids: id === undefined ? [] : [id] });
      for await (const page of pages) this.#add(await carryOut(parts, this.action, page, by));
    } catch (error) {
      const isKnown = error instanceof StoreUnavailable || error instanceof NotThere;
      this.fault = isKnown ? error.message : 'It stopped because of a bug in the connector. See the log.';
      if (!isKnown) parts.log.error({ err: error, action: this.action }, 'a change by hand failed');
    } finally {
      this.isDone = true;
    }
  }

  #add(results: readonly ChangeResult[]): void {
    for (const one of results) {
      if (one.ok) this.states.set(one.id, this.action === 'replay' ? 'pending' : 'discarded');
      else this.refused.push(one);
    }
  }
}

/** Puts away what was said of refused events, as far as it was seen. */
export const seenButton = (reason: RefusedEvents['reason'], asked: PageRequest): Html =>
  actionsForm(
    '/attention/seen',
    html`<input type="hidden" name="until" value="${asked.now}" />
      <button class="quiet" name="reason" value="${reason}">Seen</button>`,
    asked,
  );

/** For a paused or failing sink. */
export const retryButton = (sink: string, asked: PageRequest): Html =>
  actionsForm(
    '/attention/retry',
    html`<button class="quiet" name="sink" value="${sink}" aria-label="Try ${sink} now">Try now</button>`,
    asked,
  );

export const retryForm: Form = {
  path: '/attention/retry',
  async carryOut({ form: { sink = '' } }, parts) {
    if (!parts.config().sinks.has(sink)) return notUnderstood;
    await tryNow(parts, sink);
    await new Promise((resolve) => setTimeout(resolve, patienceMs));
    return '/attention';
  },
};

export async function tryNow(parts: Parts, sink: string): Promise<SinkState> {
  const state = await retrySink(parts.reads, parts.store, sink);
  parts.wake();
  return state;
}

export const seenForm: Form = {
  path: '/attention/seen',
  async carryOut({ form, now, by: { who, from } }, { store, refused }) {
    const reason = refusalReasons.find((one) => one === form['reason']);
    const until = Number(form['until']);
    if (reason === undefined || !Number.isSafeInteger(until)) return notUnderstood;
    // What this process has not written yet was shown, too.
    await refused.write();
    await store.ignoreRefused({ reason, until }, now, { who, from: `the page, ${from}`, note: null });
    return '/attention';
  },
};

/** More would keep others waiting for the store. */
const lookedAt = 500;

const isUnderWay = (state: DeliveryState): boolean =>
  openStates.includes(state) && !replayableStates.includes(state);

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

const keptRuns = 50;
const runs = new WeakMap<Parts, Runs>();
const runsOf = (parts: Parts): Runs => runs.getOrInsertComputed(parts, () => new Runs());

/** The last ones, for as long as the connector runs; the audit has all. */
class Runs {
  readonly #all = new Map<string, Run>();
  #started = 0;

  start(parts: Parts, action: Action, chosen: Chosen, by: By): Run {
    const id = `${Date.now().toString(36)}-${(this.#started += 1)}`;
    const run = new Run(id, parts, action, chosen, by);
    this.#all.set(id, run);
    const [oldest = ''] = this.#all.keys();
    if (this.#all.size > keptRuns) this.#all.delete(oldest);
    return run;
  }

  find(id: string): Run | null {
    return this.#all.get(id) ?? null;
  }
}

/** Who did what, newest first. */
export function changeList(changes: readonly Change[], times: Times, withLinks: boolean): Html {
  return html`<ul class="plain spaced">
    ${changes.map(({ at, who, from, action, note, deliveries }) => {
      const [first] = deliveries;
      return html`<li class="break">
        <b>${action}</b> ${deliveries.length > 0 && html`of ${deliveriesOf(deliveries.length)}`} by
        ${seen(who)} <span class="muted">${times.exact(at)}, from ${seen(from)}</span>
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
