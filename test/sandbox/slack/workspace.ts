import { SlackRefusal } from './refusal.ts';

export interface ChannelOptions {
  readonly name: string;
  readonly id?: string;
  readonly private?: boolean;
  readonly archived?: boolean;
  /** Whether the bot is in it. Default: yes. */
  readonly member?: boolean;
}

export interface Channel {
  readonly id: string;
  readonly name: string;
  readonly is_private: boolean;
  readonly is_archived: boolean;
  readonly is_member: boolean;
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
  readonly scopes: readonly string[];
  readonly token: string;
  readonly rate: PostRate | null;
  readonly maxPageSize: number;
}

/** What Slack keeps: channels, messages, and how fast each channel was posted to. */
export class Workspace {
  readonly channels: readonly Channel[];
  readonly scopes: readonly string[];
  readonly token: string;
  readonly maxPageSize: number;
  readonly messages: PostedMessage[] = [];
  readonly #rate: PostRate | null;
  readonly #spent = new Map<string, { tokens: number; at: number }>();
  #lastTs = 0;

  constructor({ channels, scopes, token, rate, maxPageSize }: WorkspaceOptions) {
    this.channels = channels.map((channel, index) =>
      channelOf(typeof channel === 'string' ? { name: channel } : channel, index),
    );
    this.scopes = scopes;
    this.token = token;
    this.maxPageSize = maxPageSize;
    this.#rate = rate;
  }

  /** By id, and for posting by name too. Private channels without the bot do not exist for it. */
  channel(reference: unknown, by: 'id' | 'id or name'): Channel {
    const name = by === 'id' ? null : String(reference).replace(/^#/, '');
    const found = this.channels.find((channel) => channel.id === reference || channel.name === name);
    if (!found || (found.is_private && !found.is_member)) throw new SlackRefusal('channel_not_found');
    return found;
  }

  demandScope(...anyOf: string[]): void {
    if (anyOf.some((scope) => this.scopes.includes(scope))) return;
    throw new SlackRefusal('missing_scope', { needed: anyOf.join(','), provided: this.scopes.join(',') });
  }

  /** A token bucket for each channel. */
  demandRate(channelId: string): void {
    if (this.#rate === null) return;
    const { perSecond, burst } = this.#rate;
    const now = Date.now();
    const { tokens, at } = this.#spent.get(channelId) ?? { tokens: burst, at: now };
    const left = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
    this.#spent.set(channelId, { tokens: left < 1 ? left : left - 1, at: now });
    if (left < 1) throw new SlackRefusal('ratelimited', {}, Math.ceil((1 - left) / perSecond));
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
