import { parse as parseYaml } from 'yaml';
import type { z } from 'zod';
import type { Json } from '../../model.ts';
import type { Path, Report } from '../fault.ts';
import { hasReference } from '../references/references.ts';
import type { Resolve } from '../references/values.ts';
import { interpolate, interpolateText } from '../references/values.ts';
import { replaceAt, valueAt } from '../walk.ts';
import { issueFaults, mainIssues } from './issues.ts';
import { wording } from './wording.ts';

/** What reading a part of the config needs: values for its references, and where its faults go. */
export interface Reading {
  readonly resolve: Resolve;
  readonly report: Report;
}

interface Part {
  readonly schema: z.ZodType;
  /** As written, references unresolved. */
  readonly raw: Json;
  /** Where it stands in the config. */
  readonly path: Path;
  /** How the strings of a top key are interpolated; plain text unless said otherwise. */
  readonly textOf?: (key: string) => typeof interpolateText;
}

/** Checks a part of the config by its schema, or reports one fault for each mistake and returns undefined. */
export function validate<S extends z.ZodType>(
  part: Part & { schema: S },
  reading: Reading,
): z.output<S> | undefined {
  const value = interpolatePart(part, reading.resolve);
  const first = attempt(part, value);
  if (first.success) return first.data as z.output<S>;
  const second = attempt(part, withTypes(part.raw, value, first.issues));
  if (second.success) return second.data as z.output<S>;
  for (const fault of issueFaults(second.issues, part)) reading.report(fault);
  return undefined;
}

function interpolatePart({ raw, textOf }: Part, resolve: Resolve): Json {
  if (!textOf || typeof raw !== 'object' || raw === null || Array.isArray(raw))
    return interpolate(raw, resolve);
  const parts = Object.entries(raw).map(([key, value]) =>
    interpolate({ [key]: value }, resolve, textOf(key)),
  );
  return Object.assign({}, ...parts) as Json;
}

type Issue = z.core.$ZodIssue;
type Attempt =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly issues: Issue[] };

function attempt({ schema }: Part, value: Json): Attempt {
  const result = schema.safeParse(value, { error: wording });
  if (result.success) return { success: true, data: result.data };
  return { success: false, issues: mainIssues(result.error) };
}

/**
 * A reference gives text. Where a number or true/false is expected instead, the text is read as YAML would read it,
 * so that `port: ${PORT}` works and a token of digits stays a token.
 */
function withTypes(raw: Json, value: Json, issues: readonly Issue[]): Json {
  let result = value;
  for (const { path } of issues) {
    const written = valueAt(raw, path as Path);
    const text = valueAt(value, path as Path);
    if (typeof written !== 'string' || typeof text !== 'string' || !hasReference(written)) continue;
    if (/^(-?\d+(\.\d+)?|true|false)$/.test(text))
      result = replaceAt(result, path as Path, parseYaml(text) as Json);
  }
  return result;
}
