import { type CompiledFields, compileFields, type TemplateFault } from '../templates/template.ts';
import { own, placeKeysOf, type ReadAction } from './compiled-action.ts';
import { listOf } from './digest.ts';
import type { Fault } from './fault.ts';
import { error } from './fault.ts';
import type { Vocabulary } from './references/template-faults.ts';
import { bareReferences, firstEventOnly, templateFaults } from './references/template-faults.ts';

/** An action's own keys, compiled as far as the action could be read, and what is wrong with its templates as written. */
export function compileTemplates(
  action: ReadAction,
  testKeys: ReadonlySet<string>,
): { readonly fields: CompiledFields | null; readonly faults: readonly Fault[] } {
  const { place, connector, written, value } = action;
  const words = vocabularyOf(action, testKeys);
  const placed = (fault: Fault): Fault => ({ ...fault, path: [...place.path, ...fault.path] });
  const compiled = value && compileFields(own(value), connector.templates, words);
  const bare = bareReferences(written, connector.templates);
  if (compiled?.faults.length === 0 && bare.length === 0)
    return { fields: compiled.fields, faults: differences(action, words).map(placed) };
  const asWritten = bare.length > 0 ? bare : templateFaults(written, connector.templates, words);
  // Where the text as written is right, what a reference stands for is wrong: a time zone, for instance.
  const faults = asWritten.length > 0 ? asWritten : (compiled?.faults ?? []).map(ofValue);
  return { fields: null, faults: faults.map(placed) };
}

const ofValue = ({ path, message }: TemplateFault): Fault => error(path, message);

function vocabularyOf({ tells, connector, digest }: ReadAction, test: ReadonlySet<string>): Vocabulary {
  if (tells !== 'digest') return { test, subject: tells };
  return { test, subject: { digestOf: digest?.max ?? 1, placeKeys: placeKeysOf(connector) } };
}

/** Where a digest's message speaks of one event as if it spoke of all. */
function differences(
  { place, connector, written, digest }: ReadAction,
  { test, subject }: Vocabulary,
): Fault[] {
  if (!digest || typeof subject !== 'object') return [];
  const agreed = new Set([...listOf(digest.by), ...(place.fixed ?? [])]);
  return firstEventOnly(written, connector.templates, { test, subject: { ...subject, agreed } });
}
