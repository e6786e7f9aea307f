import { z } from 'zod';
import type { LiveCheck } from './connector/outcomes.ts';
import type { Outline } from './connector/texts.ts';
import type { Json, JsonMap, Outcome, Receipt, Rejected, Retry } from './model.ts';
import { Secret } from './support/secret.ts';

/**
 * The contract of connectors. A connector is a plain object for one kind of tool. It makes one attempt and
 * says how it ended: no loops, no sleeps, no reading of the store. Expected failures are outcomes; a throw is a bug.
 */

export { Secret };
export { delivered, perhapsSinkWide, rejected, retry, sinkWide, unknown } from './connector/outcomes.ts';
export { askAgain, failedCheck, passed, unansweredOutcome, withoutEffect } from './connector/outcomes.ts';
export type { LiveCheck };
export { fetchFailure, httpFailure, statedDelayMs, WatchedFetch } from './connector/calls.ts';
export type { CallFailure, CallResult, HttpFailure } from './connector/calls.ts';
export { digestInShort, eventInShort, filler, noticeInShort, oneLine, slot } from './connector/texts.ts';
export type { Outline };
export { isLoopback } from './http/addresses.ts';
export { masker, partsOfUrl } from './support/secret.ts';
export { visible } from './support/text.ts';

/**
 * Makes a value harmless where a template prints it. `path` leads to the string within the action's key, and is empty
 * when the key holds the string itself; `action` has all keys of the action, as written.
 */
export type Escape = (value: string, path: readonly (string | number)[], action: JsonMap) => string;

/** How one key of an action is rendered. Every string in it, however deep, is a template. */
export interface Medium {
  readonly escape: Escape;
  /** Puts a text together where the text around a value decides what that value could do. */
  readonly join?: (outline: Outline, path: readonly (string | number)[]) => string;
  /** A nested string that is exactly one `{{ … }}` yields the value itself, so that a number stays a number. */
  readonly data?: boolean;
}

/** An event as templates and connectors see it. */
export interface EventData {
  readonly id: string;
  readonly candidateId: string;
  readonly candidateNumericalId: number | null;
  readonly testId: number;
  readonly status: string;
  /** ISO 8601 in UTC. */
  readonly receivedAt: string;
  readonly correlationId: string | null;
  readonly raw: { readonly [key: string]: Json };
}

/** An alert about the connector itself, as templates and connectors see it; see Notice in the model. */
export interface NoticeData {
  readonly alert: string;
  readonly sink: string | null;
  readonly count: number;
  /** ISO 8601 in UTC. */
  readonly since: string;
  readonly detail: string;
  readonly advice: string;
}

/** What a message is about: one event, all events of a digest in order of acceptance, or the connector itself. */
export type Subject =
  | { readonly kind: 'event'; readonly event: EventData }
  | { readonly kind: 'digest'; readonly events: readonly EventData[] }
  | { readonly kind: 'notice'; readonly notice: NoticeData };

/** What compose and the tool need to know of a delivery. */
export interface DeliveryContext {
  readonly deliveryId: string;
  readonly subject: Subject;
}

/** One attempt to make. */
export interface AttemptRequest<Message> {
  readonly deliveryId: string;
  readonly message: Message;
  /** From 1. */
  readonly attempt: number;
  /** When the first attempt of this delivery began (ms): nothing of it can be in the tool before that. */
  readonly firstAttemptAt: number;
  /** The clock at the start of this attempt (ms). Connectors have no clock of their own. */
  readonly now: number;
  /** The receipt of the first delivered message with the same thread key on this sink. */
  readonly threadOf: Receipt | null;
  /** What earlier attempts kept for this one: what they achieved in part, or what they wrote over. */
  readonly progress: Json | null;
  /** Aborts at the sink's time-out and on shutdown. An abort after the request may have left is `unknown`. */
  readonly signal: AbortSignal;
}

/** What asking the tool for an earlier attempt's message gave. */
export type Finding =
  /** `note`: what people have to know of it, as in Delivered. */
  | { readonly found: Receipt; readonly note?: string }
  | { readonly found: null }
  /** Asking is not possible (a scope is missing, say); `onUnknown` decides. */
  | { readonly found: 'impossible'; readonly detail: string }
  /** Asking failed for now; ask again later. */
  | { readonly found: 'failed'; readonly failure: Retry };

/** A connector connected with a sink's options. */
export interface Sink<Message> {
  deliver(request: AttemptRequest<Message>): Promise<Outcome>;
  /** One call for many deliveries, of a connector with `batch`: an outcome for each, in their order. */
  deliverMany?(requests: readonly AttemptRequest<Message>[]): Promise<Outcome[]>;
  /** `find` for many deliveries with few calls; goes with deliverMany. */
  findMany?(requests: readonly AttemptRequest<Message>[]): Promise<Finding[]>;
  /** Asks the tool whether an earlier attempt of this delivery arrived. Absent where no tool can be asked. */
  find?(request: AttemptRequest<Message>): Promise<Finding>;
  /** Checks all that can be checked without sending. `messages`: samples of what the rules would send here. */
  check(messages: readonly Message[], signal: AbortSignal): Promise<LiveCheck[]>;
  close(): Promise<void>;
}

/** How often calls may start: `count` in every `perMs`, and up to `burst` at once after a quiet time. */
export interface PaceLimit {
  readonly count: number;
  readonly perMs: number;
  readonly burst: number;
}

/** The message as it would be sent, or why it cannot be. */
export type Composed<Message> =
  | { readonly message: Message; readonly note?: string }
  | { readonly rejected: Rejected };

export interface Connector<
  Options extends z.ZodObject = z.ZodObject,
  Action extends z.ZodObject = z.ZodObject,
  Message = Json,
> {
  readonly name: string;
  /** The sink's own keys in the YAML, besides the ones that every sink has. */
  readonly options: Options;
  /** The action's own keys in the YAML, besides `sink`, `hours` and `digest`; templates are strings here. */
  readonly action: Action;
  /** Which keys of an action hold templates, and how values are escaped there. */
  readonly templates: { readonly [key in keyof z.infer<Action>]?: Medium };
  readonly defaults: { readonly concurrency: number; readonly timeoutMs: number; readonly pace?: PaceLimit };
  /** What a digest or a notice says where the action does not: keys for the action's own schema, as templates. */
  readonly defaultFields?: { readonly [kind in 'digest' | 'notice']: { readonly [key: string]: Json } };
  /** How many deliveries one call may carry, each with a message of its own; see Sink.deliverMany. */
  readonly batch?: { readonly max: number };
  /** What separates the deliveries of a sink into lanes: the rendered fields that name the place. */
  lane?(fields: z.infer<Action>): string;
  /** The keys that `lane` reads; only these are rendered when an event is accepted. */
  readonly laneKeys?: readonly (keyof z.infer<Action> & string)[];
  /** The keys that say where a message goes: events for which they differ never share a digest. */
  readonly placeKeys?: readonly (keyof z.infer<Action> & string)[];
  /** The thread key of a message; see AttemptRequest.threadOf. */
  thread?(message: Message): string | null;
  /** Pure: the action's keys, rendered, become exactly what will be sent. Secrets of the options do not go in. */
  compose(fields: z.infer<Action>, context: DeliveryContext, options: z.infer<Options>): Composed<Message>;
  /** Loads the client library. Must not call the tool. */
  connect(options: z.infer<Options>): Promise<Sink<Message>>;
}

/** Infers a connector's types. */
export function defineConnector<Options extends z.ZodObject, Action extends z.ZodObject, Message>(
  connector: Connector<Options, Action, Message>,
): Connector<Options, Action, Message> {
  return connector;
}

// oxlint-disable-next-line no-explicit-any -- the registry holds connectors of every shape; each is typed in its own file
export type AnyConnector = Connector<any, any, any>;

/** A credential in a sink's options: a non-empty string that prints masked. */
export const secret = () =>
  z
    .string()
    .min(1)
    .transform((value) => new Secret(value))
    .meta({ secret: true });

/** Plain text: nothing to escape. */
export const plain: Medium = { escape: (value) => value };
