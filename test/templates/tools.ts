import type { Medium } from '../../src/connector.ts';
import { plain } from '../../src/connector.ts';
import { type Event, type Json, noFacts } from '../../src/model.ts';
import type { AnyTemplateData, TemplateData } from '../../src/templates/data.ts';
import { templateData } from '../../src/templates/data.ts';
import { compileFields, type TemplateFault } from '../../src/templates/template.ts';
import { eventWith } from '../fixtures/event.ts';
import type { DigestSubject, Vocabulary } from '../../src/templates/vocabulary.ts';

export const vocabulary: Vocabulary = { test: new Set(['name', 'channel', 'owner', 'tags']) };

/** The subject of a digest's message without keys for its place. */
export const digest: DigestSubject = { digestOf: 100, placeKeys: new Set() };

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
export const html: Medium = {
  escape: (value) => value.replaceAll(/[&<>]/g, (sign) => entities[sign] ?? sign),
};

const event = eventWith({
  candidateId: '0123456789abcdef0123456789abcdef',
  receivedAt: Date.parse('2026-03-29T00:30:00Z'),
});

export const test = {
  id: 1234567,
  name: 'Backend Engineer',
  channel: null,
  owner: 'dana@example.com',
  tags: ['a', 'b'],
};

export function dataOf(changes: Partial<Event> = {}, entry: TemplateData['test'] = test): TemplateData {
  return templateData(
    { ...event, ...changes },
    entry,
    noFacts,
    'completed',
    Date.parse('2026-07-01T12:00:00Z'),
  );
}

/** Renders a template; faults of the check fail the test. */
export function render(template: Json, data: AnyTemplateData = dataOf(), medium: Medium = plain): Json {
  const { fields, faults } = compileFields(
    { text: template },
    { text: medium },
    { ...vocabulary, subject: 'events' in data ? digest : 'event' },
  );
  if (!fields) throw new Error(`The check found: ${faults.map(({ message }) => message).join('; ')}`);
  const rendered = fields.render(data);
  if ('fault' in rendered) throw new Error(rendered.fault);
  return rendered.fields['text'] ?? null;
}

export function faultsOf(
  template: string,
  medium: Medium = plain,
  words: Vocabulary = vocabulary,
): readonly TemplateFault[] {
  return compileFields({ text: template }, { text: medium }, words).faults;
}
