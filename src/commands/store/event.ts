import { verdictsBy, verdictsOf } from '../../config/live/stored-plans.ts';
import { detailJson, noticeJson, storyJson } from '../../printed/json.ts';
import { type Change, type EventDetail, type Store, unansweredOf } from '../../store/store.ts';
import { program } from '../../support/invocation.ts';
import { jsonLine, printable, printableInLine } from '../../support/text.ts';
import { traceIdOf } from '../../support/trace.ts';
import { command, flag, storeOptions, TypedArgument } from '../command.ts';
import {
  attemptText,
  candidateText,
  changeLine,
  CommandError,
  deliveryText,
  exit,
  type Io,
  paint,
  obstaclesOf,
  verdictText,
  when,
} from '../output.ts';
import { storedPlans, testNames, withStore } from '../with-store.ts';
import { foundBy } from '../../lookups/kept-facts.ts';
import { lookupOf } from '../../model.ts';
import { storyText } from './stories.ts';

export const event = command({
  name: 'event',
  description: "show one event's whole story: its rules, deliveries, attempts and receipts",
  examples: [
    'event evt_01jd3v5m8k2q4r6t8w0y1z3a5c',
    'event evt_01jd3v5m8k2q4r6t8w0y1z3a5c --json',
    'event 3f0c9a52-7d1e-4b8a-9c63-1e5d2f7a8b40   # by the correlation id that the service names',
  ],
  options: { ...storeOptions, json: flag('--json', 'print one JSON object') },
  argument: new TypedArgument<string>(
    '<id>',
    'the id of the event, of one of its deliveries (dlv_…), or of a notice (ntc_…); or its correlation id',
  ),
  run: (options, io, given) =>
    withStore(options, io, async (store, local) => {
      // The events that came, or were repeated, under a correlation id.
      const { stories: same } = isId.test(given)
        ? { stories: [] }
        : await store.search({ correlation: given.trim() });
      if (same.length > 1) {
        const [nameOf, obstacles] = [await testNames(store), await obstaclesOf(store)];
        for (const story of same)
          io.out(options.json ? jsonLine(storyJson(story)) : storyText(story, nameOf, obstacles, local));
        return exit.ok;
      }
      const id = same[0]?.event.id ?? (await subjectOf(given, store));
      const changes = await store.audit({ about: id });
      const { json, head, deliveries, none } = id.startsWith('ntc_')
        ? await aboutNotice(id, changes, store, local)
        : await aboutEvent(id, changes, store, local);
      if (options.json) {
        io.out(jsonLine(json));
        return exit.ok;
      }
      const obstacles = await obstaclesOf(store);
      const byHand = changes.toReversed().map((one) => `  ${changeLine(one, local)}`);
      const lines = [
        ...head,
        paint(io, 'bold', 'Deliveries'),
        ...(deliveries.length === 0
          ? [`  none: ${none}`]
          : deliveries.flatMap((one) => deliveryText(one, obstacles, local))),
        ...(byHand.length === 0 ? [] : [paint(io, 'bold', 'By hand'), ...byHand]),
      ];
      io.out(lines.join('\n'));
      return exit.ok;
    }),
});

const isId = /^(?:evt|dlv|ntc)_/;

/** The id of the event or notice that an id means: its own, or that of a delivery, which the tools know. */
async function subjectOf(id: string, store: Store): Promise<string> {
  if (!id.startsWith('dlv_')) return id;
  const delivery = await store.delivery(id);
  if (!delivery)
    throw new CommandError(`there is no delivery ${printable(id)}; \`${program} events\` lists what came`);
  return delivery.eventId ?? delivery.noticeId ?? id;
}

/** The story of a notice. */
async function aboutNotice(id: string, changes: readonly Change[], store: Store, io: Io) {
  const found = await store.notice(id);
  const elsewhere = `\`${program} events --notices\` lists what people were told`;
  if (!found) throw new CommandError(`there is no notice ${printable(id)}; ${elsewhere}`);
  const { notice, deliveries } = found;
  const head = [
    `${paint(io, 'bold', notice.id)}  ${printable(notice.cause)}`,
    `  raised ${when(notice.raisedAt, io)}, since ${when(notice.since, io)}`,
    `  ${printableInLine(notice.detail)}`,
    `  ${printable(notice.advice)}`,
  ];
  return { json: noticeJson(found, changes), head, deliveries, none: 'nobody was to be told' };
}

/** Messages and lists name a candidate by a number, and that is what people have at hand. */
const whereToLook = (id: string): string =>
  /^#?\d{1,15}$/.test(id)
    ? `\`${program} events --candidate ${id.replace('#', '')}\` lists what came about a candidate`
    : `\`${program} events\` lists what came`;

async function aboutEvent(id: string, changes: readonly Change[], store: Store, io: Io) {
  const story = await store.event(id);
  if (!story) throw new CommandError(`there is no event ${printable(id)}; ${whereToLook(id)}`);
  const { event: came, duplicates, deliveries, configId } = story;
  const rules = verdictsOf(await storedPlans(store, io).get(configId), story);
  const nameOf = await testNames(store);
  const correlation = (of: string | null) => `correlation id ${printable(of ?? 'none')}`;
  const head = [
    `${paint(io, 'bold', came.id)}  ${came.status}  test ${came.testId}${nameOf(came.testId)}  ${candidateText(came)}`,
    `  received ${when(came.receivedAt, io)}, ${correlation(came.correlationId)}, trace id ${traceIdOf(came)}`,
    `  payload ${printable(JSON.stringify(came.raw))}`,
    ...duplicates.map((one) => `  repeated ${when(one.receivedAt, io)}, ${correlation(one.correlationId)}`),
    ...lookupLines(story, io),
    ...(unansweredOf(story) === 'late'
      ? [
          `  it was decided before that was answered, and nothing was sent since: \`${program} apply --rule NAME\` sends what a rule asks for by now`,
        ]
      : []),
    paint(io, 'bold', `Rules, ${verdictsBy(story)}`),
    ...('fault' in rules
      ? [`  ${printable(rules.fault)}`]
      : rules.map((verdict) => verdictText(verdict, io))),
  ];
  const none = story.decided ? 'no rule asked for anything' : 'it is not decided yet';
  return { json: detailJson(story, rules, changes), head, deliveries, none };
}

/** The lines about an event's look-ups: state, facts and attempts. */
function lookupLines({ lookups }: EventDetail, io: Io): string[] {
  const lines = [paint(io, 'bold', 'Looked up')];
  for (const [name, { state, at, reason, fields }] of Object.entries(foundBy(lookups))) {
    const known = Object.entries(fields).map(
      ([field, value]) => `${field} ${value === null ? 'none' : JSON.stringify(value)}`,
    );
    const since = at === null ? '' : ` at ${when(at, io)}`;
    lines.push(`  ${name}  ${state}${since}${known.length === 0 ? '' : printable(`: ${known.join(', ')}`)}`);
    if (reason !== null) lines.push(`    ${printable(reason)}`);
    const tries = lookups.filter(({ sink }) => lookupOf(sink) === name).flatMap(({ history }) => history);
    lines.push(...tries.map((attempt) => `    ${attemptText(attempt, io)}`));
  }
  return lines.length === 1 ? [] : lines;
}
