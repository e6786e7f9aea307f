import {
  type Delivery,
  type Facts,
  isMap,
  isStuck,
  isUnderWay,
  type Json,
  lookupConnector,
  type LookupFacts,
  lookupOf,
} from '../model.ts';
import type { Outcome } from '../model/outcomes.ts';
import type { Lookup } from '../rules/plan.ts';
import type { AttemptResult, EventDetail, GivenUp } from '../store/store.ts';
import { personalMasker } from '../support/masker.ts';
import { type Mask, maskTexts } from '../support/secret.ts';

/** The facts of a look-up, kept as its delivery's `progress`; also those of an answer that is not complete. */
export interface KeptFacts extends LookupFacts {
  /** The names of the fields that say who the candidate is. */
  readonly personal: readonly string[];
}

const keptIn = (progress: Json): KeptFacts | null =>
  isMap(progress) && isMap(progress['fields']) ? (progress as unknown as KeptFacts) : null;

const without = (facts: KeptFacts): KeptFacts => ({
  ...facts,
  fields: Object.fromEntries(
    Object.entries(facts.fields).filter(([field]) => !facts.personal.includes(field)),
  ),
  personal: [],
});

/** The facts of an event's look-ups. `public`: without personal fields. */
export function foundBy(lookups: readonly Delivery[], which: 'all' | 'public' = 'all'): Facts {
  const bySink = Map.groupBy(lookups, ({ sink }) => sink);
  return Object.fromEntries(
    Array.from(bySink, ([sink, asked]) => {
      const { personal: _, ...facts } = latest(asked, which);
      return [lookupOf(sink) ?? sink, facts];
    }),
  );
}

/**
 * The facts of an event's look-ups as they were known at a time (ms) when a message of it was due. The first of each had ended
 * by then, though perhaps later by the clock of the replica that made it.
 */
export function knownAt(time: number, lookups: readonly Delivery[]): Facts {
  const isFirst = (one: Delivery) => one === lookups.find(({ sink }) => sink === one.sink);
  return foundBy(lookups.filter((one) => isFirst(one) || !((keptIn(one.progress)?.at ?? 0) > time)));
}

/** Whether an API answered to a look-up that there is nothing; perhaps because its URL is wrong. */
export const hasAbsent = ({ lookups }: { readonly lookups: readonly Delivery[] }): boolean =>
  Object.values(foundBy(lookups)).some(({ state }) => state === 'absent');

/** Whether an API answered, and something of what is asked for was not there or could not be read. */
export const lacksFacts = ({ lookups }: { readonly lookups: readonly Delivery[] }): boolean =>
  Object.values(foundBy(lookups)).some(
    ({ state, reason, fields }) =>
      state === 'absent' ||
      (state === 'answered' && (reason !== null || Object.values(fields).includes(null))),
  );

/** The facts of the last of several tries at a look-up that found something. */
function latest(asked: readonly Delivery[], which: 'all' | 'public'): KeptFacts {
  const ended = asked.filter((one) => !isUnderWay(one.state)).map(({ progress }) => keptIn(progress));
  const known = ended.findLast((one) => one !== null && one.state !== 'unknown') ?? ended.at(-1);
  if (known) return which === 'all' ? known : without(known);
  const state = ended.length === 0 ? 'waiting' : 'unknown';
  return { state, at: null, reason: asked.at(-1)?.lastError ?? null, fields: {}, personal: [] };
}

/** Makes a mask for the personal fields of look-ups, which tools may quote. */
export function hidingPersonal(lookups: readonly Delivery[]): Mask {
  const values = lookups
    .flatMap(({ progress }) => keptIn(progress) ?? [])
    .flatMap(({ fields, personal }) => personal.map((field) => fields[field] ?? null));
  return personalMasker(values, '(personal)');
}

/**
 * An event's story without personal fields: in its facts, in what tools answered, and in its messages. Leaves out the messages
 * of digests, which name other candidates.
 */
export function withoutPersonal(story: EventDetail): EventDetail {
  const isAnything = story.lookups.some(({ progress }) => keptIn(progress) !== null);
  const hide = hidingPersonal(story.lookups);
  const hidden = <Value>(value: Value) => maskTexts(value as Json, hide) as Value;
  return {
    ...story,
    lookups: story.lookups.map((one) => {
      const facts = keptIn(one.progress);
      return { ...hidden(one), progress: facts ? toJson(without(facts)) : one.progress };
    }),
    deliveries: story.deliveries.map(({ receipt, lastError, history, message, ...one }) => ({
      ...one,
      ...hidden({ receipt, lastError, history }),
      message: one.carrier === null && !isAnything ? message : null,
    })),
  };
}

const toJson = (facts: KeptFacts): Json => ({ ...facts });

const notFound = (reason: string | null, at: number): KeptFacts => ({
  state: 'unknown',
  at,
  reason,
  fields: {},
  personal: [],
});

/** When the personal fields are to be erased (ms); null: with the event. */
const goAt = ({ personal }: KeptFacts, lookup: Pick<Lookup, 'keepMs'> | undefined, at: number) =>
  personal.length > 0 && lookup?.keepMs ? Math.round(at + lookup.keepMs) : null;

/** What to keep of a look-up that is given up: what was found by then, or that it is unknown. */
export function givenUp(
  { progress, lastError, attempts }: Pick<Delivery, 'progress' | 'lastError' | 'attempts'>,
  lookup: Lookup | undefined,
  at: number,
): GivenUp {
  const kept = keptIn(progress);
  const why = lastError ?? (attempts > 0 ? 'The API was asked, and did not answer.' : 'It was never asked.');
  const facts = kept ? { ...kept, at } : notFound(`It was not found out in time. ${why}`, at);
  return { progress: toJson(facts), personalUntil: goAt(facts, lookup, at) };
}

/**
 * The facts in an outcome, or null. The connector has them in the receipt's `facts`, or in `progress` before it is
 * complete.
 */
function factsIn(outcome: Outcome): LookupFacts | null {
  const told: unknown =
    outcome.outcome === 'delivered'
      ? outcome.receipt['facts']
      : outcome.outcome === 'retry'
        ? outcome.progress
        : null;
  return isMap(told as Json) ? (told as LookupFacts) : null;
}

/** Whether the outcome is a look-up's whose API answered, perhaps not yet with what the look-up asks for. */
export const isAnswer = ({ connector }: Delivery, outcome: Outcome): boolean =>
  connector === lookupConnector && factsIn(outcome) !== null;

/**
 * The result to store of a look-up's attempt: with the facts apart from the outcome, so that they can be erased. One that
 * ended without an answer is `discarded`, as there is nothing for a person to do.
 */
export function lookupResult<Result extends Omit<AttemptResult, 'settledAt'>>(
  result: Result,
  delivery: Pick<Delivery, 'progress'>,
  lookup: Lookup | undefined,
): Result {
  const { attempt, state, lastError } = result;
  const { outcome, endedAt } = attempt;
  const isAnswered = state === 'delivered';
  const found = factsIn(outcome);
  // If the look-up is not in today's plan, any field may be personal.
  const isPersonal = (field: string) => lookup?.fields.get(field)?.personal ?? true;
  const told = found && { ...found, personal: Object.keys(found.fields).filter(isPersonal) };
  const kept = told ?? keptIn(delivery.progress);
  const isOver = state !== 'pending';
  const facts = !isOver
    ? kept
    : isAnswered && told
      ? { ...told, at: endedAt }
      : outcome.outcome === 'rejected' || !kept
        ? notFound(lastError, endedAt)
        : { ...kept, at: endedAt };
  const personalUntil = isOver && facts ? goAt(facts, lookup, endedAt) : null;
  return {
    ...result,
    state: isStuck(state) ? 'discarded' : state,
    progress: facts && toJson(facts),
    attempt: { ...attempt, outcome: bare(outcome) },
    uncertain: false,
    ...(found && !isAnswered && { answered: true as const }),
    ...(personalUntil !== null && { personalUntil }),
  };
}

/** An outcome without the facts. */
function bare(outcome: Outcome): Outcome {
  if (outcome.outcome === 'delivered') {
    const { facts: _, ...receipt } = outcome.receipt;
    return { ...outcome, receipt };
  }
  if (outcome.outcome !== 'retry') return outcome;
  const { progress: _, ...rest } = outcome;
  return rest;
}
