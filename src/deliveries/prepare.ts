import { rejected, retry, type AttemptRequest, type Subject } from '../connector.ts';
import type { Config, SinkConfig } from '../config/config.ts';
import {
  type ActionRef,
  type Delivery,
  type Event,
  type Facts,
  type Json,
  lookupConnector,
  lookupOf,
  noFacts,
  toldFacts,
} from '../model.ts';
import type { RaisedNotice } from '../model/notices.ts';
import type { Outcome, Reason, Receipt } from '../model/outcomes.ts';
import { digestCsv } from '../printed/csv.ts';
import { inParts } from '../store/paging.ts';
import { parseDeliveryId } from '../support/ids.ts';
import { textAt } from '../support/json.ts';
import { csvSeparator, storable, zoned } from '../support/text.ts';
import { traceparentFor } from '../support/trace.ts';
import { foundBy } from '../lookups/kept-facts.ts';
import { lookedUp } from '../lookups/looked-up.ts';
import { agreedIn, openFrom, subjectOf } from '../rules/decide.ts';
import { type Action, allActions, type Digest, type Plan } from '../rules/plan.ts';
import type { Claim, Store } from '../store/store.ts';
import { cannotBeUsed, type FindPlan, type PlanFault } from '../config/live/stored-plans.ts';
import {
  type AnyTemplateData,
  digestData,
  eventData,
  noticeData,
  noticeFields,
  templateData,
} from '../templates/data.ts';
import { inLocale } from '../templates/people.ts';
import type { Ending } from './settle.ts';

export interface PrepareParts {
  readonly store: Store;
  /** Today's config: sinks, credentials, retry policies. */
  readonly config: () => Config;
  /** The plan that decided a delivery, or why it cannot be used. */
  readonly plan: FindPlan;
}

/** An attempt that has ended, perhaps before anything was sent. */
export interface AttemptEnd {
  readonly claimed: Claim;
  /** Null if there is no message; the outcome says why. */
  readonly prepared: PreparedMessage | null;
  readonly ending: Ending;
  /** As in PreparedMessage, if `prepared` is null: the reason may quote them. */
  readonly lookups?: readonly Delivery[];
}

/** How long after the tool is asked about a message the next one of its thread is tried again. */
const afterAskingMs = 200;

/** A delivery that has to wait for its action's hours, for the outcome of another one, or in another lane. Nothing was attempted. */
export interface Postponement {
  readonly claimed: Claim;
  /** Until then (ms). */
  readonly until: number;
  /** The lane that it belongs to by now, if that is another one. */
  readonly lane?: string;
}

/** A delivery whose message can go to the connector. */
export interface ReadyDelivery {
  readonly claimed: Claim;
  readonly prepared: PreparedMessage;
  /** Both as in AttemptRequest. */
  readonly threadOf: Receipt | null;
  readonly overtaken: boolean;
  /** Whether only to ask the tool if an earlier attempt arrived. If none did, nothing is sent yet. */
  readonly asksOnly: boolean;
}

/** What becomes of a claimed delivery before the tool is called. */
export type Preparation = ReadyDelivery | AttemptEnd | Postponement;

/**
 * Composes the message of a claimed delivery by the plan that it was made by. `config`: today's config of its sink. Never
 * throws or rejects. Returns a promise only if the store has to be read: most are ready at once.
 */
export function prepareAttempt(
  parts: PrepareParts,
  claimed: Claim,
  config: SinkConfig,
  now: number,
): Preparation | Promise<Preparation> {
  // The store could not be read, or composing the message hit a bug.
  const failed = (error: unknown) =>
    nothingSent(claimed, retry('unexpected', `The attempt could not begin: ${messageOf(error)}`));
  try {
    if (claimed.delivery.connector === lookupConnector) return prepareLookup(parts, claimed, now);
    const plan = parts.plan(claimed.delivery.configId);
    const prepared =
      plan instanceof Promise
        ? plan.then((known) => prepareBy(known, parts, claimed, config, now))
        : prepareBy(plan, parts, claimed, config, now);
    return prepared instanceof Promise ? prepared.catch(failed) : prepared;
  } catch (error) {
    return failed(error);
  }
}

function prepareBy(
  plan: Plan | PlanFault,
  parts: PrepareParts,
  claimed: Claim,
  config: SinkConfig,
  now: number,
): Preparation | Promise<Preparation> {
  const { delivery, events } = claimed;
  if ('fault' in plan) return refused(claimed, 'unexpected', plan.fault);
  const action = actionOf(plan, delivery);
  if (!action)
    return refused(claimed, 'unexpected', 'The config that decided this delivery has no such action.');
  if (action.unusable !== undefined) return refused(claimed, 'unexpected', cannotBeUsed(action.unusable));
  const kind = config.connector.name;
  if (action.connector !== kind) {
    const changed = `Sink ${config.name} was a ${action.connector} sink and is a ${kind} sink now.`;
    return refused(claimed, 'invalid', changed);
  }
  // A retry, a pause or a rate limit may have delayed it past closing time. Who replays it wants it now.
  const until = delivery.replayed ? now : openFrom(action, now);
  if (until > now) return { claimed, until };
  const { composedAt } = delivery;
  const asOf = composedAt ?? now;
  const complete = (about: About, lookups: readonly Delivery[]) => {
    const composed = prepare(action, about, delivery.id, plan, config, asOf);
    if ('outcome' in composed) return { ...nothingSent(claimed, composed), lookups };
    // A look-up that was made again, or the date, may name another place. In the lane of that, it goes after the others there.
    const lane = storable(action.lane(() => dataOf(action, about, plan, asOf)));
    if (lane !== storable(delivery.lane)) return { claimed, until: now, lane };
    return inThread(parts, claimed, composed, lookups, now);
  };
  if (plan.lookups.size === 0) return complete(claimed, []);
  return lookedUp(events, parts.store).then(async ({ facts, factsAt, lookups }) => {
    const latest = { ...claimed, facts: composedAt === null ? facts : factsAt(composedAt) };
    const isParted = action.digest !== null && !belongTogether(action.digest, action, latest, plan, asOf);
    const about = isParted ? { ...claimed, facts: await factsThen(claimed, parts.store) } : latest;
    return complete(about, lookups);
  });
}

/**
 * Whether the events of a digest agree in what puts them together. A look-up that was made again may have found something
 * else for some: the message would go to where only its first event belongs.
 */
function belongTogether(digest: Digest, action: Action, about: About, plan: Plan, now: number): boolean {
  const agreed = about.events.map((event) => {
    const subject = subjectOf(plan, event, factsOf(about, event));
    return JSON.stringify(agreedIn(digest, action, event, subject, now));
  });
  return new Set(agreed).size === 1;
}

/** The facts by which a digest was put together: of each event, what was looked up before its delivery was planned. */
async function factsThen(
  { delivery: { carrier }, events }: Claim,
  store: Pick<Store, 'event'>,
): Promise<ReadonlyMap<string, Facts>> {
  const nOf = ({ id }: Delivery): number => parseDeliveryId(id)!.n;
  const stories = await inParts(events, ({ id }) => store.event(id));
  return new Map(
    stories.flatMap((story): [string, Facts][] => {
      const planned = story?.deliveries.find((one) => one.carrier === carrier);
      if (!story || !planned) return [];
      return [[story.event.id, foundBy(story.lookups.filter((one) => nOf(one) < nOf(planned)))]];
    }),
  );
}

const refused = (claimed: Claim, reason: Reason, why: string): AttemptEnd =>
  nothingSent(claimed, rejected(reason, why, "Replay it to send it by today's config."));

/** Completes a composed message, with the look-ups of its events and, if it has a thread, its place in that. */
function inThread(
  parts: PrepareParts,
  claimed: Claim,
  composed: PreparedMessage,
  lookups: readonly Delivery[],
  now: number,
): Preparation | Promise<Preparation> {
  const prepared = lookups.length === 0 ? composed : { ...composed, lookups };
  if (composed.thread !== null) return behindOthers(parts, claimed, prepared, composed.thread, now);
  return { claimed, prepared, threadOf: null, overtaken: false, asksOnly: false };
}

/** Finds the place of a message in its thread: what it answers, or which other message it has to wait for. */
async function behindOthers(
  { store, config }: PrepareParts,
  claimed: Claim,
  composed: PreparedMessage,
  unmasked: string,
  now: number,
): Promise<Preparation> {
  const { delivery, row } = claimed;
  // Threads are stored by their masked key.
  const thread = config().mask(unmasked);
  const prepared = { ...composed, thread };
  const told = await store.threadOf(delivery.sink, thread);
  const threadOf = told?.receipt ?? null;
  const overtaken = told !== null && told.seq > row.seq;
  // Only one of several messages begins a thread.
  if (prepared.replaces ? overtaken : told !== null)
    return { claimed, prepared, threadOf, overtaken, asksOnly: false };
  const askedAt = await store.uncertainBeside(delivery.lane, row.seq, thread);
  if (askedAt !== null && !delivery.uncertain)
    return { claimed, until: Math.max(askedAt, now) + afterAskingMs };
  // If several may have arrived, the tool is asked about each before one is sent.
  return { claimed, prepared, threadOf, overtaken, asksOnly: askedAt !== null };
}

/** The event or notice that gives a call its trace id; for a digest its first event. */
export const tracedBy = ({ events, notice }: Pick<Claim, 'events' | 'notice'>): Event | RaisedNotice =>
  notice ?? events[0]!;

export function requestFor(
  { store, config }: PrepareParts,
  { claimed, prepared, threadOf, overtaken }: ReadyDelivery,
  { now, isProbe, signal }: Pick<AttemptRequest<Json>, 'now' | 'isProbe' | 'signal'>,
): AttemptRequest<Json> {
  const { delivery, events } = claimed;
  // The look-ups that an event waits for are due when it comes.
  const isAgain = delivery.connector === lookupConnector && delivery.since > events[0]!.receivedAt;
  return {
    deliveryId: delivery.id,
    message: prepared.message,
    attempt: delivery.attempts,
    // A restored store may lack an earlier attempt. It was not made before the delivery was due.
    firstAttemptAt: Math.min(delivery.since, delivery.firstAttemptAt ?? now),
    now,
    threadOf,
    overtaken,
    earlier: (part) => store.newestReceipt(delivery.lane, part),
    progress: delivery.progress,
    isProbe,
    askedAgainAt: isAgain ? delivery.since : null,
    traceparent: () => traceparentFor(tracedBy(claimed)),
    mask: (text: string) => config().mask(text),
    signal,
  };
}

/** Composes the request of a look-up, by today's config, as plans have no addresses and secrets. */
function prepareLookup(parts: PrepareParts, claimed: Claim, now: number): ReadyDelivery | AttemptEnd {
  const { delivery, events } = claimed;
  const { lookups, plan } = parts.config();
  const lookup = lookups.get(delivery.sink);
  const event = events[0]!;
  if (!lookup) return nothingSent(claimed, sinkMissing(delivery.sink));
  const composed = lookup.compose(templateData(event, plan.test(event.testId), noFacts, delivery.rule, now));
  if ('rejected' in composed) return nothingSent(claimed, composed.rejected);
  const prepared = { message: composed.message, thread: null, note: undefined, missed: undefined };
  return { claimed, prepared, threadOf: null, overtaken: false, asksOnly: false };
}

/** A message as the connector will send it. */
export interface PreparedMessage {
  readonly message: Json;
  readonly thread: string | null;
  /** See Connector.replaces. */
  readonly replaces?: boolean;
  /** Both as in Delivered. */
  readonly note: string | undefined;
  readonly missed: true | undefined;
  /** The look-ups of its events. Their personal fields are masked in what tools answer. */
  readonly lookups?: readonly Delivery[];
}

/** What a message is about. `events` and `notice` are as in Claim. */
export interface About {
  readonly events: readonly Event[];
  /** The facts of look-ups, by the event's id. */
  readonly facts?: ReadonlyMap<string, Facts>;
  readonly notice: RaisedNotice | null;
}

/** What a message about one event is about. */
export const aboutEvent = (event: Event, facts: Facts): About => ({
  events: [event],
  facts: new Map([[event.id, facts]]),
  notice: null,
});

/** Renders an action and has the connector compose the message. Pure; `now` is for templates. */
export function prepare(
  action: Action,
  about: About,
  deliveryId: string,
  plan: Plan,
  { connector, options }: Pick<SinkConfig, 'connector' | 'options'>,
  now: number,
): PreparedMessage | Outcome {
  const data = dataOf(action, about, plan, now);
  const rendered = action.render(data);
  if ('fault' in rendered) {
    return rejected('invalid', rendered.fault, 'Fix the template in the config, then replay this delivery.');
  }
  const { events, notice } = about;
  const timeZone = timeZoneOf(action, plan);
  // Facts that do not say who the candidate is.
  const isPublic = (lookup: string, field: string) =>
    plan.lookups.get(lookup)?.fields.get(field)?.personal === false;
  const facts =
    plan.lookups.size === 0 ? null : events.map((event) => toldFacts(factsOf(about, event), isPublic));
  const subject: Subject = notice
    ? { kind: 'notice', notice: noticeFields(notice, saidLate(notice, action, plan, now)) }
    : action.digest || !('event' in data)
      ? {
          kind: 'digest',
          events: events.map(eventData),
          ...(facts && { facts }),
          csv: () => {
            const separator = csvSeparator(plan.wording.locale);
            return digestCsv(events, (id) => textAt(plan.test(id), 'name'), action.rule, timeZone, separator);
          },
        }
      : facts
        ? { kind: 'event', event: data.event, facts: facts[0]! }
        : { kind: 'event', event: data.event };
  const composed = connector.compose(rendered.fields, { deliveryId, subject }, options);
  if ('rejected' in composed) return composed.rejected;
  return {
    message: composed.message,
    thread: connector.thread?.(composed.message) ?? null,
    replaces: connector.replaces?.(composed.message) ?? false,
    note: composed.note,
    missed: composed.missed,
  };
}

const timeZoneOf = ({ hours }: Action, plan: Plan): string => hours?.timeZone ?? plan.timeZone;

/** A notice that is told so much later says when it was: its trouble may be over. */
const lateMs = 120_000;

/** The words for when a notice was raised, if that was long ago; else null. */
function saidLate({ raisedAt }: RaisedNotice, action: Action, plan: Plan, now: number): string | null {
  if (now - raisedAt < lateMs) return null;
  const then = zoned(raisedAt, timeZoneOf(action, plan));
  return plan.wording.say('toldLate', { time: inLocale(then, plan.wording.locale) });
}

export const factsOf = ({ facts }: About, { id }: Event): Facts => facts?.get(id) ?? noFacts;

/** The data that the templates of an action see. */
export function dataOf(action: Action, about: About, plan: Plan, now: number): AnyTemplateData {
  const { events, notice } = about;
  if (notice) return noticeData(notice, action.rule, now, saidLate(notice, action, plan, now));
  if (action.digest) {
    const known = events.map((event) => ({ event, facts: factsOf(about, event) }));
    return digestData(known, (testId) => plan.test(testId), action.rule, now);
  }
  const [first] = events;
  if (!first) throw new Error('a message is about an event or a notice');
  return templateData(first, plan.test(first.testId), factsOf(about, first), action.rule, now);
}

const indexes = new WeakMap<Plan, ReadonlyMap<string, Action>>();

/** Finds an action of a plan; alerts have actions, too. Indexed, because every delivery needs it. */
export function actionOf(plan: Plan, ref: ActionRef): Action | undefined {
  let index = indexes.get(plan);
  if (!index) {
    index = new Map(allActions(plan).map((action) => [keyOf(action), action]));
    indexes.set(plan, index);
  }
  return index.get(keyOf(ref));
}

const keyOf = ({ rule, action }: ActionRef): string => `${action} ${rule}`;

export function nothingSent(claimed: Claim, outcome: Outcome): AttemptEnd {
  return { claimed, prepared: null, ending: { outcome, unsent: true } };
}

export function sinkMissing(sink: string): Outcome {
  const lookup = lookupOf(sink);
  if (lookup !== null)
    return rejected('not_found', `The config has no look-up ${lookup} any more.`, 'Put it back.');
  const advice =
    'Put the config back that had it, with the sink and the action of the rule; then replay this delivery. To rename a sink, keep the old name beside the new one until nothing waits for it.';
  return rejected('not_found', `The config has no sink ${sink} any more.`, advice);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
