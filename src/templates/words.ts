import type { EventData, TemplateData } from './data.ts';
import { any, map, number, text } from './shapes.ts';
import type { Shape } from './shapes.ts';

/** What templates may name, besides what every event brings. */
export interface Vocabulary {
  /** The keys that any entry of the catalog has. */
  readonly test: ReadonlySet<string>;
  /** True where one message tells of several events. */
  readonly digest?: boolean;
}

/** The names that a template starts with. */
export interface Words {
  readonly roots: ReadonlyMap<string, Shape>;
  /** The poorest event that there can be: whatever may be absent is. */
  readonly sample: TemplateData;
}

const eventKeys: { readonly [key in keyof EventData]: Shape } = {
  id: text,
  candidateId: text,
  candidateNumericalId: number,
  testId: number,
  status: text,
  receivedAt: text,
  correlationId: text,
  raw: any,
};

const sampleEvent: EventData = {
  id: 'evt_sample',
  candidateId: '0123456789abcdef0123456789abcdef',
  candidateNumericalId: null,
  testId: 1234567,
  status: 'Completed',
  receivedAt: '2026-01-01T00:00:00.000Z',
  correlationId: null,
  raw: {},
};

export function wordsOf({ test: keys, digest = false }: Vocabulary): Words {
  const testShape = map({ ...Object.fromEntries([...keys].map((key) => [key, any])), id: number });
  const roots = { event: map(eventKeys), test: testShape, rule: map({ name: text }), now: text };
  const events: Shape = { kind: 'list', entry: map({ ...eventKeys, test: testShape }) };

  const test = { ...Object.fromEntries([...keys].map((key) => [key, null])), id: sampleEvent.testId };
  const sample = { event: sampleEvent, test, rule: { name: 'sample' }, now: sampleEvent.receivedAt };
  return {
    roots: new Map(Object.entries(digest ? { ...roots, events } : roots)),
    sample: digest ? { ...sample, events: [{ ...sampleEvent, test }] } : sample,
  };
}
