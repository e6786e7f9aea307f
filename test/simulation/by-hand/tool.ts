import { type AnyConnector, type AttemptRequest, defineConnector, rejected } from '../../../src/connector.ts';
import type { Json, JsonMap } from '../../../src/model.ts';
import type { Outcome } from '../../../src/model/outcomes.ts';
import { addTo } from '../../../src/support/lists.ts';
import type { SinkKind } from './cases.ts';

/** A message that a tool has. */
export interface Kept {
  readonly deliveryId: string;
  readonly kind: SinkKind;
  readonly place: string;
  /** See PlayedAction. */
  readonly tag: string;
  /** The ids of the candidates of whom it tells. */
  readonly about: readonly string[];
}

const kinds: ReadonlyMap<string, SinkKind> = new Map([
  ['slack', 'slack'],
  ['webhook', 'hook'],
  ['email', 'mail'],
]);

/** Slack, a webhook and a mail server, of which only the first can be asked. They refuse and fail, and lose answers. */
export class Tools {
  readonly kept: Kept[] = [];
  /** How often nobody knew whether a message came, by the delivery's id. */
  readonly unclear = new Map<string, number>();
  /** The places named `shut-…` that take messages by now. */
  readonly opened = new Set<string>();
  /** The tools that take nothing now from anybody. */
  readonly down = new Set<SinkKind>();
  /** How often each was called. */
  readonly calls = new Map<SinkKind, number>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The connectors compose as they do, and speak to these tools. */
  connectors(all: ReadonlyMap<string, AnyConnector>): ReadonlyMap<string, AnyConnector> {
    return new Map(
      [...all].map(([name, one]) => {
        const kind = kinds.get(name);
        return [name, kind === undefined ? one : this.#connector(one, kind)];
      }),
    );
  }

  #connector(real: AnyConnector, kind: SinkKind): AnyConnector {
    const find = async (request: AttemptRequest<Json>) => {
      addTo(this.calls, kind);
      const { place } = read(request, kind);
      const has = this.kept.some((one) => one.deliveryId === request.deliveryId && one.place === place);
      return { found: has ? {} : null };
    };
    const connect = async () => ({
      deliver: async (request: AttemptRequest<Json>) => this.#deliver(request, kind),
      ...(kind === 'slack' && { find }),
      check: async () => {
        addTo(this.calls, kind);
        return [];
      },
      close: async () => {},
    });
    return defineConnector({ ...real, connect });
  }

  #deliver(request: AttemptRequest<Json>, kind: SinkKind): Outcome {
    addTo(this.calls, kind);
    if (this.down.has(kind))
      return { outcome: 'retry', reason: 'auth', detail: 'It takes nothing.', sinkWide: true };
    const message = read(request, kind);
    const isShut = message.place.startsWith('shut') && !this.opened.has(message.place);
    const roll = isShut || message.place.startsWith('bad') ? 0 : this.#random();
    if (roll < 0.12) return rejected('invalid', 'It takes nothing.', 'Look there.');
    if (roll < 0.17) return { outcome: 'retry', reason: 'server', detail: 'It failed.' };
    if (roll > 0.22) this.kept.push(message);
    if (roll > 0.3) return { outcome: 'delivered', receipt: {} };
    const { deliveryId } = request;
    this.unclear.set(deliveryId, (this.unclear.get(deliveryId) ?? 0) + 1);
    return { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };
  }
}

function read({ deliveryId, message }: AttemptRequest<Json>, kind: SinkKind): Kept {
  const text = JSON.stringify(message).replaceAll('&lt;', '<').replaceAll('&gt;', '>');
  const { channel, path, to } = message as JsonMap;
  const where = JSON.stringify({ slack: channel, hook: path, mail: to }[kind]);
  const [place, tag] = [/(good|bad|shut)-\d+(-c)?/.exec(where)?.[0], /\[(T\d+)\]/.exec(text)?.[1]];
  if (place === undefined || tag === undefined) throw new Error(`Whose is this message? ${text}`);
  const about = new Set(Array.from(text.matchAll(/<(c\d+)>/g), ([, id]) => id!));
  return { deliveryId, kind, place, tag, about: [...about] };
}
