import { z } from 'zod';
import type { Medium } from '../connector.ts';
import type { Json, JsonMap } from '../model.ts';
import { strings } from '../support/json.ts';
import { plainSetting, type Setting } from '../templates/data.ts';
import { type CompiledFields, compileFields } from '../templates/template.ts';
import { bareReferences, templateFaults } from './actions.ts';
import { timeZoneName } from './hours.ts';
import type { PlanSource } from './plan-source.ts';
import { error, type Fault, warning } from './problems.ts';
import { interpolateTemplate } from './references.ts';
import { type Reading, validate } from './validate.ts';

const localeExpected = 'expected a language such as en, en-GB or hr';

const locale = z.string({ error: localeExpected }).superRefine((name, context) => {
  if (isLocale(name)) return;
  const meant = name.replaceAll('_', '-');
  const params = { candidates: isLocale(meant) ? [meant] : [] };
  context.addIssue({ code: 'custom', message: localeExpected, params });
});

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
    .describe("The time zone of times in messages and digests, where an action's hours have no other."),
  locale: locale
    .default(plainSetting.locale)
    .describe('The language and region that dates and numbers in messages are written for.'),
  links: links.optional().describe('Addresses that messages lead to; templates see them as `links`.'),
};

/** What a plan's source says of all messages. Faults are reported, and the default stands in. `testKeys`: see ActionReading. */
export function readSetting(source: PlanSource, testKeys: ReadonlySet<string>, reading: Reading): Setting {
  const read = <Key extends keyof typeof messageSchemas>(key: Key) => {
    const schema = messageSchemas[key];
    const textOf = () => interpolateTemplate;
    const part = { schema, raw: source[key] ?? {}, path: [key], ...(key === 'links' && { textOf }) };
    return source[key] === undefined ? undefined : validate(part, reading);
  };
  const candidate = (read('links') as z.output<typeof links> | undefined)?.candidate;
  return {
    timeZone: (read('timezone') as string | undefined) ?? plainSetting.timeZone,
    locale: (read('locale') as string | undefined) ?? plainSetting.locale,
    links: candidate === undefined ? null : readLinks({ candidate }, source.links, testKeys, reading),
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

function readLinks(
  given: JsonMap,
  written: Json | undefined,
  test: ReadonlySet<string>,
  { report }: Reading,
): Setting['links'] {
  const compiled = compileFields(given, media, { test });
  const faults = faultsOf(given, written as JsonMap, compiled.faults.length > 0, test);
  for (const fault of faults) report({ ...fault, path: ['links', ...fault.path] });
  const { fields } = compiled;
  return fields && ((data) => rendered(fields, data));
}

function faultsOf(
  given: JsonMap,
  written: JsonMap,
  isBroken: boolean,
  test: ReadonlySet<string>,
): readonly Fault[] {
  const bare = bareReferences(written, media);
  if (bare.length > 0 || isBroken) return bare.length > 0 ? bare : templateFaults(written, media, { test });
  return [...strings(given)].flatMap(({ text, path }) => {
    if (!isAddress(text)) return [error(path, addressExpected)];
    if (text.includes('{{')) return [];
    return [warning(path, 'this is the same for every candidate; write {{ event.candidateId }} into it')];
  });
}

function rendered(fields: CompiledFields, data: Parameters<CompiledFields['render']>[0]): JsonMap {
  const result = fields.render(data);
  if ('fault' in result) throw new Error(result.fault);
  return result.fields;
}
