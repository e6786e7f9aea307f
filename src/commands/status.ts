import { type Refusals, refusals, sinkStates } from '../needs.ts';
import {
  inLastHour,
  needsOf,
  onlyStore,
  readStatus,
  type SinkStatus,
  type Status,
  statusJson,
  stuckNotices,
  troubleOf,
} from '../status.ts';
import { program, shellWord } from '../support/program.ts';
import type { CopyState, StuckCount } from '../store/store.ts';
import { count, jsonLine, printable } from '../support/text.ts';
import { noticeHead } from './event.ts';
import { exit, type Io, paint, when } from './output.ts';
import { byLocalClock, configTimeZone, type StoreOption, withStore } from './with-store.ts';

export async function status(options: StoreOption & { json?: boolean }, io: Io): Promise<number> {
  return withStore(options, io, async (store) => {
    const timeZone = (await configTimeZone(store, io)) ?? 'UTC';
    const found = await readStatus(onlyStore(store), Date.now(), timeZone);
    const text = async () => statusText(found, timeZone, await byLocalClock(store, io));
    io.out(options.json ? jsonLine(statusJson(found)) : await text());
    return needsOf(found).length > 0 ? exit.needsPerson : exit.ok;
  });
}

function statusText(found: Status, timeZone: string, io: Io): string {
  const needs = needsOf(found);
  const { notices } = found;
  const isRunning = found.copies.length > 0;
  return [
    needs.length === 0
      ? paint(io, 'green', 'Nothing needs a person.')
      : paint(io, 'red', printable(`A person is needed: ${needs.join(', ')}.`)),
    ...section('Config', configLines(found, io), io),
    ...section('Store', found.unwritable === null ? [] : [printable(found.unwritable)], io),
    ...section('Receiver', receiverLines(found, timeZone, io), io),
    ...section(
      'Refused',
      refusals(found.refused).flatMap((one) => refusedText(one, io)),
      io,
    ),
    ...section(
      'Sinks',
      found.sinks.map((sink) => sinkText(sink, isRunning, io)),
      io,
    ),
    ...section('Waiting', waitingLines(found, io), io),
    ...section('Dead', stuckLines(found, 'dead', io), io),
    ...section('Held', stuckLines(found, 'held', io), io),
    ...section(
      'Not to everybody (last 7 days)',
      found.missed.map((one) => causeText(one, io)),
      io,
    ),
    ...section(
      'Last notices',
      notices.map((notice) => noticeHead(notice, io)),
      io,
    ),
  ].join('\n');
}

function section(title: string, lines: readonly string[], io: Io): string[] {
  return lines.length === 0 ? [] : [paint(io, 'bold', title), ...lines.map((line) => `  ${line}`)];
}

function configLines({ copies, lastCopy }: Status, io: Io): string[] {
  if (copies.length === 0) return [lastSign(lastCopy, io)];
  const alike = Map.groupBy(copies, (copy) => copyLines(copy, io).join('\n  '));
  if (alike.size === 1) {
    const many = copies.length === 1 ? [] : [`${copies.length} copies, all by this config`];
    return [...copyLines(copies[0]!, io), ...many];
  }
  return [...alike].flatMap(([lines, same]) => [
    lines,
    `by ${same.map(({ id }) => printable(id)).join(' and ')}`,
  ]);
}

function lastSign(copy: CopyState | null, io: Io): string {
  if (copy === null) return 'No connector has served this store yet. `serve` starts one.';
  const at = when(copy.saidAt, io);
  return copy.stopped
    ? `No connector serves this store. The last one was stopped at ${at}.`
    : `No connector serves this store. The last sign of life was at ${at}: it was killed, or stands still.`;
}

function copyLines(
  { config: { file, since, refused, waiting, closed = null } }: CopyState,
  io: Io,
): string[] {
  const lines = [`${printable(file)}, in force since ${when(since, io)}`];
  if (refused !== null) {
    const more = refused.others === 0 ? '' : ` (and ${count(refused.others, 'more problem')})`;
    lines.push(
      `the file as it is now was refused at ${when(refused.since, io)}: ${printable(refused.problem)}${more}`,
      `correct it; ${program} check --config ${printable(file)} shows all that is wrong`,
    );
  }
  if (waiting.length > 0) lines.push(`changed, and in force at the next start: ${waiting.join(', ')}`);
  if (closed !== null) lines.push(paint(io, 'red', `the admin port lets nobody in: ${closed}`));
  return lines;
}

function receiverLines({ lastEventAt, eventsToday }: Status, timeZone: string, io: Io): string[] {
  if (lastEventAt === null) return [`no event yet; \`${program} send\` sends one`];
  return [`last event ${when(lastEventAt, io)}, ${count(eventsToday, 'event')} today (${timeZone})`];
}

const refusedText = ({ what, first, last, advice, command }: Refusals, io: Io): string[] => [
  printable(`${what}; the first at ${when(first, io)}, the last at ${when(last, io)}`),
  `  ${advice} When that is done: ${command}`,
];

function sinkText(one: SinkStatus, isRunning: boolean, io: Io): string {
  const { sink, connector, pending } = one;
  const name = printable(connector === null ? sink : `${sink} (${connector})`);
  const waits = pending === 0 ? [] : [`${pending} waiting`];
  const parts = [stateOf(one, isRunning, io), ...waits, ...rateOf(one, io)];
  return `${name}  ${parts.join(', ')}`;
}

function stateOf(one: SinkStatus, isRunning: boolean, io: Io): string {
  const { connector, state, pause, nextTryAt } = one;
  if (!isRunning) return pause === null ? 'not served' : `not served; was paused at ${when(pause.since, io)}`;
  if (connector === null) return 'not in the config any more';
  const trouble = troubleOf(one);
  const word = sinkStates[state];
  if (trouble === null) return state === 'working' ? paint(io, 'green', word) : word;
  const why = trouble.because === null ? '' : `: ${printable(trouble.because.detail).replace(/\.$/, '')}`;
  const probe = pause && `; next probe ${nextTryAt === null ? 'with the next message' : when(nextTryAt, io)}`;
  return `${paint(io, 'red', word)} since ${when(trouble.since, io)}${why}${probe ?? ''}`;
}

/** When it worked last, and how it did in the last hour. */
function rateOf({ figures }: SinkStatus, io: Io): string[] {
  if (figures === null) return [];
  const { lastSuccessAt } = figures;
  return [
    ...(lastSuccessAt === null ? [] : [`last success ${when(lastSuccessAt, io)}`]),
    ...inLastHour(figures),
  ];
}

function waitingLines({ sinks, oldestPendingAt }: Status, io: Io): string[] {
  const pending = sinks.reduce((total, sink) => total + sink.pending, 0);
  if (pending === 0 || oldestPendingAt === null) return ['nothing'];
  const deliveries = pending === 1 ? '1 delivery' : `${pending} deliveries`;
  return [`${deliveries}, the oldest for an event received at ${when(oldestPendingAt, io)}`];
}

const help = {
  dead: ({ sink, cause }: StuckCount) =>
    `fix the cause, then: ${program} replay --dead --sink ${shellWord(sink)} --cause ${shellWord(cause)}`,
  held: ({ sink }: StuckCount) =>
    `look there, then replay or discard what this lists: ${program} events --state held --sink ${shellWord(sink)}`,
};

function stuckLines(found: Status, state: 'dead' | 'held', io: Io): string[] {
  const ofNotices = stuckNotices(found, state);
  return [
    ...found[state].flatMap((stuck) => stuckText(stuck, state, io)),
    ...(ofNotices > 0 ? [`${ofNotices} of notices: ${program} events --notices`] : []),
  ];
}

const stuckText = (stuck: StuckCount, state: 'dead' | 'held', io: Io): string[] => [
  causeText(stuck, io),
  `  ${printable(help[state](stuck))}`,
];

function causeText({ sink, count: many, firstAt, reason }: StuckCount, io: Io): string {
  return `${many} to ${printable(sink)}, the first at ${when(firstAt, io)}: ${printable(reason)}`;
}
