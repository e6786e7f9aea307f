import { z } from 'zod';
import {
  type ComposeResult,
  type DeliveryContext,
  type EventData,
  oneLine,
  rejected,
  type Subject,
  whyNoJson,
} from '../../src/connector.ts';
import {
  isMap,
  type Json,
  type shownOfEvent,
  type Status,
  statuses,
  type ToldFacts,
} from '../../src/model.ts';
import { headerName } from './http-options.ts';

export const notUtf8 = 'bodies are sent in UTF-8; leave the charset out';

export const action = z
  .object({
    method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']).optional().describe('Default: POST.'),
    path: z
      .string()
      .optional()
      .describe("What follows the sink's url, as in /candidates/{{ event.candidateId }}."),
    headers: z
      .record(headerName, z.string())
      .refine((headers) => !/\{[{%]/.test(contentTypeOf(headers)), {
        error: 'expected a Content-Type without a template: what the body prints is escaped for it',
      })
      .refine((headers) => isUtf8(contentTypeOf(headers)), { error: notUtf8 })
      .optional()
      .describe("Besides the sink's; these win."),
    body: z
      .json()
      .optional()
      .describe(
        'A YAML map or list, sent as JSON (a map also as a form), or text. Without it: type, timestamp and the event as data, with the facts that were looked up.',
      ),
  })
  .refine(({ body, headers = {} }) => typeof body !== 'object' || canCarry(contentTypeOf(headers), body), {
    path: ['body'],
    error:
      'only JSON is made of a map or list, or a form of a map; for this Content-Type write the body as text',
  });

/** The action's keys, rendered. */
export type CallFields = z.output<typeof action>;

/** A call, without the url, headers and signature that the sink adds. */
export interface Call {
  readonly method: string;
  /** Follows the sink's url: empty, or with a slash or a question mark first. */
  readonly path: string;
  /** By name in lower case. */
  readonly headers: { readonly [name: string]: string };
  /** Text goes out as it is, everything else as JSON. */
  readonly body: Json;
}

/** Builds the call from an action's keys. Pure. */
export function compose(fields: CallFields, { subject }: DeliveryContext): ComposeResult<Call> {
  const path = pathOf(fields.path ?? '');
  if (path === null)
    return refuse(
      "The `path` leads out of the sink's url.",
      'Check what its template yields: no part of it may be "." or "..".',
    );
  const headers = fields.headers === undefined ? noHeaders : sentAs(fields.headers);
  const contentType = contentTypeOf(headers);
  const body = encoded(fields.body ?? defaultBody(subject), contentType);
  if (typeof body === 'string' && isJson(contentType)) {
    try {
      JSON.parse(body);
    } catch (error) {
      return refuse(
        `The \`body\` is not valid JSON: ${whyNoJson(error)}; text in it has to be in double quotes.`,
        'Write the body as YAML instead of text, which is always valid JSON, or set another Content-Type in headers.',
      );
    }
  }
  return { message: { method: fields.method ?? 'POST', path, headers, body } };
}

const noHeaders: Call['headers'] = {};

const sentAs = (headers: Call['headers']): Call['headers'] =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), oneLine(value)]));

const refuse = (detail: string, advice: string) => ({ rejected: rejected('invalid', detail, advice) });

export const json = 'application/json';
const form = 'application/x-www-form-urlencoded';

/** Whether a map or list can be sent as this content type. */
const canCarry = (contentType: string, body: object | null): boolean =>
  isJson(contentType) || (typeOf(contentType) === form && isMap(body as Json));

export const isJson = (contentType: string): boolean => /[/+]json$/.test(typeOf(contentType));

/** Whether a content type names no other charset than UTF-8, in which bodies are sent. */
export const isUtf8 = (contentType: string): boolean =>
  !/;\s*charset\s*=\s*"?(?!utf-?8\b)/i.test(contentType);

const typeOf = (contentType: string): string =>
  contentType === json ? json : (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

function encoded(body: Json, contentType: string): Json {
  if (typeOf(contentType) !== form || !isMap(body)) return body;
  // In a form everything is text.
  const textOf = (value: Json) =>
    typeof value === 'string' ? value.toWellFormed() : value === null ? '' : JSON.stringify(value);
  const fields = Object.entries(body).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, textOf(one)]),
  );
  return new URLSearchParams(fields).toString();
}

/** The content type among headers; JSON where they have none. */
export function contentTypeOf(headers: { readonly [name: string]: Json }): string {
  let given: Json = json;
  for (const name in headers) if (name.toLowerCase() === 'content-type') given = headers[name]!;
  return typeof given === 'string' ? given : json;
}

/**
 * A value in a body that is written as text, escaped for its content type. For a type not known here it is escaped as in
 * a JSON string: no quote in it ends a string, and no line break a line.
 */
export function escapeFor(contentType: string, value: string): string {
  const type = typeOf(contentType);
  if (type === form) return encodeURIComponent(value.toWellFormed());
  if (/[/+]x?html$|[/+]xml$/.test(type))
    return (
      value
        .toWellFormed()
        // XML cannot have these, escaped or not.
        .replace(/[^\t\n\r\u{20}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
        .replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
    );
  return type === 'text/plain' ? value : JSON.stringify(value).slice(1, -1);
}

/** The body of an action that has none: a payload as Standard Webhooks recommend it. */
function defaultBody(subject: Subject): Json {
  if (subject.kind === 'notice')
    return { type: 'connector.alert', timestamp: subject.notice.since, data: { ...subject.notice } };
  if (subject.kind === 'digest') {
    const timestamp = subject.events.at(-1)?.receivedAt ?? null;
    return {
      type: 'candidate.digest',
      timestamp,
      data: { events: subject.events.map((event, at) => payloadOf(event, subject.facts?.[at])) },
    };
  }
  const { event, facts } = subject;
  return { type: types[event.status], timestamp: event.receivedAt, data: payloadOf(event, facts) };
}

const typeOfStatus = (status: Status): string =>
  `candidate.${status.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()}`;
const types = Object.fromEntries(statuses.map((status) => [status, typeOfStatus(status)])) as Record<
  Status,
  string
>;

type Shown = Pick<EventData, (typeof shownOfEvent)[number]>;

/** An event as JSON, without the sender's own body (`event.raw`), which only templates use. */
function payloadOf(event: EventData, facts: ToldFacts | undefined): Json {
  const shown: Shown = {
    id: event.id,
    candidateId: event.candidateId,
    candidateNumericalId: event.candidateNumericalId,
    testId: event.testId,
    status: event.status,
    receivedAt: event.receivedAt,
    correlationId: event.correlationId,
  };
  return facts ? { ...shown, facts: { ...facts } } : shown;
}

/**
 * A path, percent-encoded where needed; `#` too, since what follows it in a URL is never sent. Null where a segment such as
 * `..` leads out of the sink's url.
 */
export function pathOf(written: string): string | null {
  if (written === '') return '';
  const slashed = (/^[/?]/.test(written) ? written : `/${written}`).replaceAll('#', '%23');
  const [segments = ''] = slashed.split('?', 1);
  // Some servers decode before they look for segments.
  if (segments.split(/[/\\]|%2f|%5c/i).some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) return null;
  const url = URL.parse(`http://host${slashed}`);
  if (url === null) return null;
  return (slashed.startsWith('?') ? '' : url.pathname) + url.search;
}
