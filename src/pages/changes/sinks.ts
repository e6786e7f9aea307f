import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { pauseSink, retrySink } from '../../deliveries/by-hand.ts';
import type { By } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { notUnderstood } from '../frame/asking.ts';
import { actionsForm, type Form, type PageRequest, type Parts } from '../page.ts';
import { patienceMs } from './run.ts';

/** What people do to a sink, or to a look-up's: try it now, pause it, let it go on. */

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

/** Resolves to when the pause ends; null where somebody has to end it. */
export const pause = ({ store, wake }: Parts, sink: string, forMs: number | null, by: By) =>
  pauseSink(store, sink, forMs, by, wake);

/** Returns whether a person had paused it. */
export async function resume({ store, wake }: Parts, sink: string, by: By): Promise<boolean> {
  const isDone = await store.resumeByPerson(sink, await store.now(), by);
  wake();
  return isDone;
}
