import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { change, type ActionName, type ChangeResult, leftOut } from '../../by-hand/change.ts';
import { NotThere, selected, type Selection } from '../../by-hand/selection.ts';
import { type Delivery, type DeliveryState, isStuck, isUnderWay } from '../../model.ts';
import { inParts } from '../../store/paging.ts';
import { obstaclesNow } from '../../ops/pauses.ts';
import { type By, StoreUnavailable } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { putLast } from '../../support/lists.ts';
import { count, printable } from '../../support/text.ts';
import { chip, stateNames, tones, waitsFor } from '../frame/fragments.ts';
import type { Page, Parts } from '../page.ts';

/** Replays and discards deliveries, which may take a while, and the page that shows the progress. */

export const actionNames = {
  replay: { button: 'Replay', done: 'replayed' },
  discard: { button: 'Discard', done: 'discarded' },
};
export type Action = keyof typeof actionNames;

/** A change that one person asked for. */
interface Run {
  readonly action: Action;
  readonly sink: string;
  /** How many of those that it was asked of were something else meanwhile. */
  others: number;
  /** By id, the states of the changed deliveries when they were last looked at. */
  readonly states: Map<string, DeliveryState>;
  /** Why some of them need a person again. */
  readonly reasons: Set<string>;
  readonly refused: ChangeResult[];
  /** The event of the last delivery; null for a notice. */
  eventId: string | null;
  /** Why the run ended early. */
  fault: string | null;
  isDone: boolean;
}

const keptRuns = 50;
/** The last runs by id, in memory. The audit in the store has all changes. */
const runs = new WeakMap<Parts, Map<string, Run>>();
const runsOf = (parts: Parts): Map<string, Run> => runs.getOrInsertComputed(parts, () => new Map());

/** So long a form waits for its result. Most changes are done by then. */
export const patienceMs = 1500;

/** Begins a run. Resolves to its id when it is done, or after `patienceMs`. */
export async function start(
  parts: Parts,
  action: Action,
  chosen: Selection & { readonly sink: string; readonly count: number },
  by: By,
): Promise<string> {
  const run: Run = {
    action,
    sink: chosen.sink,
    others: 0,
    states: new Map(),
    reasons: new Set(),
    refused: [],
    eventId: null,
    fault: null,
    isDone: false,
  };
  const runId = randomUUID();
  putLast(runsOf(parts), runId, run, keptRuns);
  const go = async () => {
    for await (const { page, over } of selected(parts, action, chosen)) {
      run.eventId = page.at(-1)?.eventId ?? null;
      // The form was about dead and held ones, and may be old: nobody meant to end what somebody sends again.
      const { open = [], stuck = [] } = Object.groupBy(page, ({ state }) =>
        isUnderWay(state) ? 'open' : 'stuck',
      );
      run.refused.push(...open.map(replayedSince));
      for (const one of await carryOut(parts, action, stuck, by)) {
        if (one.ok) run.states.set(one.id, action === 'replay' ? 'pending' : 'discarded');
        else run.refused.push(one);
      }
      run.refused.push(...over.map(leftOut));
    }
    run.others = chosen.count - run.states.size - run.refused.length;
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

const replayedSince = ({ id, state }: Delivery): ChangeResult => ({
  id,
  ok: false,
  says: `it is ${state}: somebody has replayed it since`,
});

/** Changes deliveries by the config in force, and wakes the worker. */
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

export const changePage: Page = {
  path: '/attention/changes/:id',
  async show({ params, times }, parts) {
    const run = runsOf(parts).get(params['id'] ?? '');
    if (run === undefined) return null;
    const open = [...run.states].filter(([, state]) => isUnderWay(state)).slice(0, lookedAt);
    const found = await inParts(open, ([id]) => parts.reads.delivery(id));
    for (const [place, [id]] of open.entries()) {
      const { state, lastError = null } = found[place] ?? {};
      run.states.delete(id);
      // Moves it to the end, so that the others are read next.
      if (state) run.states.set(id, state);
      if (lastError !== null && state && isStuck(state)) run.reasons.add(lastError);
    }
    const obstacles = await obstaclesNow(parts.reads, times.now);
    const keptBack = found.find(
      (one) => one?.state === 'pending' && (obstacles.pauses.has(one.sink) || obstacles.asked.has(one.lane)),
    );
    const isOver = run.isDone && run.states.values().every((state) => !isUnderWay(state));
    return {
      title: `${actionNames[run.action].button} to ${run.sink}`,
      body: html`<div id="progress" class="stack" ${isOver ? null : html`data-refresh="1000"`}>
        ${progress(run)}
        ${keptBack && html`<p>Not yet: <a href="/sinks/${run.sink}">${waitsFor(keptBack, obstacles, times)}</a>.</p>`}
      </div>`,
    };
  },
};

function progress({ action, isDone, others, states, reasons, eventId, refused, fault }: Run): Html {
  const byState = [...Map.groupBy(states.values(), (state) => state)];
  const isAlone = states.size + refused.length === 1;
  return html`<section class="card" role="status">
      <h2>${count(states.size, 'message')} ${actionNames[action].done}${!isDone && ' so far'}</h2>
      ${
        action === 'replay' &&
        html`<ul class="chips plain">
          ${byState.map(([state, all]) => html`<li>${chip(tones[state], `${all.length} ${stateNames[state]}`)}</li>`)}
        </ul>`
      }
      ${[...reasons].slice(0, shownReasons).map((reason) => html`<p class="notice bad break">${printable(reason)}</p>`)}
      ${fault !== null && html`<p class="notice bad">${fault}</p>`}
      ${
        others > 0 &&
        html`<p>
          ${count(others, 'message')} of those on the page ${others === 1 ? 'was' : 'were'} left alone:
          replayed, discarded or given up anew since.
        </p>`
      }
      ${
        refused.length > 0 &&
        html`<h3>
            ${count(refused.length, 'message')} stayed as ${refused.length === 1 ? 'it was' : 'they were'}
          </h3>
          <ul>
            ${refused.slice(0, shownRefused).map(({ id, says }) => html`<li class="break"><span class="id">${id}</span>: ${printable(says)}</li>`)}
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
/** So many deliveries are read for one page. More would keep others waiting for the store. */
const lookedAt = 500;
