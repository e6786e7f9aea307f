import { setImmediate as otherWork, setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { editableText, type EditableText, withMarks } from '../../config/text/editable.ts';
import { Source } from '../../config/text/problems.ts';
import type { Json } from '../../model.ts';
import { policyFields, routeFields } from '../../ops/printed.ts';
import { prove } from '../../rules/policies/prove.ts';
import { routesOf } from '../../rules/routes.ts';
import { maskTexts } from '../../support/secret.ts';

/** Who hears of what by a config, and where it says so. */

export type RouteFields = ReturnType<typeof routeFields>;

const sliceMs = 10;

/** Others get their turn meanwhile: there may be many tests, rules and lines. */
async function inSlices<From, To>(
  all: Iterable<From>,
  each: (one: From, index: number) => To,
): Promise<To[]> {
  const done: To[] = [];
  let until = performance.now() + sliceMs;
  for (const one of all) {
    done.push(each(one, done.length));
    if (performance.now() < until) continue;
    await otherWork();
    until = performance.now() + sliceMs;
  }
  return done;
}

const known = new WeakMap<Config['plan'], Promise<RouteFields[]>>();
const proven = new WeakMap<Config['policies'], Promise<unknown[]>>();

/** The routes of the config in force, worked out once. */
export function routesIn({ plan, mask }: Config): Promise<RouteFields[]> {
  return known.getOrInsertComputed(plan, () =>
    inSlices(routesOf(plan), (route) => maskTexts(routeFields(route), mask) as unknown as RouteFields),
  );
}

/** Whether the policies of the config in force hold, worked out once. */
export const policiesIn = ({ plan, policies, mask }: Config): Promise<unknown[]> =>
  proven.getOrInsertComputed(policies, () =>
    inSlices(policies, (policy) =>
      maskTexts(policyFields(policy.written, prove(plan, [policy])[0]!) as unknown as Json, mask),
    ),
  );

/** Null where a page would come too late; it goes on being worked out. */
export const routesSoon = (config: Config): Promise<RouteFields[] | null> =>
  Promise.race([routesIn(config), sleep(soonMs, null, { ref: false })]);

const soonMs = 1500;

/** A config as people may read it. */
export interface ReadableConfig {
  /** Null where they are not shown: there are too many. */
  readonly lines: readonly string[] | null;
  readonly lineCount: number;
  /** The line of each rule, from 1 on. */
  readonly rules: ReadonlyMap<string, number>;
  /** Null where it is not to be begun with: it is too long, or cannot be told without its secrets. */
  readonly editable: EditableText | null;
}

/** Of a longer text no page shows the lines, and it would take seconds to find the rules in it. */
const mostParsed = 60_000;

let last: { readonly text: string; readonly readable: Promise<ReadableConfig> } | null = null;

/** With what looks like a credential hidden, should one be written there. Worked out once for a text. */
export function readable(text: string, config: Config): Promise<ReadableConfig> {
  if (last?.text !== text) last = { text, readable: read(text, config) };
  return last.readable;
}

async function read(text: string, { plan, mask }: Config): Promise<ReadableConfig> {
  const written = text.split('\n');
  const lineCount = written.length;
  const none = { lines: null, lineCount, rules: new Map(), editable: null };
  if (text.length > mostParsed) return none;
  const source = new Source(text);
  const { tree, isParsed } = source.parsed;
  if (tree === null || !isParsed) return none;
  const lineOf = (index: number) => source.lines.linePos(tree.placeOf(['rules', index]).range[0]).line;
  const lines = [...source.shown(mask)];
  if (lines.at(-1) === '') lines.pop();
  return {
    lines: await inSlices(lines, (line, at) => withMarks(line, written[at]!, mask)),
    lineCount,
    editable: editableText(source, mask),
    rules: new Map(await inSlices(plan.rules.names, (name, index) => [name, lineOf(index)] as const)),
  };
}
