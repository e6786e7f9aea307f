import { refusedAt } from '../../ops/needs.ts';
import { reconcileCommand, refusals } from '../../ops/refusals.ts';
import {
  askedWords,
  inLastHour,
  isDown,
  isForgotten,
  mayBeTried,
  restartHint,
  nextShows,
  putBack,
  sinkStates,
  stateWord,
} from '../../ops/sink-states.ts';
import { statusJson } from '../../ops/status/json.ts';
import {
  onlyStore,
  readStatus,
  type SinkStatus,
  type Status,
  type StuckNotice,
  troubleOf,
} from '../../ops/status/status.ts';
import {
  missedTitle,
  movedWords,
  needsOf,
  rejectedWords,
  unansweredWords,
  unheardWords,
} from '../../ops/status/words.ts';
import { nextTry, sinceWords } from '../../ops/pauses.ts';
import { lookupOf } from '../../model.ts';
import { program, shellWord } from '../../support/invocation.ts';
import { type ReplicaState, type Store, StoreUnavailable, type StuckCount } from '../../store/store.ts';
import { isPostgres } from '../../support/store-url.ts';
import { count, jsonLine, printable } from '../../support/text.ts';
import { command, flag, storeOptions } from '../command.ts';
import { exit, type Io, paint, pausedText, when } from '../output.ts';
import { configTimeZone, storeUrl, withStore } from '../with-store.ts';

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
        const unfound = await unfoundLines(store, found);
        const { pending } = await store.vitals(now);
        const late = pending.filter(({ firstDueAt }) => now - firstDueAt > lateMs);
        const lateSince = new Map(late.map(({ sink, firstDueAt }) => [sink, firstDueAt]));
        io.out(statusText(found, { unfound, lateSince }, timeZone, local));
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

interface Beside {
  readonly unfound: readonly string[];
  /** When what has waited longest for a sink was due (ms), for sinks that are late. */
  readonly lateSince: ReadonlyMap<string, number>;
}

function statusText(found: Status, { unfound, lateSince }: Beside, timeZone: string, io: Io): string {
  const needs = needsOf(found);
  const isRunning = found.replicas.length > 0;
  const pending = found.sinks.reduce((total, sink) => total + sink.pending, 0);
  const sections: { readonly [title: string]: readonly string[] } = {
    Config: configLines(found, io),
    Store: storeLines(found, io),
    Receiver: [
      found.lastEventAt === null
        ? `no event yet; \`${program} send\` sends one`
        : `last event ${when(found.lastEventAt, io)}, ${count(found.eventsToday, 'event')} today (${timeZone})`,
      ...(found.rejectedThisWeek > 0
        ? [`${rejectedWords(found)}: \`${program} events --rejected\` says why`]
        : []),
    ],
    Refused: refusals(found.refused).flatMap(({ what, first, last, advice, command: ignoring }) => [
      printable(`${what}; the first at ${when(first, io)}, the last at ${when(last, io)}`),
      `  ${advice} When that is done: ${ignoring}`,
    ]),
    Sinks: found.sinks.flatMap((sink) => [
      ...sinkLines(sink, isRunning, io),
      ...(isRunning ? lateLines(sink, lateSince.get(sink.sink), io) : []),
    ]),
    'Look-ups': [
      ...found.lookups.flatMap((lookup) => sinkLines(lookup, isRunning, io)),
      ...unfound,
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
    'Failing for an hour': found.failing.flatMap((one) => [
      causeText(one, io),
      `  others to it go out; all of them: ${program} events --state pending --sink ${shellWord(one.sink)}`,
    ]),
    Dead: stuckLines(found, 'dead', io),
    Held: stuckLines(found, 'held', io),
    [`${missedTitle} (last 7 days)`]: found.missed.map((one) => causeText(one, io)),
    'Last notices': found.notices.map((story) => {
      const { raisedAt, recovered, detail } = story.notice;
      const unheard = unheardWords(story);
      const words = printable(`${recovered ? 'over: ' : ''}${detail}`);
      return `${when(raisedAt, io)}  ${words}${unheard && ` ${paint(io, 'red', unheard)}`}`;
    }),
  };
  const lines = [
    needs.length === 0
      ? paint(io, 'green', 'Nothing needs a person.')
      : paint(io, 'red', printable(`A person is needed: ${needs.join(', ')}.`)),
  ];
  for (const [title, inside] of Object.entries(sections))
    if (inside.length > 0) lines.push(paint(io, 'bold', title), ...inside.map((line) => `  ${line}`));
  return lines.join('\n');
}

const lastCalls = 20;
const fewestCalls = 5;

/** Warns of look-ups that work but never find anything, or a field: the url or an `at` may be wrong, or the API has changed. */
async function unfoundLines(store: Store, { lookups }: Status): Promise<string[]> {
  const lines: string[] = [];
  for (const { sink, figures } of lookups) {
    if (figures === null) continue;
    const outcomes = (await store.attemptsOfSink(sink, lastCalls)).map(({ outcome }) => outcome);
    const empty = outcomes.flatMap((one) =>
      one.outcome === 'retry' && one.reason === 'not_found' ? [one.detail] : [],
    );
    const lacking = outcomes.flatMap((one) =>
      one.outcome === 'delivered' ? [[one.receipt['lacks'] ?? []].flat().map(String)] : [],
    );
    const many = lacking.length || empty.length;
    const never = lacking[0]?.filter((field) => lacking.every((others) => others.includes(field)));
    if (many < fewestCalls || never?.length === 0) continue;
    const [what, wrong] = never
      ? [
          `answers of ${lookupOf(sink)} had ${never.join(' or ')}, or not of the type that the config wants`,
          'the API has changed, or an `at`',
        ]
      : [`calls of ${lookupOf(sink)} found what it asks for: ${empty[0]}`, 'the url'];
    lines.push(
      printable(`none of the last ${many} ${what}`),
      `  if ${wrong} was wrong: once it is right, \`${program} lookup --absent --since 24h --wait\` asks again, and says what to \`${program} apply\``,
    );
  }
  return lines;
}

function unansweredLines(found: Status): string[] {
  const words = unansweredWords(found);
  if (words === '') return [];
  const apply = `\`${program} apply --rule NAME\``;
  return [
    `${words}: \`${program} events --unanswered\` lists them`,
    found.unanswered.isAnsweredNow
      ? `  the answers are here by now: ${apply} sends what nobody was told, \`${program} resend\` what was sent without them`
      : `  \`${program} lookup --unanswered\` asks again and sends nothing; ${apply} then sends what a rule asks for`,
  ];
}

/** Says why the store cannot be written, and what to do; a connector that does not run has to be started. */
function storeLines({ unwritable, replicas, movedAt }: Status, io: Io): string[] {
  if (unwritable === null)
    return movedAt === null
      ? []
      : [`${movedWords.what} ${when(movedAt, io)}: ${movedWords.after}: ${reconcileCommand()}`];
  const then =
    replicas.length > 0
      ? 'events are refused meanwhile; once it can be written, all goes on without a restart'
      : 'put that right, on a full disk by making room; then start the connector, but for one that runs: it goes on by itself';
  return [printable(unwritable), `  ${then}`];
}

function configLines({ replicas, lastReplica, unwritable }: Status, io: Io): string[] {
  if (replicas.length === 0) {
    if (lastReplica === null)
      return [`No connector has served this store yet. \`${program} serve\` starts one.`];
    const at = when(lastReplica.saidAt, io);
    const seen = `The last sign of life was at ${at}: it was killed, stands still,`;
    const what = lastReplica.stopped
      ? `No connector serves this store. The last one was stopped at ${at}.`
      : unwritable === null
        ? `No connector is known to serve this store. ${seen} or runs and cannot write it, as on a disk that keeps its last room for root.`
        : `No connector is known to serve this store. ${seen} or could note neither its stop nor that it runs.`;
    const how =
      unwritable === null
        ? `${lastReplica.stopped ? '' : 'unless it runs, '}start it; the end of its log, or \`${program} check\`, says what keeps it from that`
        : 'the store has to be put right first, as below';
    return [what, `  events that come now may be lost: ${how}`];
  }
  const shown = (replica: ReplicaState) => replicaLines(replica, io).join('\n  ');
  // Those that were started at another time say the same.
  const newestFirst = replicas.toSorted((a, b) => b.config.since - a.config.since);
  const alike = Map.groupBy(
    newestFirst,
    ({ config, ...rest }) => `${config.id} ${shown({ ...rest, config: { ...config, since: 0 } })}`,
  );
  const byOf = (same: readonly ReplicaState[]) =>
    alike.size === 1
      ? `${same.length} replicas, all by this config`
      : `by ${same.map(({ id }) => printable(id)).join(' and ')}`;
  const differ = new Set(replicas.map(({ config }) => config.id)).size > 1;
  return replicas.length === 1
    ? replicas.map(shown)
    : [
        ...alike.values().flatMap((same) => [shown(same[0]!), byOf(same)]),
        ...(differ
          ? ['These configs differ, and each event goes by that of the replica that takes it.']
          : []),
      ];
}

function replicaLines(
  { config: { file, since, refused, waiting, closed = null } }: ReplicaState,
  io: Io,
): string[] {
  const lines = [`${printable(file)}, in force since ${when(since, io)}`];
  if (refused !== null) {
    const more = refused.others === 0 ? '' : ` (and ${count(refused.others, 'more problem')})`;
    const what = refused.isInForce
      ? 'it breaks a policy'
      : `the file as it is now was refused at ${when(refusedAt(refused), io)}`;
    lines.push(
      `${what}: ${printable(refused.problem)}${more}`,
      `correct it; ${program} check shows all that is wrong`,
    );
  }
  if (waiting.length > 0) lines.push(`changed, and in force at the next start: ${waiting.join(', ')}`);
  if (closed !== null) lines.push(paint(io, 'red', `the admin port lets nobody in: ${closed}`));
  return lines;
}

/** A sink's state, last success, figures of the last hour, and what helps. */
function sinkLines(one: SinkStatus, isRunning: boolean, io: Io): string[] {
  const { sink, connector, pending, figures } = one;
  const lastSuccessAt = figures?.lastSuccessAt ?? null;
  const parts = [
    stateOf(one, isRunning, io),
    ...(pending > 0 ? [`${pending} waiting`] : []),
    ...(lastSuccessAt === null ? [] : [`last success ${when(lastSuccessAt, io)}`]),
    ...(figures === null ? [] : inLastHour(figures)),
  ];
  const name = lookupOf(sink) ?? (connector === null ? sink : `${sink} (${connector})`);
  const line = `${printable(name)}  ${parts.join(', ')}`;
  if (!isRunning) return [line];
  if (connector === null) return one.pending + one.sending > 0 ? [line, `  ${putBack}`] : [line];
  return [line, ...askedLines(one, io), ...helpLines(one)];
}

/** Says until when, and why, messages wait that the tool does not take yet. */
const askedLines = ({ asked }: SinkStatus, io: Io): string[] =>
  asked.map((one) => {
    const { who, why } = askedWords(one);
    return `  ${printable(who)} ${when(one.until, io)}, ${printable(why)}`;
  });

/** Says of a sink that works since when what is due waits, and why. */
function lateLines(one: SinkStatus, since: number | undefined, io: Io): string[] {
  if (since === undefined || one.pause !== null || one.asked.length > 0 || troubleOf(one) !== null) return [];
  return [
    `  the first of them has been due since ${when(since, io)}: more comes than its rate lets through, or the tool is slow`,
  ];
}

/** Says what helps a sink that sends nothing. */
function helpLines(one: SinkStatus): string[] {
  const { sink } = one;
  const word = printable(shellWord(sink));
  if (isDown(one)) {
    const hint = restartHint(one.pause);
    if (mayBeTried(one))
      return [`  fix that, then: ${program} retry ${word}`, ...(hint === null ? [] : [`  ${hint}`])];
    if (one.dead > 0 && lookupOf(sink) === null)
      return [`  fix that, then: ${program} replay --dead --sink ${word}`];
    return [`  fix that. ${nextShows(sink)}`];
  }
  if (one.pause === null) return [];
  const until = isForgotten(one) ? `; to give the pause an end: ${program} pause ${word} --for 2d` : '';
  return [`  to let it go on: ${program} resume ${word}${until}`];
}

function stateOf(one: SinkStatus, isRunning: boolean, io: Io): string {
  const { connector, state, figures, pause, nextTryAt, pending, sending } = one;
  const byPerson = pause?.by === 'person' && `paused ${pausedText(pause, io)}`;
  if (byPerson && (!isRunning || connector === null))
    return isRunning
      ? `not in the config any more, so that what waits is given up when the pause ends; ${byPerson}`
      : `not served; ${byPerson}`;
  if (!isRunning) return pause === null ? 'not served' : `not served; was paused at ${when(pause.since, io)}`;
  if (connector === null) return 'not in the config any more';
  if (byPerson) return paint(io, isForgotten(one) ? 'red' : 'yellow', byPerson);
  const trouble = troubleOf(one);
  const word = one.secretFault ? 'its changed secrets do not work' : stateWord(state, figures);
  const because = trouble === null ? figures?.because : trouble.because;
  const why = because ? `: ${printable(because.detail).replace(/\.$/, '')}` : '';
  if (trouble === null)
    return word === sinkStates[state]
      ? state === 'working'
        ? paint(io, 'green', word)
        : word
      : `${word}${why}`;
  const since = `${paint(io, 'red', word)} ${sinceWords(trouble.since, (time) => when(time, io)).join('')}${why}`;
  if (pause === null) return since;
  const isNext = nextTryAt === null || pending + sending === 0;
  return `${since}${nextTry}${isNext ? 'with the next message' : when(nextTryAt, io)}`;
}

const help = {
  dead: ({ sink, cause, count: many }: StuckCount) => {
    const [ofSink, list] = [shellWord(sink), `${program} events --state dead`];
    const lists = many > 1 ? `; ${list} --sink ${ofSink} lists them` : '';
    return `fix the cause, then: ${program} replay --dead --sink ${ofSink} --cause ${shellWord(cause)}${lists}`;
  },
  held: ({ sink }: StuckCount) =>
    `look there, then replay or discard what this lists: ${program} events --state held --sink ${shellWord(sink)}`,
};

function stuckLines(found: Status, state: 'dead' | 'held', io: Io): string[] {
  const ofNotices = found.stuckNotices.filter(({ delivery }) => delivery.state === state);
  const alike = Map.groupBy(ofNotices, ({ delivery: { sink, lastError }, isOver }) =>
    JSON.stringify([sink, isOver, lastError]),
  );
  return [
    ...found[state].flatMap((stuck) => [causeText(stuck, io), `  ${printable(help[state](stuck))}`]),
    ...alike.values().flatMap((some) => noticeLines(some, io)),
  ];
}

const namedNotices = 10;

/** The lines about notices that ended alike. */
function noticeLines(alike: readonly StuckNotice[], io: Io): string[] {
  const { delivery, isOver } = alike[0]!;
  const ids = alike.slice(0, namedNotices).map((one) => one.delivery.id);
  const sink = printable(delivery.sink);
  const first = `the first of ${when(delivery.createdAt, io)}: ${printable(delivery.lastError ?? '')}`;
  const helps = isOver
    ? `nobody has to be told any more: ${program} discard --over`
    : `fix the cause, then: ${program} replay ${ids.join(' ')}`;
  return [
    `${count(alike.length, 'notice')} to ${sink}${isOver ? ' of what is over' : ''}, ${first}`,
    `  ${helps}; ${program} events --notices lists them`,
  ];
}

const causeText = ({ sink, count: many, firstAt, reason }: StuckCount, io: Io): string =>
  `${many} to ${printable(sink)}, the first at ${when(firstAt, io)}: ${printable(reason)}`;
