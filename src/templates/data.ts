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

export function eventData(event: Event): EventData {
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

/**
 * The data of an action of `rule`, which is `unmatched` for the actions of `unmatched:`. Made only when it is looked
 * at: deciding asks for it once per action, and most lanes are constant.
 */
export function templateData(
  event: Event,
  test: TemplateData['test'],
  rule: string,
  now: number,
): TemplateData {
  let seen: EventData | undefined;
  return {
    get event() {
      seen ??= eventData(event);
      return seen;
    },
    test,
    rule: { name: rule },
    get now() {
      return new Date(now).toISOString();
    },
  };
}
