import { lateRules, planLookups } from '../../by-hand/late.ts';
import { isUnderWay } from '../../model.ts';
import type { Plan } from '../../rules/plan.ts';
import { lacksFacts } from '../../lookups/kept-facts.ts';
import { inParts, pageSize, storiesOf } from '../../store/paging.ts';
import { type EventStory, type Late, type Store } from '../../store/store.ts';
import { program, shellWord } from '../../support/invocation.ts';
import { count, printable } from '../../support/text.ts';
import {
  ago,
  byHandOptions,
  command,
  flag,
  readOption,
  storeOptions,
  TypedArgument,
  type ValuesOf,
} from '../command.ts';
import { CommandError, exit } from '../output.ts';
import { byUser, saveToday, withStoreAndToday } from '../with-store.ts';
import { refuseWithoutConnector, tellKeptBack, waitFor } from './under-way.ts';

const declared = {
  ...byHandOptions,
  ...storeOptions,
  unanswered: flag('--unanswered', 'every event that was decided without an answer'),
  absent: flag(
    '--absent',
    'with --since: every event that a look-up found nothing about, or not every field, as where its url was wrong',
  ),
  since: readOption('--since <duration>', 'of these, only what came within this time, such as 7d', ago),
};
type LookupOptions = ValuesOf<typeof declared>;

/** Has look-ups made again, by the connector that serves the store. */
export const lookup = command({
  name: 'lookup',
  description: 'look up again what events are about; sends nothing: apply, or resend, does then',
  examples: [
    'lookup evt_01jd3v5m8k2q4r6t8w0y1z3a5c --wait',
    'lookup --unanswered --since 24h --note "the API was down"   # what `events --unanswered` lists',
    'lookup --absent --since 24h --wait   # once a wrong url is put right',
  ],
  options: declared,
  argument: new TypedArgument<readonly string[]>('[event...]', 'event ids'),
  run(options, io, ids) {
    const { dryRun, wait, unanswered, absent, since } = options;
    if ([ids.length > 0, unanswered, absent].filter(Boolean).length !== 1)
      throw new CommandError('give ids of events, or --unanswered, or --absent', exit.usage);
    if (since !== undefined && ids.length > 0)
      throw new CommandError('--since narrows --unanswered and --absent', exit.usage);
    if (absent && since === undefined)
      throw new CommandError(
        '--absent wants --since: most of what was absent long ago is so for good',
        exit.usage,
      );
    return withStoreAndToday(options, io, async (store, today, local) => {
      const now = await store.now();
      const stories = await chosen(store, ids, options);
      const planned = stories.map((story) =>
        Object.assign(planLookups(today.plan, story, now), {
          id: story.event.id,
          underWay: story.lookups.filter(({ state }) => isUnderWay(state)).map(({ sink }) => sink),
        }),
      );
      const late = planned.flatMap((one) => ('fault' in one ? [] : [one]));
      for (const one of planned) if ('fault' in one) io.err(printable(`${one.id}: ${one.fault}`));
      if (dryRun) {
        for (const { eventId, deliveries, underWay } of late) {
          const asked = deliveries.map(({ sink }) => sink).filter((sink) => !underWay.includes(sink));
          const what = asked.length > 0 ? `would be asked for: ${asked.join(', ')}` : 'is asked for already';
          io.out(printable(`${eventId} ${what}`));
        }
        return late.length === planned.length ? exit.ok : exit.problems;
      }
      if (wait) await refuseWithoutConnector(store);
      await saveToday(store, today);
      const made: string[] = [];
      for (let from = 0; from < late.length; from += pageSize)
        made.push(...(await store.lookUp(late.slice(from, from + pageSize), now, byUser(options, io))));
      const told =
        made.length === 0
          ? 'Nothing is to be asked, or it is under way already.'
          : `Asked again: ${made.length > 10 ? count(made.length, 'look-up') : made.join(', ')}.`;
      io.out(printable(told));
      const sinks = new Set(late.flatMap(({ deliveries }) => deliveries.map(({ sink }) => sink)));
      if (made.length > 0) await tellKeptBack(store, sinks, made, local);
      const arrived = !wait || (await waitFor(store, made, local));
      if (made.length > 0)
        for (const line of wait ? await askedFor(store, today.plan, late) : [nobodyTold()])
          io.out(printable(line));
      return arrived && late.length === planned.length ? exit.ok : exit.problems;
    });
  },
});

const nobodyTold = (): string =>
  `This tells nobody: once they are answered, \`${program} apply --rule NAME\` sends what a rule asks for that was not asked for before, and \`${program} resend DELIVERY…\` what went out without this.`;

/** Says which rules ask for something more, now that the look-ups have answered. */
async function askedFor(store: Store, plan: Plan, late: readonly Late[]): Promise<string[]> {
  const now = await store.now();
  const stories = await inParts(late, ({ eventId }) => store.event(eventId));
  const asking = stories.flatMap((story) => (story ? lateRules(plan, story, now) : []));
  const rules = Array.from(
    Map.groupBy(asking, (rule) => rule),
    ([rule, events]) =>
      `  ${count(events.length, 'event')}: ${program} apply --rule ${shellWord(rule)} --dry-run`,
  );
  const asked =
    rules.length === 0
      ? ['By what is known now, no rule asks for anything that was not asked for before.']
      : ['This has told nobody. By what is known now, rules ask for something:', ...rules];
  const wentOut = stories
    .flatMap((story) => story?.deliveries ?? [])
    .some(({ state }) => state === 'delivered');
  const again = `What went out says what was known then: \`${program} resend DELIVERY…\` sends it again.`;
  return wentOut ? [...asked, again] : asked;
}

/** The events to look up, the oldest first, which is the order in which they are asked about. */
async function chosen(
  store: Store,
  ids: readonly string[],
  { unanswered, absent, since }: LookupOptions,
): Promise<readonly Pick<EventStory, 'event' | 'decided' | 'lookups'>[]> {
  if (absent) {
    const found: EventStory[] = [];
    for await (const story of storiesOf(store, { since })) if (lacksFacts(story)) found.push(story);
    return found.toReversed();
  }
  if (unanswered) {
    const found = await Array.fromAsync(storiesOf(store, { unanswered: 'unknown', since }));
    return found.toReversed();
  }
  return inParts(ids, async (id) => {
    const story = await store.event(id);
    if (!story) throw new CommandError(`there is no event ${printable(id)}; nothing was done`);
    return story;
  });
}
