import type { ActionRef, CandidateEvent, Json, PlannedDelivery } from '../model.ts';
import type { TemplateData } from '../templates/data.ts';

/** What rules test: the event, and the catalog's entry for its test (see TemplateData.test). */
export interface Subject {
  readonly event: CandidateEvent;
  readonly test: { readonly [key: string]: Json };
}

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

export type Rendered = { readonly fields: { readonly [key: string]: Json } } | { readonly fault: string };

/** One entry of a `then`, compiled. Pure. */
export interface Action extends ActionRef {
  readonly sink: string;
  readonly connector: string;
  /** The lane of a delivery; the sink's name where the connector has no lanes or the lane's template fails. */
  lane(data: TemplateData): string;
  /** Every key of the action with its templates rendered, or why one failed. */
  render(data: TemplateData): Rendered;
}

/** The part of a config by which events are decided and deliveries carried out. Immutable. */
export interface Plan {
  /** Changes with anything that changes a decision or a message. */
  readonly id: string;
  readonly rules: RuleSet;
  /** The actions of each rule, by the rule's index. */
  readonly then: readonly (readonly Action[])[];
  readonly unmatched: readonly Action[];
  /** The catalog's entry for a test id, with `id`, and null for keys that only other entries have. */
  test(testId: number): { readonly [key: string]: Json };
  /** The tests of the catalog. */
  readonly testIds: readonly number[];
}

/** The name under which the actions of `unmatched:` appear where a rule's name is expected. */
export const unmatchedRule = 'unmatched';

export interface Explanation {
  readonly rules: readonly Verdict[];
  readonly actions: readonly { readonly action: Action; readonly planned: PlannedDelivery }[];
}
