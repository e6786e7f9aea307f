import { describe, expect, it } from 'vitest';
import { compileRules } from '../../src/rules/match.ts';
import { decide, explain } from '../../src/rules/decide.ts';
import { unmatchedRule } from '../../src/rules/plan.ts';
import type { Action, Plan } from '../../src/rules/plan.ts';
import type { TemplateData } from '../../src/templates/data.ts';
import { english } from '../../src/words/wording.ts';
import type { When } from '../../src/rules/conditions.ts';
import { eventWith } from '../fixtures/event.ts';
import { noFacts } from '../../src/model.ts';

const now = Date.parse('2026-07-01T12:00:00Z');

const event = eventWith({ testId: 7, receivedAt: now - 1000 });

function action(rule: string, index: number, sink: string): Action {
  return {
    rule,
    action: index,
    sink,
    connector: 'slack',
    hours: null,
    digest: null,
    lane(dataOf) {
      const data = dataOf();
      return 'event' in data ? laneOf(sink, data) : sink;
    },
    render: () => ({ fields: {} }),
    audience: () => null,
  };
}

const laneOf = (sink: string, { rule, test, event: told, now: time }: TemplateData) =>
  `${sink} ${rule.name} ${JSON.stringify(test['name'])} ${told.receivedAt} ${time}`;

function planOf(
  rules: readonly { name: string; when: When; final?: boolean; sinks: readonly string[] }[],
): Plan {
  return {
    id: 'plan',
    lookups: new Map(),
    rules: compileRules(rules.map(({ final = false, ...rule }) => ({ ...rule, final }))),
    // oxlint-disable-next-line unicorn/no-thenable -- the YAML's word
    then: rules.map(({ name, sinks }) => sinks.map((sink, index) => action(name, index, sink))),
    unmatched: [action(unmatchedRule, 0, 'fallback')],
    silent: { rules: new Set(), unmatched: false },
    alerts: [],
    summary: null,
    test: (testId) => ({ id: testId, name: `Test ${testId}` }),
    testIds: [7],
    timeZone: 'UTC',
    wording: english,
    mask: (text) => text,
  };
}

const plan = planOf([
  { name: 'completed', when: { status: 'Completed', 'test.name': 'Test 7' }, sinks: ['slack', 'sheet'] },
  { name: 'canceled', when: { status: 'Canceled' }, sinks: ['mail'] },
  { name: 'all of 7', when: { testId: 7 }, final: true, sinks: ['ats'] },
  { name: 'rest', when: { status: 'Completed' }, sinks: ['mail'] },
]);

describe('deciding', () => {
  it('plans every action of every rule that matches, in order, due now and alone', () => {
    expect(decide(plan, event, noFacts, now)).toEqual(
      [
        ['completed', 0, 'slack'] as const,
        ['completed', 1, 'sheet'] as const,
        ['all of 7', 0, 'ats'] as const,
      ].map(([rule, index, sink]) => ({
        rule,
        action: index,
        sink,
        connector: 'slack',
        lane: `${sink} ${rule} "Test 7" 2026-07-01T11:59:59.000Z 2026-07-01T12:00:00.000Z`,
        dueAt: now,
        group: null,
        groupMax: null,
      })),
    );
  });

  it('takes the actions for what no rule matched', () => {
    const planned = decide(plan, { ...event, testId: 8, status: 'DidNotTake' }, noFacts, now);
    expect(planned.map(({ rule, action: index, sink }) => [rule, index, sink])).toEqual([
      ['unmatched', 0, 'fallback'],
    ]);
  });

  it('plans nothing for a rule without actions, which matched all the same', () => {
    expect(decide(planOf([{ name: 'ignore', when: {}, sinks: [] }]), event, noFacts, now)).toEqual([]);
  });

  it('explains what it decides', () => {
    const { rules, actions } = explain(plan, event, noFacts, now);
    expect(rules.map(({ rule, matched }) => [rule, matched])).toEqual([
      ['completed', true],
      ['canceled', false],
      ['all of 7', true],
      ['rest', false],
    ]);
    expect(actions.map(({ planned }) => planned)).toEqual(decide(plan, event, noFacts, now));
    expect(actions.map(({ action: { rule, sink } }) => [rule, sink])).toEqual([
      ['completed', 'slack'],
      ['completed', 'sheet'],
      ['all of 7', 'ats'],
    ]);
  });
});
