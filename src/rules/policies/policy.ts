import type { Audience, Place } from '../../connector.ts';
import type { Event, Facts, JsonMap } from '../../model.ts';
import { templateData } from '../../templates/data.ts';
import type { CompiledCondition } from '../compile-when.ts';
import { actionsFor, subjectOf } from '../decide.ts';
import type { Action, Plan, Truth } from '../plan.ts';

/**
 * What must hold for every event that could come. Where a cell decides all conditions, it is proven for all its events at
 * once; else for each kind of value that conditions tell apart. Only an event about which the rules were asked disproves it.
 */
export interface Policy {
  /** `always`: a message has to go there. `most`: no more than `most` may. */
  readonly wants: 'always' | 'most';
  readonly most: number;
  /** The place in question; null: each place, counted alone. */
  readonly target: { readonly sink: string; readonly place: Place | null } | null;
  readonly when: CompiledCondition;
  /** The tests and the look-ups that `when` names. */
  readonly tests: readonly number[];
  readonly lookups: readonly string[];
  /** Why conditions cannot be compared, if a reference in them has no value; else null. */
  readonly unset: string | null;
}

export interface Example {
  readonly event: Event;
  readonly facts: Facts;
  /** The messages in question: too many of them, or all that there are. */
  readonly actions: readonly Action[];
  /** The place that they go to. */
  readonly place: Place | null;
}

/** The time (ms) of the events of examples. Rules do not depend on it. */
export const sampleTime = Date.parse('2026-01-05T10:00:00Z');

/** The event of an example as a scenario writes it. */
export function eventOf({ event, facts }: Example): JsonMap {
  const { status, testId, candidateId, candidateNumericalId } = event;
  const told = Object.entries(facts).map(([name, { fields }]) => {
    const known = Object.entries(fields).map(([key, value]) => [key, value ?? 'absent'] as const);
    return [name, known.length === 0 ? 'unknown' : Object.fromEntries(known)] as const;
  });
  const number = candidateNumericalId === null ? {} : { candidateNumericalId };
  return { status, testId, candidateId, ...number, ...Object.fromEntries(told) };
}

/** The places of a message; null if a reference in them has no value. */
export const placesOf = (audience: Audience | null): readonly Place[] | null =>
  audience === null || audience.place.includes('${') ? null : audience.places;

/** Asks the rules about an event. Gives an example if it breaks the policy for certain, else null. */
export function judged(plan: Plan, policy: Policy, event: Event, facts: Facts): Example | null {
  const subject = subjectOf(plan, event, facts);
  if (policy.when.holds(subject) !== true) return null;
  const messages = actionsFor(plan, subject).map((action) => {
    const data = templateData(event, plan.test(event.testId), facts, action.rule, sampleTime);
    return { action, places: placesOf(action.audience(data)) };
  });
  const { wants, most, target } = policy;
  const at = (sink: string, place: Place | null) =>
    messages.flatMap(({ action, places }) => {
      if (action.sink !== sink) return [];
      const is = place === null ? true : places === null ? null : isAmong(place, places);
      return is === false ? [] : [{ action, is }];
    });
  const actionsOf = (all: readonly { readonly action: Action }[]) => all.map(({ action }) => action);
  if (target && wants === 'always')
    return at(target.sink, target.place).length > 0
      ? null
      : { event, facts, actions: actionsOf(messages), place: null };
  const places = target
    ? [target]
    : messages.flatMap(({ action: { sink }, places: own }) => (own ?? []).map((place) => ({ sink, place })));
  for (const { sink, place } of places) {
    const sure = at(sink, place).filter(({ is }) => is === true);
    if (sure.length > most) return { event, facts, actions: actionsOf(sure), place };
  }
  return null;
}

/** Whether a place is among those of a message; null if that cannot be told. */
export function isAmong(place: Place, places: readonly Place[]): Truth {
  let isIt: Truth = false;
  for (const { id, kind, by } of places) {
    if (kind !== place.kind) continue;
    if (by !== place.by) isIt = null;
    else if (id === place.id) return true;
  }
  return isIt;
}
