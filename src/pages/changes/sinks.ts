import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { pauseSink, retrySink } from '../../by-hand/sinks.ts';
import type { By } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { notUnderstood } from '../frame/asking.ts';
import { csrfField, type Form, type PageRequest, type Parts } from '../page.ts';
import { patienceMs } from './run.ts';

/** What people do to a sink, or to the sink of a look-up: try it now, pause it, resume it. */

/** The button that tries a paused or failing sink; false for a person who may change nothing. */
export const retryButton = (sink: string, asked: PageRequest): Html | false =>
  asked.person.role === 'full' &&
  html`<form class="actions" method="post" action="/attention/retry">
    ${csrfField(asked)}
    <button class="quiet" name="sink" value="${sink}" aria-label="Try now: ${sink}">Try now</button>
  </form>`;

export const retryForm: Form = {
  path: '/attention/retry',
  async carryOut({ form: { sink = '' }, by }, parts) {
    if (!isCalled(parts.config(), sink)) return notUnderstood;
    await tryNow(parts, sink, by);
    await sleep(patienceMs);
    return '/attention';
  },
};

/** Whether the config has a sink, or a look-up, whose sink has this name. */
export const isCalled = ({ sinks, lookups }: Config, sink: string): boolean =>
  sinks.has(sink) || lookups.has(sink);

export async function tryNow(parts: Parts, sink: string, by: By) {
  const found = await retrySink(parts.reads, parts.store, sink, by);
  parts.wake();
  return found;
}

/** Resolves to when the pause ends (ms); null where somebody has to end it. `forMs` null: without an end. */
export const pause = ({ store, wake }: Parts, sink: string, forMs: number | null, by: By) =>
  pauseSink(store, sink, forMs, by, wake);

/** Resolves to whether a person had paused the sink. */
export async function resume({ store, wake }: Parts, sink: string, by: By): Promise<boolean> {
  const isDone = await store.resumeByPerson(sink, await store.now(), by);
  wake();
  return isDone;
}
