import { program } from '../support/invocation.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { duration } from '../config/text/units.ts';
import type { FindPlan } from '../config/live/stored-plans.ts';
import { lookupsOf } from '../lookups/deciding.ts';
import { foundBy } from '../lookups/kept-facts.ts';
import { lookedUp } from '../lookups/looked-up.ts';
import { aboutEvent, dataOf } from './prepare.ts';
import {
  actionOfToday,
  isUnsent,
  leftToTell,
  partedToday,
  type Today,
  type Unplanned,
} from './todays-action.ts';
import { type Delivery, type DeliveryState, discardableStates, isStuck, stuckStates } from '../model.ts';
import { conditionOf, type FoundSink, isDown, sinkFacts } from '../ops/sink-states.ts';
import { readStatus, running, type StatusParts } from '../ops/status/status.ts';
import { decide } from '../rules/decide.ts';
import { allActions, type Plan } from '../rules/plan.ts';
import { deliveryPages, inParts } from '../store/paging.ts';
import {
  type By,
  type EventStory,
  inForce,
  type Late,
  type ManualResult,
  type Replay,
  type Store,
} from '../store/store.ts';
import { printable } from '../support/text.ts';

/** What a person can do to a delivery: in which states, and in which words. */
export type ActionName = 'replay' | 'discard' | 'resend';
const actions: Record<ActionName, { done: string; states: readonly DeliveryState[]; possible: string }> = {
  replay: { done: 'goes out again', states: stuckStates, possible: 'dead or held' },
  discard: { done: 'is discarded', states: discardableStates, possible: 'pending, dead or held' },
  resend: { done: 'goes out again', states: ['delivered'], possible: 'delivered' },
};

/** Which deliveries a person means. */
export interface Selection {
  /**
   * The ids of deliveries; or of events and notices, whose deliveries are chosen by the rest. Empty: all deliveries.
   */
  readonly ids: readonly string[];
  readonly states: readonly DeliveryState[];
  readonly sink?: string | undefined;
  readonly rule?: string | undefined;
  /** Only deliveries of events that are dead for this cause; not together with ids. */
  readonly cause?: string | undefined;
  /** Only of events and notices that came at this time or later (ms). */
  readonly since?: number | undefined;
  /** Only what was dead or held by this time (ms), as on the page that a person looked at; not together with ids. */
  readonly until?: number | undefined;
  /** Only of notices whose trouble is over. */
  readonly over?: boolean | undefined;
}

/** Thrown when an id that was named does not exist. Nothing was done. */
export class NotThere extends Error {
  override readonly name = 'NotThere';
}

/**
 * Reads the selected deliveries in pages, each to be changed before the next is read. A replay without ids leaves out the
 * notices of troubles that are over, which are in `over`: people would read of them as if they were new. Throws NotThere.
 */
export async function* selected(
  parts: StatusParts,
  action: ActionName,
  selection: Selection,
): AsyncGenerator<{ readonly page: readonly Delivery[]; readonly over: readonly Delivery[] }> {
  const isBulk = action === 'replay' && selection.ids.length === 0;
  let known: ReadonlySet<string> | null = null;
  for await (const page of meant(parts, selection)) {
    if (isBulk && page.some(({ noticeId }) => noticeId !== null))
      known ??= new Set((await overNotices(parts)).map(({ id }) => id));
    const { over = [], others = [] } = Object.groupBy(page, ({ id }) => (known?.has(id) ? 'over' : 'others'));
    yield { page: others, over };
  }
}

async function overNotices(parts: StatusParts): Promise<Delivery[]> {
  const { stuckNotices } = await readStatus(parts, await parts.store.now(), 'UTC');
  return stuckNotices.filter(({ isOver }) => isOver).map(({ delivery }) => delivery);
}

/** The result for a notice that a replay of many leaves out. */
export const leftOut = ({ id }: Delivery): ChangeResult => ({
  id,
  ok: false,
  says: 'it is a notice of what is over: discard it, or replay it by its id',
});

async function* meant(
  parts: StatusParts,
  { ids, states, sink, rule, cause, since, until, over }: Selection,
): AsyncGenerator<readonly Delivery[]> {
  const isMeant = (one: Delivery): boolean =>
    states.includes(one.state) &&
    (sink === undefined || one.sink === sink) &&
    (rule === undefined || one.rule === rule) &&
    (since === undefined || one.createdAt >= since);
  if (ids.length > 0) yield await named(parts.reads, [...new Set(ids)], isMeant);
  else if (over) yield (await overNotices(parts)).filter(isMeant);
  else
    for await (const page of deliveryPages(parts.reads, { states, sink, cause, since, until }))
      yield page.filter(isMeant);
}

async function named(
  store: Pick<Store, 'event' | 'notice' | 'delivery'>,
  ids: readonly string[],
  isMeant: (one: Delivery) => boolean,
): Promise<Delivery[]> {
  const found = await inParts(ids, async (id): Promise<readonly Delivery[] | string> => {
    if (/^(evt|ntc)_/.test(id)) {
      const story = await (id.startsWith('evt_') ? store.event(id) : store.notice(id));
      return story?.deliveries.filter(isMeant) ?? `${id.startsWith('evt_') ? 'event' : 'notice'} ${id}`;
    }
    const delivery = await store.delivery(id);
    return delivery ? [delivery] : `delivery ${id}`;
  });
  const missing = found.filter((one) => typeof one === 'string');
  if (missing.length > 0)
    throw new NotThere(`there is no ${missing.map(printable).join(' and no ')}; nothing was done`);
  const each = found.flatMap((one) => (typeof one === 'string' ? [] : one));
  return [...new Map(each.map((delivery) => [delivery.id, delivery])).values()];
}

/** Parts of a store, to read and to change. */
export interface Hands {
  readonly reads: Pick<Store, 'event' | 'notice' | 'digestEvents' | 'lookupsOf' | 'resentAlready'>;
  readonly store: Pick<Store, 'replay' | 'discard' | 'resend' | 'now'>;
  /** Finds the plans that deliveries were made by. */
  readonly plan: FindPlan;
}

/** Does the action to each delivery, or says why not. `plan`: today's, for all but a discard. */
export async function change(
  hands: Hands,
  action: ActionName,
  deliveries: readonly Delivery[],
  plan: Plan | null,
  by: By,
): Promise<ChangeResult[]> {
  const { store } = hands;
  const now = await store.now();
  const planned = await plans(hands, action, deliveries, plan, now);
  const items = planned.filter((one) => 'planned' in one);
  const faults = planned.flatMap((one, place): ChangeResult[] =>
    'fault' in one ? [refusal(action, deliveries[place]!, one)!] : [],
  );
  const ids = deliveries.map(({ id }) => id);
  const results =
    action === 'discard' ? await store.discard(ids, now, by) : await store[action](items, now, by);
  const byId = new Map(deliveries.map((one) => [one.id, one]));
  return [...faults, ...results.map((result) => toDone(action, result, byId.get(result.deliveryId)!))];
}

/** Says what `change` would do to each delivery. */
export async function rehearse(
  hands: Hands,
  action: ActionName,
  deliveries: readonly Delivery[],
  plan: Plan | null,
): Promise<ChangeResult[]> {
  const now = await hands.store.now();
  const planned = await plans(hands, action, deliveries, plan, now);
  const items = planned.filter((one) => 'planned' in one);
  const resent = action === 'resend' ? await hands.reads.resentAlready(items, now) : new Map();
  return deliveries.map((delivery, place): ChangeResult => {
    const { id, sink, rule, uncertain } = delivery;
    const earlier = resent.get(id);
    const refused =
      refusal(action, delivery, planned[place]) ?? (earlier && toDone(action, earlier, delivery));
    if (refused) return refused;
    const what = `${wholeDigest(action, delivery)}: ${sink}, rule ${rule}`;
    if (action === 'discard') return { id, ok: true, says: `would be discarded${what}` };
    const before =
      action === 'resend' ? 'who has it gets it twice' : uncertain ? perhapsTwice : 'it has not arrived';
    return { id, ok: true, says: `would go out again${what}; ${before}` };
  });
}

/** Why an action cannot be done to a delivery, or null. */
function refusal(action: ActionName, delivery: Delivery, found?: Replay | Unplanned): ChangeResult | null {
  const { id, state } = delivery;
  if (!actions[action].states.includes(state))
    return toDone(action, { deliveryId: id, done: false, state }, delivery);
  return found && 'fault' in found ? { id, ok: false, says: found.fault } : null;
}

/** Said of a replay that is uncertain. The tool is asked first, if it can be. */
const perhapsTwice = 'it may have arrived, and may come twice';

/** Says that the other events of a digest share what happens to it, as it is one message. `resend` takes one event out. */
const wholeDigest = (action: ActionName, { carrier }: Delivery): string =>
  carrier === null || action === 'resend' ? '' : `, with all of its digest ${carrier}`;

/** What became of one delivery. */
export interface ChangeResult {
  readonly id: string;
  readonly ok: boolean;
  readonly says: string;
  /** For a resend: the id of the new delivery. */
  readonly madeId?: string;
}

function toDone(action: ActionName, result: ManualResult, delivery: Delivery): ChangeResult {
  const { deliveryId: id, madeId } = result;
  const { done, possible } = actions[action];
  if (result.done) {
    const doubt = action === 'replay' && delivery.uncertain ? `; ${perhapsTwice}` : '';
    if (madeId === undefined)
      return { id, ok: true, says: `${done}${wholeDigest(action, delivery)}${doubt}` };
    return { id, ok: true, says: `${done} as ${madeId}`, madeId };
  }
  if (result.state === null)
    return { id, ok: false, says: `there is no such delivery; \`${program} events\` lists them` };
  if (madeId !== undefined) {
    const earlier =
      result.state === 'delivered' ? 'was sent again less than a minute ago' : 'is being sent again already';
    return { id, ok: false, says: `it ${earlier}, as ${madeId === id ? 'this one' : madeId}` };
  }
  const instead = action === 'resend' && isStuck(result.state) ? `; \`${program} replay\` sends it` : '';
  return {
    id,
    ok: false,
    says: `it is ${result.state}, and only ${possible} deliveries can be chosen${instead}`,
  };
}

/**
 * Plans each delivery anew by today's plan, or says why that is not possible. Returns nothing for a discard. Due at once: a
 * person who replays does not wait for opening hours.
 */
async function plans(
  { reads, plan: findPlan }: Hands,
  action: ActionName,
  deliveries: readonly Delivery[],
  plan: Plan | null,
  now: number,
): Promise<(Replay | Unplanned)[]> {
  if (action === 'discard' || plan === null) return [];
  const digests = new Map<string, ReturnType<typeof wholeOf>>();
  return inParts(deliveries, async (delivery) => {
    const { rule, sink, eventId, noticeId } = delivery;
    const told = noticeId === null ? null : await reads.notice(noticeId);
    const story = eventId === null ? null : await reads.event(eventId);
    const about = story
      ? aboutEvent(story.event, foundBy(story.lookups))
      : told && { events: [], notice: told.notice };
    const had = (story ?? told)?.deliveries;
    if (!about || !had) return { fault: 'the event it is about is no longer stored' };
    const ofToday = await actionOfToday(delivery, had, { plan, findPlan, about, now });
    if ('fault' in ofToday) return ofToday;
    if (ofToday.unusable !== undefined) return cannotUse(ofToday.unusable);
    if (action === 'replay' && delivery.carrier !== null) {
      const { carrier } = delivery;
      const today = { plan, findPlan, now };
      const whole = await digests.getOrInsertComputed(carrier, () => wholeOf(reads, carrier, today));
      const parted = whole.refused ?? partedToday(whole.actions, whole.about, plan, now);
      if (parted) return parted;
    }
    const lane = ofToday.lane(() => dataOf(ofToday, about, plan, now));
    const { connector, action: place } = ofToday;
    const planned = { rule, action: place, sink, connector, lane, dueAt: now, group: null, groupMax: null };
    return { deliveryId: delivery.id, configId: plan.id, planned };
  });
}

/** What the message of a digest is about, and by which action of today's plan, for each of its events. */
async function wholeOf(reads: Hands['reads'], carrier: string, today: Omit<Today, 'about'>) {
  const events = await reads.digestEvents(carrier);
  const { facts } = await lookedUp(events, reads);
  const each = await inParts(events, async (event) => {
    const all = (await reads.event(event.id))?.deliveries ?? [];
    const own = all.find((one) => one.carrier === carrier);
    return own
      ? [await actionOfToday(own, all, { ...today, about: aboutEvent(event, facts.get(event.id)!) })]
      : [];
  });
  const found = each.flat();
  return {
    about: { events, facts, notice: null },
    actions: found.flatMap((one) => ('fault' in one ? [] : [one])),
    /** Why it cannot go out for one of its events: it is one message for all of them. */
    refused: found.find((one) => 'fault' in one),
  };
}

const cannotUse = (why: string): Unplanned => ({
  fault: `the config in force cannot be used for it here: ${why}`,
});

/**
 * Plans the deliveries of a rule for an event that came before it, as if the event came now, with hours and digests. Null if
 * the rule asks for nothing, or the event has deliveries of it. With `discarded`, where some of these are unsent, only what
 * none of the others has done or may do. A fault if that cannot be told.
 */
export async function planLate(
  plan: Plan,
  findPlan: FindPlan,
  { event, decided, deliveries, lookups }: Omit<EventStory, 'configId' | 'duplicates'>,
  rule: string,
  now: number,
  discarded = false,
): Promise<Late | Unplanned | null> {
  const had = deliveries.filter((one) => one.rule === rule);
  if (had.length > 0 && !(discarded && had.some(isUnsent))) return null;
  if (!decided) return { fault: 'it is not decided yet, as it waits for its look-ups' };
  const facts = foundBy(lookups);
  const all = decide(plan, event, facts, now).filter((one) => one.rule === rule);
  const asked = await leftToTell(all, had, { plan, findPlan, about: aboutEvent(event, facts), now });
  if (asked.length === 0) return null;
  const unusable = allActions(plan).find((one) => one.rule === rule && one.unusable !== undefined)?.unusable;
  return unusable === undefined
    ? { eventId: event.id, configId: plan.id, deliveries: asked, had: had.length }
    : cannotUse(unusable);
}

/** The names of the rules that ask for something for an event by today's facts, and of which it has no deliveries. */
export function lateRules(
  plan: Plan,
  { event, decided, deliveries, lookups }: Pick<EventStory, 'event' | 'decided' | 'deliveries' | 'lookups'>,
  now: number,
): string[] {
  if (!decided) return [];
  const had = new Set(deliveries.map(({ rule }) => rule));
  const asked = decide(plan, event, foundBy(lookups), now).map(({ rule }) => rule);
  return [...new Set(asked)].filter((rule) => !had.has(rule));
}

/** Plans the look-ups of a decided event again, by today's plan; or says why there are none. */
export function planLookups(
  plan: Plan,
  { event, decided }: Pick<EventStory, 'event' | 'decided'>,
  now: number,
): Late | Unplanned {
  if (!decided) return { fault: 'it is not decided yet: it waits for its look-ups' };
  const asked = lookupsOf(plan, event)?.asked ?? [];
  if (asked.length === 0) return { fault: "today's config has no look-up for it that anything uses" };
  const deliveries = asked.map((one) => Object.assign(one, { dueAt: now }));
  return { eventId: event.id, configId: plan.id, deliveries };
}

/** Asks the process that serves the store to try a failing or paused sink at once. Returns the sink's state before. */
export async function retrySink(
  reads: Pick<Store, 'pauses' | 'personPauses' | 'sinkFigures' | 'askedToWait' | 'replicaStates'>,
  store: Pick<Store, 'askRetry' | 'now'>,
  sink: string,
  by: By,
): Promise<FoundSink> {
  const now = await store.now();
  const facts = await sinkFacts(reads, running(await reads.replicaStates(), now), now);
  const asked = (await reads.askedToWait(now)).filter((one) => one.sink === sink);
  const found = { ...conditionOf(sink, facts), asked };
  if (isDown(found)) await store.askRetry(sink, now, by);
  return found;
}

/** The schema of how long a person pauses a sink: a duration in words, which becomes ms. */
export const pauseLength = duration({ min: '1s', max: '365d' });

const askEveryMs = 50;
/**
 * How long to wait for the replica that has the sink. If it has just ended, the next one reads the pause before it
 * begins.
 */
const longestAskMs = 5000;

/**
 * Pauses a sink, for a time or until a person resumes it. Attempts under way are finished. Resolves once the process that
 * carries out the sink's deliveries begins no more; to when the pause ends (ms).
 */
export async function pauseSink(
  store: Pick<Store, 'pauseByPerson' | 'personPauses' | 'replicaStates' | 'now'>,
  sink: string,
  forMs: number | null,
  by: By,
  wake: () => void = () => {},
): Promise<number | null> {
  const now = await store.now();
  const until = forMs === null ? null : now + forMs;
  await store.pauseByPerson(sink, until, now, by);
  const replicas = running(await store.replicaStates(), now);
  const isServed = replicas.some(({ sinks }) => sinks.some(({ name }) => name === sink));
  const isAsked = async () => inForce(await store.personPauses(), now).get(sink)?.phase === 'asked';
  for (let leftMs = isServed ? longestAskMs : 0; leftMs > 0 && (await isAsked()); leftMs -= askEveryMs) {
    wake();
    await sleep(askEveryMs);
  }
  return until;
}
