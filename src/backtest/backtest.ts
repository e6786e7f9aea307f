import type { PlanFault } from '../config/live/stored-plans.ts';
import type { AnyConnector } from '../connector.ts';
import { type Event, type Facts, type Json, noFacts } from '../model.ts';
import { subjectOf } from '../rules/decide.ts';
import type { Plan } from '../rules/plan.ts';
import { type Mask, maskTexts } from '../support/secret.ts';
import { count } from '../support/text.ts';
import {
  compare,
  type Difference,
  type Edit,
  editsOf,
  plannedFor,
  type PlannedMessage,
  type MessageContent,
  wholly,
} from './differences.ts';
import { digestKey, Digests } from './digests.ts';
import { Effects } from './effects.ts';
import { addTo } from '../support/lists.ts';

/** What another plan changes, for people. Plain data, which can pass between threads. */
export interface BacktestReport {
  readonly compared: number;
  readonly differing: number;
  readonly headline: string;
  readonly sentences: readonly string[];
  readonly groups: readonly DifferenceGroup[];
  /** Events that differ in different ways; of all others, only the number is told. */
  readonly examples: readonly Example[];
  /** The new config's, for the times of the examples. */
  readonly timeZone: string;
  /** What could not be compared, or only without facts. */
  readonly notes: readonly string[];
}

/** How often one action changes in one way. */
export interface DifferenceGroup extends Pick<PlannedMessage, 'sink' | 'rule'> {
  readonly kind: Difference['kind'];
  readonly keys: readonly string[];
  readonly count: number;
}

export interface ExampleEvent extends Pick<
  Event,
  'id' | 'receivedAt' | 'status' | 'testId' | 'candidateId' | 'candidateNumericalId'
> {
  /** The test's name in the catalog; null without one. */
  readonly testName: string | null;
}

export interface Example {
  readonly event: ExampleEvent;
  readonly found: readonly ExampleDifference[];
}

/** A message before and after, as a person reads it. */
export interface ExampleDifference extends Pick<PlannedMessage, 'sink' | 'rule' | 'connector'> {
  readonly kind: Difference['kind'];
  readonly before: MessageContent | null;
  readonly after: MessageContent | null;
  /** The edits that a person sees. */
  readonly edits: readonly Edit[];
  /** If a person sees none: the keys that differ all the same. */
  readonly unread: readonly string[];
}

const mostExamples = 10;

/** Adds up what the plan `next` changes, with a few events as examples. */
export class Backtest {
  /** Why events could not be compared, with how many. */
  readonly #lost = new Map<string, number>();
  /** Look-ups of the new plan, with how many events nothing was looked up for. */
  readonly #withoutFacts = new Map<string, number>();
  differing = 0;
  #compared = 0;
  readonly #next: Plan;
  readonly #connectors: ReadonlyMap<string, AnyConnector>;
  readonly #effects: Effects;
  readonly #digests = new Digests();
  readonly #groups = new Map<string, DifferenceGroup & { count: number }>();
  readonly #examples: Example[] = [];

  constructor(next: Plan, connectors: ReadonlyMap<string, AnyConnector>) {
    this.#next = next;
    this.#connectors = connectors;
    this.#effects = new Effects(connectors);
  }

  /** Compares what the plan makes of an event with what its own plan, `then`, made of it. `facts`: those that were kept. */
  add(event: Event, facts: Facts, then: Plan | PlanFault): readonly Difference[] {
    const before = wholly(then);
    if ('fault' in before) {
      addTo(this.#lost, before.fault);
      return [];
    }
    const found = compare(
      plannedFor(before, event, facts),
      plannedFor(this.#next, event, facts),
      (was, planned) => this.#digests.compare(was, planned),
    );
    this.#compared += 1;
    this.#noteMissing(event, facts);
    if (found.length === 0) return found;
    this.differing += 1;
    this.#effects.add(found);
    const known = this.#groups.size;
    for (const { kind, planned, edits } of found) {
      const { sink, rule } = planned;
      const keys = edits.map((edit) => edit.key);
      const key = JSON.stringify([kind, sink, rule, keys]);
      const group = this.#groups.getOrInsertComputed(key, () => ({ kind, sink, rule, keys, count: 0 }));
      group.count += 1;
    }
    const isNews = this.#groups.size > known;
    if (isNews && this.#examples.length < mostExamples) this.#examples.push(this.#exampleOf(event, found));
    return found;
  }

  #noteMissing(event: Event, facts: Facts): void {
    const { lookups } = this.#next;
    if (lookups.size === 0) return;
    const subject = subjectOf(this.#next, event, noFacts);
    for (const [name, { applies }] of lookups)
      if (applies(subject) && (facts[name]?.state ?? 'waiting') === 'waiting')
        addTo(this.#withoutFacts, name);
  }

  #exampleOf(event: Event, found: readonly Difference[]): Example {
    const { id, receivedAt, status, testId, candidateId, candidateNumericalId } = event;
    const { name } = this.#next.test(testId);
    const testName = typeof name === 'string' && name !== '' ? name : null;
    const asRead = ({ connector, dueAt, fields, fault }: PlannedMessage): MessageContent => {
      const readable = this.#connectors.get(connector)?.describe?.readable?.(fields);
      return { dueAt, fault, fields: readable ?? fields };
    };
    return {
      event: { id, receivedAt, status, testId, testName, candidateId, candidateNumericalId },
      found: found.map(({ kind, planned, was, edits: all }) => {
        const { sink, rule, connector } = planned;
        const one = asRead(planned);
        const before = was ? asRead(was) : kind === 'removed' ? one : null;
        const after = kind === 'removed' ? null : one;
        const apart = all.filter(({ key }) => key === digestKey);
        const edits = was && before ? [...editsOf(before, one), ...apart] : [];
        const unread = edits.length === 0 ? all.map(({ key }) => key) : [];
        return { kind, sink, rule, connector, before, after, edits, unread };
      }),
    };
  }

  /** Says which facts the new plan needs that were not looked up. */
  missing(): string[] {
    return Array.from(
      this.#withoutFacts,
      ([name, many]) => `${count(many, 'event')} without facts of ${name}: compared as if these were unknown`,
    );
  }

  /** Says which events could not be compared, and why. */
  lost(): string[] {
    return Array.from(this.#lost, ([why, many]) => `${count(many, 'event')} could not be compared: ${why}`);
  }

  /** The report. `mask`: hides secrets now, as markup could later break them up. */
  report(mask: Mask = (text) => text): BacktestReport {
    const [compared, differing] = [this.#compared, this.differing];
    const total = `${count(compared, 'event')} compared`;
    const report: BacktestReport = {
      compared,
      differing,
      headline:
        compared === 0 && this.#lost.size > 0
          ? 'No event could be compared.'
          : differing === 0
            ? `${total}: everything would be delivered as it was decided.`
            : `${total}: ${differing} would be delivered differently.`,
      sentences: this.#effects.sentences(),
      groups: [...this.#groups.values()].toSorted((a, b) => b.count - a.count),
      examples: this.#examples,
      timeZone: this.#next.timeZone,
      notes: [...this.missing(), ...this.lost()],
    };
    return maskTexts(report as unknown as Json, mask) as unknown as BacktestReport;
  }
}
