import { failedCheck, passed } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import { type Call, type Failure, isPerson, noChannelId, type Places } from './client.ts';
import type { SlackMessage } from './message.ts';
import { outcomeOf, withoutRotation } from './outcomes.ts';

interface AuthTest {
  readonly team?: string;
  readonly user?: string;
  /** The client puts the header x-oauth-scopes here. */
  readonly response_metadata?: { readonly scopes?: readonly string[] };
}

interface ConversationInfo {
  readonly channel?: {
    readonly is_member?: boolean;
    readonly is_archived?: boolean;
    readonly is_private?: boolean;
  };
}

/** Checks that the token is valid, has the scopes that the messages need, and reaches each of their channels. */
export async function checkSlack(
  call: Call,
  places: Places,
  messages: readonly SlackMessage[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const answer = await call<AuthTest>('auth.test', {}, signal);
  if (!answer.ok) return [failed('token valid', answer.failure, '')];
  const { team, user, response_metadata } = answer.data;
  const scopes = response_metadata?.scopes ?? [];
  const lines = [passed('token valid', `${user} in ${team}`), ...checkScopes(scopes, messages)];
  for (const channel of new Set(messages.map((message) => message.channel))) {
    lines.push(...(await checkPlace(call, places, channel, scopes, signal)));
  }
  return lines;
}

/** What else the pages of an app show, or people write, in place of its bot token. */
const noToken: readonly (readonly [form: RegExp, what: string])[] = [
  [/^https?:/i, 'this is a URL, and no token'],
  [/^bearer\s/i, 'this begins with "Bearer", which is no part of a token'],
  [/^xapp-/, 'this is the token of an app itself, which may post nothing'],
  [/^[0-9a-f]{32}$/, 'this is a secret of the app, and no token'],
  [/[^\p{ASCII}]/u, 'this has signs that no token has'],
];

/** Why a token cannot serve for long, by its form; null for others. */
export function tokenFault(token: string): string | null {
  const [, what] = noToken.find(([form]) => form.test(token)) ?? [];
  if (what !== undefined)
    return `${what}: put the bot token of an app (xoxb-…) here; README says how to make one`;
  return token.startsWith('xoxe.')
    ? `the app has token rotation, so this token ends after 12 hours. ${withoutRotation}`
    : null;
}

function checkScopes(scopes: readonly string[], messages: readonly SlackMessage[]): LiveCheck[] {
  const custom = messages.some(({ username, icon_emoji, icon_url }) => username ?? icon_emoji ?? icon_url);
  const places = messages.map(({ channel }) => channel);
  return [
    checkScope('may post', scopes, 'chat:write', ''),
    ...(custom ? [checkScope('may post under another name', scopes, 'chat:write.customize', '')] : []),
    ...(places.every(isPerson) ? [] : [checkHistory('may look for earlier messages', scopes, ...histories)]),
    ...(places.some(isPerson)
      ? [checkHistory('may look for earlier direct messages', scopes, 'im:history')]
      : []),
  ];
}

/** Of public channels, and of private ones. */
const histories = ['channels:history', 'groups:history'];

/** One of the scopes is enough. */
function checkHistory(what: string, scopes: readonly string[], ...oneOf: readonly string[]): LiveCheck {
  const scope = oneOf.find((each) => scopes.includes(each)) ?? oneOf[0]!;
  const otherwise = ' Without it, a message whose answer was lost is sent again or held, as onUnknown says.';
  return checkScope(what, scopes, scope, otherwise);
}

const underPermissions = 'under OAuth & Permissions in the settings of the app, and install the app again.';

function checkScope(what: string, scopes: readonly string[], scope: string, otherwise: string): LiveCheck {
  if (scopes.includes(scope)) return passed(what, `scope ${scope}`);
  return {
    ok: false,
    what,
    detail: `The app lacks the scope ${scope}.${otherwise}`,
    advice: `Add it ${underPermissions}`,
  };
}

async function checkPlace(
  call: Call,
  places: Places,
  channel: string,
  scopes: readonly string[],
  signal: AbortSignal,
): Promise<LiveCheck[]> {
  const what = `reaches ${channel}`;
  const resolved = await places.resolve(channel, signal);
  if (!resolved.ok) return [failed(what, resolved.failure, channel)];
  const { data } = resolved;
  if (isPerson(channel)) return [passed(what, 'a direct message')];
  if (data.id === null) {
    const advice = data.publicOnly
      ? `Check its name. If it is private, add the scope ${underPermissions}`
      : channelAdvice;
    return [{ ok: false, what, detail: noChannelId(channel, data), advice }];
  }
  const answer = await call<ConversationInfo>('conversations.info', { channel: data.id }, signal);
  if (!answer.ok) return [failed(what, answer.failure, channel)];
  const { is_archived, is_member, is_private } = answer.data.channel ?? {};
  // Slack shows no private channel that the bot is not in.
  const open = scopes.includes('chat:write.public');
  const error = is_archived ? 'is_archived' : 'not_in_channel';
  if (is_archived || !(is_member || open))
    return [failed(what, { kind: 'refused', error, data: {} }, channel)];
  const reached = passed(
    what,
    is_member ? 'the bot is in it' : 'public, and the bot may post without being in it',
  );
  // Where the app has neither scope, one line says so for all channels.
  const [needed, other] = is_private ? histories.toReversed() : histories;
  const lacksIt = scopes.includes(other!) && !scopes.includes(needed!);
  return lacksIt
    ? [reached, checkHistory(`may look for earlier messages in ${channel}`, scopes, needed!)]
    : [reached];
}

const channelAdvice =
  "Check its name, and invite the bot there (/invite and the app's name), or put the channel's id into the config.";

const failed = (what: string, failure: Failure, channel: string): LiveCheck =>
  failedCheck(what, outcomeOf(failure, channel));
