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
import type { Outcome, Reason } from '../model/outcomes.ts';
import { digestCsv } from '../ops/printed.ts';
import { textAt } from '../support/json.ts';
import { traceparentFor } from '../support/trace.ts';
import { foundBy } from '../lookups/kept-facts.ts';
import { openFrom } from '../rules/decide.ts';
import { type Action, allActions, type Plan } from '../rules/plan.ts';
import type { Claim, Store } from '../store/store.ts';
import { cannotBeUsed, type PlanFault } from '../config/live/stored-plans.ts';
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
  readonly plan: (configId: string) => Promise<Plan | PlanFault>;
}

/** An attempt that has ended, perhaps before anything was sent. */
export interface AttemptEnd {
  readonly claimed: Claim;
  /** Null if there is no message; the outcome says why. */
  readonly prepared: PreparedMessage | null;
  readonly ending: Ending;
  /** As in PreparedMessage, where there is none: why there is none may quote it. */
  readonly lookups?: readonly Delivery[];
}

/** How long after the tool was asked about a message another one looks whether it has answered. */
const afterAskingMs = 200;

/** A delivery that has to wait for its action's hours, or for what became of another one. Nothing was attempted. */
export interface Postponement {
  readonly claimed: Claim;
  /** Until then (ms). */
  readonly until: number;
}

/** A delivery whose message can go to the connector. */
export interface ReadyDelivery {
  readonly claimed: Claim;
  readonly prepared: PreparedMessage;
  readonly request: Omit<AttemptRequest<Json>, 'isProbe' | 'signal'>;
  /** The tool is asked whether an earlier attempt arrived; if none did, nothing is sent yet. */
  readonly asksOnly: boolean;
}

/** Composes the message of a claimed delivery by the plan it was made by. `config`: its sink, today. Never throws. */
export async function prepareAttempt(
  parts: PrepareParts,
  claimed: Claim,
  config: SinkConfig,
  now: number,
): Promise<ReadyDelivery | AttemptEnd | Postponement> {
  const { delivery } = claimed;
  const refused = (reason: Reason, why: string) =>
    nothingSent(claimed, rejected(reason, why, "Replay it to send it by today's config."));
  try {
    if (delivery.connector === lookupConnector) return prepareLookup(parts, claimed, now);
    const plan = await parts.plan(delivery.configId);
    if ('fault' in plan) return refused('unexpected', plan.fault);
    const action = actionOf(plan, delivery);
    if (!action) return refused('unexpected', 'The config that decided this delivery has no such action.');
    if (action.unusable !== undefined) return refused('unexpected', cannotBeUsed(action.unusable));
    const kind = config.connector.name;
    if (action.connector !== kind)
      return refused(
        'invalid',
        `Sink ${config.name} was a ${action.connector} sink and is a ${kind} sink now.`,
      );
    // A retry, a pause or a rate limit may have delayed it past closing time. A replay means now.
    const until = delivery.replayed ? now : openFrom(action, now);
    if (until > now) return { claimed, until };
    const ids = claimed.events.map(({ id }) => id);
    const found = plan.lookups.size === 0 ? [] : await parts.store.lookupsOf(ids);
    const facts = new Map(found.map((lookups, place) => [ids[place]!, foundBy(lookups)]));
    const about = found.length === 0 ? claimed : { ...claimed, facts };
    const prepared = prepare(action, about, delivery.id, plan, config, now);
    if ('outcome' in prepared) return { ...nothingSent(claimed, prepared), lookups: found.flat() };
    // Threads are stored, and so looked up, by their masked key.
    const thread = prepared.thread === null ? null : parts.config().mask(prepared.thread);
    const told = thread === null ? null : await parts.store.threadOf(delivery.sink, thread);
    const overtaken = told !== null && told.seq > claimed.row.seq;
    let asksOnly = false;
    // Of those that may begin a thread only one does.
    if (thread !== null && (prepared.replaces ? !overtaken : told === null)) {
      const askedAt = await parts.store.uncertainBeside(delivery.lane, claimed.row.seq, thread);
      if (askedAt !== null && !delivery.uncertain)
        return { claimed, until: Math.max(askedAt, now) + afterAskingMs };
      // Of several that may have arrived, each is asked about before one is sent.
      asksOnly = askedAt !== null;
    }
    const of = { threadOf: told?.receipt ?? null, overtaken };
    const request = { ...requestFor(parts, claimed, prepared.message, now), ...of };
    return { claimed, prepared: { ...prepared, thread, lookups: found.flat() }, request, asksOnly };
  } catch (error) {
    // The store could not be read, or composing the message hit a bug.
    return nothingSent(claimed, retry('unexpected', `The attempt could not begin: ${messageOf(error)}`));
  }
}

/** What the trace of a call is known by: of a digest its first event. */
export const tracedBy = ({ events, notice }: Pick<Claim, 'events' | 'notice'>): Event | RaisedNotice =>
  notice ?? events[0]!;

function requestFor({ store, config }: PrepareParts, claimed: Claim, message: Json, now: number) {
  const { delivery } = claimed;
  return {
    deliveryId: delivery.id,
    message,
    attempt: delivery.attempts,
    // In a store that was restored, an attempt from before may be missing: not before it was due.
    firstAttemptAt: Math.min(delivery.since, delivery.firstAttemptAt ?? now),
    now,
    threadOf: null,
    overtaken: false,
    earlier: () => store.newestReceipt(delivery.lane),
    progress: delivery.progress,
    traceparent: () => traceparentFor(tracedBy(claimed)),
    mask: (text: string) => config().mask(text),
  };
}

/** What a look-up asks: by today's config, as no plan has its address and its login. */
function prepareLookup(parts: PrepareParts, claimed: Claim, now: number): ReadyDelivery | AttemptEnd {
  const { delivery, events } = claimed;
  const { lookups, plan } = parts.config();
  const lookup = lookups.get(delivery.sink);
  const event = events[0]!;
  if (!lookup) return nothingSent(claimed, sinkMissing(delivery.sink));
  const composed = lookup.compose(templateData(event, plan.test(event.testId), noFacts, delivery.rule, now));
  if ('rejected' in composed) return nothingSent(claimed, composed.rejected);
  const prepared = { message: composed.message, thread: null, note: undefined, missed: undefined };
  const request = requestFor(parts, claimed, composed.message, now);
  return { claimed, prepared, request, asksOnly: false };
}

/** A message as the connector will send it. */
export interface PreparedMessage {
  readonly message: Json;
  readonly thread: string | null;
  /** As Connector.replaces says. */
  readonly replaces?: boolean;
  /** Both as in Delivered. */
  readonly note: string | undefined;
  readonly missed: true | undefined;
  /** What was looked up about its events. What tools quote of it that is personal, is not kept. */
  readonly lookups?: readonly Delivery[];
}

/** See Claim. */
export interface About {
  readonly events: readonly Event[];
  /** What look-ups found out, by the event's id. */
  readonly facts?: ReadonlyMap<string, Facts>;
  readonly notice: RaisedNotice | null;
}

/** Renders an action and lets the connector compose the message. Pure; `now` is for templates. */
export function prepare(
  action: Action,
  about: About,
  deliveryId: string,
  plan: Plan,
  { connector, options }: Pick<SinkConfig, 'connector' | 'options'>,
  now: number,
): PreparedMessage | Outcome {
  const rendered = action.render(dataOf(action, about, plan, now));
  if ('fault' in rendered) {
    return rejected('invalid', rendered.fault, 'Fix the template in the config, then replay this delivery.');
  }
  const { events, notice } = about;
  const [first] = events;
  const timeZone = timeZoneOf(action, plan);
  // Without what says who the candidate is.
  const isPublic = (lookup: string, field: string) =>
    plan.lookups.get(lookup)?.fields.get(field)?.personal === false;
  const facts =
    plan.lookups.size === 0 ? null : events.map((event) => toldFacts(factsOf(about, event), isPublic));
  const subject: Subject = notice
    ? { kind: 'notice', notice: noticeFields(notice, saidLate(notice, action, plan, now)) }
    : action.digest || !first
      ? {
          kind: 'digest',
          events: events.map(eventData),
          ...(facts && { facts }),
          csv: () => digestCsv(events, (id) => textAt(plan.test(id), 'name'), action.rule, timeZone),
        }
      : { kind: 'event', event: eventData(first), ...(facts && { facts: facts[0]! }) };
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

/** What a notice tells of may be over by then: it was replayed, waited for its hours, or failed until now. */
const lateMs = 120_000;

/** When it was as a notice says, where that was long before it is told. */
function saidLate({ raisedAt }: RaisedNotice, action: Action, plan: Plan, now: number): string | null {
  if (now - raisedAt < lateMs) return null;
  const then = Temporal.Instant.fromEpochMilliseconds(raisedAt).toZonedDateTimeISO(timeZoneOf(action, plan));
  return plan.wording.say('toldLate', { time: inLocale(then, plan.wording.locale) });
}

const factsOf = ({ facts }: About, { id }: Event): Facts => facts?.get(id) ?? noFacts;

/** What the templates of an action see. */
export function dataOf(action: Action, about: About, plan: Plan, now: number): AnyTemplateData {
  const { events, notice } = about;
  if (notice) return noticeData(notice, action.rule, now, saidLate(notice, action, plan, now));
  const known = events.map((event) => ({ event, facts: factsOf(about, event) }));
  if (action.digest) return digestData(known, (testId) => plan.test(testId), action.rule, now);
  const [first] = known;
  if (!first) throw new Error('a message is about an event or a notice');
  return templateData(first.event, plan.test(first.event.testId), first.facts, action.rule, now);
}

const indexes = new WeakMap<Plan, ReadonlyMap<string, Action>>();

/** An action of a plan, those of alerts included. Indexed, because every delivery looks one up. */
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
  const advice = 'Put it back into the config, then replay this delivery.';
  return rejected('not_found', `The config has no sink ${sink} any more.`, advice);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
