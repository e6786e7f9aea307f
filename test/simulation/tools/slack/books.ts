import type { PostedMessage } from '../../../../sandbox/slack.ts';
import { knownAt } from '../../../../src/lookups/kept-facts.ts';
import type { Delivery } from '../../../../src/model.ts';
import type { EventStory } from '../../../../src/store/store.ts';
import type { Play } from '../play.ts';
import type { PlayedSlack, SlackAction } from './tool.ts';

type SlackPlay = Play<SlackAction, PlayedSlack>;

const idOf = ({ metadata }: PostedMessage): string => String(metadata?.event_payload['delivery_id']);

/** What is wrong with what Slack has in the end, in words. */
export function findBreaches(play: SlackPlay, stories: readonly EventStory[]): string[] {
  const { messages } = play.tool.workspace;
  const byId = Map.groupBy(messages, idOf);
  return [
    ...toldTwice(play, byId),
    ...stories.flatMap((story) =>
      story.deliveries.flatMap((one) => [
        ...toldNobody(play, story, one, byId.get(one.carrier ?? one.id) ?? []),
        ...elsewhere(play, story, one),
      ]),
    ),
    ...begunTwice(play),
  ];
}

function toldTwice(play: SlackPlay, byId: ReadonlyMap<string, readonly PostedMessage[]>): string[] {
  return [...byId].flatMap(([id, some]) => {
    const where = some.map(({ channelName }) => channelName);
    return play.isTwice(id, where) ? [`${id} is in ${where.join(' and ')}`] : [];
  });
}

function toldNobody(
  play: SlackPlay,
  { event }: EventStory,
  { id, carrier, rule, action, state, lastError }: Delivery,
  told: readonly PostedMessage[],
): string[] {
  // Of a digest whose events have parted since, a person has to say where it goes.
  if (state === 'dead' && play.parted.has(carrier ?? id)) return [];
  if (state !== 'delivered') return [`${id} is ${state}: ${lastError}`];
  const { updateBy, updates } = play.written(rule, action);
  // An edit is no message of its own.
  if (updateBy !== undefined && updates === undefined) return [];
  const name = nameOf({ event });
  // One that began a thread tells of a later event by now.
  return told.some(({ text }) => updateBy !== undefined || text.includes(name))
    ? []
    : [`${id} of ${name} is told nobody`];
}

const nameOf = ({ event }: Pick<EventStory, 'event'>): string => `${event.candidateId}/${event.status} `;

/** A message is posted where what is known by then says; or where it was posted before. */
function elsewhere(play: SlackPlay, { lookups }: EventStory, { id, rule, action }: Delivery): string[] {
  const { channel, digest, updateBy } = play.written(rule, action);
  // What may have been an edit stays in that channel, too.
  if (digest || updateBy !== undefined || !channel.includes('office') || play.restored) return [];
  const posted = play.tool.posted.filter(({ deliveryId }) => deliveryId === id);
  return posted.flatMap(({ channel: went, at }, index) => {
    // It may have been found out while the message was under way.
    const right = [at, at - 400].map(
      (time) => `#${String(knownAt(time, lookups)['candidate']?.fields['office'] ?? 'others')}`,
    );
    const before = posted.slice(0, index).map((one) => one.channel);
    return right.concat(before).includes(went) ? [] : [`${id} was posted to ${went}, not to ${right[0]}`];
  });
}

/** What has the same key in a channel is one thread, or one message. */
function begunTwice(play: SlackPlay): string[] {
  // A message that is not in the restored store has begun another one.
  if (play.restored) return [];
  const begin = play.tool.workspace.messages.filter((message) => {
    const { thread_ts, metadata } = message;
    if (thread_ts !== undefined || metadata?.event_payload['thread'] === undefined) return false;
    // What was given up is not waited for.
    return !play.replayed.has(idOf(message));
  });
  const keys = Map.groupBy(begin, ({ channelName, metadata }) =>
    JSON.stringify([channelName, metadata?.event_payload['thread']]),
  );
  return [...keys].flatMap(([key, some]) =>
    some.length > 1 ? [`${key} is begun by ${some.map(idOf).join(' and ')}`] : [],
  );
}
