import { SlackRefusal } from './refusal.ts';

export interface ChannelOptions {
  readonly name: string;
  readonly id?: string;
  readonly private?: boolean;
  readonly archived?: boolean;
  /** Whether the bot is in the channel. Default: yes. */
  readonly member?: boolean;
}

export interface Channel {
  readonly id: string;
  readonly name: string;
  readonly is_private: boolean;
  readonly is_archived: boolean;
  readonly is_member: boolean;
  readonly is_im?: boolean;
  /** The person of direct messages. */
  readonly user?: string;
}

export interface Person {
  readonly id: string;
  readonly email: string;
}

export interface PostRate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface PostedMessage {
  /** The channel's id. */
  readonly channel: string;
  readonly channelName: string;
  readonly ts: string;
  readonly text: string;
  readonly blocks?: readonly unknown[];
  readonly thread_ts?: string;
  readonly username?: string;
  readonly icons?: { readonly emoji?: string; readonly image_36?: string };
  readonly unfurl_links?: boolean;
  readonly metadata?: {
    readonly event_type: string;
    readonly event_payload: { readonly [key: string]: unknown };
  };
}

interface WorkspaceOptions {
  readonly channels: readonly (string | ChannelOptions)[];
  readonly people: readonly Person[];
  readonly scopes: readonly string[];
  readonly token: string;
  readonly rate: PostRate | null;
  readonly tiers: boolean;
  readonly limited: boolean;
  readonly orgWide: boolean;
  readonly messagesTab: boolean;
  readonly maxPageSize: number;
}

/** The calls a minute of each method: https://docs.slack.dev/apis/web-api/rate-limits, and the reference of each method. */
const callsPerMinute: { readonly [method: string]: number } = {
  'chat.update': 50,
  'conversations.list': 20,
  'users.conversations': 50,
  'conversations.info': 50,
  'conversations.history': 50,
  'conversations.replies': 50,
  'conversations.open': 50,
  'users.lookupByEmail': 50,
};
/** The same for history and replies of an app that is distributed outside of the Marketplace (the same page). */
const limitedPerMinute = 1;
const limitedPageSize = 15;

/** A workspace: its channels, people and messages, and how often it was called. */
export class Workspace {
  readonly channels: Channel[];
  readonly people: readonly Person[];
  readonly orgWide: boolean;
  readonly messagesTab: boolean;
  readonly #limited: boolean;
  readonly #tiers: boolean;
  readonly scopes: readonly string[];
  readonly token: string;
  readonly maxPageSize: number;
  readonly messages: PostedMessage[] = [];
  /** Messages that the workspace's settings let nobody edit any more. */
  readonly locked = new Set<string>();
  /** The `ts` of messages that nobody may answer, with the refusal: https://docs.slack.dev/reference/methods/chat.postMessage#errors */
  readonly closedThreads = new Map<string, string>();
  /** The addresses of images that Slack cannot load. */
  readonly unloadable = new Set<string>();
  readonly #rate: PostRate | null;
  readonly #spent = new Map<string, { tokens: number; at: number }>();
  #lastTs = 0;

  constructor(options: WorkspaceOptions) {
    this.channels = options.channels.map((channel, index) =>
      channelOf(typeof channel === 'string' ? { name: channel } : channel, index),
    );
    this.people = options.people;
    this.scopes = options.scopes;
    this.token = options.token;
    this.maxPageSize = options.maxPageSize;
    this.orgWide = options.orgWide;
    this.messagesTab = options.messagesTab;
    this.#rate = options.rate;
    this.#tiers = options.tiers;
    this.#limited = options.limited;
  }

  /**
   * Finds a channel by its id. For posting also by name, except with an org-wide token, and by a person's id. Private channels without the
   * bot do not exist for it.
   */
  channel(reference: unknown, by: 'id' | 'id or name'): Channel {
    const name = by === 'id' ? null : String(reference).replace(/^#/, '');
    if (name !== null && this.people.some(({ id }) => id === name)) return this.directMessages(name);
    const found = this.channels.find((channel) => channel.id === reference || channel.name === name);
    if (found && this.orgWide && found.id !== reference) throw new SlackRefusal('team_not_found');
    if (!found || (found.is_private && !found.is_member)) throw new SlackRefusal('channel_not_found');
    return found;
  }

  /** The app's conversation with a person, opened where there is none yet. */
  directMessages(user: string): Channel {
    const known = this.channels.find((channel) => channel.user === user);
    if (known) return known;
    const opened = { ...channelOf({ name: '', id: `D0${user.slice(1)}` }, 0), is_im: true, user };
    this.channels.push(opened);
    return opened;
  }

  /** The page size of history and replies. */
  get maxHistoryPage(): number {
    return this.#limited ? limitedPageSize : this.maxPageSize;
  }

  demandScope(...anyOf: string[]): void {
    if (anyOf.some((scope) => this.scopes.includes(scope))) return;
    throw new SlackRefusal('missing_scope', { needed: anyOf.join(','), provided: this.scopes.join(',') });
  }

  /** Takes a post from the rate of a channel. */
  demandRate(channelId: string): void {
    if (this.#rate !== null) this.#spend(channelId, this.#rate);
  }

  /** Takes a call from the tier of a method. */
  demandTier(method: string): void {
    const reads = method === 'conversations.history' || method === 'conversations.replies';
    const perMinute = this.#limited && reads ? limitedPerMinute : callsPerMinute[method];
    if (perMinute === undefined || !(this.#tiers || this.#limited)) return;
    this.#spend(method, { perSecond: perMinute / 60, burst: perMinute });
  }

  /** Takes one call from the token bucket of a key, or refuses it. */
  #spend(key: string, { perSecond, burst }: PostRate): void {
    const now = Date.now();
    const { tokens, at } = this.#spent.get(key) ?? { tokens: burst, at: now };
    const left = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
    this.#spent.set(key, { tokens: left < 1 ? left : left - 1, at: now });
    if (left < 1) throw new SlackRefusal('ratelimited', {}, Math.ceil((1 - left) / perSecond));
  }

  /**
   * Whether a message can be answered. An answer to one that was deleted is not refused: it becomes a message of
   * the channel, and Slack's answer shows no thread_ts: https://github.com/slack-go/slack/issues/1571
   */
  has(channel: Channel, ts: string | undefined): boolean {
    return this.messages.some((message) => message.channel === channel.id && message.ts === ts);
  }

  demandOpenThread(ts: string | undefined): void {
    const refusal = this.closedThreads.get(ts ?? '');
    if (refusal !== undefined) throw new SlackRefusal(refusal);
  }

  /**
   * An app may edit its own messages only, and none in an archived channel. What the edit does not name stays. The refusals are
   * those of https://docs.slack.dev/reference/methods/chat.update#errors.
   */
  edit(channel: Channel, ts: string | undefined, change: Partial<PostedMessage>): PostedMessage {
    const index = this.messages.findIndex((message) => message.channel === channel.id && message.ts === ts);
    const message = this.messages[index];
    if (channel.is_archived) throw new SlackRefusal('is_inactive');
    if (!message) throw new SlackRefusal('message_not_found');
    if (this.locked.has(message.ts)) throw new SlackRefusal('edit_window_closed');
    return (this.messages[index] = { ...message, ...change });
  }

  rename(from: string, to: string): void {
    this.#change(from, { name: to });
  }

  archive(name: string): void {
    this.#change(name, { is_archived: true });
  }

  #change(channel: string, change: Partial<Channel>): void {
    const index = this.channels.findIndex(({ name }) => name === channel);
    this.channels[index] = { ...this.channels[index]!, ...change };
  }

  /** A person deletes a message that nobody has answered. */
  remove(ts: string): void {
    const index = this.messages.findIndex((message) => message.ts === ts);
    this.messages.splice(index, 1);
  }

  post(message: Omit<PostedMessage, 'ts'>): PostedMessage {
    this.#lastTs = Math.max(this.#lastTs + 1, Date.now() * 1000);
    const posted = {
      ...message,
      ts: `${Math.floor(this.#lastTs / 1e6)}.${String(this.#lastTs % 1e6).padStart(6, '0')}`,
    };
    this.messages.push(posted);
    return posted;
  }
}

function channelOf(options: ChannelOptions, index: number): Channel {
  return {
    id: options.id ?? `C0SANDBOX${index}`,
    name: options.name.replace(/^#/, ''),
    is_private: options.private ?? false,
    is_archived: options.archived ?? false,
    is_member: options.member ?? true,
  };
}
