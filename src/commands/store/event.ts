import { cannotBeUsed } from '../../config/live/stored-plans.ts';
import { detailJson, noticeJson } from '../../ops/json.ts';
import { explain } from '../../rules/decide.ts';
import type { Verdict } from '../../rules/plan.ts';
import type { Change, EventDetail, NoticeDetail, Store } from '../../store/store.ts';
import { jsonLine, printable } from '../../support/text.ts';
import { command, flag, storeOptions, TypedArgument } from '../command.ts';
import {
  candidateText,
  changeLine,
  CommandError,
  deliveryText,
  exit,
  type Io,
  paint,
  type Pauses,
  pausesOf,
  verdictText,
  when,
} from '../output.ts';
import { byLocalClock, storedPlans, testNames, withStore } from '../with-store.ts';

export const event = command({
  name: 'event',
  description: "show one event's whole story: its rules, deliveries, attempts and receipts",
  examples: ['event evt_01jd3v5m8k2q4r6t8w0y1z3a5c', 'event evt_01jd3v5m8k2q4r6t8w0y1z3a5c --json'],
  options: { ...storeOptions, json: flag('--json', 'print one JSON object') },
  argument: new TypedArgument<string>(
    '<id>',
    'the id of the event, of one of its deliveries (dlv_…), or of a notice (ntc_…)',
  ),
  run: (options, io, given) =>
    withStore(options, io, async (store) => {
      const id = await subjectOf(given, store);
      const local = await byLocalClock(store, io);
      const changes = await store.audit({ about: id });
      const pauses = await pausesOf(store);
      if (id.startsWith('ntc_')) {
        const notice = await store.notice(id);
        const elsewhere = '`events --notices` lists what people were told';
        if (!notice) throw new CommandError(`there is no notice ${printable(id)}; ${elsewhere}`);
        io.out(
          options.json ? jsonLine(noticeJson(notice, changes)) : noticeText(notice, changes, pauses, local),
        );
        return exit.ok;
      }
      const story = await store.event(id);
      if (!story) throw new CommandError(`there is no event ${printable(id)}; \`events\` lists what came`);
      const rules = await verdictsThen(story, store, io);
      if (options.json) io.out(jsonLine(detailJson(story, rules, changes)));
      else io.out(eventText(story, rules, changes, await testNames(store), pauses, local));
      return exit.ok;
    }),
});

/** The event or notice that an id leads to: its own, or that of one of its deliveries, which is what the tools know. */
async function subjectOf(id: string, store: Store): Promise<string> {
  if (!id.startsWith('dlv_')) return id;
  const delivery = await store.delivery(id);
  if (!delivery) throw new CommandError(`there is no delivery ${printable(id)}; \`events\` lists what came`);
  return delivery.eventId ?? delivery.noticeId ?? id;
}

/** Why each rule matched or not by the config that was in force, or why that cannot be told any more. */
type Verdicts = readonly Verdict[] | { readonly fault: string };

/** Decides again: a plan and an event give the same verdicts at any time. */
async function verdictsThen(story: EventDetail, store: Store, io: Io): Promise<Verdicts> {
  const plan = await storedPlans(store, io).get(story.configId);
  if ('fault' in plan) return plan;
  const why = plan.unusable?.deciding ?? null;
  return why === null
    ? explain(plan, story.event, story.event.receivedAt).rules
    : { fault: cannotBeUsed(why) };
}

function eventText(
  { event: came, duplicates, deliveries }: EventDetail,
  rules: Verdicts,
  changes: readonly Change[],
  nameOf: (testId: number) => string,
  pauses: Pauses,
  io: Io,
): string {
  const correlation = (id: string | null) => `correlation id ${printable(id ?? 'none')}`;
  return [
    `${paint(io, 'bold', came.id)}  ${came.status}  test ${came.testId}${nameOf(came.testId)}  ${candidateText(came)}`,
    `  received ${when(came.receivedAt, io)}, ${correlation(came.correlationId)}`,
    `  payload ${printable(JSON.stringify(came.raw))}`,
    ...duplicates.map((one) => `  repeated ${when(one.receivedAt, io)}, ${correlation(one.correlationId)}`),
    paint(io, 'bold', 'Rules, by the config that was in force'),
    ...('fault' in rules
      ? [`  ${printable(rules.fault)}`]
      : rules.map((verdict) => verdictText(verdict, io))),
    paint(io, 'bold', 'Deliveries'),
    ...(deliveries.length === 0
      ? ['  none: no rule asked for anything']
      : deliveries.flatMap((one) => deliveryText(one, pauses, io))),
    ...byHandLines(changes, io),
  ].join('\n');
}

/** What people were told of a trouble of the connector's own, and what became of that. */
function noticeText(
  { notice, deliveries }: NoticeDetail,
  changes: readonly Change[],
  pauses: Pauses,
  io: Io,
): string {
  return [
    `${paint(io, 'bold', notice.id)}  ${printable(notice.cause)}`,
    `  raised ${when(notice.raisedAt, io)}, since ${when(notice.since, io)}`,
    `  ${printable(notice.detail)}`,
    `  ${printable(notice.advice)}`,
    paint(io, 'bold', 'Deliveries'),
    ...deliveries.flatMap((one) => deliveryText(one, pauses, io)),
    ...byHandLines(changes, io),
  ].join('\n');
}

function byHandLines(changes: readonly Change[], io: Io): string[] {
  if (changes.length === 0) return [];
  return [paint(io, 'bold', 'By hand'), ...changes.toReversed().map((one) => `  ${changeLine(one, io)}`)];
}
