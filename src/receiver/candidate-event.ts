import { readCandidateId } from '../support/ids.ts';
import { nestsDeeper } from '../support/json.ts';
import { isMap, statuses, type CandidateEvent, type Json, type JsonMap, type Status } from '../model.ts';
import type { FieldProblem } from '../http/problem.ts';
import { lowerAscii, visibleJson } from '../support/text.ts';

export type ParsedEvent =
  | { readonly event: CandidateEvent; readonly raw: JsonMap }
  | { readonly faults: readonly FieldProblem[] };

type Field<Value> = { readonly value: Value } | { readonly fault: string };

const maxQuotedLength = 60;
/** Bounded, as the payload is rendered, stored and shown later, in part by libraries that recurse. */
const maxLevels = 100;

/**
 * Reads the payload that section 2 of the specification describes. Without a schema library, which would be slower and could
 * not say what each field held.
 */
export function parseCandidateEvent(body: Json): ParsedEvent {
  if (nestsDeeper(body, maxLevels)) {
    const detail = `Expected at most ${maxLevels} nested levels of objects and lists, got more.`;
    return { faults: [{ field: 'body', detail }] };
  }
  if (!isMap(body)) {
    return { faults: [{ field: 'body', detail: `Expected a JSON object, got ${quote(body)}.` }] };
  }
  const candidateId = readId(body['candidateId']);
  const candidateNumericalId = readOptionalInteger(body['candidateNumericalId']);
  const testId = readInteger(body['testId']);
  const status = readStatus(body['status']);
  if ('fault' in candidateId || 'fault' in candidateNumericalId || 'fault' in testId || 'fault' in status) {
    const read = Object.entries({ candidateId, candidateNumericalId, testId, status });
    const faults = read.flatMap(([field, one]) => ('fault' in one ? [{ field, detail: one.fault }] : []));
    return { faults };
  }
  const event = {
    candidateId: candidateId.value,
    candidateNumericalId: candidateNumericalId.value,
    testId: testId.value,
    status: status.value,
  };
  return { event, raw: body };
}

function readId(value: Json | undefined): Field<string> {
  if (typeof value !== 'string') return expected('a string', value);
  const id = readCandidateId(value);
  return 'fault' in id ? expected(id.fault, value) : id;
}

function readInteger(value: Json | undefined): Field<number> {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && /^\s*-?\d+\s*$/.test(value));
  const number = isNumeric ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) return expected(`an integer within ±${Number.MAX_SAFE_INTEGER}`, value);
  // Adding zero turns -0 into 0.
  return { value: number + 0 };
}

function readOptionalInteger(value: Json | undefined): Field<number | null> {
  return value === undefined || value === null ? { value: null } : readInteger(value);
}

const statusByLowerCase = new Map(statuses.map((status) => [lowerAscii(status), status]));

/** The status of that name, in whichever case. */
export const statusNamed = (name: string): Status | undefined => statusByLowerCase.get(lowerAscii(name));

function readStatus(value: Json | undefined): Field<Status> {
  const status = typeof value === 'string' ? statusNamed(value) : undefined;
  return status === undefined ? expected(`one of ${statuses.join(', ')}`, value) : { value: status };
}

function expected(what: string, got: Json | undefined): { fault: string } {
  return { fault: `Expected ${what}, got ${quote(got)}.` };
}

/** A value as short JSON that is safe in a terminal and a log. */
function quote(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  // A huge number is parsed as Infinity, which JSON.stringify turns into null.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  const short = text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text;
  return visibleJson(short.toWellFormed());
}
