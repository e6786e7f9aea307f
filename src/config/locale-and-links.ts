import { z } from 'zod';
import type { Medium } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { strings } from '../support/json.ts';
import { plainSetting, type Setting } from '../templates/data.ts';
import { compileFields } from '../templates/template.ts';
import type { Vocabulary } from '../templates/vocabulary.ts';
import { type LanguageCode, localeOf, type OwnTexts, Wording } from '../words/wording.ts';
import { bareReferences, templateFaults } from './template-faults.ts';
import { timeZoneName } from './hours.ts';
import type { PlanSource } from './plan-source.ts';
import { language, locale, ownTexts } from './text/language.ts';
import { error, warning } from './text/problems.ts';
import { interpolateTemplate } from './text/references.ts';
import { type Reading, validate } from './text/validate.ts';

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
  language: language
    .optional()
    .describe('The language of default messages, digests, notices and the summary; English by default.'),
  locale: locale
    .optional()
    .describe(
      'The language and region that dates and numbers in messages are written for, as in `en-US` or `hr`; by default those of `language`, of `en` those of `en-GB`. The pages follow it where it is English.',
    ),
  words: ownTexts.optional().describe('Texts of yours in place of default ones, by their names.'),
  links: links.optional().describe('Addresses that messages lead to; templates see them as `links`.'),
};

/** Reads the keys that hold for all messages. A key with faults counts as missing. `words`: what templates may name. */
export function readSetting(
  source: PlanSource,
  words: Pick<Vocabulary, 'test' | 'facts'>,
  reading: Reading,
): Setting {
  const read = (key: keyof typeof messageSchemas): unknown => {
    const { [key]: raw } = source;
    const part = { schema: messageSchemas[key] as z.ZodType, path: [key] };
    const isTemplate = key === 'links' && { textOf: () => interpolateTemplate };
    return raw === undefined ? undefined : validate({ ...part, ...isTemplate, raw }, reading);
  };
  const spoken = (read('language') as LanguageCode | undefined) ?? 'en';
  const localized = (read('locale') as string | undefined) ?? localeOf(spoken);
  return {
    timeZone: (read('timezone') as string | undefined) ?? plainSetting.timeZone,
    locale: localized,
    wording: new Wording(spoken, localized, read('words') as OwnTexts | undefined),
    links: source.links === undefined ? null : readLinks(read('links'), source.links, words, reading),
  };
}

/** Values are percent-encoded, so that none can change where the address leads. */
const inAddress: Medium = { escape: (value) => encodeURIComponent(value.toWellFormed()) };
const media = { candidate: inAddress };

const addressExpected =
  'expected an address that begins with https:// or http:// and a host, as in https://tests.example.com/candidates/{{ event.candidateId }}';

const isAddress = (template: string): boolean =>
  /^https?:\/\/[^\s/?#{}]+([/?#]|$)/i.test(template) &&
  !/\s/.test(template.replaceAll(/\{[{%].*?[%}]\}/gs, ''));

/** Compiles the links. `given`: the section as read; undefined if it has faults. */
function readLinks(
  given: unknown,
  written: Json,
  words: Pick<Vocabulary, 'test' | 'facts'>,
  { report }: Reading,
): Setting['links'] {
  // The names stay known, so that templates that use them are not reported, too.
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
