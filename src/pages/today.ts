import { program } from '../support/invocation.ts';
import { statuses, stuckStates } from '../model.ts';
import { causesOf, needsOf } from '../ops/needs.ts';
import { isGone, putBack } from '../ops/sink-states.ts';
import type { Status } from '../ops/status/status.ts';
import { unheardWords, unansweredWords } from '../ops/status/words.ts';
import type { DayCount, Reads, StuckCount } from '../store/store.ts';
import { count, printable, printableInLine } from '../support/text.ts';
import {
  arrivedChart,
  arrivedOf,
  type Chart,
  chartFigure,
  type DayCounts,
  delayChart,
  delaysOf,
  lastDays,
  rate,
} from './frame/charts.ts';
import { noEvents } from './events/events.ts';
import {
  commandLine,
  amount,
  candidateName,
  chip,
  counted,
  knownOf,
  pausedBy,
  statusNames,
  toolOf,
  waitForIt,
} from './frame/fragments.ts';
import { html, type Html, pathWith } from '../support/html.ts';
import type { PageRequest, Page } from './page.ts';
import { duration, type Times } from './frame/times.ts';
import {
  askedNotes,
  differNotice,
  findingNotices,
  helpLink,
  rejectedNotice,
  sinkChip,
  sinkRate,
  troubleItems,
} from './frame/troubles.ts';
import { totalOf } from '../support/lists.ts';

/** What needs a person comes first; then how the last two weeks went. */
export const todayPage: Page = {
  path: '/',
  menu: 'Today',
  async show(asked, parts) {
    const { times } = asked;
    const [status, days] = await Promise.all([asked.status(), lastDays(parts.reads, times)]);
    const candidates = await onlyCandidates(status, asked, parts.reads);
    const isNew = status.lastEventAt === null;
    return {
      title: 'Today',
      beside: html`<p class="live" role="status"></p>`,
      body: html`<div class="stack" id="today" data-refresh="5000">
        ${needs(status, asked, candidates)} ${differNotice(status, times)} ${pausedLines(status, times)}
        ${rejectedNotice(status)} ${unansweredNotice(status)}
        ${(['neverFound', 'moved', 'absent'] as const).map((kind) => findingNotices(kind, status, times))}
        ${isNew ? html`<section class="card">${noEvents(parts)}</section>` : figures(status, days, times)}
        ${!isNew && charts(days)} ${sinksCard(status, days, times)}
        ${
          status.notices.length > 0 &&
          html`<section class="card">
            <details>
              <summary>Last notices</summary>
              <ul class="plain spaced">
                ${status.notices.map(
                  ({ notice: { raisedAt, detail, recovered }, deliveries }) =>
                    html`<li>
                      <span class="muted small">${times.short(raisedAt)}</span>
                      ${recovered && chip('good', 'over')} ${printableInLine(detail)}
                      <strong>${unheardWords({ deliveries })}</strong>
                    </li>`,
                )}
              </ul>
            </details>
          </section>`
        }
      </div>`,
    };
  },
};

function needs(status: Status, asked: PageRequest, candidates: Candidates): Html | false {
  const { times } = asked;
  // Before the first event nothing shows that it works.
  const isQuiet = status.rejectedThisWeek === 0 && status.lastEventAt !== null;
  if (needsOf(status).length === 0) return isQuiet && allRight(status);
  const lost = status.stuckNotices.length;
  return html`<section class="notice bad">
    <h2>A person is needed <small>${count(causesOf(status), 'cause')}</small></h2>
    <ul class="plain spaced">
      ${troubleItems(status, asked, false)} ${stuck(status.dead, 'given up', candidates, times)}
      ${stuck(status.held, 'held, since it may have arrived', candidates, times)}
      ${
        lost > 0 &&
        html`<li>
          <b>${messages(lost)} about the connector itself</b>
          ${were(lost)} not delivered ${helpLink()}
        </li>`
      }
    </ul>
  </section>`;
}

const messages = (many: number): string => (many === 1 ? 'One message' : counted(many, 'message'));
const were = (many: number): string => (many === 1 ? 'was' : 'were');

/** A line for each sink that a person paused. Nobody is needed, but somebody who misses a message looks here. */
function pausedLines({ sinks }: Status, times: Times): Html[] {
  return sinks.flatMap((one) => {
    const { sink, pause, trouble, pending } = one;
    if (pause?.by !== 'person' || trouble?.kind !== 'meant') return [];
    return html`<p class="muted break">
      <a href="/sinks/${sink}">${printable(sink)}</a> is paused ${pausedBy(pause, times)}.
      ${pending === 0 ? 'Nothing waits for it yet' : waitForIt(pending)}.
    </p>`;
  });
}

function unansweredNotice(status: Status): Html | false {
  const words = unansweredWords(status);
  return (
    words !== '' &&
    html`<p class="notice wait">${words}. <a href="/events?lookups=unanswered">See which</a></p>`
  );
}

/** The notice that nothing needs a person. It says no more than is true. */
function allRight({ sinks, missed }: Status): Html {
  const isPaused = sinks.some(({ pause }) => pause?.by === 'person');
  const notAsMeant = totalOf(missed);
  const isQuiet = sinks.length > 0 && !isPaused && notAsMeant === 0;
  return html`<p class="notice ${notAsMeant > 0 ? 'wait' : 'good'}">
    <b>Nothing needs a person.</b> ${isQuiet && 'Events are delivered by the rules.'}
    ${notAsMeant > 0 && html`${counted(notAsMeant, 'delivery')} went out, but not as meant: <a href="/attention">see which</a>.`}
  </p>`;
}

/** The number of causes shown: those of most deliveries. */
const mostCauses = 5;

const shownOf = (causes: readonly StuckCount[]): StuckCount[] =>
  causes.toSorted((a, b) => b.count - a.count).slice(0, mostCauses);

/** A link to the event of each cause that only one message has. */
type Candidates = ReadonlyMap<StuckCount, Html>;

/** With more messages in a state than this, finding one by its cause would be slow. */
const mostSearched = 50;

async function onlyCandidates(status: Status, { person }: PageRequest, reads: Reads): Promise<Candidates> {
  const found = new Map<StuckCount, Html>();
  for (const state of stuckStates) {
    const all = totalOf(status[state]);
    if (all > mostSearched) continue;
    for (const one of shownOf(status[state])) {
      if (one.count > 1) continue;
      const { sink, cause } = one;
      const [delivery] = await reads.deliveries({
        states: [state],
        sink,
        limit: 1,
        ...(state === 'dead' && { cause }),
      });
      const story = delivery?.eventId ? await reads.event(delivery.eventId) : null;
      if (!story) continue;
      const name = candidateName(story.event, knownOf(story.lookups, person));
      found.set(one, html`<a href="/events/${story.event.id}">${name}</a>`);
    }
  }
  return found;
}

function stuck(causes: readonly StuckCount[], what: string, candidates: Candidates, times: Times): Html[] {
  return shownOf(causes).map((one) => {
    const candidate = candidates.get(one);
    return html`<li>
      <b>${messages(one.count)} to ${printable(one.sink)}</b
      >${candidate && html` about candidate ${candidate}`} ${were(one.count)} ${what}
      (${one.count > 1 && 'first '}${times.short(one.firstAt)}): ${printable(one.reason)}
      ${helpLink({ sink: one.sink })}
    </li>`;
  });
}

/** The sum of the counts that are wanted. */
const total = (counts: readonly DayCount[], isCounted: (one: DayCount) => boolean): number =>
  totalOf(counts.filter(isCounted));

function figures(status: Status, { labels, counts }: DayCounts, times: Times): Html {
  const today = counts.filter(({ day }) => day === labels.length - 1);
  const delivered = total(today, ({ what }) => what === 'delivered');
  const pending = status.sinks.reduce((sum, one) => sum + one.pending, 0);
  const [delay] = delaysOf(today, [0.5]);
  const figure = (name: string, value: string, more: Html | string | false) =>
    html`<div class="figure">
      <dt>${name}</dt>
      <dd>${value}<small>${more}</small></dd>
    </div>`;
  return html`<dl class="figures">
    ${figure('Events today', amount(status.eventsToday), html`the last came ${times.relative(status.lastEventAt!)}`)}
    ${figure('Messages delivered today', amount(delivered), delay === null || delay === undefined ? 'none yet' : `half of them within ${duration(delay)}`)}
    ${status.undecided > 0 && figure('To be decided', amount(status.undecided), 'events that wait for look-ups')}
    ${figure('Messages waiting', amount(pending), pending > 0 && status.oldestPendingAt !== null && html`the oldest came ${times.relative(status.oldestPendingAt)}`)}
  </dl>`;
}

function charts(days: DayCounts): Html {
  const { labels, counts } = days;
  const perDay = (wanted: (one: DayCount) => boolean) =>
    labels.map((_, day) => total(counts, (one) => one.day === day && wanted(one)));
  const all: readonly Chart[] = [
    {
      title: 'Events by day',
      kind: 'bars',
      labels,
      series: statuses.map((status, at) => ({
        name: statusNames[status],
        colour: (['accent', 'accent-soft', 'grey'] as const)[at]!,
        values: perDay(({ sink, what }) => sink === null && what === status),
      })),
    },
    arrivedChart(days),
    delayChart(days),
  ];
  return html`<div class="grid">${all.map(chartFigure)}</div>`;
}

const none = (text: string): Html => html`<span class="muted none">${text}</span>`;

/** A number, linked to the list of what it counts; 0 leads nowhere. */
const linked = (many: number, path: string, query: Readonly<Record<string, string>>): Html =>
  many === 0 ? none('0') : html`<a href="${pathWith(path, query)}">${amount(many)}</a>`;

function sinksCard({ sinks }: Status, { labels, counts }: DayCounts, times: Times): Html {
  if (sinks.length === 0)
    return html`<section class="card empty">
      <h2>No sinks yet</h2>
      <p>The config names none, so nobody is told anything. ${commandLine(`${program} init`)} writes one.</p>
    </section>`;
  const rows = sinks.map((one) => {
    const { arrived, ended } = arrivedOf(counts.filter(({ sink }) => sink === one.sink));
    return html`<tr>
      <th scope="row">
        <a href="/sinks/${one.sink}">${printable(one.sink)}</a>
        <span class="muted"
          >${one.connector === null ? 'not in the config any more' : toolOf(one.sink, one.connector)}</span
        >
      </th>
      <td>
        ${sinkChip(one)}
        <span class="small muted">${sinkRate(one, times)}</span>
        ${one.pause?.by === 'person' && html`<div class="small break">Paused ${pausedBy(one.pause, times)}</div>`}
        ${askedNotes(one, times)} ${isGone(one) && html`<div class="small">${putBack}</div>`}
      </td>
      <td class="number" data-name="arrived">
        ${
          ended === 0
            ? none('–')
            : html`<span class="small muted">${amount(arrived)} of ${amount(ended)} ·</span>
                ${rate(arrived / ended)}`
        }
      </td>
      <td class="number" data-name="waiting">
        ${linked(one.pending, '/events', { sink: one.sink, state: 'pending' })}
      </td>
      <td class="number" data-name="${one.dead + one.held === 1 ? 'needs a person' : 'need a person'}">
        ${linked(one.dead + one.held, '/attention', { sink: one.sink })}
      </td>
    </tr>`;
  });
  return html`<section class="card">
    <h2>Sinks <small>where messages go</small></h2>
    <div class="table" tabindex="0">
      <table class="sinks">
        <thead>
          <tr>
            <th scope="col">Sink</th>
            <th scope="col">State</th>
            <th scope="col" class="number">Arrived in ${labels.length} days</th>
            <th scope="col" class="number">Waiting</th>
            <th scope="col" class="number">Need a person</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </section>`;
}
