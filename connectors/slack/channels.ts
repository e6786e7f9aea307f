import type { Answer, Call } from './client.ts';

interface ChannelPage {
  readonly channels?: readonly { readonly id: string; readonly name: string }[];
  readonly response_metadata?: { readonly next_cursor?: string };
}

const pageSize = 1000;
/** A workspace with more channels than this needs ids in its config to be asked. */
const maxPages = 20;

/**
 * The ids of channels. `chat.postMessage` takes a name, every method that reads wants an id. A post that succeeded
 * tells it, so the list of all channels, a slow and tightly limited call, is read only where none has yet.
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

  /** null: the bot sees no channel of this name. */
  async resolve(channel: string, signal: AbortSignal): Promise<Answer<string | null>> {
    const known = this.#known.get(nameOf(channel)) ?? (isId(channel) ? channel : undefined);
    if (known !== undefined) return { ok: true, data: known };
    const all = await this.#list('public_channel,private_channel', channel, signal);
    if (!lacksScope(all)) return all;
    // The scope for private channels may be the one that is missing.
    return this.#list('public_channel', channel, signal);
  }

  async #list(types: string, channel: string, signal: AbortSignal): Promise<Answer<string | null>> {
    let cursor = '';
    for (let page = 0; page < maxPages; page += 1) {
      const args = { types, exclude_archived: true, limit: pageSize, ...(cursor && { cursor }) };
      const answer = await this.#call<ChannelPage>('conversations.list', args, signal);
      if (!answer.ok) return answer;
      for (const { id, name } of answer.data.channels ?? []) this.learn(name, id);
      const found = this.#known.get(nameOf(channel));
      if (found !== undefined) return { ok: true, data: found };
      cursor = answer.data.response_metadata?.next_cursor ?? '';
      if (cursor === '') break;
    }
    return { ok: true, data: null };
  }
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
