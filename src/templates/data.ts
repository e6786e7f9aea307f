import type { Event, Json } from '../model.ts';

/** What an event looks like to templates. Absent values are null, which prints as nothing. */
export interface EventData {
  readonly id: string;
  readonly candidateId: string;
  readonly candidateNumericalId: number | null;
  readonly testId: number;
  readonly status: string;
  /** ISO 8601 in UTC. */
  readonly receivedAt: string;
  readonly correlationId: string | null;
  readonly raw: { readonly [key: string]: Json };
}

/** What every template of an action can name. */
export interface TemplateData {
  readonly event: EventData;
  /** The catalog's entry for the event's test, with `id`; a key that only other entries have is null. */
  readonly test: { readonly [key: string]: Json };
  readonly rule: { readonly name: string };
  /** ISO 8601 in UTC. */
  readonly now: string;
  /** Only in digests: all events of the message, each with the catalog's entry for its test. */
  readonly events?: readonly (EventData & { readonly test: TemplateData['test'] })[];
}

function eventData(event: Event): EventData {
  return {
    id: event.id,
    candidateId: event.candidateId,
    candidateNumericalId: event.candidateNumericalId,
    testId: event.testId,
    status: event.status,
    receivedAt: new Date(event.receivedAt).toISOString(),
    correlationId: event.correlationId,
    raw: event.raw,
  };
}

/** The data of an action of `rule`, which is `unmatched` for the actions of `unmatched:`. */
export function templateData(
  event: Event,
  test: TemplateData['test'],
  rule: string,
  now: number,
): TemplateData {
  return { event: eventData(event), test, rule: { name: rule }, now: new Date(now).toISOString() };
}

/**
 * The same, made only as far as it is looked at: deciding hands it to every lane, and most lanes are constant. It has
 * getters, so it cannot be spread.
 */
export class LazyTemplateData implements TemplateData {
  readonly #source: Event;
  readonly #rule: string;
  readonly #now: number;
  readonly test: TemplateData['test'];

  constructor(event: Event, test: TemplateData['test'], rule: string, now: number) {
    this.#source = event;
    this.#rule = rule;
    this.#now = now;
    this.test = test;
  }

  get event(): EventData {
    return eventData(this.#source);
  }

  get rule(): TemplateData['rule'] {
    return { name: this.#rule };
  }

  get now(): string {
    return new Date(this.#now).toISOString();
  }
}
