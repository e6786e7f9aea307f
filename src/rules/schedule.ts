import type { Event } from '../model.ts';
import type { Action } from './plan.ts';

/** When a delivery is due (ms), and with which others it becomes one message. */
export interface Schedule {
  readonly dueAt: number;
  readonly group: string | null;
}

/** At once and alone. Hours and digests only ever move `dueAt` or set `group`, here. */
export function schedule(_action: Action, _event: Event, now: number): Schedule {
  return { dueAt: now, group: null };
}
