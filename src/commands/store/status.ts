import { needsOf } from '../../ops/needs.ts';
import { refusals } from '../../ops/refusals.ts';
import { statusJson } from '../../ops/status/json.ts';
import { onlyStore, readStatus, type Status } from '../../ops/status/status.ts';
import { missedTitle, rejectedWords, unheardWords } from '../../ops/status/words.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { program } from '../../support/invocation.ts';
import { isPostgres } from '../../support/store-url.ts';
import { count, jsonLine, printable, printableInLine } from '../../support/text.ts';
import { command, flag, storeOptions } from '../command.ts';
import { exit, type Io, paint, when } from '../output.ts';
import { configTimeZone, storeUrl, withStore } from '../with-store.ts';
import { configLines, findingLines } from './status/connector.ts';
import { unansweredLines } from './status/lookups.ts';
import { lateLines, sinkLines } from './status/sinks.ts';
import { causeText, stuckLines } from './status/stuck.ts';

const lateMs = 60_000;

export const status = command({
  name: 'status',
  description: 'show whether everything is all right; exits 4 where a person is needed',
  examples: ['status', 'status --json   # for monitoring; the same as /api/status on the admin port'],
  options: { ...storeOptions, json: flag('--json', 'print one JSON object') },
  run: async (options, io) => {
    const url = options.store ?? (await storeUrl(options, io));
    return withStore({ ...options, store: url }, io, async (store, local) => {
      const timeZone = (await configTimeZone(store, io)) ?? 'UTC';
      const now = await store.now();
      const found = await readStatus(onlyStore(store), now, timeZone);
      if (options.json) io.out(jsonLine(statusJson(found)));
      else {
        const { pending } = await store.vitals(now);
        const late = pending.filter(({ firstDueAt }) => now - firstDueAt > lateMs);
        const lateSince = new Map(late.map(({ sink, firstDueAt }) => [sink, firstDueAt]));
        io.out(statusText(found, lateSince, timeZone, local));
      }
      return needsOf(found).length > 0 ? exit.needsPerson : exit.ok;
    }).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable && isPostgres(url))) throw error;
      throw new StoreUnavailable(`${error.message} ${unreachable}`, { cause: error });
    });
  },
});

/** Added to the error of a server that cannot be used. */
const unreachable =
  'While the connector cannot use it either, events are refused; once it can, all goes on, without a restart unless store.url has changed.';

/** `lateSince`: when what has waited longest for a sink was due (ms), for sinks that are late. */
function statusText(found: Status, lateSince: ReadonlyMap<string, number>, timeZone: string, io: Io): string {
  const needs = needsOf(found);
  const isRunning = found.replicas.length > 0;
  const pending = found.sinks.reduce((total, sink) => total + sink.pending, 0);
  const sections: { readonly [title: string]: readonly string[] } = {
    Config: [
      ...configLines(found, io),
      ...findingLines(found, ['served', 'broken', 'config', 'restart', 'closed', 'differ'], io),
    ],
    Store: findingLines(found, ['unwritable', 'unsent', 'rescued', 'moved', 'absent'], io),
    Receiver: [
      found.lastEventAt === null
        ? `no event yet; \`${program} send\` sends one`
        : `last event ${when(found.lastEventAt, io)}, ${count(found.eventsToday, 'event')} today (${timeZone})`,
      ...(found.rejectedThisWeek > 0 && found.unread === 0
        ? [`${rejectedWords(found)}: \`${program} events --rejected\` says why`]
        : []),
      ...findingLines(found, ['unread'], io),
    ],
    Refused: refusals(found.refused).flatMap(({ what, first, last, advice, command: ignoring }) => [
      printable(`${what}; the first at ${when(first, io)}, the last at ${when(last, io)}`),
      `  ${advice} When that is done: ${ignoring}`,
    ]),
    Sinks: found.sinks.flatMap((sink) => [
      ...sinkLines(sink, isRunning, io),
      ...(isRunning && found.unsent === null ? lateLines(sink, lateSince.get(sink.sink), io) : []),
    ]),
    'Look-ups': [
      ...found.lookups.flatMap((lookup) => sinkLines(lookup, isRunning, io)),
      ...findingLines(found, ['empty', 'neverFound'], io),
      ...unansweredLines(found),
    ],
    Waiting: [
      ...(found.undecided > 0
        ? [`${count(found.undecided, 'event')} to be decided, when look-ups have ended`]
        : []),
      ...(pending > 0 && found.oldestPendingAt !== null
        ? [
            `${count(pending, 'delivery')}, the oldest for an event received at ${when(found.oldestPendingAt, io)}`,
          ]
        : []),
      ...(pending + found.undecided === 0 ? ['nothing'] : []),
    ],
    'Failing for an hour': findingLines(found, ['failing'], io),
    Dead: stuckLines(found, 'dead', io),
    Held: stuckLines(found, 'held', io),
    [`${missedTitle} (last 7 days)`]: found.missed.map((one) => causeText(one, io)),
    'Last notices': found.notices.map((story) => {
      const { raisedAt, recovered, detail } = story.notice;
      const unheard = unheardWords(story);
      const words = `${recovered ? 'over: ' : ''}${printableInLine(detail)}`;
      return `${when(raisedAt, io)}  ${words}${unheard && ` ${paint(io, 'red', unheard)}`}`;
    }),
  };
  const lines = [
    needs.length === 0
      ? paint(io, 'green', 'Nothing needs a person.')
      : paint(io, 'red', printable(`A person is needed: ${needs.map(({ words }) => words).join(', ')}.`)),
  ];
  for (const [title, inside] of Object.entries(sections))
    if (inside.length > 0) lines.push(paint(io, 'bold', title), ...inside.map((line) => `  ${line}`));
  return lines.join('\n');
}
