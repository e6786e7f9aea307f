import type { Answer, Call } from './client.ts';

interface ChannelPage {
  readonly channels?: readonly { readonly id: string; readonly name: string }[];
  /** The client puts the header x-oauth-scopes here. */
  readonly response_metadata?: { readonly next_cursor?: string; readonly scopes?: readonly string[] };
}

/** The most that Slack gives. */
const pageSize = 999;
/** More channels than these are not looked through: Slack allows some 20 such calls a minute. */
const maxPages = 20;

/** What a channel's name leads to; `searchedAll` is false where there are more channels than are looked through. */
export type Resolved =
  | { readonly id: string }
  | { readonly id: null; readonly searchedAll: boolean; readonly scopes: readonly string[] };

/**
 * The ids of channels. `chat.postMessage` takes a name, every method that reads wants an id. A post that succeeded
 * tells it, so lists of channels, which are slow and tightly limited, are read only where none has yet: the bot's own
 * first, which are few, and all public ones only where the app may post without being in them.
 */
export class ChannelIds {
  readonly #call: Call;
  readonly #known = new Map<string, string>();

  constructor(call: Call) {
    this.#call = call;
  }

  learn(channel: string, id: string): void {
    this.#known.set(nameOf(channel), id);
  }

  async resolve(channel: string, signal: AbortSignal): Promise<Answer<Resolved>> {
    const known = this.#known.get(nameOf(channel)) ?? (isId(channel) ? channel : undefined);
    if (known !== undefined) return { ok: true, data: { id: known } };
    const joined = await this.#joined(channel, signal);
    if (!joined.ok || joined.data.id !== null) return joined;
    if (!joined.data.scopes.includes('chat:write.public')) return joined;
    return this.#search('conversations.list', 'public_channel', channel, signal);
  }

  async #joined(channel: string, signal: AbortSignal): Promise<Answer<Resolved>> {
    const all = await this.#search('users.conversations', 'public_channel,private_channel', channel, signal);
    // The scope for private channels may be the one that is missing.
    return lacksScope(all) ? this.#search('users.conversations', 'public_channel', channel, signal) : all;
  }

  async #search(
    method: 'users.conversations' | 'conversations.list',
    types: string,
    channel: string,
    signal: AbortSignal,
  ): Promise<Answer<Resolved>> {
    let cursor = '';
    let scopes: readonly string[] = [];
    for (let page = 0; page < maxPages; page += 1) {
      const args = { types, exclude_archived: true, limit: pageSize, ...(cursor && { cursor }) };
      const answer = await this.#call<ChannelPage>(method, args, signal);
      if (!answer.ok) return answer;
      const { channels = [], response_metadata = {} } = answer.data;
      for (const { id, name } of channels) this.learn(name, id);
      const id = this.#known.get(nameOf(channel));
      if (id !== undefined) return { ok: true, data: { id } };
      scopes = response_metadata.scopes ?? scopes;
      cursor = response_metadata.next_cursor ?? '';
      if (cursor === '') return { ok: true, data: { id: null, searchedAll: true, scopes } };
    }
    return { ok: true, data: { id: null, searchedAll: false, scopes } };
  }
}

/** Why a channel's name led to no id. */
export function unseen(channel: string, searchedAll: boolean): string {
  return searchedAll
    ? `The bot is in no channel ${channel}.`
    : `${channel} is not among the first ${maxPages * pageSize} channels, and more are not looked through.`;
}

function lacksScope(answer: Answer<unknown>): boolean {
  return !answer.ok && answer.failure.kind === 'refused' && answer.failure.error === 'missing_scope';
}

/** Ids are upper case, names never are. */
function isId(channel: string): boolean {
  return /^[CDGUW][A-Z0-9]{7,}$/.test(channel);
}

/** What is the same for all ways to write a channel: `#hiring` and `hiring`. */
export function nameOf(channel: string): string {
  return channel.trim().replace(/^#/, '');
}
