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
  ...numberWarnings(action, connector),
  ...nameWarnings(action, connector),
  ...standInWarnings(action, connector),
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

/** An output of the candidate's number, which not every event has, without a default. */
const bareNumber = /\{\{-?\s*event\.candidateNumericalId\b(?![^{}]*\|\s*default\b)/;

/** What people read first of a message, where a gap is seen. */
export const readFirst = ['subject', 'text'] as const;

/** Warns of what a candidate without a number makes of a template: a key that all such share, or a gap in what people read. */
function numberWarnings(action: JsonMap, connector: AnyConnector): Fault[] {
  const without = 'candidates without a number, which the service does not always send, would';
  const about = (paths: readonly Path[], message: string) =>
    paths.flatMap((path) => {
      const text = valueAt(action, path);
      const isBare =
        typeof text === 'string' &&
        bareNumber.test(text) &&
        !/event\.candidateId\b|\{%-?\s*(?:if|unless)\b/.test(text);
      return isBare ? [warning(path, message)] : [];
    });
  return [
    ...about(
      connector.sharedBy?.(action) ?? [],
      `${without} all share this; take event.candidateId, or add \`| default: event.candidateId\``,
    ),
    ...about(
      readFirst.map((key) => [key]),
      `${without} leave a gap here; add \`| default: event.candidateId\``,
    ),
  ];
}

/** The name of a candidate, as a look-up of candidates has it. `recruiterName`, `job.name` and `username` are meant to be keys. */
const candidatesName =
  /^(?:candidate|applicant|person)\.(?:(?:full|first|middle|last|given|family|sur)_?)?name$/i;
/** What many candidates have in common. */
const ofMany = /^(?:test\.|rule\.|event\.(?:testId|status)$)/;
const idAsDefault = /\|\s*default\s*:\s*event\.candidateId\b/g;

/** The outputs of a text by which candidates may be told apart. */
const tellingIn = (text: string): string[] =>
  Array.from(text.matchAll(/\{\{-?\s*([\w.]+)/g), ([, path = '']) => path).filter(
    (path) => !ofMany.test(path),
  );

/** Whether nothing but their names tells candidates apart in a text. An id as a default is there for those without a name. */
function isByNameAlone(text: string): boolean {
  const telling = tellingIn(text);
  const hasId = /event\.candidate(?:Numerical)?Id\b/.test(text.replaceAll(idAsDefault, ''));
  return telling.length > 0 && telling.every((path) => candidatesName.test(path)) && !hasId;
}

/** Warns of a key by which candidates are told apart by their names alone. */
function nameWarnings(action: JsonMap, connector: AnyConnector): Fault[] {
  const message =
    'candidates of the same name would share this, and all whose name is not known, where a fixed text stands in for it; take event.candidateId';
  return (connector.sharedBy?.(action) ?? []).flatMap((path) => {
    const text = valueAt(action, path);
    return typeof text === 'string' && isByNameAlone(text) ? [warning(path, message)] : [];
  });
}

/** What no two candidates have in common, as a look-up of candidates has it. */
const candidatesOwn =
  /^(?:candidate|applicant|person)\.(?:e_?mail(?:_?address)?|phone(?:_?number)?|(?:ats_?|external_?|candidate_?|applicant_?|person_?)?id)$/i;
/** An output with a fixed text as its default, which is what `check` proposes where people read it. */
const withStandIn = /\{\{-?\s*([\w.]+)(?:(?!\}\}).)*?\|\s*default\s*:\s*(?:"[^"]+"|'[^']+')/gs;

/** Warns of a key that is the same text for all candidates about whom a look-up found nothing. */
function standInWarnings(action: JsonMap, connector: AnyConnector): Fault[] {
  return (connector.sharedBy?.(action) ?? []).flatMap((path) => {
    const text = valueAt(action, path);
    if (typeof text !== 'string' || /event\.candidate(?:Numerical)?Id\b/.test(text)) return [];
    const isOwn = (one: string) => candidatesOwn.test(one) || candidatesName.test(one);
    const own = Array.from(text.matchAll(withStandIn), ([, one = '']) => one).find((one) =>
      candidatesOwn.test(one),
    );
    const message = `candidates without \`${own}\` would all share this, where this text stands in; write \`| default: event.candidateId\``;
    return own !== undefined && tellingIn(text).every(isOwn) ? [warning(path, message)] : [];
  });
}
