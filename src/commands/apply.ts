import { planLate } from '../by-hand.ts';
import { actionOf, dataOf } from '../deliveries/prepare.ts';
import type { Event, PlannedDelivery } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import { inParts, pageSize, storiesOf } from '../store/pages.ts';
import type { Late, Store } from '../store/store.ts';
import { maskTexts } from '../support/secret.ts';
import { count, printable } from '../support/text.ts';
import { CommandError, dueText, exit, type Io, messageLines, paint, when } from './output.ts';
import {
  byUser,
  type ByHandOptions,
  checkRule,
  refuseWithoutConnector,
  saveToday,
  waitFor,
} from './replay.ts';
import { withStoreAndConfig } from './with-store.ts';

interface ApplyOptions extends ByHandOptions {
  readonly rule: string;
  /** In milliseconds since the epoch. */
  readonly since?: number;
  readonly yes?: boolean;
}

/** Lets a rule of today's config decide the events that came before it. */
export function apply(options: ApplyOptions, io: Io): Promise<number> {
  if (!options.yes && !options.dryRun && !io.ask)
    throw new CommandError('nobody can be asked here: give --dry-run to look, or --yes to send', exit.usage);
  return withStoreAndConfig(options, io, async (store, config) => {
    checkRule(options.rule, config.plan);
    if (options.wait && !options.dryRun) await refuseWithoutConnector(store);
    const asked = await look(store, config.plan, options, io);
    if (asked.faults.size > 0) {
      for (const [why, events] of asked.faults) io.err(printable(`${count(events, 'event')}: ${why}`));
      throw new CommandError('nothing was sent');
    }
    io.out(summary(asked, config.plan, options, io));
    if (options.dryRun || asked.events.length === 0 || !(await isMeant(asked, options, io))) return exit.ok;
    await saveToday(store, config);
    const sent = await send(store, config.plan, asked.events, options, io);
    io.out(`${inWords(sent.length)} planned.`);
    return !options.wait || (await waitFor(store, sent, io)) ? exit.ok : exit.problems;
  });
}

/** What the rule asks for. */
interface Asked {
  looked: number;
  /** Which have deliveries of the rule. */
  had: number;
  /** The events that it asks something for, newest first. */
  readonly events: string[];
  readonly bySink: Map<string, number>;
  /** Of the newest event. */
  sample: { readonly event: Event; readonly late: Late } | null;
  /** Why it cannot be told what it asks for, with how many events. */
  readonly faults: Map<string, number>;
}

async function look(store: Store, plan: Plan, { rule, since }: ApplyOptions, io: Io): Promise<Asked> {
  const asked: Asked = { looked: 0, had: 0, events: [], bySink: new Map(), sample: null, faults: new Map() };
  const now = Date.now();
  for await (const story of storiesOf(store, since === undefined ? {} : { since })) {
    asked.looked += 1;
    if (story.deliveries.some((one) => one.rule === rule)) asked.had += 1;
    const late = planLate(plan, story, rule, now);
    if (typeof late === 'string') asked.faults.set(late, (asked.faults.get(late) ?? 0) + 1);
    else if (late) add(asked, story.event, late);
    await io.drained();
  }
  return asked;
}

function add(asked: Asked, event: Event, late: Late): void {
  asked.events.push(event.id);
  asked.sample ??= { event, late };
  for (const { sink } of late.deliveries) asked.bySink.set(sink, (asked.bySink.get(sink) ?? 0) + 1);
}

const inWords = (many: number): string => (many === 1 ? '1 delivery' : `${many} deliveries`);
const total = ({ bySink }: Asked): number => bySink.values().reduce((sum, many) => sum + many, 0);

function summary(asked: Asked, plan: Plan, { rule }: ApplyOptions, io: Io): string {
  const { looked, had, events, bySink, sample } = asked;
  const left = had === 0 ? [] : [`${had} of them have deliveries of this rule already and are left out`];
  const head = `Rule ${printable(rule)} asks for ${inWords(total(asked))}, for ${events.length} of ${count(looked, 'event')}`;
  return [
    paint(io, 'bold', head),
    ...left.map((line) => `  ${line}`),
    ...Array.from(bySink, ([sink, many]) => `  ${many} to ${printable(sink)}`),
    ...(sample ? [paint(io, 'bold', 'The newest of them'), ...sampleLines(sample, plan)] : []),
  ].join('\n');
}

function sampleLines({ event, late }: NonNullable<Asked['sample']>, plan: Plan): string[] {
  const { id, status, testId, candidateId, receivedAt } = event;
  return [
    `  ${id}  ${when(receivedAt)}  ${status}  test ${testId}  candidate ${printable(candidateId)}`,
    ...late.deliveries.flatMap((planned) => messageOf(planned, event, plan)),
  ];
}

/** What the action says, rendered; or why it cannot be. */
function messageOf(planned: PlannedDelivery, event: Event, plan: Plan): string[] {
  const action = actionOf(plan, planned);
  if (!action) return [];
  const now = Date.now();
  const said = action.render(dataOf(action, { events: [event], notice: null }, plan, now));
  const due = planned.dueAt <= now ? 'at once' : dueText(action, planned.dueAt, now);
  const lines =
    'fault' in said
      ? [`    ${printable(said.fault)}`]
      : messageLines(maskTexts(said.fields, (text) => plan.mask(text)));
  return [`  ${printable(planned.sink)}  ${due}`, ...lines];
}

async function isMeant(asked: Asked, { yes }: ApplyOptions, io: Io): Promise<boolean> {
  if (yes || !io.ask) return true;
  const answer = await io.ask(`Send ${inWords(total(asked))}? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  io.out('Nothing was sent.');
  return false;
}

/** In the order in which the events came. Returns the ids of the deliveries. */
async function send(
  store: Store,
  plan: Plan,
  newestFirst: readonly string[],
  options: ApplyOptions,
  io: Io,
): Promise<string[]> {
  const sent: string[] = [];
  const events = newestFirst.toReversed();
  for (let from = 0; from < events.length; from += pageSize) {
    const stories = await inParts(events.slice(from, from + pageSize), (id) => store.event(id));
    const now = Date.now();
    const late = stories.map((story) => story && planLate(plan, story, options.rule, now));
    const items = late.filter((one) => one !== null && typeof one !== 'string');
    sent.push(...(await store.apply(items, now, byUser(options, io))));
  }
  return sent;
}
