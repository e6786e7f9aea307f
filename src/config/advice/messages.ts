import { slot, type Slip } from '../../connector.ts';
import { isMap, type Json, type JsonMap } from '../../model.ts';
import { type Path, strings, textAt, valueAt } from '../../support/json.ts';
import { tagsIn } from '../../support/text.ts';
import { slipsIn } from '../../templates/slips.ts';
import { actionsOf, type PlanSource, type WrittenAction } from '../plan-source.ts';
import type { SinkConfig } from '../sinks.ts';
import { error, type Fault, warning } from '../text/problems.ts';
import { hashHint } from '../text/yaml-faults.ts';

type Sinks = ReadonlyMap<string, Pick<SinkConfig, 'connector'>>;

/**
 * Warns of what messages print and nobody means: variables with the braces of others, or without any. What within braces is
 * probably not meant is said by `templates/slips.ts`, and what a tool shows otherwise by its connector.
 */
export function* messageSlips(lookups: Json | undefined, source: PlanSource, sinks: Sinks): Generator<Fault> {
  const facts = keysOf(lookups).map((name) => {
    const [field = 'name'] = keysOf(valueAt(lookups!, [name, 'fields']));
    return [name, `${name}.${field}`] as const;
  });
  const variables = new Map([...namedVariables, ...facts]);
  for (const one of actionsOf(source))
    for (const [key, medium] of Object.entries(mediaOf(one, sinks)))
      for (const { text, path } of strings((one.action as JsonMap)[key] ?? null)) {
        const full = [...one.path, key, ...path];
        const masked = withSlots(text);
        const slips = medium?.slips?.(masked, path, one.action as JsonMap) ?? [];
        const bare = withoutBraces(text, variables, medium?.data === true);
        if (bare !== null) {
          const severity = slips.some(({ isError }) => isError) ? error : warning;
          yield severity(full, `without braces this is only text: write {{ ${bare} }}`);
          continue;
        }
        const ofOthers = medium?.data === true ? [] : [...merged(masked), ...printedWhole(text, variables)];
        for (const { index, length, message, isError } of [
          ...inOneBrace(text),
          ...ofOthers,
          ...slipsIn(text),
          ...slips,
        ])
          yield { ...(isError ? error : warning)(full, message), inside: { index, length } };
      }
}

const keysOf = (value: Json | undefined): string[] => (isMap(value) ? Object.keys(value) : []);

/** How each key of an action is rendered; none for an action without a connector. */
const mediaOf = ({ action }: WrittenAction, sinks: Sinks) =>
  sinks.get(textAt(action, 'sink'))?.connector.templates ?? {};

/** Warns of texts that YAML ends at a `#`, as in `Candidate #4711`. `hasHashWord`: whether a word with `#` follows in the file. */
export const cutTexts = (source: PlanSource, sinks: Sinks, hasHashWord: (path: Path) => boolean): Fault[] =>
  actionsOf(source)
    .flatMap((one) =>
      Object.keys(mediaOf(one, sinks)).flatMap((key) =>
        strings((one.action as JsonMap)[key] ?? null, [...one.path, key]),
      ),
    )
    .filter(({ path }) => hasHashWord(path))
    .map(({ path }) => warning(path, `the text ends here${hashHint}`));

/** The variables that are there without look-ups, each with a part of it that messages have. */
const namedVariables: readonly (readonly [string, string])[] = [
  ['event', 'event.candidateId'],
  ['events', 'events.size'],
  ['test', 'test.name'],
  ['rule', 'rule.name'],
  ['notice', 'notice.detail'],
  ['links', 'links.candidate'],
];
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

const onlyText =
  (what: string, pattern: RegExp) =>
  (text: string): Slip[] =>
    Array.from(text.matchAll(pattern), ({ 0: { length }, 1: name = '', index }) => {
      return { index, length, message: `${what} is only text: write {{ ${variableOf(name)} }}` };
    });

const inOneBrace = onlyText(
  'one brace',
  new RegExp(
    String.raw`(?<![{$])\{\s*((?:event|events|test|rule|notice|links)\.[\w.]+[^{}]*?|${fields})\s*\}(?!\})`,
    'g',
  ),
);

/** A field as word processors and other templates have it: `«testId»`, `[testId]`, `%testId%`, `<%= event.testId %>`. Not a parameter such as `filter[testId]=7`. */
const merged = onlyText(
  'this',
  new RegExp(
    String.raw`(?:\u00AB|(?<![\w\]])\[|%|<%=?)\s*((?:event|test)\.\w+|${fields})\s*(?:\u00BB|\]|%>?)`,
    'g',
  ),
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
