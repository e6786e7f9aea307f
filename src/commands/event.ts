import type { RaisedNotice } from '../model.ts';
import { explain } from '../rules/decide.ts';
import type { Verdict } from '../rules/plan.ts';
import type { Change, EventDetail, NoticeDetail, NoticeStory, Store } from '../store/store.ts';
import { cannotBeUsed } from '../config/live/stored-plans.ts';
import { jsonLine, printable } from '../support/text.ts';
import { changeFields, deliveryDetailFields, deliveryFields, detailJson } from '../json.ts';
import {
  candidateText,
  CommandError,
  deliveryText,
  exit,
  type Io,
  paint,
  type Pauses,
  pausesOf,
  when,
} from './output.ts';
import { byLocalClock, storedPlans, type StoreOption, testNames, withStore } from './with-store.ts';

export async function event(id: string, options: StoreOption & { json?: boolean }, io: Io): Promise<number> {
  return withStore(options, io, async (store) => {
    const json = options.json ?? false;
    const subject = await subjectOf(id, store);
    const story = subject.startsWith('ntc_') ? noticeStory : eventStory;
    io.out(await story(subject, json, store, await byLocalClock(store, io)));
    return exit.ok;
  });
}

/** The event or notice that an id leads to: its own, or that of one of its deliveries, which is what the tools know. */
async function subjectOf(id: string, store: Store): Promise<string> {
  if (!id.startsWith('dlv_')) return id;
  const delivery = await store.delivery(id);
  if (!delivery) throw new CommandError(`there is no delivery ${printable(id)}; \`events\` lists what came`);
  return delivery.eventId ?? delivery.noticeId ?? id;
}

async function noticeStory(id: string, json: boolean, store: Store, io: Io): Promise<string> {
  const notice = await store.notice(id);
  if (!notice) {
    throw new CommandError(
      `there is no notice ${printable(id)}; \`events --notices\` lists what people were told`,
    );
  }
  const changes = await store.audit({ about: id });
  return json
    ? jsonLine(noticeJson(notice, changes))
    : noticeText(notice, changes, await pausesOf(store), io);
}

async function eventStory(id: string, json: boolean, store: Store, io: Io): Promise<string> {
  const story = await store.event(id);
  if (!story) throw new CommandError(`there is no event ${printable(id)}; \`events\` lists what came`);
  const rules = await verdictsThen(story, store, io);
  const changes = await store.audit({ about: id });
  if (json) return jsonLine(detailJson(story, rules, changes));
  const told = text(story, rules, await testNames(store), await pausesOf(store), io);
  return [told, ...byHandLines(changes, io)].join('\n');
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

function text(
  story: EventDetail,
  rules: Verdicts,
  nameOf: (testId: number) => string,
  pauses: Pauses,
  io: Io,
): string {
  const { event: came, duplicates, deliveries } = story;
  const heading = (title: string) => paint(io, 'bold', title);
  return [
    `${heading(came.id)}  ${came.status}  test ${came.testId}${nameOf(came.testId)}  ${candidateText(came)}`,
    `  received ${when(came.receivedAt, io)}, correlation id ${printable(came.correlationId ?? 'none')}`,
    `  payload ${printable(JSON.stringify(came.raw))}`,
    ...duplicates.map(
      (one) =>
        `  repeated ${when(one.receivedAt, io)}, correlation id ${printable(one.correlationId ?? 'none')}`,
    ),
    heading('Rules, by the config that was in force'),
    ...('fault' in rules
      ? [`  ${printable(rules.fault)}`]
      : rules.map((verdict) => verdictText(verdict, io))),
    heading('Deliveries'),
    ...(deliveries.length === 0
      ? ['  none: no rule asked for anything']
      : deliveries.flatMap((one) => deliveryText(one, pauses, io))),
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

/** Who did what, from where and why. */
export function changeLine({ at, who, from, action, note, deliveries }: Change, io: Io): string {
  const why = note === null ? '' : `: ${note}`;
  const [first = '', ...others] = deliveries;
  const which = first === '' ? '' : ` ${first}${others.length === 0 ? '' : ` and ${others.length} more`}`;
  const words = printable(`${which}, by ${who} from ${from}${why}`);
  return `${when(at, io)}  ${paint(io, 'bold', action)}${words}`;
}

/** A notice in a list. */
export function noticeHead({ raisedAt, cause }: RaisedNotice, io: Io): string {
  return `${when(raisedAt, io)}  ${paint(io, 'bold', printable(cause))}`;
}

export function noticeStoryJson({ notice, deliveries }: NoticeStory) {
  return { ...noticeFields(notice), deliveries: deliveries.map(deliveryFields) };
}

export function noticeJson({ notice, deliveries }: NoticeDetail, changes: readonly Change[]) {
  return {
    ...noticeFields(notice),
    deliveries: deliveries.map(deliveryDetailFields),
    changes: changes.map(changeFields),
  };
}

function noticeFields(notice: RaisedNotice) {
  return {
    ...notice,
    since: new Date(notice.since).toISOString(),
    raisedAt: new Date(notice.raisedAt).toISOString(),
  };
}

/** One rule's verdict as a line. */
export function verdictText({ rule, matched, because }: Verdict, io: Io): string {
  const mark = matched ? paint(io, 'green', '✓') : paint(io, 'gray', '✗');
  return `  ${mark} ${printable(`${rule}: ${because}`)}`;
}
