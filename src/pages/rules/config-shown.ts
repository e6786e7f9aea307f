import { setImmediate as otherWork, setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { editableText, type EditableText, withMarks } from '../../config/secrets/editable.ts';
import { Source } from '../../config/text/problems.ts';
import type { Json } from '../../model.ts';
import { policyFields, routeFields } from '../../printed/json.ts';
import { prove } from '../../rules/policies/prove.ts';
import { routesOf } from '../../rules/routes.ts';
import { maskTexts } from '../../support/secret.ts';

/** The routes and policies of the config in force, and its text as people may read it. */

export type RouteFields = ReturnType<typeof routeFields>;

const sliceMs = 10;

/** Maps a long list, and lets other requests take their turn in between. */
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

/** The routes, or null where they take too long for a page. They are worked out all the same, for the next request. */
export const routesSoon = (config: Config): Promise<RouteFields[] | null> =>
  Promise.race([routesIn(config), sleep(soonMs, null, { ref: false })]);

const soonMs = 1500;

/** A config as people may read it. */
export interface ReadableConfig {
  /** Null where there are too many to show. */
  readonly lines: readonly string[] | null;
  readonly lineCount: number;
  /** The line of each rule, from 1 on. */
  readonly rules: ReadonlyMap<string, number>;
  /** The text for the editor. Null where it is too long, or cannot be shown without its secrets. */
  readonly editable: EditableText | null;
}

/** In characters. A page shows no lines of a longer text, and finding the rules in it would take seconds. */
const mostParsed = 60_000;

let last: { readonly text: string; readonly readable: Promise<ReadableConfig> } | null = null;

/** The config's text without anything that looks like a credential. Worked out once for each text. */
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
