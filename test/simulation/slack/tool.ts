import type { Answer, Failure } from '../../../connectors/slack/client.ts';
import { Places } from '../../../connectors/slack/client.ts';
import { deliverMessage } from '../../../connectors/slack/deliver.ts';
import { findMessage } from '../../../connectors/slack/find.ts';
import { slack } from '../../../connectors/slack/index.ts';
import type { SlackMessage } from '../../../connectors/slack/message.ts';
import { methods } from '../../../sandbox/slack/methods.ts';
import { SlackRefusal } from '../../../sandbox/slack/refusal.ts';
import { Workspace } from '../../../sandbox/slack/workspace.ts';
import { type AnyConnector, type AttemptRequest, defineConnector } from '../../../src/connector.ts';
import type { Clock } from '../../../src/support/clock.ts';

type Outside = <T>(run: () => Promise<T>) => Promise<T>;
type Request = AttemptRequest<SlackMessage>;

const channels = ['berlin', 'zagreb', 'others', 'd-02', 'd-03', 'd-04'];

/** The workspace of the sandbox, called by the connector itself. It fails, refuses, and loses answers. */
export class PlayedSlack {
  readonly workspace = new Workspace({
    channels,
    people: [],
    scopes: ['chat:write', 'channels:read', 'channels:history', 'groups:read', 'groups:history'],
    token: 'xoxb-1',
    rate: null,
    tiers: false,
    limited: false,
    orgWide: false,
    messagesTab: true,
    maxPageSize: 1000,
  });
  /** How likely a call goes wrong. */
  faults = 0;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #posting: (deliveryId: string, channel: string, fate: string) => void;

  constructor(
    clock: Clock,
    random: () => number,
    /** Hears of each message that the connector posts, before anything becomes of it. */
    posting: (deliveryId: string, channel: string, fate: string) => void,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#posting = posting;
  }

  /** The connector for one life of the process. */
  connector(outside: Outside): AnyConnector {
    const connect = async () => {
      const call = <Data>(method: string, args: object, signal: AbortSignal) =>
        outside(() => this.#call(method, args, signal)) as Promise<Answer<Data>>;
      const places = new Places(call);
      return {
        deliver: (request: Request) => deliverMessage(call, places, request),
        find: (request: Request) => findMessage(call, places, request),
        check: async () => [],
        close: async () => {},
      };
    };
    return defineConnector({ ...slack, connect });
  }

  async #call(method: string, args: object, signal: AbortSignal): Promise<Answer<unknown>> {
    const failed = (failure: Failure) => ({ ok: false, failure }) as const;
    if (signal.aborted) return failed({ kind: 'stopped', sent: false });
    const fate = this.#fate(method);
    const { channel, metadata } = args as { channel: string; metadata?: SlackMessage['metadata'] };
    if (method === 'chat.postMessage') this.#posting(metadata!.event_payload.delivery_id, channel, fate);
    await this.#pause();
    if (fate === 'refused') return failed({ kind: 'refused', error: 'not_in_channel', data: {} });
    if (fate === 'limited')
      return failed({ kind: 'http', status: 429, retryAfterMs: Math.floor(this.#random() * 120_000) });
    if (fate === 'lost before') return failed({ kind: 'network', sent: true, words: 'ECONNRESET' });
    const answer = this.#answer(method, args);
    await this.#pause();
    if (fate === 'lost') return failed({ kind: 'http', status: 503, retryAfterMs: null });
    return answer;
  }

  #fate(method: string): 'done' | 'refused' | 'limited' | 'lost before' | 'lost' {
    const roll = this.#random() / this.faults;
    if (!(roll < 1)) return 'done';
    if (roll < 0.5) return 'lost';
    if (roll < 0.65) return 'lost before';
    return roll < 0.85 || !method.startsWith('chat.') ? 'limited' : 'refused';
  }

  #answer(method: string, args: object): Answer<unknown> {
    const texts = Object.entries(args).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]);
    try {
      return { ok: true, data: methods.get(method)!(this.workspace, Object.fromEntries(texts)) };
    } catch (error) {
      if (!(error instanceof SlackRefusal)) throw error;
      return { ok: false, failure: { kind: 'refused', error: error.code, data: error.extra } };
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(1 + this.#random() * 300, resolve));
  }
}
