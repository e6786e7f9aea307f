import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { ConfigError } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type Event, type EventWithFacts, type Facts, type LookupFacts, statuses } from '../../src/model.ts';
import type { When } from '../../src/rules/conditions.ts';
import { explain, lookedUpFor, subjectOf } from '../../src/rules/decide.ts';
import type { Plan } from '../../src/rules/plan.ts';
import { prove } from '../../src/rules/policies/prove.ts';
import type { FactField } from '../../src/connector.ts';
import type { LookupFields } from '../../src/rules/fields.ts';
import { whenSchemaWith } from '../../src/rules/when.ts';
import { sampleEvent, templateData } from '../../src/templates/data.ts';
import { runs } from '../fixtures/runs.ts';
import { conditionOf, testIds, whensOf } from './tools.ts';

const config = {
  sinks: {
    slack: { connector: 'slack', token: 'x' },
    mail: { connector: 'email', url: 'smtp://localhost', from: 'a@example.com' },
    sheet: { connector: 'google-sheets', spreadsheetId: 's', credentials: 'adc' },
  },
  catalog: {
    1: { team: 'a', channel: '#a', level: 2 },
    2: { team: ['a', 'b'] },
    3: { team: 'b', channel: '#b' },
  },
};
const lookups = {
  candidate: {
    url: 'https://x.example.com/{{ event.candidateId }}',
    fields: {
      score: { at: '/s', type: 'number' },
      name: { at: '/n' },
      passed: { at: '/p', type: 'boolean' },
      ended: { at: '/e', type: 'time' },
    },
  },
  test: { url: 'https://x.example.com/{{ event.testId }}', fields: { level: { at: '/l', type: 'number' } } },
};

const days = ['2026-01-05', '2026-01-05T10:00'];
const before = fc
  .constantFrom('gt', 'gte', 'lt', 'lte')
  .chain((operator) => fc.constantFrom(...days).map((day) => ({ [operator]: day })));
const known: LookupFields = new Map(
  Object.entries(lookups).map(([name, { fields }]) => [
    name,
    {
      fields: new Map(
        Object.entries(fields).map(([key, one]) => [
          key,
          { type: 'text', personal: false, ...one } as FactField,
        ]),
      ),
    },
  ]),
);
const schema = whenSchemaWith(known);
const whens = whensOf(
  fc.oneof(
    fc.record({ status: conditionOf(statuses, false) }),
    fc.record({ testId: conditionOf([...testIds, 7], true) }),
    fc.record({ 'test.id': conditionOf([1, 4], true) }),
    fc.record({ 'test.team': conditionOf(['a', 'b'], false) }),
    fc.record({ 'test.level': conditionOf([1, 2], true) }),
    fc.record({ candidateNumericalId: conditionOf([1, 2], true) }),
    fc
      .constantFrom('abc', { matches: 'b' }, { not: { matches: '^a' } }, { matches: '^ab' }, ['a', 'bab'])
      .map((candidateId): When => ({ candidateId })),
    fc
      .oneof(conditionOf([1, 2], true), fc.constantFrom('unknown', 'absent', ['unknown', 2]))
      .map((score): When => ({ 'candidate.score': score })),
    fc
      .oneof(conditionOf(['a', 'b'], true), fc.constantFrom('unknown', { matches: '^a' }))
      .map((name): When => ({ 'candidate.name': name })),
    fc.boolean().map((passed): When => ({ 'candidate.passed': passed })),
    before.map((ended): When => ({ 'candidate.ended': ended })),
  ),
).filter((when) => schema.safeParse(when).success);

const channels = ['#a', '#b', 'a', "{{ test.channel | default: '#a' }}", '#{{ event.status }}'];
const rare = [
  '#t{{ event.testId }}',
  '{{ candidate.name | default: "#a" }}',
  '#{{ event.candidateNumericalId }}',
];
const addresses = [
  'a@x.example',
  'B@x.example',
  'A@x.example, b@x.example',
  '{{ test.team | first }}@x.example',
];
const actions = fc.oneof(
  fc
    .oneof({ arbitrary: fc.constantFrom(...channels), weight: 3 }, fc.constantFrom(...rare))
    .map((channel) => ({
      sink: 'slack',
      channel,
      text: 'x',
    })),
  fc.tuple(fc.constantFrom(...addresses), fc.constantFrom(...addresses)).map(([to, cc]) => ({
    sink: 'mail',
    to,
    cc,
    subject: 's',
    text: 't',
  })),
  fc.constantFrom('Results', 'results ', '{{ event.status }}').map((tab) => ({
    sink: 'sheet',
    tab,
    row: { Candidate: 'x' },
  })),
);
const rules = fc
  .array(fc.record({ when: whens, final: fc.boolean(), then: fc.array(actions, { maxLength: 2 }) }), {
    minLength: 1,
    maxLength: 5,
  })
  .map((all) => all.map((one, index) => ({ name: `r${index}`, ...one })));
const targets = fc.constantFrom(
  { sink: 'slack' },
  { sink: 'slack', channel: '#a' },
  { sink: 'slack', channel: '#1' },
  { sink: 'slack', channel: 'Completed'.toLowerCase() },
  { sink: 'mail', to: 'a@x.example' },
  { sink: 'mail', to: 'b@x.example' },
  { sink: 'sheet', tab: 'Results' },
);
const policies = fc.oneof(
  fc
    .record({ target: targets, when: whens, kind: fc.constantFrom('never', 'always') })
    .map(({ target, when, kind }) => ({ [kind]: { ...target, when } })),
  fc.record({ messages: fc.constantFrom(1, 2), when: whens }).map((atMost) => ({ atMost })),
);
const configs = fc.record({
  rules,
  unmatched: fc.oneof(fc.constant('silent'), fc.array(actions, { maxLength: 1 })),
  policies: fc.array(policies, { minLength: 1, maxLength: 4 }),
  lookups: fc.constantFrom(
    lookups,
    { ...lookups, candidate: { ...lookups.candidate, when: { status: 'Completed' } } },
    { ...lookups, candidate: { ...lookups.candidate, when: { candidateNumericalId: 1 } } },
  ),
});

const at = Date.parse('2026-03-01T12:00:00Z');
/** Values of each kind that the generated conditions tell apart. */
const values = {
  candidateId: ['abc', 'a', 'b', 'abcb', 'bab', 'x'],
  candidateNumericalId: [null, 0, 1, 2, 3],
  testId: [...testIds, 0, 5, 7, -3],
  score: [undefined, null, 0, 1, 1.5, 2, 3],
  name: [undefined, null, '', 'a', 'a!', 'b', 'c', '#b'],
  passed: [undefined, null, true, false],
  ended: [
    undefined,
    null,
    '2026-01-04T23:59:59.999Z',
    '2026-01-05T00:00:00.000Z',
    '2026-01-05T10:00:00.000Z',
    '2026-01-05T10:01:00.000Z',
    '2026-01-06T00:00:00.000Z',
  ],
  level: [undefined, null, 0, 1, 2, 3],
};
const factsOf = (fields: { [key: string]: unknown }): LookupFacts => ({
  state: 'answered',
  at,
  reason: null,
  fields: Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as LookupFacts['fields'],
});
const events = fc
  .record({
    status: fc.constantFrom(...statuses),
    ...Object.fromEntries(
      Object.entries(values).map(([key, all]) => [key, fc.constantFrom<unknown>(...all)]),
    ),
  })
  .map((drawn): EventWithFacts => {
    const { status, candidateId, candidateNumericalId, testId, level, ...fields } = drawn as Event & {
      level: number;
    };
    const event = sampleEvent({ status, candidateId, candidateNumericalId, testId }, at);
    return { event, facts: { candidate: factsOf(fields), test: factsOf({ level }) } };
  });
const manyEvents = fc.sample(events, { numRuns: 4000, seed: 7 });

/** The places of an event's messages, read from what the tools would get. */
function messagesOf(plan: Plan, { event, facts }: EventWithFacts): { sink: string; places: string[] }[] {
  return explain(plan, event, facts, at).actions.map(({ action }) => {
    const rendered = action.render(templateData(event, plan.test(event.testId), facts, action.rule, at));
    if ('fault' in rendered) throw new Error(rendered.fault);
    const { channel, to, cc, tab } = rendered.fields as { [key: string]: string };
    const all = channel ?? tab ?? [to, cc].join(', ');
    // A mail leaves out what is no address.
    const sent = all.split(', ').filter((one) => to === undefined || /^[^"@]+@/.test(one));
    const places = sent.map((one) => one.toLowerCase().replace(/^#/, '').trim());
    return { sink: action.sink, places: [...new Set(places)] };
  });
}

type Written = { readonly [kind: string]: { readonly [key: string]: unknown } };

/** Whether an event breaks a policy, by the plainest reading of it. */
function breaks(written: Written, messages: ReturnType<typeof messagesOf>): boolean {
  const [kind, policy] = Object.entries(written)[0]!;
  const { sink, channel, to, tab, messages: most } = policy as { [key: string]: string };
  const place = (channel ?? to ?? tab)?.toLowerCase().replace(/^#/, '');
  if (kind !== 'atMost') {
    const found = messages.filter((one) => one.sink === sink && (!place || one.places.includes(place)));
    return (kind === 'never') === found.length > 0;
  }
  const places = messages.flatMap((one) => one.places.map((own) => `${one.sink} ${own}`));
  return places.some((one) => places.filter((other) => other === one).length > Number(most));
}

function parsed(written: object) {
  try {
    return parseConfig(JSON.stringify({ ...config, ...written }), 'config.json', { env: {}, connectors });
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

describe('a policy', () => {
  it('that is proven is kept by every event, and one that is not is broken by the event that is shown', () => {
    const seen = { held: 0, broken: 0, unknown: 0 };
    const property = fc.property(configs, fc.nat(manyEvents.length), (written, from) => {
      const read = parsed(written);
      if (!read) return;
      const { plan, policies: all } = read;
      const proofs = prove(plan, all);
      const some = Array.from({ length: 100 }, (_, index) => manyEvents[(from + index) % manyEvents.length]!);
      const tried = some.map(({ event, facts: given }) => {
        const facts: Facts = lookedUpFor(plan, event, given);
        return { event, facts, messages: messagesOf(plan, { event, facts }) };
      });
      for (const [index, { holds, example }] of proofs.entries()) {
        const policy = all[index]!;
        const isMet = (one: EventWithFacts) =>
          policy.when.holds(subjectOf(plan, one.event, one.facts)) === true;
        const broken = tried.find((one) => isMet(one) && breaks(policy.written as Written, one.messages));
        expect({ holds, broken: holds === true ? broken : undefined }).toEqual({ holds, broken: undefined });
        const shown = example && {
          isMet: isMet(example),
          isBroken: breaks(policy.written as Written, messagesOf(plan, example)),
          facts: lookedUpFor(plan, example.event, example.facts),
        };
        expect(shown).toEqual(example && { isMet: true, isBroken: true, facts: example.facts });
        seen.held += Number(holds === true);
        seen.broken += Number(holds === false);
        seen.unknown += Number(holds === null);
      }
    });
    fc.assert(property, runs(60));
    for (const often of [seen.held, seen.broken, seen.unknown]) expect(often).toBeGreaterThan(2);
  }, 3_600_000);

  it.each([
    [{ gt: '2026-01-31' }, '2026-02-01T00:00:00.000Z'],
    [{ gt: '2026-01-31', lt: '2026-02-05' }, '2026-02-01T00:00:00.000Z'],
    [{ gt: '2026-02-28T23:59', lte: '2026-03-01T00:00:00' }, '2026-03-01T00:00:00.000Z'],
    [{ gte: '2026-01-31', not: { lte: '2026-12-31' } }, '2027-01-01T00:00:00.000Z'],
    [{ gt: '2026-01-31', lt: '2026-02-01' }, null],
    [{ gt: '9999-12-31' }, null],
  ])('is broken by a time of %j, if there is one', (condition, ended) => {
    const { plan, policies: all } = parsed({
      lookups,
      rules: [
        { name: 'a', when: { 'candidate.ended': condition }, ['then']: [{ sink: 'slack', channel: '#a' }] },
      ],
      policies: [{ never: { sink: 'slack', when: {} } }],
    })!;
    const facts = { candidate: { fields: { ended } } };
    expect(prove(plan, all)).toMatchObject([
      ended === null ? { holds: true } : { holds: false, example: { facts } },
    ]);
  });

  it('is proven where a rule asks two look-ups, and one of them is unknown', () => {
    const { plan, policies: all } = parsed({
      lookups,
      rules: [
        {
          name: 'good',
          when: { 'test.level': { gte: 2 }, 'candidate.passed': true },
          ['then']: [{ sink: 'slack', channel: '#a', text: 'x' }],
        },
      ],
      policies: [{ never: { sink: 'slack', when: { 'test.level': 'unknown' } } }],
    })!;
    expect(prove(plan, all)).toMatchObject([{ holds: true }]);
  });
});
