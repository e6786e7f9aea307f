import type { ActionRef, Event, Json, JsonMap, Notice, PlannedDelivery } from '../model.ts';
import type { AnyTemplateData, TemplateData } from '../templates/data.ts';
import type { Rendered } from '../templates/template.ts';
import type { Field, Subject } from './fields.ts';
import type { Hours, Windows } from './calendar.ts';

export interface Verdict {
  readonly rule: string;
  readonly matched: boolean;
  /** A sentence that a hiring person understands. */
  readonly because: string;
}

/** The `when`s of a config, compiled. Pure. */
export interface RuleSet {
  /** Indexes of the rules that apply, in order, ending at a `final` one. */
  match(subject: Subject): number[];
  /** One verdict for each rule, in order; a rule after a matching `final` one says that it was not reached. */
  explain(subject: Subject): Verdict[];
}

/** One entry of a `then`, compiled. Pure. */
export interface Action extends ActionRef {
  readonly sink: string;
  readonly connector: string;
  /** The opening hours that its messages wait for; null where they go at any time. */
  readonly hours: Hours | null;
  /** Null where each event has a message of its own. */
  readonly digest: Digest | null;
  /** The lane of a delivery; the sink's name where the connector has no lanes or the lane's template fails. */
  lane(data: AnyTemplateData): string;
  /** Every key of the action with its templates rendered, or why one failed. */
  render(data: AnyTemplateData): Rendered;
  /** Of an action from a store: why it cannot be carried out any more. */
  readonly lost?: string;
}

/** How the events of an action are collected into one message. */
export interface Digest {
  readonly windows: Windows;
  /** The most events of one message. */
  readonly max: number;
  /** The events of one message agree in these. */
  readonly by: readonly Field[];
  /** Where the message goes, rendered: events that would go elsewhere get another one. */
  place(data: TemplateData): Json;
  /** A group by which no secret that is in it can be read. */
  conceal(group: string): string;
  /** Changes with what the message says, so that a reload in between cannot mix two ways to say it. */
  readonly contentId: string;
}

/** Actions for when the connector itself needs a person. */
export interface Alert {
  readonly kind: Notice['alert'];
  /** How long its cause has to last; 0: at once. */
  readonly afterMs: number;
  /** Without digests. Their rule is `alerts.dead` and so on. */
  readonly actions: readonly Action[];
}

/** The part of a config by which events are decided and deliveries carried out. Immutable. */
export interface Plan {
  /** Changes with anything that changes a decision or a message. */
  readonly id: string;
  readonly rules: RuleSet;
  /** The actions of each rule, by the rule's index. */
  readonly then: readonly (readonly Action[])[];
  readonly unmatched: readonly Action[];
  /** At most one of each kind. */
  readonly alerts: readonly Alert[];
  /** The catalog's entry for a test id, with `id`, and null for keys that only other entries have. */
  readonly test: (testId: number) => JsonMap;
  /** The tests of the catalog. */
  readonly testIds: readonly number[];
  /** Replaces what the plan has of secrets in a text by `***`. */
  mask(text: string): string;
  /** Of a plan from a store: what of it cannot be used any more, its actions apart. */
  readonly unusable?: Unusable;
}

export interface Unusable {
  /** Why it can decide nothing any more; null where it can. */
  readonly deciding: string | null;
  /** The tests whose entries of the catalog cannot be used any more, and why. */
  readonly tests: ReadonlyMap<number, string>;
}

/** The name under which the actions of `unmatched:` appear where a rule's name is expected. */
export const unmatchedRule = 'unmatched';

/** The name under which the actions of an alert do. */
export const alertRule = (kind: Alert['kind']): string => `alerts.${kind}`;

/** Every action of a plan: those of rules, of `unmatched` and of alerts. */
export function allActions({ then, unmatched, alerts }: Plan): Action[] {
  return [...then.flat(), ...unmatched, ...alerts.flatMap(({ actions }) => actions)];
}

export interface Explanation {
  readonly rules: readonly Verdict[];
  readonly actions: readonly { readonly action: Action; readonly planned: PlannedDelivery }[];
}

/** Why an action cannot be carried out any more for these events: it, or the test of one of them. */
export function whyLost({ unusable }: Plan, action: Action, events: readonly Event[]): string | undefined {
  const ofTests = events.map(({ testId }) => unusable?.tests.get(testId));
  return action.lost ?? ofTests.find((why) => why !== undefined);
}
