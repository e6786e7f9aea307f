import { lookupOf } from '../../model.ts';
import { goneSinks, needOf, type NeedKind, needsOf, refusedAt } from '../../ops/needs.ts';
import { reconcileCommand, refusals } from '../../ops/refusals.ts';
import {
  askedWords,
  elsewhere,
  inLastHour,
  mayBeTried,
  restartHint,
  nameOf,
  putBack,
  sinkStates,
  stateWord,
  type TroubleKind,
} from '../../ops/sink-states.ts';
import { sinceWords } from '../../ops/pauses.ts';
import type { EmptyLookup } from '../../ops/status/empty-lookups.ts';
import type { SinkStatus, Status } from '../../ops/status/status.ts';
import {
  askAgain,
  configsDiffer,
  differForLong,
  differWords,
  emptyLookupWords,
  rejectedWords,
  rescuedWords,
  unreadWords,
  whyDiffer,
} from '../../ops/status/words.ts';
import { html, type Html, pathWith } from '../../support/html.ts';
import { checkOf, program } from '../../support/invocation.ts';
import { count, printable, printableInLine } from '../../support/text.ts';
import { english } from '../../words/wording.ts';
import { retryButton } from '../changes/sinks.ts';
import type { PageRequest } from '../page.ts';
import { chip, commandLine, pausedBy, withCommand, withCommands } from './fragments.ts';
import type { Times } from './times.ts';

/** The state of the connector and its sinks, in the words of the pages. */

/** What is wrong with the connector and its sinks, as items of a list. `isHere`: on the page where people do something about it. */
export const troubleItems = (status: Status, asked: PageRequest, isHere: boolean): Html[] =>
  [...new Set(needsOf(status).map(({ kind }) => kind))].flatMap((kind) =>
    itemsOf[kind](status, asked, isHere),
  );

type Items = (status: Status, asked: PageRequest, isHere: boolean) => readonly Html[];

const itemsOfSinks =
  (need: NeedKind): Items =>
  ({ sinks, lookups }, asked, isHere) =>
    [...sinks, ...lookups].flatMap((one) => {
      const { told } = one;
      return told && needOf[told.kind] === need
        ? (ofTrouble[told.kind].item?.(one, asked, isHere) ?? [])
        : [];
    });

const itemsOf: { readonly [kind in NeedKind]: Items } = {
  unwritable: ({ unwritable }) => [
    html`<li>
      <b>The store cannot be written</b>: ${printable(unwritable!)}
      <div class="small muted">
        Until it can, events are refused, or soon will be: the service sends each of them once more. Once it
        can, all goes on without a restart.
      </div>
    </li>`,
  ],
  unsent: ({ unsent }) => [
    html`<li>
      <b>What waits cannot be sent</b>: ${printable(unsent!)}
      <div class="small muted">
        Events are stored meanwhile. Once that is put right, all is sent without a restart.
      </div>
    </li>`,
  ],
  rescued: ({ rescued }) => {
    const { what, then } = rescuedWords(rescued!);
    return [
      html`<li>
        <b>The store was replaced while it was in use</b>: ${printable(what)}
        <div class="small muted">${withCommands(then.join(' '))}</div>
      </li>`,
    ];
  },
  served: () => [html`<li><b>No connector has said for a while that it serves the store</b></li>`],
  // On that page, refused events have cards of their own.
  refused: ({ refused }, asked, isHere) =>
    refusals(isHere ? [] : refused).map(
      ({ what, fix, first, last }) =>
        html`<li>
          <b>${printable(what)}</b>,
          ${last - first >= 60_000 && html`first ${asked.times.short(first)}, last`}
          ${asked.times.short(last)}
          <div class="small muted">${withCommand(fix, reconcileCommand())}</div>
          ${helpLink()}
        </li>`,
    ),
  unread: ({ unread }) => [
    html`<li>
      <b>The last ${unread} events could not be read</b>, so nobody was told of them.
      <a href="/rejected">See what was wrong, and how to take them in</a>
      <div class="small muted">${unreadWords}.</div>
    </li>`,
  ],
  broken: (status, asked) => refusedConfigs(status, asked, true),
  config: (status, asked) => refusedConfigs(status, asked, false),
  restart: ({ replicas }) =>
    replicas
      .filter(({ config: { waiting } }) => waiting.length > 0)
      .map(
        ({ config: { waiting } }) =>
          html`<li><b>These changed keys wait for a restart</b>: ${waiting.join(', ')}</li>`,
      ),
  differ: (status) => [html`<li>${differing(status)}</li>`],
  closed: ({ replicas }) =>
    replicas
      .flatMap(({ config: { closed } }) => closed ?? [])
      .map(
        (closed) => html`<li><b>The admin port of a replica lets nobody in</b>: ${printable(closed)}</li>`,
      ),
  down: itemsOfSinks('down'),
  locked: itemsOfSinks('locked'),
  forgotten: itemsOfSinks('forgotten'),
  gone: (status) =>
    goneSinks(status).map(
      ({ sink, pending, sending }) =>
        html`<li>
          <b
            >${count(pending + sending, 'message')} to
            <a href="/sinks/${sink}">${printable(sink)}</a> ${pending + sending === 1 ? 'waits' : 'wait'}</b
          >, and it is not in the config any more
          <div class="small muted">${putBack}</div>
        </li>`,
    ),
  empty: ({ emptyLookups }) =>
    emptyLookups.filter(({ didFind }) => didFind).map((one) => html`<li>${emptyLookup(one)}</li>`),
  failing: ({ failing }, asked) =>
    failing.map(
      ({ sink, count: many, firstAt, reason }) =>
        html`<li>
          <b
            >${count(many, 'message')} to ${printable(sink)} ${many === 1 ? 'has' : 'have'} failed for an
            hour</b
          >, while others go out; first ${asked.times.short(firstAt)}: ${printable(reason)}
          <div class="small muted">
            ${commandLine(`${program} events --state pending --sink ${sink}`)} lists them.
          </div>
        </li>`,
    ),
  // Both pages show these in their own ways, by cause.
  dead: () => [],
  held: () => [],
};

/** What a look-up does not find, and what to do about it. */
export function emptyLookup(one: EmptyLookup): Html {
  const { what, wrong } = emptyLookupWords(one);
  return html`<b>${printableInLine(what)}</b>. If ${wrong.replaceAll('`', '')} was wrong: once it is right,
    ${commandLine(`${program} ${askAgain}`)} asks again, and says what to apply.`;
}

/** What is wrong with the files of the replicas. Where not all have it, it is said which ones. */
function refusedConfigs({ replicas }: Status, { times }: PageRequest, inForce: boolean): Html[] {
  const alike = Map.groupBy(
    replicas.filter(({ config: { refused } }) => refused && Boolean(refused.isInForce) === inForce),
    ({ config: { file, refused } }) => `${file} ${refused!.problem}`,
  );
  return [...alike.values()].map((same) => {
    const { file, refused } = same[0]!.config;
    const { problem, others } = refused!;
    const isOfAll = same.length === replicas.length;
    const by = !isOfAll && ` by ${printable(namesOf(same))}`;
    return html`<li>
      ${
        inForce
          ? html`<b>The config in force breaks a policy</b>${by}:`
          : html`<b>The changed config was refused</b> ${times.short(refusedAt(refused!))}${by}:`
      }
      ${printable(problem)}${others > 0 && ` (and ${count(others, 'more problem')})`}
      <div class="small muted">
        ${!inForce && 'The one before stays in force. '}${isOfAll ? commandLine(`${program} check`) : html`${commandLine(checkOf(file))} there`}
        shows all that is wrong.
      </div>
    </li>`;
  });
}

/** The notice that a changed file is not what is in force. */
export function refusedNotice(status: Status, asked: PageRequest): Html | false {
  const items = [true, false].flatMap((inForce) => refusedConfigs(status, asked, inForce));
  return (
    items.length > 0 &&
    html`<section class="notice bad">
      <ul class="plain spaced">
        ${items}
      </ul>
    </section>`
  );
}

const namesOf = (replicas: Status['replicas']): string => replicas.map(({ id }) => id).join(' and ');

/** The notice that not all replicas decide by the same config. During a change of all files it stands for a moment. */
export const differNotice = (status: Status): Html | false =>
  configsDiffer(status) &&
  !differForLong(status) &&
  html`<p class="notice wait break">${differing(status)}</p>`;

const differing = ({ replicas }: Status): Html =>
  html`<b>The replicas run different configs</b>:
    ${[...Map.groupBy(replicas, ({ config }) => `${config.id} ${config.callsBy} ${config.file}`).values()].map((same) => printable(`${same[0]!.config.file} by ${namesOf(same)}`)).join(', ')}.
    Until all have the same, ${differWords}. ${whyDiffer}`;

type SinkItem = (one: SinkStatus, asked: PageRequest, isHere: boolean) => Html;

const downItem =
  (title: (name: string) => string): SinkItem =>
  (one, asked, isHere) => {
    const { times } = asked;
    const { sink, pause, dead } = one;
    const { since, because } = one.trouble!;
    const next = pause ? nextTry(one, times) : sinkRate(one, times);
    const replay = lookupOf(sink) === null && !mayBeTried(one) && dead > 0;
    return html`<li>
      <b>${title(printable(nameOf(sink)))}</b>
      ${pause ? pausedBy(pause, times) : sinceWords(since, (time) => times.short(time))}${because && `: ${printable(because.detail)}`}
      <div class="small muted">${next}</div>
      ${elsewhereNote(one)} ${askedNotes(one, times)}
      ${replay && html`<div class="small">When that is put right, replay what was given up.</div>`}
      ${isHere ? mayBeTried(one) && retryButton(sink, asked) : helpLink()}
    </li>`;
  };

const forgottenItem: SinkItem = ({ sink, connector, pause }, { times, person }) =>
  html`<li>
    <b><a href="/sinks/${sink}">${printable(sink)}</a> is still paused</b> ${pausedBy(pause!, times)}
    <div class="small muted">
      ${lookupOf(sink) === null ? 'What comes for it waits, and none is lost.' : english.say('eventsWait')}
      ${connector === null && `It is not in the config any more. ${putBack}`}
      ${person.role === 'full' ? html`Resume it on its page` : html`Resume it: ${commandLine(`${program} resume ${sink}`)}`},
      or give it an end: ${commandLine(`${program} pause ${sink} --for 2d`)}
    </div>
  </li>`;

/** A sink in trouble as a chip, and as an item of a list; null where nobody is needed. */
const ofTrouble: { readonly [kind in TroubleKind]: { readonly chip: Html; readonly item: SinkItem | null } } =
  {
    paused: { chip: chip('bad', 'paused'), item: downItem((name) => `${name} is paused`) },
    failing: { chip: chip('bad', 'failing'), item: downItem((name) => `${name} is failing`) },
    secrets: {
      chip: chip('bad', 'new secrets do not work'),
      item: downItem((name) => `The changed secrets of ${name} do not work`),
    },
    forgotten: { chip: chip('wait', 'paused'), item: forgottenItem },
    meant: { chip: chip('wait', 'paused'), item: null },
  };

/** When a sink that the connector paused is tried again. */
export function nextTry(
  {
    sink,
    nextTryAt,
    pending,
    sending,
    pause,
  }: Pick<SinkStatus, 'sink' | 'nextTryAt' | 'pending' | 'sending' | 'pause'>,
  times: Times,
): Html {
  const [next, goesOn] =
    lookupOf(sink) === null ? ['message', 'goes out'] : ['event', 'is decided with what it finds out'];
  if (nextTryAt === null || pending + sending === 0)
    return html`Nothing waits for it: the next ${next} shows whether it works.`;
  const at = nextTryAt > times.now ? times.relative(nextTryAt) : 'now';
  return html`It is tried again ${at}${pending > 0 ? `; if it works then, what waits ${goesOn}.` : '.'}
  ${restartHint(pause)}`;
}

/** A line for each place where a tool asked to wait: until when, and why. */
export const askedNotes = ({ asked }: SinkStatus, times: Times): Html[] =>
  asked.map((one) => {
    const { who, why } = askedWords(one);
    return html`<div class="small break">
      ${printable(who)} ${times.short(one.until)}, ${printable(why)}.
    </div>`;
  });

/** What helps where a tool cannot be reached by one of several replicas. */
export const elsewhereNote = ({ calledBy }: SinkStatus): Html[] =>
  elsewhere(calledBy).map((line) => html`<div class="small muted">${printable(line)}</div>`);

export const helpLink = (query: Readonly<Record<string, string>> = {}): Html =>
  html`<div class="small"><a href="${pathWith('/attention', query)}">See what helps</a></div>`;

/** A sink's state as a chip. */
export function sinkChip({ connector, pause, trouble, state, figures }: SinkStatus): Html {
  if (connector === null && pause?.by !== 'person') return chip('idle', 'gone');
  if (trouble !== null) return ofTrouble[trouble.kind].chip;
  const word = stateWord(state, figures);
  return chip(word !== sinkStates[state] ? 'wait' : state === 'working' ? 'good' : 'idle', word);
}

/** When a sink worked last, and how it did in the last hour; null if it was never called. */
export function sinkRate({ figures }: SinkStatus, times: Times): Html | null {
  if (figures === null) return null;
  const { lastSuccessAt } = figures;
  const worked =
    lastSuccessAt !== null && html`last success ${times.relative(Math.min(lastSuccessAt, times.now))}`;
  const tried = inLastHour(figures).join('');
  return html`${worked}${worked && tried && ', '}${tried}`;
}

/** The notice of the last week's requests that were not valid events, where they need nobody at once. */
export const rejectedNotice = (status: Status): Html | false =>
  status.rejectedThisWeek > 0 &&
  status.unread === 0 &&
  html`<p class="notice wait">
    <b>${rejectedWords(status)}</b>, so no message went out. <a href="/rejected">See what was wrong</a>
  </p>`;
