import { setImmediate as otherWork } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { error, hideCredentials, problemOf, Source } from '../config/problems.ts';
import { parseYaml } from '../config/yaml.ts';
import { routeFields } from '../json.ts';
import { type Route, routesOf } from '../rules/routes.ts';
import { maskTexts } from '../support/secret.ts';

/** Who hears of what by a config, and where it says so. */

export type RouteFields = ReturnType<typeof routeFields>;

const sliceMs = 10;
const known = new WeakMap<Config['plan'], Promise<RouteFields[]>>();

/** The routes of the config in force, worked out once. Others get their turn meanwhile: there may be many tests and rules. */
export function routesIn({ plan, mask }: Config): Promise<RouteFields[]> {
  return known.getOrInsertComputed(plan, async () => {
    const all: RouteFields[] = [];
    let until = performance.now() + sliceMs;
    for (const route of routesOf(plan)) {
      all.push(masked(route, mask));
      if (performance.now() < until) continue;
      await otherWork();
      until = performance.now() + sliceMs;
    }
    return all;
  });
}

const masked = (route: Route, mask: Config['mask']): RouteFields =>
  maskTexts(routeFields(route), mask) as unknown as RouteFields;

/** A config as people may read it. */
export interface ReadableConfig {
  readonly lines: readonly string[];
  /** The line of each rule, from 1 on. */
  readonly rules: ReadonlyMap<string, number>;
}

let last: { readonly text: string; readonly readable: ReadableConfig } | null = null;

/** With what looks like a credential hidden, should one be written there. */
export function readable(text: string, { plan, mask }: Config): ReadableConfig {
  if (last?.text === text) return last.readable;
  const source = new Source(text);
  const { tree } = parseYaml(source);
  const lineOf = (index: number) => problemOf(error(['rules', index], ''), tree!, source).line;
  const found: ReadableConfig = {
    lines: mask(text).trimEnd().split(/\r?\n/).map(hideCredentials),
    rules: new Map(tree === null ? [] : plan.rules.names.map((name, index) => [name, lineOf(index)])),
  };
  last = { text, readable: found };
  return found;
}
