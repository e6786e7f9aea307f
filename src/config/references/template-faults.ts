import type { AnyConnector } from '../../connector.ts';
import type { JsonMap } from '../../model.ts';
import { compileFields, type TemplateFault } from '../../templates/template.ts';
import type { Fault } from '../fault.ts';
import { error, warning } from '../fault.ts';
import { strings, valueAt } from '../walk.ts';
import { bareReference } from './template-text.ts';

/** What an action's templates may name. */
export type Vocabulary = Parameters<typeof compileFields>[2];

type Media = AnyConnector['templates'];

/**
 * What is wrong with the templates of an action as written. There the places are exact; in what is compiled in the
 * end, values stand in the place of references. Paths lead from the action.
 */
export function templateFaults(action: JsonMap, media: Media, words: Vocabulary): Fault[] {
  const templates = templatesOf(action, media);
  return compileFields(templates, media, words).faults.map((fault) =>
    placed(error(fault.path, fault.message), fault, templates),
  );
}

/**
 * Where a digest's message says something of its first event in which the others may differ. `words` are those of the
 * digest, with only what all of its events agree in. For templates that have no faults.
 */
export function firstEventOnly(action: JsonMap, media: Media, words: Vocabulary): Fault[] {
  const templates = templatesOf(action, media);
  return compileFields(templates, media, words).faults.map((fault) =>
    placed(warning(fault.path, ofFirstEvent), fault, templates),
  );
}

const ofFirstEvent =
  'this is of the first event of the digest, and others may differ; go through `events`, or name it in `by`';

/** References inside of tags without quotes, where they could not be literal text. */
export function bareReferences(action: JsonMap, media: Media): Fault[] {
  return [...strings(templatesOf(action, media))].flatMap(({ text, path }) => {
    const inside = bareReference(text);
    return inside ? [{ ...error(path, 'inside of a tag, ${…} has to be in quotes'), inside }] : [];
  });
}

function templatesOf(action: JsonMap, media: Media): JsonMap {
  return Object.fromEntries(Object.entries(action).filter(([key]) => key in media));
}

function placed(fault: Fault, { path, line, column }: TemplateFault, templates: JsonMap): Fault {
  const written = valueAt(templates, path);
  const linesBefore = typeof written === 'string' ? written.split('\n').slice(0, line - 1) : [];
  const index = linesBefore.reduce((length, text) => length + text.length + 1, column - 1);
  return { ...fault, inside: { index, length: 1 } };
}
