import { z } from 'zod';
import type { RefreshTokens } from './connector/oauth2.ts';
import type { CandidateFields } from './connector/default-wording.ts';
import type { LiveCheck } from './connector/outcomes.ts';
import type { Outline } from './connector/outline.ts';
import type { Slip } from './connector/slips.ts';
import type { EventData, Json, JsonMap, ToldFacts } from './model.ts';
import type { Outcome, Receipt, Rejected, Retry } from './model/outcomes.ts';

export type { EventData };
import type { Html } from './support/html.ts';
import { type Mask, Secret } from './support/secret.ts';

/**
 * The contract of connectors. A connector is a plain object for one kind of tool. It makes one attempt and returns its
 * outcome. It does not retry, sleep or read the store. Expected failures are outcomes; a throw is a bug.
 */

export { Secret };
export * from './connector/calls.ts';
export * from './connector/credentials.ts';
export * from './connector/facts.ts';
export * from './connector/oauth2.ts';
export * from './connector/outcomes.ts';
export * from './connector/proxy.ts';
export * from './connector/default-wording.ts';
export * from './connector/outline.ts';
export * from './connector/slips.ts';
export { addressList, internalV4, isLoopback } from './http/addresses.ts';
export { html, type Html, safeUrl } from './support/html.ts';
export { jsonMap, listAt, mapLeaves, textAt, whyNoJson } from './support/json.ts';
export { putLast } from './support/lists.ts';
export { masker } from './support/masker.ts';
export { type Mask, maskTexts, partsOfUrl, percentDecoded } from './support/secret.ts';
export { firstListed, printable, printableLines, visible } from './support/text.ts';

/**
 * Escapes a value that a template prints. `path` leads to the string within the action's key; it is empty if the key's
 * value is the string itself. `action` has all keys of the action, as written.
 */
export type Escape = (value: string, path: readonly (string | number)[], action: JsonMap) => string;

/** How one key of an action is rendered. Every string in it, however deep, is a template. */
export interface Medium {
  readonly escape: Escape;
  /** Builds the text, where escaping depends on what stands around a value. */
  readonly join?: (outline: Outline, path: readonly (string | number)[]) => string;
  /** The text is a list of email addresses. */
  readonly addresses?: boolean;
  /** Finds mistakes in a text. Templates and references in it are replaced by repeated `slot`s, so that places stay. */
  readonly slips?: (text: string, path: readonly (string | number)[], action: JsonMap) => readonly Slip[];
  /** A nested string that is exactly one `{{ … }}` becomes the value itself, so that a number stays a number. */
  readonly data?: boolean;
}

/** A notice as templates and connectors see it; see Notice in the model. */
export interface NoticeData {
  readonly alert: string;
  readonly sink: string | null;
  readonly from: string | null;
  readonly count: number;
  /** ISO 8601 in UTC. */
  readonly since: string;
  readonly detail: string;
  readonly advice: string;
  readonly recovered: boolean;
  /** It is about a message that was delivered and did not reach everybody. */
  readonly missed: boolean;
  /** Its trouble may be over by now: `detail` begins with when it was so. */
  readonly late: boolean;
}

export interface TextFile {
  readonly name: string;
  readonly text: string;
}

/**
 * The subject of a message. A digest has its events in order of acceptance. `facts`: what was looked up, without personal
 * fields; only where the config has look-ups. `csv`: the events as a table, the same each time.
 */
export type Subject =
  | { readonly kind: 'event'; readonly event: EventData; readonly facts?: ToldFacts }
  | {
      readonly kind: 'digest';
      readonly events: readonly EventData[];
      readonly facts?: readonly ToldFacts[];
      readonly csv: () => TextFile;
    }
  | { readonly kind: 'notice'; readonly notice: NoticeData };

export interface DeliveryContext {
  readonly deliveryId: string;
  readonly subject: Subject;
}

export interface AttemptRequest<Message> {
  readonly deliveryId: string;
  readonly message: Message;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** When the first attempt of this delivery may have begun (ms). The tool has nothing of it from before. */
  readonly firstAttemptAt: number;
  /** When this attempt began (ms). Connectors have no clock of their own. */
  readonly now: number;
  /** The receipt of the newest delivered message with the same thread key on this sink. */
  readonly threadOf: Receipt | null;
  /** The message of `threadOf` is of a later event. */
  readonly overtaken: boolean;
  /** Looks up the receipt of the newest delivered message in the same lane, or of the newest whose JSON has a `part`. */
  readonly earlier: (part?: string) => Promise<Receipt | null>;
  /** The `progress` of the attempt before: what was achieved in part, or what has to be known of it. */
  readonly progress: Json | null;
  /** The sink is paused since it failed, also before a restart: this attempt tells whether it works again. */
  readonly isProbe: boolean;
  /** When a person had a look-up made again (ms): what is known from before that does not count. Null for all others. */
  readonly askedAgainAt: number | null;
  /** A new header of W3C Trace Context, for one call. */
  readonly traceparent: () => string;
  /** Masks the config's secrets in a text that the connector is going to cut. Outcomes are masked once more. */
  readonly mask: Mask;
  /**
   * Aborts at the sink's time-out, at shutdown, and when another replica may take over the sink. If the request may have been
   * sent by then, the outcome is `unknown`. `aborted` looks at the clock: a process that stood still has to ask it before
   * each call, as timers come too late.
   */
  readonly signal: AbortSignal;
}

/** The tool's answer about an earlier attempt. */
export type Finding =
  /** `note`: see Delivered. */
  | { readonly found: Receipt; readonly note?: string }
  | { readonly found: null }
  /** The tool cannot be asked (a scope is missing, say). `onUnknown` decides. */
  | { readonly found: 'impossible'; readonly detail: string }
  /** Asking failed. The next attempt asks again. */
  | { readonly found: 'failed'; readonly failure: Retry };

/** A connector, connected with a sink's options. */
export interface Sink<Message> {
  deliver(request: AttemptRequest<Message>): Promise<Outcome>;
  /** Makes one call for many deliveries, if the connector has `batch`. Outcomes are in the order of the requests. */
  deliverMany?(requests: readonly AttemptRequest<Message>[]): Promise<Outcome[]>;
  /** `find` for many deliveries. Required with deliverMany. */
  findMany?(requests: readonly AttemptRequest<Message>[]): Promise<Finding[]>;
  /** Asks the tool whether an earlier attempt of this delivery has arrived. Absent if it can never be asked. */
  find?(request: AttemptRequest<Message>): Promise<Finding>;
  /**
   * The calls since this was last asked, where the tool counts those of an account. Sinks of one account share the
   * connector's default pace, by these calls. Without this, an attempt counts as one call, for its lane.
   */
  usage?(): Usage;
  /** Checks what can be checked without sending. `messages`: samples of what the rules would send. */
  check(messages: readonly Message[], signal: AbortSignal): Promise<LiveCheck[]>;
  close(): Promise<void>;
}

/** Calls that a tool counts against the limit of an account. */
export interface Usage {
  readonly account: string;
  readonly calls: number;
}

/** A rate limit: `count` calls per `perMs`, with bursts of up to `burst`. */
export interface PaceLimit {
  readonly count: number;
  readonly perMs: number;
  readonly burst: number;
}

/** A fault of an option. `message`: what is wrong, with the fix to try. */
export interface OptionFault {
  readonly option: string;
  readonly message: string;
}

/** The message, or why there is none. */
export type ComposeResult<Message> =
  /** `note`, `missed`: see Delivered. */
  | { readonly message: Message; readonly note?: string; readonly missed?: true }
  | { readonly rejected: Rejected };

/** Those who get a message. */
export interface Audience {
  /** The channel, the recipients and so on, for people to read. */
  readonly place: string;
  /** Each of them alone, to find who gets an event twice. Empty where a second message does not disturb. */
  readonly members: readonly string[];
  /** The valid places, by which policies are held. */
  readonly places: readonly Place[];
}

/** A place of messages, as it is compared with others of its sink. */
export interface Place {
  readonly id: string;
  /** Places of different kinds are never the same. */
  readonly kind?: string;
  /** The kind of id, such as a channel's name. Of places with different ones nobody can tell whether they are the same. */
  readonly by?: string;
}

/** A message as people see it in the tool. */
export interface Preview {
  /** The channel, the tab and so on. */
  readonly where: string;
  readonly title?: string;
  /** The names of its files. */
  readonly attached?: string;
  /** A few words for a body that is for programs: the page of an event folds it under them. */
  readonly folded?: string;
  /** The message, in the page's styles for a `.preview`. */
  readonly body: Html;
  /** The message as a whole HTML document, for a frame in which it can do nothing; in place of `body` where there is one. */
  readonly document?: string;
}

/** The part of a first config that `init` writes for a connector. */
export interface Starter {
  /** The sink's name there. */
  readonly sink: string;
  /** Other names of the tool. */
  readonly aliases?: readonly string[];
  /** The sink's keys besides `connector`, one a line. */
  readonly options: readonly string[];
  /** The variables that `options` refer to, each with a value that the config can be read with. */
  readonly env: { readonly [name: string]: string };
  /** Who hears through it: people, of what they may act on; a list, of all results; a program, of every event. */
  readonly tells: 'people' | 'list' | 'program';
  /** The keys of an action besides `sink`. */
  readonly action?: string;
  /** The key of the action that only a person can say; a flag of `init` has its name. */
  readonly asks?: {
    readonly key: string;
    /** The flag's argument, as `name` in `--channel <name>`. */
    readonly takes: string;
    readonly meaning: string;
    readonly question: string;
    readonly example: string;
  };
}

/**
 * How a connector presents itself to people. All of it is pure. Messages and receipts come as they were stored, perhaps by
 * an older version.
 */
export interface Description<Options> {
  readonly starter: Starter;
  /** The word for one message. Default: `message`. */
  readonly unit?: string;
  /** Shows a message, or the rendered keys of an action as `readable` leaves them. `receipt` null: not delivered. */
  preview(message: JsonMap, receipt: Receipt | null): Preview;
  /** The rendered keys of an action for a person to read, such as text in place of HTML. */
  readable?(fields: JsonMap): JsonMap;
  /** A link to a delivered message in the tool; null where there is none. */
  link?(receipt: Receipt): { readonly name: string; readonly url: string } | null;
  /** Where the tool keeps a delivered message, for a person who erases it there. */
  trace(receipt: Receipt, deliveryId: string): string;
  /** The server that several sinks may share, such as a mail server: if it is in trouble, so are all of them. */
  server?(options: Partial<Options>): string | undefined;
}

export interface Connector<
  Options extends z.ZodObject = z.ZodObject,
  Action extends z.ZodObject = z.ZodObject,
  Message = Json,
> {
  readonly name: string;
  /** Absent in tests only. */
  readonly describe?: Description<z.infer<Options>>;
  /** The sink's keys in the YAML, besides those that every sink has. */
  readonly options: Options;
  /** The action's keys in the YAML, besides `sink`, `hours` and `digest`. Templates are strings here. */
  readonly action: Action;
  /** The keys of an action that hold templates, and how values are escaped there. */
  readonly templates: { readonly [key in keyof z.infer<Action>]?: Medium };
  readonly defaults: { readonly concurrency: number; readonly timeoutMs: number; readonly pace?: PaceLimit };
  /**
   * The default keys of an action, with templates, in groups: a group counts if the action has none of its keys. `hasLink`:
   * there is `links.candidate`. `candidate`: the fields that are looked up. `action`: its own keys, of which only
   * `inherited` ones may make a difference.
   */
  defaultFields?(
    about: Subject['kind'],
    hasLink: boolean,
    candidate?: CandidateFields,
    action?: JsonMap,
  ): readonly JsonMap[];
  /** Options that are keys of actions, too: the sink's value is the default of its actions. */
  readonly inherited?: readonly (keyof z.infer<Options> & keyof z.infer<Action> & string)[];
  /** Whether a message with these keys is the default one for programs, which sends all of `subject.facts`. */
  hasFacts?(fields: z.infer<Action>): boolean;
  /** The paths in an action to the key by which messages share a thread, a row or one message. */
  sharedBy?(fields: z.infer<Action>): readonly (readonly string[])[];
  /** How many messages one call may carry; see Sink.deliverMany. */
  readonly batch?: { readonly max: number };
  /** The lane of a delivery, from the rendered fields that name its place. */
  lane?(fields: z.infer<Action>): string;
  /** The keys that `lane` reads. When an event is accepted, only these are rendered. */
  readonly laneKeys?: readonly (keyof z.infer<Action> & string)[];
  /** The keys that say where a message goes. Events with different values there never share a digest. */
  readonly placeKeys?: readonly (keyof z.infer<Action> & string)[];
  /** A text under one of `laneKeys` and `placeKeys` as it is compared, where several are one place. Default: as it is. */
  alike?(text: string, key: string): string;
  /** The keys that no action with a digest may have. */
  readonly ofOneEvent?: readonly (keyof z.infer<Action> & string)[];
  /** The keys that only an action with a digest may have. */
  readonly ofDigest?: readonly (keyof z.infer<Action> & string)[];
  /** Who gets a message, from these of its rendered fields. By default, what `laneKeys` and `placeKeys` say. */
  readonly audience?: {
    readonly keys: readonly (keyof z.infer<Action> & string)[];
    of(fields: z.infer<Action>): Audience;
    /** The key by which policies name a place, and how they name it. */
    readonly named?: {
      readonly key: keyof z.infer<Action> & string;
      read(text: string): Place | { readonly fault: string };
    };
  };
  /**
   * The thread key of a message; see AttemptRequest.threadOf. The first message waits while it is not known what became of
   * another one with this key.
   */
  thread?(message: Message): string | null;
  /** Whether a message takes the place of the one before it with its thread key. Then each one waits so. */
  replaces?(message: Message): boolean;
  /** Builds exactly what will be sent from the rendered keys. Pure. The options' secrets must not go in. */
  compose(
    fields: z.infer<Action>,
    context: DeliveryContext,
    options: z.infer<Options>,
  ): ComposeResult<Message>;
  /** What is wrong with what an option says beyond its form, such as with a file that it names. Must not call the tool. */
  fault?(options: z.infer<Options>): Promise<OptionFault | null>;
  /** Carries out look-ups, with these keys. One connector has it. */
  readonly lookup?: AnyConnector;
  /** Loads the client library. Must not call the tool. `refreshTokens`: for AccessTokens; default: in memory. */
  connect(options: z.infer<Options>, refreshTokens?: RefreshTokens): Promise<Sink<Message>>;
}

/** Infers a connector's types. */
export function defineConnector<Options extends z.ZodObject, Action extends z.ZodObject, Message>(
  connector: Connector<Options, Action, Message>,
): Connector<Options, Action, Message> {
  return connector;
}

// oxlint-disable-next-line no-explicit-any -- the registry holds connectors of every shape; each is typed in its own file
export type AnyConnector = Connector<any, any, any>;

/** Text without escaping. */
export const plain: Medium = { escape: (value) => value };
