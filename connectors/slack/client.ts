import { httpFailure, WatchedFetch } from '../../src/connector.ts';
import type { CallFailure, CallResult, HttpFailure, Proxy, Secret } from '../../src/connector.ts';
import { channelName } from './escape.ts';

/** Why a call of the Web API gave no result. */
export type Failure =
  | CallFailure
  /** A status other than 200. Slack itself uses these only for rate limits and for faults of its own. */
  | HttpFailure
  /** Slack's own answer with `ok: false`. */
  | { readonly kind: 'refused'; readonly error: string; readonly data: RefusalData };

export interface RefusalData {
  readonly needed?: string;
  readonly provided?: string;
  readonly response_metadata?: { readonly messages?: readonly string[] };
}

export type Answer<Data> = CallResult<Data, Failure>;

/** One call of a Web API method: never repeated, ended by the signal. `Data` is what Slack documents for it. */
export type Call = <Data = unknown>(
  method: string,
  args: { readonly [name: string]: unknown },
  signal: AbortSignal,
) => Promise<Answer<Data>>;

/** The largest answer that is read. A page of 200 messages with all their blocks is smaller. */
const maxAnswerBytes = 10 * 1024 * 1024;

type Library = typeof import('@slack/web-api');

/** A logger that prints nothing: the client would print arguments in its warnings. */
const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => 'error',
  setName: () => {},
};

/**
 * Calls through the official client. It takes no signal for a single call and hides the status of some answers, but it
 * takes a `fetch`. So each call has a client of its own (which costs 0.03 ms) with a `fetch` that has both.
 */
export function webApi(
  { WebClient }: Library,
  { token, apiUrl, proxy }: { token: Secret; apiUrl: string; proxy: Proxy | null },
): Call {
  return async <Data>(
    method: string,
    args: { readonly [name: string]: unknown },
    signal: AbortSignal,
  ): Promise<Answer<Data>> => {
    if (signal.aborted) return { ok: false, failure: { kind: 'stopped', sent: false } };
    const watched = new WatchedFetch(maxAnswerBytes, signal, proxy);
    const client = new WebClient(token.reveal(), {
      slackApiUrl: apiUrl,
      allowAbsoluteUrls: false,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      logger: silent as never,
      fetch: watched.fetch,
    });
    try {
      return { ok: true, data: (await client.apiCall(method, { ...args })) as Data };
    } catch (error) {
      const { began, answered } = watched;
      if (!began) throw error;
      if (answered !== null && answered.status !== 200) return { ok: false, failure: httpFailure(answered) };
      const { code, data = {} } = error as { code?: unknown; data?: RefusalData & { error?: unknown } };
      if (code !== 'slack_webapi_platform_error') return { ok: false, failure: watched.failureOf(error) };
      // The client passes a page that is not JSON on as an error's code.
      const isCode = typeof data.error === 'string' && /^[a-z][a-z0-9_.:-]{0,99}$/i.test(data.error);
      const refused = { kind: 'refused', error: String(data.error), data } as const;
      return { ok: false, failure: isCode ? refused : { kind: 'foreign' } };
    }
  };
}

interface ChannelPage {
  readonly channels?: readonly { readonly id: string; readonly name: string }[];
  /** The client puts the header x-oauth-scopes here. */
  readonly response_metadata?: { readonly next_cursor?: string; readonly scopes?: readonly string[] };
}

/** The largest page that Slack gives. */
const pageSize = 999;
/** More pages are not searched: Slack allows some 20 such calls a minute. */
const maxPages = 20;

/** A name that was looked up is taken for the same channel's so long. */
const nameHoldsMs = 60_000;

/** A search without a find. */
interface NotFound {
  readonly id: null;
  /** False where there are more channels than are searched. */
  readonly searchedAll: boolean;
  /** The app may not list private channels. */
  readonly publicOnly?: boolean;
  readonly scopes: readonly string[];
}

export type Resolved = { readonly id: string } | NotFound;

/**
 * Finds the channels and people that an action names. `chat.postMessage` takes a channel's name and a person's id; every
 * method that reads needs a channel's id, which the answer to a post has. Without one, an earlier receipt names it. Lists of
 * channels come last, as they are slow and tightly limited: first the bot's own, which are few; all public ones only where
 * the app may post without being in them.
 */
export class Places {
  readonly #call: Call;
  readonly #teamId: string | undefined;
  readonly #channels = new Map<string, string>();
  /** When a channel was last seen to have its name (ms). */
  readonly #namedAt = new Map<string, number>();
  readonly #people = new Map<string, string>();

  constructor(call: Call, teamId?: string) {
    this.#call = call;
    this.#teamId = teamId;
  }

  /** Keeps the id that a post's answer had for a channel of an action. */
  learn(channel: string, id: string): void {
    this.#channels.set(channelName(channel), id);
  }

  /** Forgets a channel after a refusal. */
  forget(channel: string): void {
    this.#channels.delete(channelName(channel));
    this.#people.delete(channel);
  }

  /** The channel as `chat.postMessage` takes it. `now` in ms. */
  async address(channel: string, now: number, signal: AbortSignal): Promise<Answer<string>> {
    if (isEmail(channel)) return this.#personWith(channel, signal);
    // A token of an organization takes ids only.
    if (this.#teamId === undefined || isChannelId(channel) || isPersonId(channel))
      return { ok: true, data: channel };
    // People rename channels, and give the name to another one: the channel that has the name now is meant.
    const name = channelName(channel);
    const id = this.#channels.get(name) ?? null;
    const age = Math.abs(now - (this.#namedAt.get(name) ?? Infinity));
    if (id !== null && age < nameHoldsMs) return { ok: true, data: id };
    const found = await this.#lookUp(channel, id, signal);
    if (!found.ok) return found;
    // As if Slack had refused the call.
    if (found.data.id === null)
      return { ok: false, failure: { kind: 'refused', error: 'channel_not_found', data: {} } };
    this.#namedAt.set(name, now);
    return { ok: true, data: found.data.id };
  }

  /** The id of a channel. `earlier`: its id by the newest receipt of a message there, if there is one. */
  async resolve(
    channel: string,
    signal: AbortSignal,
    earlier: () => Promise<string | null> = async () => null,
  ): Promise<Answer<Resolved>> {
    const known = this.#channels.get(channelName(channel)) ?? (isChannelId(channel) ? channel : undefined);
    if (known !== undefined) return { ok: true, data: { id: known } };
    const hint = await earlier();
    if (isEmail(channel) || isPersonId(channel)) return this.#directMessages(channel, hint, signal);
    return this.#lookUp(channel, hint, signal);
  }

  /** Finds a channel by the id that it had, if that still has the name, or else in the lists of channels. */
  async #lookUp(channel: string, hint: string | null, signal: AbortSignal): Promise<Answer<Resolved>> {
    const confirmed = hint === null ? null : await this.#confirm(hint, channel, signal);
    if (confirmed !== null) return confirmed;
    this.forget(channel);
    const own = 'users.conversations';
    const all = await this.#search(own, 'public_channel,private_channel', channel, signal);
    // The scope for private channels may be the one that is missing.
    const lacksScope = !all.ok && all.failure.kind === 'refused' && all.failure.error === 'missing_scope';
    const joined = lacksScope ? await this.#search(own, 'public_channel', channel, signal) : all;
    if (!joined.ok || joined.data.id !== null) return joined;
    const found = joined.data.scopes.includes('chat:write.public')
      ? await this.#search('conversations.list', 'public_channel', channel, signal)
      : joined;
    if (!found.ok || found.data.id !== null) return found;
    return { ok: true, data: { ...found.data, publicOnly: lacksScope } };
  }

  async #personWith(email: string, signal: AbortSignal): Promise<Answer<string>> {
    const known = this.#people.get(email);
    if (known !== undefined) return { ok: true, data: known };
    const answer = await this.#call<{ user?: { id?: string } }>('users.lookupByEmail', { email }, signal);
    if (!answer.ok) return answer;
    const id = answer.data.user?.id;
    if (id === undefined) return { ok: false, failure: { kind: 'foreign' } };
    this.#people.set(email, id);
    return { ok: true, data: id };
  }

  /** The conversation of the app with one person. It has no name that could change, so an earlier one is still right. */
  async #directMessages(
    person: string,
    earlier: string | null,
    signal: AbortSignal,
  ): Promise<Answer<Resolved>> {
    if (earlier?.startsWith('D')) return { ok: true, data: { id: earlier } };
    const user = isEmail(person)
      ? await this.#personWith(person, signal)
      : ({ ok: true, data: person } as const);
    if (!user.ok) return user;
    const args = { users: user.data };
    const answer = await this.#call<{ channel?: { id?: string } }>('conversations.open', args, signal);
    if (!answer.ok) return answer;
    const id = answer.data.channel?.id;
    if (id === undefined) return { ok: false, failure: { kind: 'foreign' } };
    this.learn(person, id);
    return { ok: true, data: { id } };
  }

  /** Asks whether a channel still has its name. Null where it has another one, or Slack does not tell. */
  async #confirm(id: string, channel: string, signal: AbortSignal): Promise<Answer<Resolved> | null> {
    const answer = await this.#call<{ channel?: { name?: string } }>(
      'conversations.info',
      { channel: id },
      signal,
    );
    if (!answer.ok) return answer.failure.kind === 'refused' ? null : answer;
    if (answer.data.channel?.name !== channelName(channel)) return null;
    this.learn(channel, id);
    return { ok: true, data: { id } };
  }

  async #search(
    method: 'users.conversations' | 'conversations.list',
    types: string,
    channel: string,
    signal: AbortSignal,
  ): Promise<Answer<Resolved>> {
    const team = this.#teamId === undefined ? {} : { team_id: this.#teamId };
    let cursor = '';
    let scopes: readonly string[] = [];
    for (let page = 0; page < maxPages; page += 1) {
      const args = { types, exclude_archived: true, limit: pageSize, ...team, ...(cursor && { cursor }) };
      const answer = await this.#call<ChannelPage>(method, args, signal);
      if (!answer.ok) return answer;
      const { channels = [], response_metadata = {} } = answer.data;
      for (const { id, name } of channels) this.learn(name, id);
      const id = this.#channels.get(channelName(channel));
      if (id !== undefined) return { ok: true, data: { id } };
      scopes = response_metadata.scopes ?? scopes;
      cursor = response_metadata.next_cursor ?? '';
      if (cursor === '') return { ok: true, data: { id: null, searchedAll: true, scopes } };
    }
    return { ok: true, data: { id: null, searchedAll: false, scopes } };
  }
}

/** Why no id was found for a channel. */
export function noChannelId(channel: string, { searchedAll, publicOnly }: NotFound): string {
  if (!searchedAll)
    return `${channel} is not among the first ${maxPages * pageSize} channels, and more are not looked through.`;
  return publicOnly
    ? `The bot is in no public channel ${channel}, and the app lacks the scope groups:read, to find private ones.`
    : `The bot is in no channel ${channel}.`;
}

/** Ids are in upper case, names never are. */
export const isChannelId = (channel: string): boolean => /^[CDG][A-Z0-9]{7,}$/.test(channel);
export const isPersonId = (channel: string): boolean => /^[UW][A-Z0-9]{7,}$/.test(channel);
export const isEmail = (channel: string): boolean => /^[^\s@<>#]{1,64}@[^\s@<>]{1,255}$/.test(channel);

/** Whether a message goes to a person directly, by id or email address. */
export const isPerson = (channel: string): boolean => isPersonId(channel) || isEmail(channel);
