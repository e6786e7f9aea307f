import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { compilePlan } from '../../src/config/live/stored-plans.ts';
import { type Json, noFacts } from '../../src/model.ts';
import { templateData } from '../../src/templates/data.ts';
import { load, pagers, problems } from './tools.ts';
import { eventWith } from '../fixtures/event.ts';

const text = `
catalog:
  7: { name: Seven, team: core }
  8: { name: "\${EIGHT}", channel: "#eight", level: 3 }
rules:
  - name: first
    when: { status: Completed }
    then:
      - { sink: page, channel: "{{ test.channel | default: '#all' }}", text: "{{ test.name }} \${GREETING}" }
      - { sink: page, blocks: [ { n: "{{ test.level }}" } ], urgency: high }
unmatched: [ { sink: page, text: "{{ rule.name }}", to: [ "{{ test.team }}" ] } ]
`;
const variables = { EIGHT: 'Eight', GREETING: '{{ hi }}' };

const event = eventWith();

const dataOf = ({ plan }: Pick<Config, 'plan'>, rule: string, testId = 8) =>
  templateData({ ...event, testId }, plan.test(testId), noFacts, rule, 0);

describe('the plan of a config', () => {
  const config = load(text, variables);
  const [first, second] = config.plan.then[0] ?? [];

  test('knows the catalog, with null for what an entry lacks', () => {
    const empty = { name: null, owner: null, channel: null, team: null, level: null };
    expect(config.plan.test(7)).toEqual({ ...empty, id: 7, name: 'Seven', team: 'core' });
    expect(config.plan.test(8)).toMatchObject({ id: 8, name: 'Eight', team: null, level: 3 });
    expect(config.plan.test(9)).toEqual({ ...empty, id: 9 });
    expect(config.plan.testIds).toEqual([7, 8]);
  });

  test('renders actions; what a reference gives is never taken for a template', () => {
    expect(first?.render(dataOf(config, 'first'))).toEqual({
      fields: { channel: '#eight', text: 'Eight {{ hi }}', urgency: 'low' },
    });
    expect(second?.render(dataOf(config, 'first'))).toEqual({
      fields: { blocks: [{ n: 3 }], urgency: 'high' },
    });
    expect(config.plan.unmatched[0]?.render(dataOf(config, 'unmatched', 7))).toEqual({
      fields: { text: 'unmatched', to: ['core'], urgency: 'low' },
    });
  });

  test('gives each delivery a lane that begins with its sink', () => {
    expect(first?.lane(() => dataOf(config, 'first'))).toBe('page #eight');
    expect(first?.lane(() => dataOf(config, 'first', 7))).toBe('page #all');
    expect(second?.lane(() => dataOf(config, 'first'))).toBe('page');
  });

  test('names the place of each action', () => {
    expect([first, second, config.plan.unmatched[0]]).toMatchObject([
      { rule: 'first', action: 0, sink: 'page', connector: 'pager' },
      { rule: 'first', action: 1, sink: 'page', connector: 'pager' },
      { rule: 'unmatched', action: 0, sink: 'page', connector: 'pager' },
    ]);
  });
});

describe('a template that a value from outside completes', () => {
  const rule = `rules: [ { name: a, when: {}, then: [ { sink: page, text: "{{ now | date: '%H:%M', '\${ZONE}' }}" } ] } ]`;

  test('is judged with the value', () => {
    const config = load(rule, { ZONE: 'Europe/Zagreb' });
    expect(config.plan.then[0]?.[0]?.render(dataOf(config, 'a'))).toMatchObject({
      fields: { text: '01:00' },
    });
    expect(problems(rule, { ZONE: 'Europe/Nowhere' })).toHaveLength(1);
  });
});

describe('the source of a plan', () => {
  const { plan, planSource } = load(text, variables);

  test('holds no value of a reference, and each action names its connector', () => {
    const json = JSON.stringify(planSource);
    expect(json).toContain('${GREETING}');
    expect(json).not.toContain('Eight"');
    expect(json).toContain(
      '{"sink":"page","text":"{{ rule.name }}","to":["{{ test.team }}"],"connector":"pager"}',
    );
  });

  test('compiles again, from what a store gives back, to the same plan without the sinks', async () => {
    const kept = JSON.parse(JSON.stringify(planSource)) as Json;
    const again = await compilePlan(kept, { env: variables, connectors: pagers });
    expect(again.id).toBe(plan.id);
    const data = dataOf({ plan: again }, 'first');
    expect(again.then[0]?.[0]?.render(data)).toEqual(plan.then[0]?.[0]?.render(data));
    expect(again.rules.match({ event, test: {}, facts: noFacts })).toEqual([0]);
  });

  test('says in one line of each action why it cannot be carried out any more', async () => {
    const again = await compilePlan(planSource, { env: { EIGHT: 'x' }, connectors: new Map() });
    expect(again.then[0]?.map(({ unusable }) => unusable)).toEqual([
      expect.stringMatching(
        /^the environment variable GREETING is not set[^;]*; [^;]*; .*rules\[0\]\.then\[0\]: there is no connector "pager"/,
      ),
      'rules[0].then[1]: there is no connector "pager"',
    ]);
  });
});

describe('of a plan that cannot be used as a whole any more', () => {
  const { planSource } = load(text, variables);
  const compiled = (env: Record<string, string>, source: Json = planSource) =>
    compilePlan(source, { env, connectors: pagers });

  test('only the actions that name the missing variable are unusable', async () => {
    const plan = await compiled({ EIGHT: 'Eight' });
    const [broken, sound] = plan.then[0] ?? [];
    expect(broken).toMatchObject({ rule: 'first', action: 0, sink: 'page', connector: 'pager' });
    expect(broken?.unusable).toMatch(/^the environment variable GREETING is not set/);
    expect(sound).not.toHaveProperty('unusable');
    expect(sound?.render(dataOf({ plan }, 'first'))).toMatchObject({ fields: { urgency: 'high' } });
  });

  test('nothing is used where anything else of it is at fault', async () => {
    await expect(compiled({ GREETING: 'hello' })).rejects.toThrow(
      /^the environment variable EIGHT is not set/,
    );
    const other = JSON.parse(JSON.stringify(planSource).replace('"status"', '"state"')) as Json;
    await expect(compiled(variables, other)).rejects.toThrow(/^rules\[0\]\.when/);
  });
});

const idWith = (find: string, instead: string) => load(text.replace(find, instead), variables).plan.id;
const id = load(text, variables).plan.id;

describe('the id of a plan', () => {
  test.each([
    ['the spelling', '{ name: Seven, team: core }', '{ team: "core", name: Seven }'],
    ['the settings', 'catalog:', 'receiver: { port: 1 }\ncatalog:'],
  ])('stays the same where only %s differ', (_, find, instead) => {
    expect(idWith(find, instead)).toBe(id);
  });

  test.each([
    ['a condition', 'Completed', 'Canceled'],
    ['a template', '#all', '#some'],
    ['the catalog', 'level: 3', 'level: 4'],
    ['an option of an action', 'urgency: high', 'urgency: low'],
  ])('changes with %s', (_, find, instead) => {
    expect(idWith(find, instead)).not.toBe(id);
  });
});
