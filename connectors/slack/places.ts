import type { Place } from '../../src/connector.ts';
import { isChannelId, isEmail, isPersonId } from './client.ts';
import { channelName, channelSlips } from './escape.ts';

/** The places that a message to a channel goes to; none if the channel is empty. */
export function placesOf(channel: string): Place[] {
  const id = channelName(channel);
  if (id === '') return [];
  if (isPersonId(id)) return [{ id, kind: 'person', by: 'id' }];
  if (isEmail(id)) return [{ id: id.toLowerCase(), kind: 'person', by: 'email' }];
  if (isChannelId(id)) return [{ id, kind: id.startsWith('D') ? 'person' : 'channel', by: id[0]! }];
  return [{ id: id.toLowerCase(), kind: 'channel', by: 'name' }];
}

/** A channel as it is compared: for Slack, capitals of a name or an address make no difference. Those of an id do. */
export function alike(channel: string): string {
  const [{ by } = {}] = placesOf(channel);
  return by === 'name' || by === 'email' ? channel.toLowerCase() : channel;
}

/** A place as a policy names it. */
export function placeNamed(channel: string): Place | { readonly fault: string } {
  const [slip] = channelSlips(channel);
  const [place] = placesOf(channel);
  return slip || !place ? { fault: slip?.message ?? 'expected a channel' } : place;
}
