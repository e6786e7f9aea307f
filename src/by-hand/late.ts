import type { FindPlan } from '../config/live/stored-plans.ts';
import { aboutEvent } from '../deliveries/prepare.ts';
import { lookupsOf } from '../deliveries/deciding.ts';
import { foundBy } from '../lookups/kept-facts.ts';
import { decide } from '../rules/decide.ts';
import { allActions, type Plan } from '../rules/plan.ts';
import type { EventStory, Late } from '../store/store.ts';
import { cannotUse, isUnsent, leftToTell, type Unplanned } from './todays-action.ts';

/** What a person has an event told of that came before: by a rule, or by the look-ups of today's config. */

/**
 * Plans the deliveries of a rule for an event that came before it, as if the event came now, with hours and digests. Null if
 * the rule asks for nothing, or the event has deliveries of it. With `discarded`, where some of these are unsent, only what
 * none of the others has done or may do. A fault if that cannot be told.
 */
export async function planLate(
  plan: Plan,
  findPlan: FindPlan,
  { event, decided, deliveries, lookups }: Omit<EventStory, 'configId' | 'duplicates'>,
  rule: string,
  now: number,
  discarded = false,
): Promise<Late | Unplanned | null> {
  const had = deliveries.filter((one) => one.rule === rule);
  if (had.length > 0 && !(discarded && had.some(isUnsent))) return null;
  if (!decided) return { fault: 'it is not decided yet, as it waits for its look-ups' };
  const facts = foundBy(lookups);
  const all = decide(plan, event, facts, now).filter((one) => one.rule === rule);
  const asked = await leftToTell(all, had, { plan, findPlan, about: aboutEvent(event, facts), now });
  if (asked.length === 0) return null;
  const unusable = allActions(plan).find((one) => one.rule === rule && one.unusable !== undefined)?.unusable;
  return unusable === undefined
    ? { eventId: event.id, configId: plan.id, deliveries: asked, had: had.length }
    : cannotUse(unusable);
}

/** The names of the rules that ask for something for an event by today's facts, and of which it has no deliveries. */
export function lateRules(
  plan: Plan,
  { event, decided, deliveries, lookups }: Pick<EventStory, 'event' | 'decided' | 'deliveries' | 'lookups'>,
  now: number,
): string[] {
  if (!decided) return [];
  const had = new Set(deliveries.map(({ rule }) => rule));
  const asked = decide(plan, event, foundBy(lookups), now).map(({ rule }) => rule);
  return [...new Set(asked)].filter((rule) => !had.has(rule));
}

/** Plans the look-ups of a decided event again, by today's plan; or says why there are none. */
export function planLookups(
  plan: Plan,
  { event, decided }: Pick<EventStory, 'event' | 'decided'>,
  now: number,
): Late | Unplanned {
  if (!decided) return { fault: 'it is not decided yet: it waits for its look-ups' };
  const asked = lookupsOf(plan, event)?.asked ?? [];
  if (asked.length === 0) return { fault: "today's config has no look-up for it that anything uses" };
  const deliveries = asked.map((one) => Object.assign(one, { dueAt: now }));
  return { eventId: event.id, configId: plan.id, deliveries };
}
