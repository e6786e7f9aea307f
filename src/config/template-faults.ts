import type { AnyConnector } from '../connector.ts';
import type { JsonMap } from '../model.ts';
import { type Path, strings, valueAt } from '../support/json.ts';
import { compileFields, type TemplateFault } from '../templates/template.ts';
import type { Vocabulary } from '../templates/vocabulary.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { bareReference } from './text/references.ts';

type Media = AnyConnector['templates'];

/** The keys of an action that have templates. A look-up's call and the links are read as actions are, here and below. */
export const templatesOf = (action: JsonMap, media: Media): JsonMap =>
  Object.fromEntries(Object.entries(action).filter(([key]) => key in media));

/** References inside tags but outside quotes, where they cannot be literal text. */
export function bareReferences(action: JsonMap, media: Media): Fault[] {
  return strings(templatesOf(action, media)).flatMap(({ text, path }) => {
    const inside = bareReference(text);
    return inside ? [{ ...error(path, 'inside of a tag, ${…} has to be in quotes'), inside }] : [];
  });
}

/**
 * Faults in the templates of an action as written, where places are exact: compiled text has values in place of references.
 * Paths start at the action.
 */
export function templateFaults(
  action: JsonMap,
  media: Media,
  words: Vocabulary,
  toFault = ({ path, message }: TemplateFault): Fault => error(path, message),
): Fault[] {
  const templates = templatesOf(action, media);
  return compileFields(templates, media, words).faults.map((fault) => {
    const written = valueAt(templates, fault.path);
    const linesBefore = typeof written === 'string' ? written.split('\n').slice(0, fault.line - 1) : [];
    const index = linesBefore.reduce((length, text) => length + text.length + 1, fault.column - 1);
    return Object.assign(toFault(fault), { inside: { index, length: 1 } });
  });
}

/** Warns of what is allowed in the templates of an action and would mislead. Paths start at the action. */
export const templateWarnings = (action: JsonMap, connector: AnyConnector): Fault[] => [
  ...addressWarnings(action, connector.templates),
  ...textWarnings(action, connector.sharedBy?.(action) ?? [], whyShared),
  ...textWarnings(
    action,
    readFirst.map((key) => [key]),
    whyGap,
  ),
];

/** A filter that adds a part of an address, as `| append: '@example.com'`, to a value from outside the config. */
const writtenAddress =
  /\{\{-?\s*(?!test\b|rule\b)[^{}\s][^{}]*?\|\s*(?:append|prepend)\s*:\s*("[^"{}]*[@<>,;][^"{}]*"|'[^'{}]*[@<>,;][^'{}]*')/g;

/** Warns of such filters: an entry may be several addresses, so the value before the filter could add some. */
function addressWarnings(action: JsonMap, media: Media): Fault[] {
  const lists = Object.fromEntries(Object.entries(action).filter(([key]) => media[key]?.addresses));
  const message =
    'the value before this filter could name an address of its own; write this part outside of the {{ … }}';
  return strings(lists).flatMap(({ text, path }) =>
    Array.from(text.matchAll(writtenAddress), ({ 0: found, 1: part = '', index }) => ({
      ...warning(path, message),
      inside: { index: index + found.length - part.length, length: part.length },
    })),
  );
}

/** Warns of the texts at these paths, where `why` has something to say of them. */
const textWarnings = (
  action: JsonMap,
  paths: readonly Path[],
  why: (text: string) => string | null,
): Fault[] =>
  paths.flatMap((path) => {
    const text = valueAt(action, path);
    const message = typeof text === 'string' ? why(text) : null;
    return message === null ? [] : [warning(path, message)];
  });

/** What people read first of a message, where a gap is seen. */
export const readFirst = ['subject', 'text'] as const;

/** Why there is a gap in a text that people read; null where there is none. */
const whyGap = (text: string): string | null =>
  isBareNumber(text) ? `${withoutNumber} leave a gap here; add \`| default: event.candidateId\`` : null;

const withoutNumber = 'candidates without a number, which the service does not always send, would';

/** Whether a text has the candidate's number, which not every event has, and nothing in its place. */
const isBareNumber = (text: string): boolean =>
  /\{\{-?\s*event\.candidateNumericalId\b(?![^{}]*\|\s*default\b)/.test(text) &&
  !/event\.candidateId\b|\{%-?\s*(?:if|unless)\b/.test(text);

/** Why several candidates would have a key in common, and so one row, message or thread; null where they do not, or may be meant to. */
function whyShared(text: string): string | null {
  if (isBareNumber(text))
    return `${withoutNumber} all share this; take event.candidateId, or add \`| default: event.candidateId\``;
  const telling = [...text.matchAll(output)]
    .map(({ 1: path = '', 2: filters = '' }) => ({ path, filters }))
    .filter(({ path }) => !ofMany.test(path));
  const isName = ({ path, filters }: { readonly path: string; readonly filters: string }) =>
    candidatesName.test(path) && !/\bevent\.candidate/.test(filters.replace(idAsDefault, ''));
  if (telling.length > 0 && telling.every(isName))
    return 'candidates of the same name would share this, and all whose name is not known, where a fixed text stands in for it; take event.candidateId';
  const isOwn = ({ path }: { readonly path: string }) => candidatesOwn.test(path);
  const own = telling.find((one) => isOwn(one) && textAsDefault.test(one.filters));
  if (own === undefined || !telling.every((one) => isName(one) || isOwn(one))) return null;
  return `candidates without \`${own.path}\` would all share this, where this text stands in; write \`| default: event.candidateId\``;
}

const output = /\{\{-?\s*([\w.]+)((?:(?!\}\}).)*)/gs;
const idAsDefault = /\|\s*default\s*:\s*event\.candidateId\b/;
/** A default that is the same for all, as `check` proposes one where people read it. */
const textAsDefault = /\|\s*default\s*:\s*(?:"[^"]+"|'[^']+')/;

/** What many candidates have in common. */
const ofMany = /^(?:test\.|rule\.|event\.(?:testId|status)$)/;
/** The name of a candidate, as a look-up of candidates has it. `recruiterName`, `job.name` and `username` are meant to be keys. */
const candidatesName =
  /^(?:candidate|applicant|person)\.(?:(?:full|first|middle|last|given|family|sur)_?)?name$/i;
/** What no two candidates have in common. */
const candidatesOwn =
  /^(?:candidate|applicant|person)\.(?:e_?mail(?:_?address)?|phone(?:_?number)?|(?:ats_?|external_?|candidate_?|applicant_?|person_?)?id)$/i;
