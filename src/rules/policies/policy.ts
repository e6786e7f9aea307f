import type { Audience, Place } from '../../connector.ts';
import type { Event, Facts, JsonMap } from '../../model.ts';
import { templateData } from '../../templates/data.ts';
import type { CompiledCondition } from '../compile-when.ts';
import { actionsFor, subjectOf } from '../decide.ts';
import type { Action, Plan, Truth } from '../plan.ts';

/**
 * What must hold for every event that could come. It is shown for all events of a cell at once where the cell decides the
 * conditions; where it does not, for each kind of value that these tell apart. What breaks it is an event that the rules
 * themselves were asked about.
 */
export interface Policy {
  /** `always`: a message goes there. `most`: no more than so many do. */
  readonly wants: 'always' | 'most';
  readonly most: number;
  /** Null: any, each counted alone. */
  readonly target: { readonly sink: string; readonly place: Place | null } | null;
  readonly when: CompiledCondition;
  /** The tests and the look-ups that `when` names. */
  readonly tests: readonly number[];
  readonly lookups: readonly string[];
  /** Why conditions cannot be compared: a value from outside is not there. Null if all are. */
  readonly unset: string | null;
}

/** An event that breaks a policy. */
export interface Example {
  readonly event: Event;
  readonly facts: Facts;
  /** The messages in question: too many of them, or all that there are. */
  readonly actions: readonly Action[];
  /** Where they go. */
  readonly place: Place | null;
}

/** When the events of examples come. What rules decide does not depend on it. */
export const sampleTime = Date.parse('2026-01-05T10:00:00Z');

/** The event as a scenario has it. */
export function eventOf({ event, facts }: Example): JsonMap {
  const { status, testId, candidateId, candidateNumericalId } = event;
  const told = Object.entries(facts).map(([name, { fields }]) => {
    const known = Object.entries(fields).map(([key, value]) => [key, value ?? 'absent'] as const);
    return [name, known.length === 0 ? 'unknown' : Object.fromEntries(known)] as const;
  });
  const number = candidateNumericalId === null ? {} : { candidateNumericalId };
  return { status, testId, candidateId, ...number, ...Object.fromEntries(told) };
}

/** Where messages go; null where a value from outside is not there. */
export const placesOf = (audience: Audience | null): readonly Place[] | null =>
  audience === null || audience.place.includes('${') ? null : audience.places;

/** What the rules make of an event, if that breaks the policy for certain. */
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

/** Whether a place is among those of a message; null where nobody can tell. */
export function isAmong(place: Place, places: readonly Place[]): Truth {
  let isIt: Truth = false;
  for (const { id, kind, by } of places) {
    if (kind !== place.kind) continue;
    if (by !== place.by) isIt = null;
    else if (id === place.id) return true;
  }
  return isIt;
}
