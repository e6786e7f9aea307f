import type { Event, PlannedDelivery } from '../model.ts';
import { LazyTemplateData } from '../templates/data.ts';
import { nextOpen } from './hours.ts';
import type { Action, Digest, Subject } from './plan.ts';
import { windowEnd } from './windows.ts';

/** When a delivery is due, and with which others it becomes one message. */
export type Schedule = Pick<PlannedDelivery, 'dueAt' | 'group' | 'groupMax'>;

/** Hours and digests only ever move `dueAt` or set a group. Without them: at once and alone. */
export function schedule(action: Action, event: Event, test: Subject['test'], now: number): Schedule {
  const { digest } = action;
  const dueAt = openFrom(action, digest ? windowEnd(digest.windows, now) : now);
  if (!digest) return { dueAt, group: null, groupMax: null };
  return { dueAt, group: groupOf(action, digest, { event, test }, dueAt), groupMax: digest.max };
}

/** The first moment from `time` on (ms) at which the action's hours are open. */
export function openFrom({ hours }: Pick<Action, 'hours'>, time: number): number {
  // Hours that never open are refused with the config. Should such ones come from a store, late is better than never.
  return hours ? (nextOpen(hours, time) ?? time) : time;
}

/**
 * What has to agree for one message to tell of several events. By the due time and not by the window: windows that
 * closed while the hours were not open go together.
 */
function groupOf(
  { rule, action }: Action,
  digest: Digest,
  { event, test }: Subject & { readonly event: Event },
  dueAt: number,
): string {
  const values = digest.by.map((field) => field.read({ event, test }));
  const place = digest.place(new LazyTemplateData(event, test, rule, dueAt));
  return JSON.stringify([rule, action, new Date(dueAt).toISOString(), values, place, digest.contentId]);
}
