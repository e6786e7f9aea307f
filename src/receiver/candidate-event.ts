import { statuses, type CandidateEvent, type Json, type Status } from '../model.ts';
import type { Fault } from '../problem.ts';

export type RawEvent = { readonly [key: string]: Json };

export type ParsedEvent =
  | { readonly event: CandidateEvent; readonly raw: RawEvent }
  | { readonly faults: readonly Fault[] };

type Field<Value> = { readonly value: Value } | { readonly fault: string };

const maxCandidateIdLength = 256;
const maxQuotedLength = 60;

/**
 * Reads the payload as the specification's section 2 describes it. Written out by hand because it runs for every
 * request and has to say what came in each field; a schema library costs more and says less.
 */
export function parseCandidateEvent(body: Json): ParsedEvent {
  if (!isObject(body)) {
    return { faults: [{ field: 'body', detail: `Expected a JSON object, came ${quote(body)}.` }] };
  }
  const candidateId = readCandidateId(body['candidateId']);
  const candidateNumericalId = readOptionalInteger(body['candidateNumericalId']);
  const testId = readInteger(body['testId']);
  const status = readStatus(body['status']);
  if ('fault' in candidateId || 'fault' in candidateNumericalId || 'fault' in testId || 'fault' in status) {
    return { faults: faultsOf({ candidateId, candidateNumericalId, testId, status }) };
  }
  const event = {
    candidateId: candidateId.value,
    candidateNumericalId: candidateNumericalId.value,
    testId: testId.value,
    status: status.value,
  };
  return { event, raw: body };
}

function faultsOf(fields: Record<string, Field<unknown>>): Fault[] {
  return Object.entries(fields).flatMap(([field, read]) =>
    'fault' in read ? [{ field, detail: read.fault }] : [],
  );
}

function isObject(body: Json): body is RawEvent {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

function readCandidateId(value: Json | undefined): Field<string> {
  if (typeof value !== 'string') return expected('a string', value);
  const id = value.trim();
  if (id === '') return expected('at least one character that is not a space', value);
  if (id.length > maxCandidateIdLength && Array.from(id).length > maxCandidateIdLength) {
    return expected(`at most ${maxCandidateIdLength} characters`, value);
  }
  // They would end a line in a log, an email header or a terminal; text in any script, marks included, is let through.
  if (/\p{Cc}/u.test(id)) return expected('no control characters', value);
  if (!id.isWellFormed()) return expected('no half of a surrogate pair', value);
  return { value: withoutGuidDress(id) };
}

/** A GUID in any of its usual spellings becomes 32 lowercase hex digits; any other id stays as it is. */
function withoutGuidDress(id: string): string {
  if (id.length < 32 || id.length > 45) return id;
  const bare = /^(?:urn:uuid:(.+)|\{(.+)\}|\((.+)\)|(.+))$/i.exec(id)?.slice(1).find(Boolean) ?? id;
  const isGuid = /^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$/i.test(bare);
  return isGuid ? bare.replaceAll('-', '').toLowerCase() : id;
}

function readInteger(value: Json | undefined): Field<number> {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && /^\s*-?\d+\s*$/.test(value));
  const number = isNumeric ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) return expected(`an integer within ±${Number.MAX_SAFE_INTEGER}`, value);
  // Zero is added for -0, which is another number to some and the same to others.
  return { value: number + 0 };
}

function readOptionalInteger(value: Json | undefined): Field<number | null> {
  return value === undefined || value === null ? { value: null } : readInteger(value);
}

const statusByLowerCase = new Map(statuses.map((status) => [status.toLowerCase(), status]));

function readStatus(value: Json | undefined): Field<Status> {
  const status = typeof value === 'string' ? statusByLowerCase.get(value.toLowerCase()) : undefined;
  return status === undefined ? expected(`one of ${statuses.join(', ')}`, value) : { value: status };
}

function expected(what: string, came: Json | undefined): { fault: string } {
  return { fault: `Expected ${what}, came ${quote(came)}.` };
}

/** A value as JSON, shortened, with nothing in it that a terminal or a log would act on. */
function quote(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  // JSON has no word for the infinity that a number too large becomes.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  const short = text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text;
  return short
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, (control) => `\\u${control.codePointAt(0)?.toString(16).padStart(4, '0') ?? ''}`);
}
