import { z } from 'zod';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { alertKinds, type AlertKind } from '../model/notices.ts';
import { type Alert, alertRule, type Plan, type Summary, summaryRule } from '../rules/plan.ts';
import { valueAt } from '../support/json.ts';
import { type ActionReading, readActions, uncheckedActions } from './actions.ts';
import { timeOfWeek, toWeek } from './hours.ts';
import {
  alertActions,
  noticeActions,
  type PlanSource,
  ruleActions,
  sinkOf,
  type WrittenAction,
} from './plan-source.ts';
import type { Settings } from './settings.ts';
import type { SinkConfig } from './sinks.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { duration, durationText } from './text/units.ts';
import { validate } from './text/validate.ts';

const moreOfThem = 'How long to wait for more such deliveries before the alert is sent.';

/** What each alert is about, and how long its cause must last. */
const alerts: { readonly [kind in AlertKind]: AlertKeys } = {
  dead: {
    description: 'Deliveries were given up.',
    after: duration().prefault('0s').describe(moreOfThem),
  },
  held: {
    description: 'Deliveries may have arrived or not, and only a person can tell: see `onUnknown`.',
    after: duration().prefault('0s').describe(moreOfThem),
  },
  paused: {
    description: 'A sink is down: paused or failing.',
    after: duration({ min: '1s' }).prefault('15m').describe('How long a sink has to be down.'),
  },
  config: {
    description:
      'A changed config was refused, and the one before it stays in force; or the one in force breaks a policy.',
    after: duration().prefault('0s').describe('How long that has to last.'),
  },
  refused: {
    description:
      'Events were refused: the store could not take them, or for the address, the token, the path or what they say.',
    after: duration().prefault('0s').describe('How long to wait for more such events.'),
  },
  silence: {
    description: 'No event came for so long.',
    after: duration({ min: '1m' })
      .prefault('7d')
      .describe('How long no event has come; before the first one, since the connector first ran.'),
  },
};

interface AlertKeys {
  readonly description: string;
  readonly after: z.ZodType<number, string | undefined>;
}

/** The words for actions that stand where the alert should, as in `dead: [{ sink: mail }]`; none for other faults. */
const thenMissing = ({ input }: { readonly input?: unknown }) =>
  Array.isArray(input) ? 'expected a map (write { then: […] }, with this list in it)' : undefined;

/** `then`: the schema of an alert's actions. */
export function alertsSchema(then: z.ZodType) {
  const ofKind = ({ after, description }: AlertKeys) =>
    z.strictObject({ after, then }, { error: thenMissing }).optional().describe(description);
  type Shape = { readonly [kind in AlertKind]: ReturnType<typeof ofKind> };
  return z.strictObject(Object.fromEntries(alertKinds.map((kind) => [kind, ofKind(alerts[kind])])) as Shape);
}

/** `then`: the schema of the summary's actions. */
export const summarySchema = (then: z.ZodType) =>
  z.strictObject({ at: timeOfWeek.describe('When it goes, every week, by the clock of `timezone`.'), then });

const unchecked = uncheckedActions.min(1);
const uncheckedAlerts = alertsSchema(unchecked);
const uncheckedSummary = summarySchema(unchecked);

export function readAlerts(raw: Json | undefined, reading: ActionReading): Alert[] {
  const read = validate({ schema: uncheckedAlerts, raw: raw ?? {}, path: ['alerts'] }, reading);
  return alertKinds.flatMap((kind) => {
    const list = { rule: alertRule(kind), path: ['alerts', kind, 'then'], of: 'notice' as const };
    const actions = readActions(valueAt(raw ?? null, [kind, 'then']), list, reading);
    const afterMs = read?.[kind]?.after;
    return afterMs === undefined ? [] : [{ kind, afterMs, actions }];
  });
}

export function readSummary(raw: Json | undefined, reading: ActionReading): Summary | null {
  if (raw === undefined) return null;
  const read = validate({ schema: uncheckedSummary, raw, path: ['summary'] }, reading);
  const list = { rule: summaryRule, path: ['summary', 'then'], of: 'notice' as const };
  const actions = readActions(isMap(raw) ? raw['then'] : undefined, list, reading);
  return read ? { week: toWeek(read.at, reading.setting.timeZone), actions } : null;
}

/** Reports a silence alert that waits for longer than events are kept: it counts from the newest one. */
export function checkSilence(plan: Plan | null, { store }: Partial<Settings>): Fault[] {
  const silence = plan?.alerts.find(({ kind }) => kind === 'silence');
  if (!silence || !store || silence.afterMs < store.retentionMs) return [];
  const message = `the newest event may be deleted before ${durationText(silence.afterMs)} are over; take less, or raise store.retention`;
  return [error(['alerts', 'silence', 'after'], message)];
}

const weekMs = 7 * 86_400_000;

/** Warns of a summary of a week of which not all is kept. */
export function checkSummary(plan: Plan | null, { store }: Partial<Settings>): Fault[] {
  if (!plan?.summary || !store || store.retentionMs >= weekMs) return [];
  const message = `it tells of seven days, and events are deleted after ${durationText(store.retentionMs)}: it leaves out those before; raise store.retention to 7d or more`;
  return [warning(['summary'], message)];
}

const elsewhere = 'add an action with another sink';

/** Reports alerts about a sink that go only through that sink, or through a server that both need. */
export function checkAlertSinks(source: PlanSource, sinks: ReadonlyMap<string, SinkConfig>): Fault[] {
  const used = [...new Set(ruleActions(source).flatMap(sinkOf))];
  const holding = used.filter((sink) => sinks.get(sink)?.onUnknown === 'hold');
  const inTrouble = { dead: used, held: holding, paused: used };
  const serverOf = (name: string): string | null => {
    const { connector, options } = sinks.get(name) ?? {};
    return (options && connector?.describe?.server?.(options)) ?? null;
  };
  return Object.entries(inTrouble).flatMap(([kind, mayFail]) => {
    const actions = alertActions(source, kind);
    const [only, ...others] = new Set(actions.flatMap(sinkOf));
    if (only === undefined) return [];
    const faultAt = (severity: typeof error, message: string): Fault[] =>
      actions.map(({ path }) => severity([...path, 'sink'], `${message}; ${elsewhere}`));
    if (others.length === 0 && mayFail.includes(only))
      return mayFail.length === 1
        ? faultAt(error, `an alert about "${only}" would be sent through "${only}" itself`)
        : faultAt(warning, `when "${only}" itself is in trouble, nobody is notified`);
    const server = serverOf(only);
    const isShared = others.every((name) => serverOf(name) === server);
    if (server === null || !isShared || !mayFail.some((name) => serverOf(name) === server)) return [];
    return faultAt(warning, `when ${server} is in trouble, nobody is notified`);
  });
}

/**
 * Reports alerts and summaries that go as the default body to a sink for which each rule writes a body of its own: to a chat,
 * say, that takes no other, or takes it and shows nothing.
 */
export function checkBareNotices(source: PlanSource, sinks: ReadonlyMap<string, SinkConfig>): Fault[] {
  const bare = (written: WrittenAction): string[] =>
    sinkOf(written).filter((sink) => sinks.get(sink)?.connector?.hasFacts?.(written.action as JsonMap));
  const ofRules = ruleActions(source);
  const bodied = new Set(ofRules.flatMap(sinkOf)).difference(new Set(ofRules.flatMap(bare)));
  return noticeActions(source).flatMap((written) =>
    bare(written)
      .filter((sink) => bodied.has(sink))
      .map((sink) => warning([...written.path, 'sink'], withoutBody(sink))),
  );
}

const withoutBody = (sink: string): string =>
  `without a \`body\` this goes as the connector's own JSON, and every rule writes a body for "${sink}": the tool may refuse this, or take it and show nothing; write one with {{ notice.detail }} and {{ notice.advice }} in it`;
