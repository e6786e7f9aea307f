import { type Slip, slipsBy, slot } from '../../connector.ts';
import { isMap, type Json, type JsonMap } from '../../model.ts';
import { type Path, strings, textAt, valueAt } from '../../support/json.ts';
import { tagsIn } from '../../support/text.ts';
import { slipsIn } from '../../templates/slips.ts';
import { noTestBy } from '../catalog.ts';
import { actionsOf, type PlanSource } from '../plan-source.ts';
import type { SinkConfig } from '../sinks.ts';
import { error, type Fault, warning } from '../text/problems.ts';
import { hashHint } from '../text/yaml-faults.ts';

type Sinks = ReadonlyMap<string, Pick<SinkConfig, 'connector'>>;

/**
 * Warns of what messages print and nobody means: variables with the braces of others, or without any. What within braces is
 * probably not meant is said by `templates/slips.ts`, and what a tool shows otherwise by its connector.
 */
export function* messageSlips(lookups: Json | undefined, source: PlanSource, sinks: Sinks): Generator<Fault> {
  const factOf = (name: string) => keysOf(valueAt(lookups ?? null, [name, 'fields']))[0] ?? 'name';
  const parts = [...partsOfNamed, ...keysOf(lookups).map((name) => `${name}.${factOf(name)}`)];
  const variables = new Map(parts.map((part) => [part.split('.')[0]!, part]));
  const values = { whyNoTest: noTestBy(source), typeOf: (key: string) => typeOfFact(lookups, key) };
  for (const { text, path, full, medium, action } of textsOf(source, sinks)) {
    const isData = medium?.data === true;
    const masked = withSlots(text);
    const own = medium?.slips?.(masked, path, action) ?? [];
    const bare = withoutBraces(text, variables, isData);
    if (bare !== null) {
      const severity = own.some(({ isError }) => isError) ? error : warning;
      yield severity(full, `without braces this is only text: write {{ ${bare} }}`);
      continue;
    }
    const ofOthers = isData ? [] : [...merged(masked), ...printedWhole(text, variables)];
    for (const slip of [...inOneBrace(text), ...ofOthers, ...slipsIn(text, values), ...own]) {
      const { index, length, message, isError } = slip;
      yield { ...(isError ? error : warning)(full, message), inside: { index, length } };
    }
  }
}

/** The type of a fact such as `candidate.score`, as templates compare it; null for another key, and for `test.<key>`, which the catalog may say. */
function typeOfFact(lookups: Json | undefined, key: string): 'number' | 'boolean' | 'text' | null {
  const [lookup = '', name = ''] = key.split('.');
  const field = valueAt(lookups ?? null, [lookup, 'fields', name]);
  if (!isMap(field) || lookup === 'test') return null;
  const type = textAt(field, 'type');
  return type === 'number' || type === 'boolean' ? type : 'text';
}

const keysOf = (value: Json | undefined): string[] => (isMap(value) ? Object.keys(value) : []);

/** The texts of all messages. `path`: within their key; `full`: in the config. */
function* textsOf(source: PlanSource, sinks: Sinks) {
  for (const { action, path: base } of actionsOf(source))
    for (const [key, medium] of Object.entries(sinks.get(textAt(action, 'sink'))?.connector.templates ?? {}))
      for (const { text, path } of strings((action as JsonMap)[key] ?? null))
        yield { text, path, full: [...base, key, ...path], medium, action: action as JsonMap };
}

/** Warns of texts that YAML ends at a `#`, as in `Candidate #4711`. `hasHashWord`: whether such a word, or a template behind a `#`, follows in the file. */
export const cutTexts = (source: PlanSource, sinks: Sinks, hasHashWord: (path: Path) => boolean): Fault[] =>
  [...textsOf(source, sinks)]
    .filter(({ full }) => hasHashWord(full))
    .map(({ full }) => warning(full, `the text ends here${hashHint}`));

/** Of each variable that is there without look-ups, a part that messages have. */
const partsOfNamed = 'event.candidateId events.size test.name rule.name notice.detail links.candidate'.split(
  ' ',
);
const eventFields = new Set(['candidateId', 'candidateNumericalId', 'testId']);
const fields = [...eventFields].join('|');

/** A variable by its name, or by that of a field alone. */
const variableOf = (name: string): string => (eventFields.has(name) ? `event.${name}` : name);

/** The variable whose name a text is, such as `event.candidateId`; null where it is another text. `isData`: it may be a word of another program. */
function withoutBraces(text: string, variables: ReadonlyMap<string, string>, isData: boolean): string | null {
  const [, name = '', rest] = /^\s*\$?([A-Za-z]\w*)((?:\.\w+)*)\s*$/.exec(text) ?? [];
  if (rest !== '') return rest !== undefined && variables.has(name) ? `${name}${rest}` : null;
  return !isData && eventFields.has(name) ? variableOf(name) : null;
}

const onlyText = (what: string, pattern: string) =>
  slipsBy([
    {
      pattern: new RegExp(pattern, 'g'),
      message: ([, name = '']) => `${what} is only text: write {{ ${variableOf(name)} }}`,
    },
  ]);

const inOneBrace = onlyText(
  'one brace',
  String.raw`(?<![{$])\{\s*((?:event|events|test|rule|notice|links)\.[\w.]+[^{}]*?|${fields})\s*\}(?!\})`,
);

/** A field as word processors and other templates have it: `«testId»`, `<<testId>>`, `[testId]`, `%testId%`, `<%= event.testId %>`. Not a parameter such as `filter[testId]=7`. */
const merged = onlyText(
  'this',
  String.raw`(?:\u00AB|<<?|(?<![\w\]])\[|%|<%=?)\s*((?:event|test)\.\w+|${fields})\s*(?:\u00BB|>>?|\]|%>?)`,
);

/** Whole variables, of which people see JSON. */
const printedWhole = (text: string, variables: ReadonlyMap<string, string>): Slip[] =>
  Array.from(text.matchAll(/\{\{-?\s*(\w+)\s*-?\}\}/g)).flatMap(({ 0: { length }, 1: name = '', index }) => {
    const part = variables.get(name);
    if (part === undefined || new RegExp(`\\b(?:assign|capture|for)\\s+${name}\\b`).test(text)) return [];
    return [{ index, length, message: `this prints all of ${name} as JSON; write {{ ${part} }}` }];
  });

/** A template with slots in place of its tags and references, each as long as what it stands for. */
export function withSlots(text: string): string {
  const parts: string[] = [];
  let end = 0;
  for (const { index, part } of tagsIn(text)) {
    parts.push(text.slice(end, index), slot.repeat(part.length));
    end = index + part.length;
  }
  const masked = parts.join('') + text.slice(end);
  return masked.replaceAll(/\$\{[^}]{0,200}\}/g, (part) => slot.repeat(part.length));
}
