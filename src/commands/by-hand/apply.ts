import { program } from '../../support/invocation.ts';
import type { FindPlan } from '../../config/live/stored-plans.ts';
import { planLate } from '../../by-hand/late.ts';
import { aboutEvent, actionOf, dataOf } from '../../deliveries/prepare.ts';
import { isUnsent } from '../../by-hand/todays-action.ts';
import { foundBy, hasAbsent } from '../../lookups/kept-facts.ts';
import type { PlannedDelivery } from '../../model.ts';
import type { Plan } from '../../rules/plan.ts';
import { inParts, pageSize, storiesOf } from '../../store/paging.ts';
import { type EventStory, type Late, type Store, unansweredOf } from '../../store/store.ts';
import { maskTexts } from '../../support/secret.ts';
import { count, printable } from '../../support/text.ts';
import {
  ago,
  byHandOptions,
  command,
  flag,
  readOption,
  required,
  textOption,
  type ValuesOf,
} from '../command.ts';
import {
  CommandError,
  dueText,
  eventLine,
  exit,
  type Io,
  isAgreed,
  messageLines,
  needsPerson,
  paint,
} from '../output.ts';
import { byUser, checkRule, saveToday, storedPlans, withStoreAndConfig } from '../with-store.ts';
import { refuseWithoutConnector, tellKeptBack, waitFor } from './under-way.ts';
import { addTo } from '../../support/lists.ts';

const declared = {
  ...byHandOptions,
  rule: required(textOption('--rule <name>', "a rule of today's config")),
  since: readOption('--since <duration>', 'only to events that came within this time, such as 7d', ago),
  discarded: flag('--discarded', 'also what was discarded of this rule before it was sent'),
  yes: flag('--yes', 'do not ask'),
};
type ApplyOptions = ValuesOf<typeof declared>;

/** Lets a rule of today's config decide the events that came before it. */
export const apply = command({
  name: 'apply',
  description: 'apply a rule to events that came before it; shows first what it would send',
  examples: ['apply --rule told --since 7d --dry-run', 'apply --rule told --since 7d --yes --wait'],
  options: declared,
  async run(given, io) {
    const { rule, dryRun, wait } = given;
    needsPerson(io, given, 'give --dry-run to look, or --yes to send');
    return withStoreAndConfig(given, io, async (store, config, local) => {
      const { plan } = config;
      const plans = storedPlans(store, local);
      checkRule(rule, plan);
      if (wait && !dryRun) await refuseWithoutConnector(store);
      const findPlan: FindPlan = (configId) => plans.get(configId);
      const asked = await look(store, plan, findPlan, given, local);
      if (asked.faults.size > 0) {
        for (const [why, events] of asked.faults) io.err(printable(`${count(events, 'event')}: ${why}`));
        throw new CommandError('nothing was sent');
      }
      const many = count(
        asked.bySink.values().reduce((sum, one) => sum + one, 0),
        'delivery',
      );
      io.out(summary(asked, many, plan, given, local));
      if (dryRun || asked.events.length === 0) return exit.ok;
      if (!(await isAgreed(io, given, `Send ${many}?`))) {
        io.out('Nothing was sent.');
        return exit.ok;
      }
      await saveToday(store, config);
      const sent = await send(store, plan, findPlan, asked.events, given, io);
      io.out(`${count(sent.length, 'delivery')} planned.`);
      await tellKeptBack(store, asked.bySink.keys(), sent, local);
      return !wait || (await waitFor(store, sent, local)) ? exit.ok : exit.problems;
    });
  },
});

type RuleSurvey = Awaited<ReturnType<typeof look>>;

/** Finds what the rule asks for, for each stored event. */
async function look(
  store: Store,
  plan: Plan,
  findPlan: FindPlan,
  { rule, since, discarded }: ApplyOptions,
  io: Io,
) {
  const asked = {
    looked: 0,
    /** Events that are left out, as they have deliveries of the rule. */
    had: 0,
    /** Those of them for which it would ask something with `discarded`. */
    unsent: 0,
    /** Events for which it asks only a part of what the rule says: the rest is done, or may be. */
    partly: 0,
    undecided: 0,
    /** Events for which it asks nothing, and might have if a look-up had answered. */
    unanswered: 0,
    /** Events for which it asks nothing, and might have if a look-up had found something. */
    absent: 0,
    /** The ids of the events that it asks something for, newest first. */
    events: [] as string[],
    bySink: new Map<string, number>(),
    /** Of these, for how many something was delivered to the sink by another rule. */
    twice: new Map<string, number>(),
    /** The newest of these events. */
    sample: null as { readonly story: EventStory; readonly late: Late } | null,
    /** Why it cannot be told what it asks for, with how many events. */
    faults: new Map<string, number>(),
  };
  const now = await store.now();
  for await (const story of storiesOf(store, since === undefined ? {} : { since })) {
    asked.looked += 1;
    // What the rule asks for an undecided event is not known yet. The others need not wait for that.
    if (!story.decided) {
      asked.undecided += 1;
      continue;
    }
    const ofRule = story.deliveries.filter((one) => one.rule === rule);
    const late = await planLate(plan, findPlan, story, rule, now, discarded);
    const has = ofRule.length > 0 && !late && !(discarded && ofRule.every(isUnsent));
    if (has) asked.had += 1;
    if (has && !discarded && (await planLate(plan, findPlan, story, rule, now, true))) asked.unsent += 1;
    if (late && 'fault' in late) addTo(asked.faults, late.fault);
    else if (late) {
      asked.events.push(story.event.id);
      if (!ofRule.every(isUnsent)) asked.partly += 1;
      asked.sample ??= { story, late };
      for (const { sink } of late.deliveries) {
        addTo(asked.bySink, sink);
        if (
          story.deliveries.some((one) => one.rule !== rule && one.sink === sink && one.state === 'delivered')
        )
          addTo(asked.twice, sink);
      }
    } else if (!has && unansweredOf(story) === 'unknown') asked.unanswered += 1;
    else if (!has && hasAbsent(story)) asked.absent += 1;
    await io.drained();
  }
  return asked;
}

function summary(asked: RuleSurvey, many: string, plan: Plan, { rule }: ApplyOptions, io: Io): string {
  const { looked, had, unsent, partly, undecided, unanswered, absent, events, bySink, twice, sample } = asked;
  const head = `Rule ${printable(rule)} asks for ${many}, for ${events.length} of ${count(looked, 'event')}`;
  const lines = [paint(io, 'bold', head)];
  if (had > 0) {
    const [have, are] = had === 1 ? ['has', 'is'] : ['have', 'are'];
    lines.push(`  ${had} of them ${have} deliveries of this rule already and ${are} left out`);
  }
  if (unsent > 0)
    lines.push(`  ${unsent} of these were discarded unsent: with --discarded they are told, too`);
  if (partly > 0)
    lines.push(
      `  ${partly} of them are told only what was discarded: the rest of the rule is done, or may be`,
    );
  if (undecided > 0)
    lines.push(
      `  ${undecided} of them ${undecided === 1 ? 'is' : 'are'} not decided yet, and left out: run this again when their look-ups have ended`,
    );
  if (unanswered > 0)
    lines.push(
      `  for ${unanswered} of them it is not known, as a look-up did not answer: \`${program} events --unanswered\` lists them, \`${program} lookup --unanswered\` asks again`,
    );
  if (absent > 0)
    lines.push(
      `  about ${absent} of them a look-up found nothing: where its url was wrong, \`${program} lookup --absent --since DURATION\` asks again`,
    );
  for (const [sink, ofSink] of bySink) {
    const told = twice.get(sink) ?? 0;
    const again = told === 0 ? '' : `, ${told} of them about an event that another rule has told of there`;
    lines.push(`  ${ofSink} to ${printable(sink)}${again}`);
  }
  if (sample) {
    const { story, late } = sample;
    lines.push(paint(io, 'bold', 'The newest of them'), eventLine(story.event, io));
    for (const planned of late.deliveries) lines.push(...messageOf(planned, story, plan));
  }
  return lines.join('\n');
}

/** The lines that show a delivery with its message as of when it goes, or why that cannot be made. */
function messageOf(planned: PlannedDelivery, { event, lookups }: EventStory, plan: Plan): string[] {
  const action = actionOf(plan, planned);
  if (!action) return [];
  const now = Date.now();
  const goesAt = Math.max(now, planned.dueAt);
  const said = action.render(dataOf(action, aboutEvent(event, foundBy(lookups)), plan, goesAt));
  const due = planned.dueAt <= now ? 'at once' : dueText(action, planned.dueAt, now);
  const lines =
    'fault' in said
      ? [`    ${printable(said.fault)}`]
      : messageLines(maskTexts(said.fields, (text) => plan.mask(text)));
  return [`  ${printable(planned.sink)}  ${due}`, ...lines];
}

/** Plans the rule's deliveries in the order in which the events came. Returns their ids. */
async function send(
  store: Store,
  plan: Plan,
  findPlan: FindPlan,
  newestFirst: readonly string[],
  { rule, note, discarded }: ApplyOptions,
  io: Io,
): Promise<string[]> {
  const sent: string[] = [];
  const events = newestFirst.toReversed();
  for (let from = 0; from < events.length; from += pageSize) {
    const stories = await inParts(events.slice(from, from + pageSize), (id) => store.event(id));
    const now = await store.now();
    const late = await inParts(
      stories,
      async (story) => story && planLate(plan, findPlan, story, rule, now, discarded),
    );
    const items = late.flatMap((one) => (one && !('fault' in one) ? [one] : []));
    sent.push(...(await store.apply(items, now, byUser({ note }, io))));
  }
  return sent;
}
