import { z } from 'zod';
import type { Medium } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { strings } from '../support/json.ts';
import { plainSetting, type Setting } from '../templates/data.ts';
import { compileFields } from '../templates/template.ts';
import type { Vocabulary } from '../templates/vocabulary.ts';
import { bareReferences, templateFaults } from './actions.ts';
import { timeZoneName } from './hours.ts';
import type { PlanSource } from './plan-source.ts';
import { error, warning } from './text/problems.ts';
import { interpolateTemplate } from './text/references.ts';
import { writeInstead } from './text/units.ts';
import { type Reading, validate } from './text/validate.ts';

const localeExpected = 'expected a language such as en, en-GB or hr';

const locale = z.string({ error: localeExpected }).superRefine((name, context) => {
  if (isLocale(name)) return;
  const meant = name.replaceAll('_', '-');
  const code = codeOfLanguage(name);
  const params = { candidates: isLocale(meant) ? [meant] : [] };
  const message = localeExpected + writeInstead(code, name);
  context.addIssue({ code: 'custom', message, params });
});

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** The code of a language by its name, in English or in itself. */
function codeOfLanguage(name: string): string | null {
  const codes = Array.from(letters, (first) => Array.from(letters, (second) => first + second)).flat();
  const isNamed = (inLanguage: string, code: string) =>
    new Intl.DisplayNames(inLanguage, { type: 'language' }).of(code)?.toLowerCase() === name.toLowerCase();
  return codes.find((code) => isLocale(code) && (isNamed('en', code) || isNamed(code, code))) ?? null;
}

function isLocale(name: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(name).length > 0;
  } catch {
    return false;
  }
}

const links = z.strictObject({
  candidate: z
    .string()
    .min(1)
    .optional()
    .describe('The address of a candidate’s page: a template. Default messages link to it.'),
});

/** The top keys that hold for all messages. */
export const messageSchemas = {
  timezone: timeZoneName
    .default(plainSetting.timeZone)
    .describe(
      "The time zone of times in messages and digests, as in `Europe/Zagreb`, where an action's `hours` have no other.",
    ),
  locale: locale
    .default(plainSetting.locale)
    .describe(
      'The language and region that dates and numbers in messages are written for, as in `en-GB` or `hr`.',
    ),
  links: links.optional().describe('Addresses that messages lead to; templates see them as `links`.'),
};

/** What a plan's source says of all messages. Where that has faults, the default stands in. `words`: what templates may name. */
export function readSetting(
  source: PlanSource,
  words: Pick<Vocabulary, 'test' | 'facts'>,
  reading: Reading,
): Setting {
  const read = (key: keyof typeof messageSchemas): unknown => {
    const { [key]: raw } = source;
    const part = { schema: messageSchemas[key] as z.ZodType, path: [key], textOf: () => interpolateTemplate };
    return raw === undefined ? undefined : validate({ ...part, raw }, reading);
  };
  const { timeZone, locale: usual } = plainSetting;
  return {
    timeZone: (read('timezone') as string | undefined) ?? timeZone,
    locale: (read('locale') as string | undefined) ?? usual,
    links: source.links === undefined ? null : readLinks(read('links'), source.links, words, reading),
  };
}

/** What a template prints into an address cannot change where it leads. */
const inAddress: Medium = { escape: (value) => encodeURIComponent(value.toWellFormed()) };
const media = { candidate: inAddress };

const addressExpected =
  'expected an address that begins with https:// or http:// and a host, as in https://tests.example.com/candidates/{{ event.candidateId }}';

const isAddress = (template: string): boolean =>
  /^https?:\/\/[^\s/?#{}]+([/?#]|$)/i.test(template) &&
  !/\s/.test(template.replaceAll(/\{[{%].*?[%}]\}/gs, ''));

/** `given`: undefined if it has faults. */
function readLinks(
  given: unknown,
  written: Json,
  words: Pick<Vocabulary, 'test' | 'facts'>,
  { report }: Reading,
): Setting['links'] {
  // The names stay known, so that no template which uses them is at fault, too.
  if (!isMap(given as Json)) return () => ({ candidate: null });
  const addresses = given as JsonMap;
  if (!Object.hasOwn(addresses, 'candidate')) return null;
  const { fields } = compileFields(addresses, media, words);
  let faults = bareReferences(written as JsonMap, media);
  if (faults.length === 0 && fields === null) faults = templateFaults(written as JsonMap, media, words);
  else if (faults.length === 0)
    faults = strings(addresses).flatMap(({ text, path }) => {
      if (!isAddress(text)) return [error(path, addressExpected)];
      if (text.includes('{{')) return [];
      return [warning(path, 'this is the same for every candidate; write {{ event.candidateId }} into it')];
    });
  for (const fault of faults) report({ ...fault, path: ['links', ...fault.path] });
  return (data) => {
    const rendered = fields?.render(data) ?? { fields: { candidate: null } };
    if ('fault' in rendered) throw new Error(rendered.fault);
    return rendered.fields;
  };
}
