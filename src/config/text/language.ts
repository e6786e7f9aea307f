import { z } from 'zod';
import type { JsonMap } from '../../model.ts';
import { strings } from '../../support/json.ts';
import { orList } from '../../support/text.ts';
import {
  isPlural,
  type LanguageCode,
  languages,
  placeholder,
  placeholdersOf,
  type TextName,
  textNames,
} from '../../words/wording.ts';
import { writeInstead } from './units.ts';

/** The keys of a config about the language of its messages. */

const localeExpected = 'expected a language such as en, en-GB or hr';

export const locale = z.string({ error: localeExpected }).superRefine((name, context) => {
  if (isLocale(name)) return;
  const meant = name.replaceAll('_', '-');
  const code = codeOfLanguage(name);
  const params = { candidates: isLocale(meant) ? [meant] : [] };
  const message = localeExpected + writeInstead(code, name);
  context.addIssue({ code: 'custom', message, params });
});

const codes = Object.keys(languages) as LanguageCode[];
const languageExpected = `expected ${orList(codes)}`;

export const language = z.enum(codes, {
  error: ({ input }) =>
    typeof input === 'string' && !codes.includes(input as LanguageCode)
      ? languageExpected + writeInstead(languageMeant(input), input)
      : languageExpected,
});

/** The available language that a text such as `German` or `de-AT` means; null if there is none. */
function languageMeant(name: string): string | null {
  const [code = ''] = name.toLowerCase().split(/[-_]/);
  const meant = codes.includes(code as LanguageCode) ? code : codeOfLanguage(name);
  return codes.includes(meant as LanguageCode) ? meant : null;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** The code of a language by its name in English or in that language; null if it has none. */
function codeOfLanguage(name: string): string | null {
  const all = Array.from(letters, (first) => Array.from(letters, (second) => first + second)).flat();
  const isNamed = (inLanguage: string, code: string) =>
    new Intl.DisplayNames(inLanguage, { type: 'language' }).of(code)?.toLowerCase() === name.toLowerCase();
  return all.find((code) => isLocale(code) && (isNamed('en', code) || isNamed(code, code))) ?? null;
}

function isLocale(name: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(name).length > 0;
  } catch {
    return false;
  }
}

const text = z.string().min(1);
const some = text.optional();
const forms = z
  .union([text, z.strictObject({ zero: some, one: some, two: some, few: some, many: some, other: text })])
  .meta({ id: 'text-by-count', title: 'a text, or one for each form of the plural' });

const shape = Object.fromEntries(
  textNames.map((name) => [name, (isPlural(name) ? forms : text).optional()] as const),
);

export const ownTexts = z.strictObject(shape).superRefine((given, context) => {
  for (const { text: written, path } of strings(given as JsonMap)) {
    const known = placeholdersOf(path[0] as TextName);
    const has = known.length === 0 ? 'nothing' : orList(known.map((key) => `{${key}}`));
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: [...path], message });
    const unknown = Array.from(written.matchAll(placeholder)).find(([, key = '']) => !known.includes(key));
    if (/\{[{%]/.test(written)) refuse(`this is no template: what can be filled in here is ${has}`);
    else if (unknown) refuse(`there is no ${unknown[0]} here: what can be filled in is ${has}`);
  }
});
