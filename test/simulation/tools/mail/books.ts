import { type Delivery, isStuck } from '../../../../src/model.ts';
import type { EventStory } from '../../../../src/store/store.ts';
import type { Play } from '../play.ts';
import { gone, type MailAction, type PlayedMail } from './tool.ts';

type MailPlay = Play<MailAction, PlayedMail>;

/** What is wrong with what the mail server has in the end, in words. */
export function findBreaches(play: MailPlay, stories: readonly EventStory[]): string[] {
  return [
    ...sentTwice(play),
    ...stories.flatMap((story) => story.deliveries.flatMap((one) => toldNobody(play, story, one))),
  ];
}

/** A mail comes again only where nobody knows that it had been taken, as after a restore, and never by itself where the sink holds. */
function sentTwice({ replayed, restored, tool }: MailPlay): string[] {
  const copies = tool.server.mails.flatMap(({ deliveryId, envelope }, place) =>
    envelope.to.map((address) => ({ deliveryId, address, isHeard: tool.heard.has(place) })),
  );
  const byRecipient = Map.groupBy(copies, ({ deliveryId, address }) => `${deliveryId} to ${address}`);
  return [...byRecipient].flatMap(([key, some]) => {
    const mayRepeat = replayed.has(some[0]!.deliveryId);
    const isTwice = tool.holds
      ? some.length > 1
      : !restored && some.slice(0, -1).some(({ isHeard }) => isHeard);
    return isTwice && !mayRepeat ? [`${key}: ${some.length} mails`] : [];
  });
}

function toldNobody(
  play: MailPlay,
  { event }: EventStory,
  { id, carrier, rule, action, state, lastError, receipt }: Delivery,
): string[] {
  // Of a digest whose events have parted since, a person has to say where it goes.
  if (isStuck(state) && play.parted.has(carrier ?? id)) return [];
  if (state !== 'delivered') return [`${id} is ${state}: ${lastError}`];
  const { accepted, refused } = receipt as { readonly accepted?: string[]; readonly refused?: string[] };
  const { to } = play.written(rule, action);
  const [wanted, got] = [
    new Set(to.map(generic)),
    new Set([...(accepted ?? []), ...(refused ?? [])].map(generic)),
  ];
  // What a person replayed may have had recipients of then.
  if (!play.replayed.has(carrier ?? id) && [...wanted].some((one) => !one.includes('{') && !got.has(one)))
    return [`${id} went to ${[...got].join(', ')}, and not to all of ${to.join(', ')}`];
  const name = `${event.candidateId}/${event.status} `;
  const mails = play.tool.server.mails.filter(({ deliveryId }) => deliveryId === (carrier ?? id));
  const told = new Set(
    mails.filter(({ parsed: { text = '' } }) => text.includes(name)).flatMap(({ envelope }) => envelope.to),
  );
  const left = (accepted ?? []).filter((address) => !told.has(address));
  if (told.size > to.length && !play.replayed.has(carrier ?? id) && !play.restored)
    return [`${id} of ${name} told ${[...told].join(', ')} of ${to.join(', ')}`];
  const isWrong = left.length > 0 || (refused ?? []).some((address) => address !== gone);
  return isWrong ? [`${id} of ${name}: told ${[...told].join(', ')}, said ${JSON.stringify(receipt)}`] : [];
}

const generic = (address: string): string => address.toLowerCase();
