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
  /** null: any test that neither the catalog nor a condition names. */
  readonly testId: number | null;
  /** The catalog's entry for the test; see Plan.test. */
  readonly test: JsonMap;
  /** Nothing is known of the catalog. */
  readonly isCatalogUnknown?: true;
  /** For some of its events: what is known of the fields that differ among them, by variableOf. */
  readonly known?: ReadonlyMap<string, KnownValue>;
}

/** A value, for those that conditions cannot tell apart from it. */
export interface KnownValue {
  /** Null where there is none; undefined where nobody knows it. */
  readonly value: Json | undefined;
  /** Where it stands for other texts, too: which patterns are found in these, as far as that is decided. */
  readonly found?: PatternResults;
}

/** Whether a condition holds; null where a fact that it needs is unknown. */
export type Truth = boolean | null;

/** What a condition depends on where a cell does not decide it. */
export interface Rest {
  holds(subject: ConditionInput): Truth;
  /** The same where more of the cell is known. */
  given(cell: Cell): Truth | Rest;
  /** For people. Continues "if". */
  readonly words: string;
  /** What decides it. */
  readonly asks: readonly Ask[];
  /** The same for the same condition on the same fields. */
  readonly id: string;
}

/** A field, and what it is compared with. */
export interface Ask extends Comparands {
  readonly field: Field;
}

/** A rule that events of a cell can match. */
export interface ReachableRule {
  readonly rule: number;
  readonly final: boolean;
  /** null: all of them do. */
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
  /** Null if each event gets its own message. */
  readonly digest: Digest | null;
  /**
   * The lane of a delivery. The sink's name if the connector has no lanes or the lane's template fails. Most need no data to
   * say it.
   */
  lane(data: () => AnyTemplateData): string;
  /** Every key of the action with its templates rendered, or why one failed. */
  render(data: AnyTemplateData): RenderResult;
  /** Who gets its message; null if a template fails. Without data, as the config has it. */
  audience(data: TemplateData | null): Audience | null;
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
  /** The group, or a hash of it if it has a secret. */
  conceal(group: string): string;
  /** Changes with the message's templates, so that no digest mixes those from before and after a reload. */
  readonly contentId: string;
}

/** Actions for when the connector itself needs a person. */
export interface Alert {
  readonly kind: AlertKind;
  /** How long the cause must last; 0: alert at once. */
  readonly afterMs: number;
  /** They have no digests. Their rule is `alerts.dead` and so on. */
  readonly actions: readonly Action[];
}

/** What tells every week what came and what became of it. */
export interface Summary {
  readonly week: Week;
  /** They have no digests. Their rule is summaryRule. */
  readonly actions: readonly Action[];
}

/** A look-up of a plan, compiled: what is asked about an event before it is decided. */
export interface Lookup {
  /** Its facts are `name.field`. */
  readonly name: string;
  /** Whether it is made for an event: its `when`, which uses no facts. */
  readonly applies: (subject: ConditionInput) => boolean;
  /** The same for the events of a cell. */
  readonly given: (cell: Cell) => Truth | Rest;
  readonly fields: ReadonlyMap<string, FactField>;
  /** The event is decided then at the latest. */
  readonly waitForMs: number;
  /** Personal fields go then; null: with the event. */
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
  /** Where nobody is meant to hear of an event: rules, by index, and events that no rule matched. */
  readonly silent: { readonly rules: ReadonlySet<number>; readonly unmatched: boolean };
  /** At most one of each kind. */
  readonly alerts: readonly Alert[];
  readonly summary: Summary | null;
  /** The catalog's entry for a test id, with `id`. Keys that only other entries have are null. */
  readonly test: (testId: number) => JsonMap;
  /** By name: those whose facts something of the plan uses. The others are not made. */
  readonly lookups: ReadonlyMap<string, Lookup>;
  /** The tests of the catalog. */
  readonly testIds: readonly number[];
  /** The config's, which its days and times are by where nothing else is said. */
  readonly timeZone: string;
  /** What is said of the connector itself, in the config's language. */
  readonly wording: Wording;
  /** Replaces the plan's secrets in a text with `***`. */
  mask(text: string): string;
}

/** The rule name of the actions of `unmatched:`. */
export const unmatchedRule = 'unmatched';

/** The rule name of an alert's actions. */
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
