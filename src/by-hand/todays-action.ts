import type { FindPlan } from '../config/live/stored-plans.ts';
import { type Delivery, isStuck, type Json, type PlannedDelivery } from '../model.ts';
import { type Action, allActions, type Plan } from '../rules/plan.ts';
import { templateData } from '../templates/data.ts';
import { type About, actionOf, dataOf, factsOf } from '../deliveries/prepare.ts';

/** Which action of today's plan a delivery of an earlier one is about. */

/** Why a delivery cannot be planned, as the end of a sentence. */
export interface Unplanned {
  readonly fault: string;
}

/** Of an action that the config in force has, but whose sink it cannot use here. */
export const cannotUse = (why: string): Unplanned => ({
  fault: `the config in force cannot be used for it here: ${why}`,
});

/** Today's plan, and what came of an event or notice before. */
export interface Today {
  readonly plan: Plan;
  /** Finds the plans that deliveries were made by. */
  readonly findPlan: FindPlan;
  readonly about: About;
  readonly now: number;
}

/** Whether a person discarded it before it was tried, so that it has not arrived. */
export const isUnsent = ({ state, attempts, uncertain }: Delivery): boolean =>
  state === 'discarded' && attempts === 0 && !uncertain;

/** Those that were planned for an event or notice. What was sent again is about the same action as the one before. */
const plannedOnes = (all: readonly Delivery[]): Delivery[] => all.filter(({ resendOf }) => resendOf === null);

/**
 * The action of today's plan that a delivery is about, by the rule's name. Actions may have been taken out, put in or moved
 * since. So it is none that another delivery is about: who has that one would get it twice, and counts as told of this one.
 * `all`: the deliveries of the same event or notice.
 */
export async function actionOfToday(
  delivery: Delivery,
  all: readonly Delivery[],
  today: Today,
): Promise<Action | Unplanned> {
  const { rule, sink, configId } = delivery;
  const { plan } = today;
  const sameSink = allActions(plan).filter((one) => one.rule === rule && one.sink === sink);
  if (sameSink.length === 0)
    return {
      fault: `today's config has no rule ${rule} with an action for ${sink}: put the config back that had it, then try again`,
    };
  const own = configId === plan.id && sameSink.find(({ action }) => action === delivery.action);
  if (own) return own;
  const firstId = ({ id, resendOf }: Delivery): string => {
    const before = all.find((one) => one.id === resendOf);
    return before ? firstId(before) : id;
  };
  const first = firstId(delivery);
  const isOwn = (one: Delivery) => one === delivery;
  const known = plannedOnes(all)
    .map((one) => (one.id === first ? delivery : one))
    .filter((one) => one.rule === rule && one.sink === sink);
  // What else is stuck may be replayed, too: the first one has what both could be about. What was discarded unsent may have
  // been planned anew since, as this one.
  const {
    others = [],
    open = [],
    unsent = [],
  } = Object.groupBy(known, (one) =>
    isOwn(one) || isStuck(one.state) ? 'open' : isUnsent(one) ? 'unsent' : 'others',
  );
  // Whoever had the message that is sent again is to get it, whatever else went to the same place.
  const sentAgain = isStuck(delivery.state) ? [] : [delivery];
  const taken = await taking([...sentAgain, ...others, ...open, ...unsent], sameSink, today);
  const isTaking = (one: Delivery) => taken.values().some((other) => other === one);
  for (const one of open.filter((other) => !isTaking(other))) {
    const free = sameSink.filter((action) => !taken.has(action));
    const left = free.find(({ action }) => action === one.action) ?? free[0];
    if (left) taken.set(left, one);
  }
  const found = sameSink.find((action) => taken.get(action) === delivery);
  if (!found)
    return {
      fault: `what today's rule ${rule} asks of ${sink} is what other deliveries of the ${delivery.noticeId === null ? 'event' : 'notice'} are about: put the action back that this one is for, then try again`,
    };
  return found;
}

/**
 * Which of some actions of today's plan are taken by deliveries that were made before, each by at most one: first by those
 * whose message is the same as then, then by those that go to the same place, and then by those in the same lane.
 */
async function taking(
  deliveries: readonly Delivery[],
  actions: readonly Action[],
  { plan, findPlan, about, now }: Today,
  isItsTool: SameTool = (was, { sink }) => was.sink === sink,
): Promise<Map<Action, Delivery>> {
  if (deliveries.length === 0) return new Map();
  const were = await Promise.all(
    deliveries.map(async (delivery) => {
      const made = await findPlan(delivery.configId);
      const action = 'fault' in made ? undefined : actionOf(made, delivery);
      const { lane } = delivery;
      return { delivery, looks: { ...(action && looksOf(action, about, made as Plan, now)), lane } };
    }),
  );
  const are = actions.map((action) => ({ action, looks: looksOf(action, about, plan, now) }));
  const taken = new Map<Action, Delivery>();
  const paired = new Set<Delivery>();
  for (const look of ['message', 'place', 'lane'] as const)
    for (const { delivery, looks } of were) {
      if (paired.has(delivery) || looks[look] === undefined) continue;
      const alike = are.filter(
        (one) => !taken.has(one.action) && isItsTool(delivery, one.action) && one.looks[look] === looks[look],
      );
      const found = alike.find(({ action }) => action.action === delivery.action) ?? alike[0];
      if (!found) continue;
      taken.set(found.action, delivery);
      paired.add(delivery);
    }
  return taken;
}

/** Whether a delivery went through the sink of what is asked today. */
type SameTool = (was: Delivery, today: Pick<PlannedDelivery, 'sink' | 'connector'>) => boolean;

/**
 * Of what today's rule asks for an event, what none of its deliveries of the rule has done or may do, in whatever order the
 * rule has its actions. A sink that an earlier plan does not use is another name of one that today's does not use any more.
 */
export async function leftToTell(
  asked: readonly PlannedDelivery[],
  had: readonly Delivery[],
  today: Today,
): Promise<readonly PlannedDelivery[]> {
  const sent = plannedOnes(had).filter((one) => !isUnsent(one));
  const made = new Map(
    await Promise.all(sent.map(async ({ configId }) => [configId, await today.findPlan(configId)] as const)),
  );
  const uses = (plan: Plan, sink: string) => allActions(plan).some((one) => one.sink === sink);
  const isItsTool: SameTool = (was, { sink, connector }) => {
    if (was.sink === sink) return true;
    if (was.connector !== connector || uses(today.plan, was.sink)) return false;
    const then = made.get(was.configId)!;
    return 'fault' in then || !uses(then, sink);
  };
  const actionsOf = new Map(asked.map((one) => [one, actionOf(today.plan, one)!]));
  const taken = await taking(sent, [...actionsOf.values()], today, isItsTool);
  // What is like none of today's actions may have been the one in its place.
  const unlike = sent.filter((one) => !taken.values().some((other) => other === one));
  return asked.filter(
    (one) =>
      !taken.has(actionsOf.get(one)!) &&
      !unlike.some((other) => isItsTool(other, one) && other.action === one.action),
  );
}

/** What deliveries are told apart by; without what cannot be rendered. */
interface Looks {
  readonly message?: string;
  readonly place?: string;
  readonly lane: string;
}

function looksOf(action: Action, about: About, plan: Plan, now: number): Looks {
  const data = dataOf(action, about, plan, now);
  const rendered = action.render(data);
  const audience = action.audience(data);
  return {
    ...(!('fault' in rendered) && { message: JSON.stringify([action.digest !== null, rendered.fields]) }),
    ...(audience && { place: audience.place }),
    lane: action.lane(() => data),
  };
}

/**
 * Why a digest that a person replays is no message of today's action: that tells of one event, or of some elsewhere. The
 * others would count as told, and those whom it concerns had not heard of them. `actions`: for each of its events.
 */
export function partedToday(
  actions: readonly Action[],
  about: About,
  plan: Plan,
  now: number,
): Unplanned | null {
  const { events } = about;
  const [first] = actions;
  if (events.length < 2 || !first) return null;
  const { digest, rule } = first;
  const which = `its message is about ${events.length} events, and`;
  if (!digest)
    return { fault: `${which} its action has no digest any more: give it a digest again, then replay this` };
  if (new Set(actions).size > 1)
    return {
      fault: `${which} not all of them have today's same action left: put the action back that it is for, then replay this`,
    };
  const places = events.map((event): Json =>
    digest.place(templateData(event, plan.test(event.testId), factsOf(about, event), rule, now)),
  );
  if (new Set(places.map((place) => JSON.stringify(place))).size === 1) return null;
  return {
    fault: `${which} by its action they go to different places today: name one place for all of them, then replay this`,
  };
}
