import type { CheckedConfig, Problem } from '../../config/config.ts';
import { pathOf } from '../../config/plan-source.ts';
import { type Status, statuses } from '../../model.ts';
import type { Action } from '../../rules/plan.ts';
import { type Route, routesOf } from '../../rules/routes.ts';
import { mapLeaves, type Path, valueAt } from '../../support/json.ts';
import { firstListed } from '../../support/text.ts';

/** How long routes are looked at: very many rules may apply to the same event. */
const lookedForMs = 5000;
/** How many warnings of one kind are given. Others follow when these are fixed. */
const mostOfAKind = 10;

/** The routes that were looked at. */
interface RouteSurvey {
  readonly all: readonly Route[];
  /** How many tests there are; Infinity if not all were looked at. */
  readonly tests: number;
}

/** Warns of routes that were probably not meant, and notes what may be. `isAll`: whether all were looked at. */
export function routeWarnings(config: CheckedConfig, forMs = lookedForMs) {
  const until = performance.now() + forMs;
  const all: Route[] = [];
  let isAll = true;
  for (const route of routesOf(config.plan)) {
    isAll = performance.now() < until;
    if (!isAll) break;
    all.push(route);
  }
  const tests = isAll ? all.length / statuses.length : Infinity;
  const kinds = [
    unheardWarnings({ all, tests }, config),
    twiceWarnings({ all, tests }, config),
    isAll ? idleWarnings(all, config) : [],
  ];
  const warnings = kinds.flatMap((kind) => kind.slice(0, mostOfAKind));
  return { warnings, notes: silentNotes(all, config).slice(0, mostOfAKind), isAll };
}

/** Notes silent rules whose events others tell of: `silent` says only that a rule without actions is meant so. */
function silentNotes(all: readonly Route[], { plan, planSource }: CheckedConfig): string[] {
  return [...plan.silent.rules].flatMap((silent) => {
    if (valueAt(planSource, ['rules', silent, 'final']) === true) return [];
    const told = all.filter(({ reached }) => reached.includes(silent));
    const by = new Set(told.flatMap(({ heardBy }) => heardBy.map(({ action }) => action.rule)));
    if (by.size === 0) return [];
    const [name, others] = [
      plan.rules.names[silent],
      firstListed(
        [...by].map((rule) => `"${rule}"`),
        mostApart,
      ),
    ];
    return [
      `The rule "${name}" is silent, but others (${others}) tell of events that it takes. If nobody is to hear of them, write "final: true" in it, and put it first.`,
    ];
  });
}

export function warningAt(
  { at, mask }: CheckedConfig,
  path: Path,
  message: string,
  what?: 'value' | 'key',
): Problem {
  return { severity: 'warning', ...at(path, what), message: mask(message) };
}

function unheardWarnings({ all, tests }: RouteSurvey, config: CheckedConfig): Problem[] {
  const unheard = all.filter((route) => route.unheard !== null);
  const byRule = Map.groupBy(unheard, (route) => route.unheard?.[0]);
  return [...byRule].flatMap(([rule, same]) => {
    if (rule === undefined) return unmatchedWarnings(same, tests, config);
    const name = config.plan.rules.names[rule];
    const message = `${reaching(same, tests)}: the rule "${name}" takes ${it(same)} and has no actions; if that is meant, write "silent: true" in it`;
    return [warningAt(config, ['rules', rule, 'then'], message, 'key')];
  });
}

const it = (all: readonly unknown[]): string => (all.length === 1 ? 'it' : 'them');

const ifMeant = 'if that is meant, write "unmatched: silent"';
/** Up to so many tests get a warning each, at their places; more share one. */
const mostApart = 5;

/** Warns of events that no rule takes. */
function unmatchedWarnings(unheard: readonly Route[], tests: number, config: CheckedConfig): Problem[] {
  const hasList = valueAt(config.planSource, ['unmatched']) !== undefined;
  const top = [hasList ? 'unmatched' : 'rules'];
  const warnings: Problem[] = [];
  for (const alike of Map.groupBy(unheard, unlessText).values()) {
    const byStatus = Map.groupBy(alike, ({ cell }) => cell.status);
    const isEverywhere = ({ cell }: Route) => byStatus.get(cell.status)?.length === tests;
    const everywhere = alike.filter(isEverywhere);
    const said = `${reaching(everywhere, tests)}: no rule takes ${it(statusesOf(everywhere))}; ${ifMeant}`;
    if (everywhere.length > 0) warnings.push(warningAt(config, top, said, 'key'));
    const apart = byTest(alike.filter((route) => !isEverywhere(route)));
    // One warning for each test, or for many that lack the same statuses.
    for (const same of Map.groupBy(apart, (ofTest) => statusesOf(ofTest).join(' ')).values())
      for (const group of same.length > mostApart ? [same.flat()] : same) {
        const path = pathOfTest(config, group[0]?.cell.testId ?? null) ?? top;
        warnings.push(warningAt(config, path, `${reaching(group, tests)}; ${ifMeant}`, 'key'));
      }
  }
  return warnings;
}

const byTest = (all: readonly Route[]): Route[][] => [
  ...Map.groupBy(all, ({ cell }) => cell.testId).values(),
];
const statusesOf = (all: readonly Route[]): Status[] =>
  statuses.filter((status) => all.some(({ cell }) => cell.status === status));

/** The condition under which somebody hears of the events, or under which nobody does. */
function unlessText({ nobody, nobodyIf, heardBy }: Route): string {
  if (nobody) return '';
  if (nobodyIf !== null) return ` if ${nobodyIf}`;
  const words = new Set(heardBy.flatMap(({ rest }) => rest?.words ?? []));
  return ` unless ${[...words].slice(0, mostShown).join(', or ')}`;
}

const reaching = (all: readonly Route[], tests: number): string =>
  `${cellsText(all, tests)} ${statusesOf(all).length === 1 ? 'reaches' : 'reach'} nobody${all[0] ? unlessText(all[0]) : ''}`;

const mostShown = 3;

/** Names cells, as in `Completed and Canceled for test 7`. `tests`: the number of all tests. */
function cellsText(all: readonly Route[], tests: number, word = 'for'): string {
  const ofTests = byTest(all);
  const named = statusesOf(all)
    .join(', ')
    .replace(/, (\w+)$/, ' and $1');
  if (ofTests.length === tests) return named;
  const ids = ofTests.map(([route]) => route?.cell.testId ?? null);
  const known = ids.filter((id) => id !== null).map(String);
  const words = [
    ...(known.length === 0
      ? []
      : [`${known.length === 1 ? 'test' : 'tests'} ${firstListed(known, mostShown)}`]),
    ...(ids.includes(null) ? ['any other test'] : []),
  ];
  return `${named} ${word} ${words.join(', and for ')}`;
}

/** The place of a test's catalog entry or, without one, of the first condition that names it. */
function pathOfTest({ plan, planSource }: CheckedConfig, testId: number | null): Path | null {
  if (testId === null) return null;
  if (plan.testIds.includes(testId)) return ['catalog', String(testId)];
  let found: Path | null = null;
  mapLeaves(valueAt(planSource, ['rules']) ?? null, (leaf, path) => {
    if (leaf === testId && path().includes('when')) found ??= ['rules', ...path()];
    return null;
  });
  return found;
}

/** Warns of two rules that tell the same people. Two actions of one rule are meant so. */
function twiceWarnings({ all, tests }: RouteSurvey, config: CheckedConfig): Problem[] {
  const pairs = all.flatMap((route) =>
    route.twice.filter(({ first, second }) => first.rule !== second.rule).map((twice) => ({ route, twice })),
  );
  const id = ({ rule, action }: Action) => `${rule} ${action}`;
  const alike = Map.groupBy(pairs, ({ twice }) => `${id(twice.first)} ${id(twice.second)}`);
  return Array.from(alike.values(), (same) => {
    const { first, second, place } = same[0]!.twice;
    const cells = cellsText(
      same.map(({ route }) => route),
      tests,
      'of',
    );
    const message = `rules "${first.rule}" and "${second.rule}" both post to ${place || second.sink} for ${cells}`;
    return warningAt(config, pathOf(config.plan.rules.names, second), message);
  });
}

/** Warns of rules that never apply. */
function idleWarnings(all: readonly Route[], config: CheckedConfig): Problem[] {
  const { names } = config.plan.rules;
  const reached = new Set(all.flatMap((route) => route.reached));
  const takers = new Map<number, Set<number>>();
  for (const { taken } of all)
    for (const rule of taken?.rules ?? []) takers.getOrInsertComputed(rule, () => new Set()).add(taken!.by);
  return names.flatMap((name, rule) => {
    if (reached.has(rule)) return [];
    const by = Array.from(takers.get(rule) ?? [], (taker) => `"${names[taker]}"`);
    const why =
      by.length === 0
        ? 'no event of any test meets its conditions'
        : by.length === 1
          ? `rule ${by[0]} is final and takes all it would`
          : `rules ${by.slice(0, mostShown).join(', ')} are final and take all it would`;
    return [warningAt(config, ['rules', rule], `rule "${name}" never applies: ${why}`, 'key')];
  });
}
