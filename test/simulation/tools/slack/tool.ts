import type { Answer, Failure } from '../../../../connectors/slack/client.ts';
import { Places } from '../../../../connectors/slack/client.ts';
import { deliverMessage } from '../../../../connectors/slack/deliver.ts';
import { findMessage } from '../../../../connectors/slack/find.ts';
import { slack } from '../../../../connectors/slack/index.ts';
import type { SlackMessage } from '../../../../connectors/slack/message.ts';
import { methods } from '../../../../sandbox/slack/methods.ts';
import { SlackRefusal } from '../../../../sandbox/slack/refusal.ts';
import { Workspace } from '../../../../sandbox/slack/workspace.ts';
import { type AnyConnector, type AttemptRequest, defineConnector } from '../../../../src/connector.ts';
import { among } from '../../foresight-cases.ts';
import { candidate, type Outside, type Played, placeTexts, told, type World } from '../play.ts';

type Request = AttemptRequest<SlackMessage>;

const channels = ['berlin', 'zagreb', 'others', 'd-02', 'd-03', 'd-04'];

/** An action as the config has it. */
export interface SlackAction {
  readonly channel: string;
  readonly updateBy?: string;
  readonly updates?: string;
  readonly digest?: object;
}

/** A message that the connector posted, perhaps in vain. */
interface Posted {
  readonly deliveryId: string;
  readonly channel: string;
  readonly at: number;
}

/** The workspace of the sandbox, called by the connector itself, with threads and messages that are replaced. It fails, refuses, and loses answers. */
export class PlayedSlack implements Played<SlackAction> {
  readonly name = 'slack';
  readonly options = { token: '${TOKEN}' };
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
  readonly posted: Posted[] = [];
  faults = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  action(random: () => number): SlackAction {
    const shared = [
      {},
      { threadBy: candidate },
      { threadBy: 'all' },
      { updateBy: `of ${candidate}` },
      { updateBy: `of ${candidate}`, updates: 'thread' },
    ];
    return {
      channel: `#${among(random, placeTexts)}`,
      ...(random() < 0.25
        ? { text: `{% for event in events %}${told}{% endfor %}`, digest: { every: '5m' } }
        : { text: told, ...among<object>(random, shared) }),
    };
  }

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
      return failed({ kind: 'http', status: 429, retryAfterMs: Math.floor(this.#world.random() * 120_000) });
    if (fate === 'lost before') return failed({ kind: 'network', sent: true, words: 'ECONNRESET' });
    const answer = this.#answer(method, args);
    await this.#pause();
    if (fate === 'lost') return failed({ kind: 'http', status: 503, retryAfterMs: null });
    return answer;
  }

  #posting(deliveryId: string, channel: string, fate: string): void {
    this.#world.note(`posts ${deliveryId} to ${channel}: ${fate}`);
    this.posted.push({ deliveryId, channel, at: this.#world.clock.now() });
  }

  #fate(method: string): 'done' | 'refused' | 'limited' | 'lost before' | 'lost' {
    const roll = this.#world.random() / this.faults;
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
    return new Promise((resolve) => this.#world.clock.after(1 + this.#world.random() * 300, resolve));
  }
}
