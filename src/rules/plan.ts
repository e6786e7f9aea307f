import type { Week } from './calendar.ts';
import type { ActionRef, Json, JsonMap, PlannedDelivery, Status } from '../model.ts';
import type { AlertKind } from '../model/notices.ts';
import type { Audience, FactField } from '../connector.ts';
import type { AnyTemplateData, TemplateData } from '../templates/data.ts';
import type { RenderResult } from '../templates/template.ts';
import type { Comparands, PatternResults } from './conditions.ts';
import type { Field, ConditionInput } from './fields.ts';
import type { Hours, Windows } from './calendar.ts';
import type { Wording } from '../words/wording.ts';

export interface Verdict {
  readonly rule: string;
  readonly matched: boolean;
  /** Why, in words for the hiring team. */
  readonly because: string;
}

/** All events of a test with a status. */
export interface Cell {
  readonly status: Status;
  /** The test's id; null: any test that neither the catalog nor a condition names. */
  readonly testId: number | null;
  /** The catalog's entry for the test; see Plan.test. */
  readonly test: JsonMap;
  /** Nothing is known of the catalog. */
  readonly isCatalogUnknown?: true;
  /** What is known of fields that differ among its events, by variableOf. The cell then stands for some of them. */
  readonly known?: ReadonlyMap<string, KnownValue>;
}

/** A value that stands for all those that conditions cannot tell apart from it. */
export interface KnownValue {
  /** The value; null if there is none, undefined if it is unknown. */
  readonly value: Json | undefined;
  /** If it stands for other texts, too: the results of patterns on them, as far as decided. */
  readonly found?: PatternResults;
}

/** Whether a condition holds; null where a fact that it needs is unknown. */
export type Truth = boolean | null;

/** The part of a condition that a cell does not decide. */
export interface Rest {
  holds(subject: ConditionInput): Truth;
  /** The same for a cell of which more is known. */
  given(cell: Cell): Truth | Rest;
  /** The condition for people. Continues "if". */
  readonly words: string;
  /** The fields that decide it. */
  readonly asks: readonly Ask[];
  /** An id that is the same for the same condition on the same fields. */
  readonly id: string;
}

/** A field, and what it is compared with. */
export interface Ask extends Comparands {
  readonly field: Field;
}

export interface ReachableRule {
  readonly rule: number;
  readonly final: boolean;
  /** What else decides whether an event matches; null: all events of the cell do. */
  readonly rest: Rest | null;
}

/** The `when`s of a config, compiled. Pure. */
export interface RuleSet {
  readonly names: readonly string[];
  /** Indexes of the rules that apply, in order, ending at a `final` one. */
  match(subject: ConditionInput): number[];
  /** The rules that events of a cell can match, in order, those after a `final` one included. */
  possible(cell: Cell): ReachableRule[];
  /** The test ids that conditions name. */
  readonly namedTests: ReadonlySet<number>;
  /** One verdict for each rule, in order. Rules after a matching `final` one were not reached. */
  explain(subject: ConditionInput): Verdict[];
}

/** One entry of a `then`, compiled. Pure. */
export interface Action extends ActionRef {
  readonly sink: string;
  readonly connector: string;
  /** The opening hours that its messages wait for, or null. */
  readonly hours: Hours | null;
  /** How events are collected; null if each gets its own message. */
  readonly digest: Digest | null;
  /** The lane of a delivery: the sink's name if the connector has none or its template fails. Most do not read the data. */
  lane(data: () => AnyTemplateData): string;
  /** Every key of the action with its templates rendered, or why one failed. */
  render(data: AnyTemplateData): RenderResult;
  /** Who gets the message; null if a template fails. Without data: as the config writes it. */
  audience(data: AnyTemplateData | null): Audience | null;
  /** Only for an action of a stored plan: why it can no longer be carried out. */
  readonly unusable?: string;
}

/** How the events of an action are collected into one message. */
export interface Digest {
  readonly windows: Windows;
  /** The most events of one message. */
  readonly max: number;
  /** The events of one message have the same values in these fields. */
  readonly by: readonly Field[];
  /** Where the message goes, rendered. Events that go elsewhere get a message of their own. */
  place(data: TemplateData): Json;
  /** A group, or a hash of it if it has a secret. */
  conceal(group: string): string;
  /** Changes with the message's templates, so that no digest mixes those from before and after a reload. */
  readonly contentId: string;
}

/** Actions for when the connector itself needs a person. */
export interface Alert {
  readonly kind: AlertKind;
  /** How long the cause must last; 0: alert at once. */
  readonly afterMs: number;
  /** Actions without digests. Their rule is `alerts.dead` and so on. */
  readonly actions: readonly Action[];
}

/** The weekly summary of what came and what became of it. */
export interface Summary {
  readonly week: Week;
  /** Actions without digests. Their rule is summaryRule. */
  readonly actions: readonly Action[];
}

/** A look-up of a plan, compiled: what is asked about an event before it is decided. */
export interface Lookup {
  /** The look-up's name. Its facts are `name.field`. */
  readonly name: string;
  /** Whether it is made for an event: its `when`, which uses no facts. */
  readonly applies: (subject: ConditionInput) => boolean;
  /** Whether it is made for the events of a cell, or what that depends on. */
  readonly given: (cell: Cell) => Truth | Rest;
  readonly fields: ReadonlyMap<string, FactField>;
  /** The fields without which an answer counts as not ready. */
  readonly until: readonly string[];
  /** How long an event waits for the answer before it is decided without. */
  readonly waitForMs: number;
  /** How long personal fields are kept; null: as long as the event. */
  readonly keepMs: number | null;
}

/** The part of a config that decides events and renders messages. Immutable. */
export interface Plan {
  /** Changes with anything that changes a decision or a message. */
  readonly id: string;
  readonly rules: RuleSet;
  /** The actions of each rule, by the rule's index. */
  readonly then: readonly (readonly Action[])[];
  readonly unmatched: readonly Action[];
  /** Rules (by index) of whose events nobody is meant to hear, and whether that is so of events that no rule matched. */
  readonly silent: { readonly rules: ReadonlySet<number>; readonly unmatched: boolean };
  /** At most one of each kind. */
  readonly alerts: readonly Alert[];
  readonly summary: Summary | null;
  /** The catalog's entry for a test id, with `id`. Keys that only other entries have are null. */
  readonly test: (testId: number) => JsonMap;
  /** The look-ups whose facts the plan uses, by name. Others are not made. */
  readonly lookups: ReadonlyMap<string, Lookup>;
  readonly testIds: readonly number[];
  /** The config's time zone, for days and times for which nothing else is said. */
  readonly timeZone: string;
  /** The default texts in the config's language. */
  readonly wording: Wording;
  /** Replaces the plan's secrets in a text with `***`. */
  mask(text: string): string;
}

/** The rule name of the actions of `unmatched:`. */
export const unmatchedRule = 'unmatched';

export const alertRule = (kind: AlertKind): string => `alerts.${kind}`;

/** The rule name of the summary's actions. No rule's name begins like that. */
export const summaryRule = 'alerts.summary';

/** All actions of a plan: of rules, of `unmatched`, of alerts and of the summary. */
export function allActions({ then, unmatched, alerts, summary }: Plan): Action[] {
  const told = [...alerts, ...(summary ? [summary] : [])];
  return [...then.flat(), ...unmatched, ...told.flatMap(({ actions }) => actions)];
}

export interface Explanation {
  readonly rules: readonly Verdict[];
  readonly actions: readonly { readonly action: Action; readonly planned: PlannedDelivery }[];
}
