import type { Delivery } from '../../../src/model.ts';
import { needsOf } from '../../../src/ops/needs.ts';
import { onlyStore, readStatus } from '../../../src/ops/status/status.ts';
import type { EventStory } from '../../../src/store/store.ts';
import type { PlayedAction, PlayedConfig } from './cases.ts';
import type { Applied, Done, Play } from './play.ts';
import type { Kept } from './tool.ts';

/** The action that a delivery is for, as the config was by which it was planned last. */
const actionOf = (play: Play, { configId, rule, action }: Delivery): PlayedAction =>
  todays(play.played(configId), rule)[action]!;

const todays = (config: PlayedConfig, name: string): readonly PlayedAction[] =>
  config.rules.find((one) => one.name === name)?.then ?? [];

/** What in the books of all that was done so far is wrong, in words. */
export async function findBreaches(play: Play): Promise<string[]> {
  const stories = await play.stories();
  return [...toldTwice(play, stories), ...toldNobody(play, stories), ...(await miscounted(play, stories))];
}

/** By a rule, each of its messages is told once of each event; and once more as often as nobody knew, where no tool can be asked. */
function toldTwice(play: Play, stories: readonly EventStory[]): string[] {
  const known = new Map(stories.flatMap(({ deliveries }) => deliveries).map((one) => [one.id, one]));
  const told = play.tools.kept.flatMap((message) => {
    const { rule, resendOf } = known.get(message.deliveryId)!;
    return message.about.map((who) => ({ ...message, what: `${rule} ${message.tag} of ${who}`, resendOf }));
  });
  const planned = told.filter(({ resendOf }) => resendOf === null);
  const twice = [...Map.groupBy(planned, ({ what }) => what)].filter(([, some]) => {
    const ids = new Set(some.map(({ deliveryId }) => deliveryId));
    const unclear = ids.values().reduce((sum, id) => sum + (play.tools.unclear.get(id) ?? 0), 0);
    return some.length > 1 + (some[0]!.kind === 'slack' ? 0 : unclear);
  });
  const again = [
    ...Map.groupBy(
      told.filter(({ resendOf, kind }) => resendOf !== null && kind === 'slack'),
      (one) => one.deliveryId,
    ),
  ];
  return [
    ...twice.map(
      ([what, some]) =>
        `${what} is told ${some.length} times, by ${some.map(({ deliveryId }) => deliveryId).join(' ')}`,
    ),
    ...again.filter(([, some]) => some.length > 1).map(([id, some]) => `${id} is told ${some.length} times`),
  ];
}

/** Whether somebody has of a candidate what a delivery tells. */
const has = (kept: readonly Kept[], { id, carrier }: Delivery, who: string): boolean =>
  kept.some(({ deliveryId, about }) => deliveryId === (carrier ?? id) && about.includes(who));

function toldNobody(play: Play, stories: readonly EventStory[]): string[] {
  return stories.flatMap(({ event, deliveries }) =>
    deliveries
      .filter((one) => one.state === 'delivered' && !has(play.tools.kept, one, event.candidateId))
      .map(({ id }) => `${id} counts as delivered, and nobody has it`),
  );
}

async function miscounted(play: Play, stories: readonly EventStory[]): Promise<string[]> {
  const { store, clock } = play;
  const all = stories.flatMap(({ deliveries }) => deliveries);
  const wrong = (await store.counts()).filter(({ sink, planned, states }) => {
    const mine = all.filter((one) => one.sink === sink);
    const sum = Object.values(states).reduce((total, some) => total + some, 0);
    return (
      planned !== sum ||
      planned !== mine.length ||
      Object.entries(states).some(
        ([state, some]) => mine.filter((one) => one.state === state).length !== some,
      )
    );
  });
  const needs = needsOf(await readStatus(onlyStore(store), clock.now(), 'UTC'));
  const astray = (['dead', 'held'] as const).filter((state) => {
    const some = all.filter((one) => one.state === state).length;
    return (needs.find(({ kind }) => kind === state)?.words ?? '') !== (some > 0 ? `${some} ${state}` : '');
  });
  return [
    ...wrong.map((one) => `miscounted: ${JSON.stringify(one)}`),
    ...astray.map((state) => `status tells otherwise of what is ${state}`),
  ];
}

/** What came of something that a person did otherwise than was said, in words. */
export async function judge(play: Play, done: Done): Promise<string[]> {
  const { action, said, results, before, keptBefore } = done;
  const { today } = play.editor;
  const stories = await play.stories();
  const after = new Map(stories.flatMap(({ deliveries }) => deliveries).map((one) => [one.id, one]));
  const nameOf = ({ eventId }: Delivery) =>
    stories.find(({ event }) => event.id === eventId)!.event.candidateId;
  const foretold = new Map(said.map((one) => [one.id, one]));
  const breaches: string[] = [];
  if (said.length !== results.length) breaches.push(`${said.length} were foretold, ${results.length} done`);
  const touched = new Set<string>();
  for (const { id, ok, says, madeId } of results) {
    const told = foretold.get(id);
    const [was, is] = [before.get(id)!, after.get(id)!];
    const breach = (what: string) =>
      void breaches.push(`${action} ${id} of ${nameOf(was)}: ${what} (${says})`);
    if (told?.ok !== ok || (!ok && told.says !== says)) breach(`a dry run said: ${told?.says}`);
    if (ok && told?.says.includes('may have arrived') !== says.includes('may have arrived'))
      breach(`a dry run said: ${told?.says}`);
    if (told?.says.includes('has not arrived') && has(keptBefore, was, nameOf(was)))
      breach('a dry run said that it has not arrived');
    if (ok && action !== 'resend') touched.add(was.carrier ?? was.id);
    const mine = todays(today, was.rule);
    const { tag, kind, place } = actionOf(play, was);
    const same = mine.find((one) => one.tag === tag && one.place === place && today.sinks[kind] === was.sink);
    if (ok && action === 'discard' && is.state !== 'discarded') breach(`it is ${is.state}`);
    if (action === 'discard') continue;
    if (
      !ok &&
      same &&
      !says.startsWith('its message is about') &&
      !/less than a minute|being sent again/.test(says)
    )
      breach('the action is there');
    if (!ok) continue;
    const made = action === 'resend' ? after.get(madeId!)! : is;
    const isKeptBack = play.paused.has(made.sink);
    if (made.attempts <= (action === 'resend' ? 0 : was.attempts) && !isKeptBack) breach('nothing was tried');
    if (same && actionOf(play, made).tag !== tag)
      breach(`it tells ${actionOf(play, made).tag} in place of ${tag}`);
    if (made.state === 'pending' && !isKeptBack) breach('it is pending');
  }
  for (const [id, was] of before) {
    const is = after.get(id)!;
    const isMeant = results.some((one) => one.id === id && one.ok) && action !== 'resend';
    if (isMeant || was.state === 'pending' || (is.state === was.state && is.attempts === was.attempts))
      continue;
    const refused = results.find((one) => one.id === id);
    if (refused && action !== 'resend')
      breaches.push(`${id} was refused and is ${is.state} (${refused.says})`);
    else if (!touched.has(was.carrier ?? was.id)) breaches.push(`${id} was not meant and is ${is.state}`);
  }
  return breaches;
}

/** Whom `apply` told otherwise than it should, where what was told before can be told apart from what was not. */
export async function judgeApplied(
  play: Play,
  { rule, discarded, before, made }: Applied,
): Promise<string[]> {
  const all = await play.deliveries();
  const isUnsent = ({ state, attempts, uncertain }: Delivery) =>
    state === 'discarded' && attempts === 0 && !uncertain;
  const { when, then } = play.editor.today.rules.find(({ name }) => name === rule)!;
  return before.flatMap(({ event, deliveries }) => {
    if ('testId' in when && when.testId !== event.testId) return [];
    const had = deliveries.filter((one) => one.rule === rule);
    const sent = had
      .filter((one) => one.resendOf === null && !isUnsent(one))
      .map((one) => actionOf(play, one));
    const isKnown = (was: PlayedAction) =>
      then.some(({ tag, place }) => tag === was.tag && place === was.place);
    if (!sent.every(isKnown)) return [];
    const isAsked = had.length === 0 || (discarded && had.some(isUnsent));
    const expected = then.filter(({ tag }) => isAsked && !sent.some((one) => one.tag === tag));
    const planned = all.filter((one) => one.eventId === event.id && made.includes(one.id));
    const [wanted, got] = [expected, planned.map((one) => actionOf(play, one))].map((some) =>
      some
        .map(({ tag }) => tag)
        .toSorted()
        .join(' '),
    );
    return wanted === got ? [] : [`apply ${rule} to ${event.candidateId} planned ${got}, not ${wanted}`];
  });
}
