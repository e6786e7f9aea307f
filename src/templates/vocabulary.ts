import {
  type AnyTemplateData,
  eventData,
  type NoticeData,
  sampleEvent,
  type Setting,
  type TemplateData,
} from './data.ts';
import type { Medium } from '../connector.ts';
import { eventSpec } from '../model.ts';
import type { IsStrict } from './engine.ts';
import { any, map, number, type Shape, text } from './scope.ts';

/** Which names the templates of an action may use. */
export interface Vocabulary {
  /** The keys that any entry of the catalog has. */
  readonly test: ReadonlySet<string>;
  /** The fields of look-ups; none by default. */
  readonly facts?: FactTypes;
  /** If given: facts that are always known. Printing another one without a default is a fault, as is what a default makes of false. */
  readonly sureFacts?: ReadonlySet<string>;
  /** What a message is about; one event by default. */
  readonly subject?: 'event' | DigestSubject | 'notice';
  /** The config's setting. By default: UTC, English, no links. */
  readonly setting?: Setting;
  /** Whether templates are tried with sample data. By default they are; for default messages the tests do it. */
  readonly isTried?: boolean;
}

/** The types of facts, by the names of look-ups and fields. */
export type FactTypes = ReadonlyMap<
  string,
  { readonly fields: ReadonlyMap<string, { readonly type: string }> }
>;

export interface DigestSubject {
  /** The most events of one message. */
  readonly digestOf: number;
  /**
   * The keys that say where the message goes. They are rendered when an event arrives, so they know only that event.
   */
  readonly placeKeys: ReadonlySet<string>;
  /** If given: the only keys of `event` and `test` that are known, such as `status` and `test.team`. */
  readonly agreed?: ReadonlySet<string>;
}

/** The names that a template may use from its start. */
export interface Names {
  readonly roots: ReadonlyMap<string, Shape>;
  /** Sample data without anything that may be missing. */
  readonly sample: AnyTemplateData;
  /** Templates without faults, by medium and id, with what in them may be missing. */
  readonly sound: WeakMap<Medium, Map<string, IsStrict>>;
}

const shapeOf = { text, time: text, number, flag: any, json: any, map: any };

const eventKeys: { readonly [key: string]: Shape } = Object.fromEntries(
  Object.entries(eventSpec).map(([key, { kind }]) => [key, shapeOf[kind]]),
);

const noticeKeys: { readonly [key in keyof NoticeData]: Shape } = {
  alert: text,
  sink: text,
  from: text,
  count: number,
  since: text,
  detail: text,
  advice: text,
  recovered: any,
  missed: any,
  late: any,
};

const sampleData = eventData(sampleEvent({}, Date.UTC(2026, 0, 1)));

const sampleNotice: NoticeData = {
  alert: 'silence',
  sink: null,
  from: null,
  count: 0,
  since: sampleData.receivedAt,
  detail: 'No event has come for 7 days.',
  advice: 'Ask whether any candidate finished a test.',
  recovered: false,
  missed: false,
  late: false,
};

const known = new WeakMap<Vocabulary, (key: string) => Names>();

export const namesFor = (vocabulary: Vocabulary): ((key: string) => Names) =>
  known.getOrInsertComputed(vocabulary, () => {
    const { subject = 'event' } = vocabulary;
    if (subject === 'notice') {
      const ofNotice: Names = { ...noticeNames, sound: new WeakMap() };
      return () => ofNotice;
    }
    const names = eventNames(vocabulary);
    if (subject === 'event') return () => names;
    const ofDigest = digestNames(names, subject);
    return (key) => (subject.placeKeys.has(key) ? names : ofDigest);
  });

type EventNames = Names & {
  readonly sample: TemplateData;
  readonly facts: { readonly [lookup: string]: Shape };
};

const common = { rule: map({ name: text }), now: text };

const noticeNames: Omit<Names, 'sound'> = {
  roots: new Map(Object.entries({ notice: map(noticeKeys), ...common })),
  sample: { notice: sampleNotice, rule: { name: 'alerts.silence' }, now: sampleData.receivedAt },
};

const linkKeys = { candidate: text };

/** The shapes of facts, by the look-up's name. */
const factShapes = ({ facts = new Map(), sureFacts }: Vocabulary): { [lookup: string]: Shape } =>
  Object.fromEntries(
    Array.from(facts, ([lookup, { fields }]) => {
      const shapes = Array.from(fields, ([key, { type }]): [string, Shape] => {
        const fact = `${lookup}.${key}`;
        const kind = type === 'number' ? 'number' : type === 'boolean' ? 'any' : 'text';
        const isUnsure = sureFacts?.has(fact) === false;
        const isFlag = sureFacts && type === 'boolean';
        return [key, { kind, ...(isUnsure && { fact }), ...(isFlag && { flag: fact }) }];
      });
      return [lookup, map(Object.fromEntries(shapes))];
    }),
  );

function eventNames(vocabulary: Vocabulary): EventNames {
  const { test: keys, setting } = vocabulary;
  const { test: found = map({}), ...facts } = factShapes(vocabulary);
  const ofCatalog = Object.fromEntries([...keys].map((key) => [key, any]));
  const ofTest = found.kind === 'map' ? Object.fromEntries(found.keys) : {};
  const testShape = map({ ...ofCatalog, ...ofTest, id: number });
  const test = { ...Object.fromEntries([...keys].map((key) => [key, null])), id: sampleData.testId };
  return {
    roots: new Map(
      Object.entries({
        event: map(eventKeys),
        test: testShape,
        ...facts,
        ...(setting?.links && { links: map(linkKeys) }),
        ...common,
      }),
    ),
    sample: { event: sampleData, test, rule: { name: 'sample' }, now: sampleData.receivedAt },
    sound: new WeakMap(),
    facts,
  };
}

/** The names in a digest. Its sample has as many events as there can be, to find loops that are too long. */
function digestNames({ roots, sample, facts }: EventNames, { digestOf, agreed }: DigestSubject): Names {
  const test = roots.get('test') ?? any;
  const links = roots.get('links');
  const events: Shape = {
    kind: 'list',
    entry: map({ ...facts, ...eventKeys, test, ...(links && { links }) }),
  };
  const entries = Array.from({ length: digestOf }, () => ({ ...sample.event, test: sample.test }));
  const shapes = agreed ? new Map([...roots, ...agreedShapes(test, facts, agreed)]) : new Map(roots);
  if (agreed && !agreed.has('candidateId')) shapes.delete('links');
  const sampleOfDigest = { ...sample, events: entries };
  return { roots: new Map([...shapes, ['events', events]]), sample: sampleOfDigest, sound: new WeakMap() };
}

/** The shapes of what the events of a digest have in common. With the same test, they have the same catalog entry. */
function agreedShapes(
  test: Shape,
  facts: EventNames['facts'],
  agreed: ReadonlySet<string>,
): [string, Shape][] {
  const isSameTest = agreed.has('testId') || agreed.has('test.id');
  const keysOf = (prefix: string) =>
    [...agreed].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  const event = Object.entries(eventKeys).filter(
    ([key]) => agreed.has(key) || (key === 'testId' && isSameTest),
  );
  const only = (prefix: string) => map(Object.fromEntries(keysOf(prefix).map((key) => [key, any])));
  return [
    ...Object.keys(facts).map((lookup): [string, Shape] => [lookup, only(`${lookup}.`)]),
    ['event', map(Object.fromEntries(event))],
    ['test', isSameTest ? test : only('test.')],
  ];
}
