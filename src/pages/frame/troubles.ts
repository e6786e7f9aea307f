import { lookupOf } from '../../model.ts';
import { goneSinks, needOf, type NeedKind, needsOf } from '../../ops/needs.ts';
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
import { type Finding, findings } from '../../ops/status/findings.ts';
import type { SinkStatus, Status } from '../../ops/status/status.ts';
import { differForLong, rejectedWords } from '../../ops/status/words.ts';
import { html, type Html, pathWith } from '../../support/html.ts';
import { program } from '../../support/invocation.ts';
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

/** A finding as an item. */
const ofFinding =
  (kind: keyof typeof findings): Items =>
  (status, { times }) =>
    findings[kind](status).map((one) => html`<li>${findingShown(one, times)}</li>`);

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
  unwritable: ofFinding('unwritable'),
  unsent: ofFinding('unsent'),
  rescued: ofFinding('rescued'),
  served: ofFinding('served'),
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
  unread: (status, { times }) =>
    findings.unread(status).map(
      (one) =>
        html`<li>
          ${findingShown(one, times)}
          <div class="small"><a href="/rejected">See what was wrong, and how to take them in</a></div>
        </li>`,
    ),
  broken: ofFinding('broken'),
  config: ofFinding('config'),
  restart: ofFinding('restart'),
  differ: ofFinding('differ'),
  closed: ofFinding('closed'),
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
  empty: ofFinding('empty'),
  failing: ofFinding('failing'),
  // Both pages show these in their own ways, by cause.
  dead: () => [],
  held: () => [],
};

/** A finding in the words that `status` has for it. */
const findingShown = ({ title, detail, then }: Finding, times: Times): Html => {
  const words = title.map((part) => (typeof part === 'number' ? times.short(part) : printableInLine(part)));
  return html`<b>${words}</b>${detail !== undefined && `: ${printableInLine(detail)}`}
    ${then.length > 0 && html`<div class="small muted">${withCommands(then.map(printable).join(' '))}</div>`}`;
};

/** The notice that a changed file is not what is in force. */
export function refusedConfigNotice(status: Status, asked: PageRequest): Html | false {
  const items = (['broken', 'config'] as const).flatMap((kind) => ofFinding(kind)(status, asked, false));
  return (
    items.length > 0 &&
    html`<section class="notice bad">
      <ul class="plain spaced">
        ${items}
      </ul>
    </section>`
  );
}

/** The notice that not all replicas decide by the same config, where that may be over soon. */
export const differNotice = (status: Status, times: Times): Html[] =>
  differForLong(status) ? [] : findingNotices('differ', status, times);

/** Findings that need nobody at once. */
export const findingNotices = (kind: keyof typeof findings, status: Status, times: Times): Html[] =>
  findings[kind](status).map((one) => html`<div class="notice wait break">${findingShown(one, times)}</div>`);

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
