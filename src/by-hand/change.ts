import type { FindPlan } from '../config/live/stored-plans.ts';
import { aboutEvent, dataOf } from '../deliveries/prepare.ts';
import { foundBy, hidingPersonal } from '../lookups/kept-facts.ts';
import { lookedUp } from '../lookups/looked-up.ts';
import { type Delivery, type DeliveryState, discardableStates, isStuck, stuckStates } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import { inParts } from '../store/paging.ts';
import type { By, ManualResult, Replay, Store } from '../store/store.ts';
import { program } from '../support/invocation.ts';
import { actionOfToday, cannotUse, partedToday, type Today, type Unplanned } from './todays-action.ts';

/** What a person can do to a delivery: in which states, and in which words. */
export type ActionName = 'replay' | 'discard' | 'resend';
const actions: Record<ActionName, { done: string; states: readonly DeliveryState[]; possible: string }> = {
  replay: { done: 'goes out again', states: stuckStates, possible: 'dead or held' },
  discard: { done: 'is discarded', states: discardableStates, possible: 'pending, dead or held' },
  resend: { done: 'goes out again', states: ['delivered'], possible: 'delivered' },
};

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
  const faults = planned.flatMap((one, index): ChangeResult[] =>
    'fault' in one ? [refusal(action, deliveries[index]!, one)!] : [],
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
  return deliveries.map((delivery, index): ChangeResult => {
    const { id, sink, rule, uncertain } = delivery;
    const found = planned[index];
    const earlier = resent.get(id);
    const refused = refusal(action, delivery, found) ?? (earlier && toDone(action, earlier, delivery));
    if (refused) return refused;
    const to = found && 'planned' in found ? found.place() : '';
    const what = `${wholeDigest(action, delivery)}: ${sink}${to && ` ${to}`}, rule ${rule}`;
    if (action === 'discard') return { id, ok: true, says: `would be discarded${what}` };
    const before =
      action === 'resend' ? 'who has it gets it twice' : uncertain ? perhapsTwice : 'it has not arrived';
    return { id, ok: true, says: `would go out again${what}; ${before}` };
  });
}

/** Why an action cannot be done to a delivery, or null. */
function refusal(action: ActionName, delivery: Delivery, found?: Planned | Unplanned): ChangeResult | null {
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

/** The result for a notice that a replay of many leaves out. */
export const leftOut = ({ id }: Delivery): ChangeResult => ({
  id,
  ok: false,
  says: 'it is a notice of what is over: discard it, or replay it by its id',
});

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

interface Planned extends Replay {
  /** Where today's message goes, such as a channel; empty if the sink says. Without secrets and personal facts. */
  place(): string;
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
): Promise<(Planned | Unplanned)[]> {
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
    const data = () => dataOf(ofToday, about, plan, now);
    const lane = ofToday.lane(data);
    const hide = hidingPersonal(story?.lookups ?? []);
    const { connector, action: index } = ofToday;
    const planned = { rule, action: index, sink, connector, lane, dueAt: now, group: null, groupMax: null };
    return {
      deliveryId: delivery.id,
      configId: plan.id,
      planned,
      place: () => hide(plan.mask(ofToday.audience(data())?.place ?? '')),
    };
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
