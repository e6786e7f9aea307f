import { program } from '../support/invocation.ts';
import { nameOf, refusals, sinkStates, stateWord } from '../ops/needs.ts';
import { inLastHour, needsOf, readStatus, type SinkStatus, type Status, troubleOf } from '../ops/status.ts';
import { inParts } from '../store/paging.ts';
import type { Reads, StuckCount } from '../store/store.ts';
import { count } from '../support/text.ts';
import { changeList, type Chosen, choiceForm, retryButton, seenButton } from './changes.ts';
import { chip, pausedBy, seen } from './frame/fragments.ts';
import { html, type Html, pathWith } from '../support/html.ts';
import type { PageRequest, Page } from './page.ts';
import { refusedCard } from './refused.ts';
import type { Times } from './frame/times.ts';

/** Of the causes, those that most deliveries have. */
const shownGroups = 40;
const shownDeliveries = 50;
const shownChanges = 10;

/** What needs a person: by sink and cause, with what helps. With a sink, a state and a cause, only that. */
export const attentionPage: Page = {
  path: '/attention',
  menu: 'Needs a person',
  async show(asked, all) {
    const { reads } = all;
    const status = await readStatus(all, asked.now, asked.times.timeZone);
    const { sink, state, cause } = asked.query;
    const stuckIn = (of: Group['state']) => status[of].map((one): Group => Object.assign({ state: of }, one));
    const groups = [...stuckIn('dead'), ...stuckIn('held')].filter(
      (one) =>
        (sink ?? one.sink) === one.sink &&
        (state ?? one.state) === one.state &&
        (cause ?? one.cause) === one.cause,
    );
    const total = groups.reduce((sum, group) => sum + group.count, 0);
    const shown = groups.toSorted((a, b) => b.count - a.count).slice(0, shownGroups);
    const isListed = state !== undefined || total <= shownDeliveries;
    const parts: GroupView[] = [];
    // One after the other: each may have to look for its cause among thousands.
    for (const group of shown)
      parts.push({ ...group, list: isListed ? await listOf(reads, group, asked) : null });
    const isLeft = state === undefined || groups.length > 0;
    const stuck = status.sinks.filter((one) => one.dead + one.held > 0 && (sink ?? one.sink) === one.sink);
    const cards = isLeft ? stuck.map((one) => sinkCard(one, groups, parts, asked)) : [];
    const body =
      sink === undefined
        ? await overview(status, [await refusedCard(all, asked), ...cards], reads, asked)
        : html`<p><a href="/attention">All that needs a person</a></p>
            ${cards.length > 0 ? cards : html`<p class="card">Nothing of this is left.</p>`}`;
    return { title: 'Needs a person', body: html`<div class="stack">${body}</div>` };
  },
};

async function overview(
  status: Status,
  cards: readonly (Html | null)[],
  reads: Reads,
  asked: PageRequest,
): Promise<Html> {
  const { times } = asked;
  const { missed } = status;
  const changes = await reads.audit({ limit: shownChanges });
  const isEmpty = needsOf(status).length + missed.length === 0;
  return html`${
    isEmpty
      ? html`<section class="card empty">
          <h2>Nothing needs you</h2>
          <p>What a tool refuses, or nobody can tell about, shows up here with its cause and what to do.</p>
        </section>`
      : html`<ul class="plain stack troubles">
          ${troubleItems(status, asked)}
        </ul>`
  }
  ${cards}
  ${
    missed.length > 0 &&
    html`<section class="card">
      <h2>Not to everybody <small>in the last 7 days</small></h2>
      <p>
        These were delivered, and somebody was left out. Tell them yourself, or send it again to everybody
        with <code>${program} resend</code> and the id of the delivery.
      </p>
      <ul>
        ${missed.map(
          (one) =>
            html`<li class="break">
              ${count(one.count, 'delivery')} to ${one.sink} since ${times.short(one.firstAt)}:
              ${seen(one.reason)}
            </li>`,
        )}
      </ul>
    </section>`
  }
  ${
    changes.length > 0 &&
    html`<section class="card">
      <h2>Done by hand lately</h2>
      ${changeList(changes, times, true)}
    </section>`
  }`;
}

interface Group extends StuckCount {
  readonly state: 'dead' | 'held';
}

/** A cause, and what is stuck for it as far as that is shown. */
interface GroupView extends Group {
  readonly list: Html | null;
}

async function listOf(reads: Reads, group: Group, asked: PageRequest): Promise<Html> {
  const { state, sink, cause } = group;
  const { after } = asked.query;
  const found = await reads.deliveries({
    states: [state],
    sink,
    limit: shownDeliveries + 1,
    ...(state === 'dead' && { cause }),
    ...(after !== undefined && { after }),
  });
  const shown = found.slice(0, shownDeliveries);
  const stories = await inParts(shown, async ({ eventId }) =>
    eventId === null ? null : reads.event(eventId),
  );
  const items = shown.map(({ id, rule, attempts }, place) => {
    const event = stories[place]?.event;
    return html`<li>
      <p class="break">
        ${
          event
            ? html`<a href="/events/${event.id}">${event.candidateNumericalId ?? seen(event.candidateId)}</a>
                ${event.status}, test ${event.testId}, ${asked.times.short(event.receivedAt)}`
            : html`<span class="id">${id}</span>`
        }
        <br /><span class="muted small">rule ${seen(rule)}, ${count(attempts, 'attempt')}, </span
        ><span class="id muted">${id}</span>
      </p>
      ${choiceForm({ id, states: [], sink, count: 1 }, '', asked)}
    </li>`;
  });
  const next =
    found.length > shown.length
      ? pathWith('/attention', { ...queryOf(group), after: shown.at(-1)!.id })
      : null;
  return html`<ul class="plain items">
      ${items}
    </ul>
    ${next && html`<p><a href="${next}">The next ${shownDeliveries}</a></p>`}`;
}

const queryOf = ({ sink, state, cause }: Group) => ({ sink, state, cause });

/** What is wrong with the connector itself and with its sinks, as items of a list. */
export const troubleItems = (status: Status, asked: PageRequest): (Html | false | null)[] => [
  status.unwritable !== null &&
    html`<li>
      <b>The store cannot be written</b>: ${seen(status.unwritable)}
      <div class="small muted">Until it can, no event is taken: the service is told to send it again.</div>
    </li>`,
  status.unwritable === null &&
    status.replicas.length === 0 &&
    html`<li><b>No connector has said for a while that it serves the store</b></li>`,
  ...refusals(status.refused).map(
    ({ reason, what, advice, first, last, count: many }) =>
      html`<li>
        <b>${seen(what)}</b>, ${many > 1 && html`first ${asked.times.short(first)}, last`}
        ${asked.times.short(last)}
        <div class="small muted">${advice}</div>
        ${seenButton(reason, asked)}
      </li>`,
  ),
  ...status.replicas.map(
    ({ config: { file, refused, waiting } }) =>
      html`${
        refused &&
        html`<li>
          <b>The changed config was refused</b> ${asked.times.short(refused.since)}:
          ${seen(refused.problem)}${refused.others > 0 && ` (and ${count(refused.others, 'more problem')})`}
          <div class="small muted">
            The one before stays in force. <code>${program} check --config ${file}</code> shows all that is
            wrong.
          </div>
        </li>`
      }${waiting.length > 0 && html`<li><b>These changed keys wait for a restart</b>: ${waiting.join(', ')}</li>`}`,
  ),
  ...[...status.sinks, ...status.lookups].map((one) => sinkTrouble(one, asked)),
  ...status.failing.map(
    ({ sink, count: many, firstAt, reason }) =>
      html`<li>
        <b>${count(many, 'message')} to ${seen(sink)} ${many === 1 ? 'has' : 'have'} failed for an hour</b>,
        while others go out; first ${asked.times.short(firstAt)}: ${seen(reason)}
        <div class="small muted">
          <code>${program} events --state pending --sink ${sink}</code> lists them.
        </div>
      </li>`,
  ),
];

function sinkTrouble(one: SinkStatus, asked: PageRequest): Html | false | null {
  const { times } = asked;
  const { sink, connector, state, pause, nextTryAt } = one;
  const trouble = troubleOf(one);
  if (trouble === null || connector === null) return null;
  if (pause?.by === 'person')
    return (
      pause.isForgotten &&
      html`<li>
        <b><a href="/sinks/${sink}">${seen(sink)}</a> is still paused</b> ${pausedBy(pause, times)}
        <div class="small muted">
          What comes for it waits, and none is lost. Resume it, or give it an end.
        </div>
      </li>`
    );
  const next = pause
    ? html`It is tried again ${nextTryAt === null ? 'with the next message' : times.relative(nextTryAt)}.
      Nothing is lost meanwhile.`
    : sinkRate(one, times);
  return html`<li>
    <b>${seen(nameOf(sink))} is ${sinkStates[state]}</b> since
    ${times.short(trouble.since)}${trouble.because && `: ${seen(trouble.because.detail)}`}
    <div class="small muted">${next}</div>
    ${retryButton(sink, asked)}
  </li>`;
}

const stateTones = { unused: 'idle', working: 'good', failing: 'bad', paused: 'bad' } as const;

/** A sink's state as a chip, with who paused it. */
export function sinkChip(one: SinkStatus): Html {
  if (one.connector === null && one.pause?.by !== 'person') return chip('idle', 'gone');
  const word = stateWord(one.state, one.figures);
  const isUnsure = word !== sinkStates[one.state];
  if (one.pause?.by === 'person') return chip('wait', `paused by ${seen(one.pause.who)}`);
  return chip(isUnsure ? 'wait' : stateTones[one.state], word);
}

/** When it worked last, and how it did in the last hour; null if it was never called. */
export function sinkRate({ figures }: SinkStatus, times: Times): Html | null {
  if (figures === null) return null;
  const { lastSuccessAt } = figures;
  const worked = lastSuccessAt !== null && html`last success ${times.relative(lastSuccessAt)}`;
  const tried = inLastHour(figures).join('');
  return html`${worked}${worked && tried && ', '}${tried}`;
}

function sinkCard(
  { sink, connector, dead, held }: SinkStatus,
  groups: readonly Group[],
  parts: readonly GroupView[],
  asked: PageRequest,
): Html {
  const states = [...(dead > 0 ? (['dead'] as const) : []), ...(held > 0 ? (['held'] as const) : [])];
  const ofSink = groups.filter((group) => group.sink === sink);
  const shown = parts.filter((part) => part.sink === sink);
  const all: Chosen = { states, sink, count: dead + held };
  const isWhole = asked.query['state'] === undefined;
  const ofNotices = isWhole ? all.count - ofSink.reduce((sum, group) => sum + group.count, 0) : 0;
  const others = ofSink.length - shown.length;
  return html`<section class="card">
    <h2>
      <span class="break">${sink}</span>
      <small>${connector ?? 'not in the config any more'}</small>
    </h2>
    <div class="parts">
      ${shown.map((part) => groupPart(part, asked))}
      ${others > 0 && html`<section><p>There are ${count(others, 'more cause')}.</p></section>`}
      ${
        isWhole &&
        (ofSink.length > 1 || ofNotices > 0) &&
        html`<section>
          <h3>All to ${sink}</h3>
          ${
            ofNotices > 0 &&
            html`<p>
              ${count(ofNotices, 'message')} about the connector itself ${ofNotices === 1 ? 'was' : 'were'}
              not delivered, either: <code>${program} events --notices</code> shows what people were to be
              told.
            </p>`
          }
          ${choiceForm(all, `all ${all.count}`, asked)}
        </section>`
      }
    </div>
  </section>`;
}

function groupPart({ list, ...group }: GroupView, asked: PageRequest): Html {
  const { state, sink, cause, reason, firstAt } = group;
  const chosen: Chosen = { states: [state], sink, count: group.count, ...(state === 'dead' && { cause }) };
  const [, rule, action] = / in (.*) (\d+)$/s.exec(cause) ?? [];
  return html`<section>
    <h3>
      ${chip('bad', `${group.count} ${state === 'dead' ? 'given up' : 'held'}`)}
      <span class="muted small"
        >${rule !== undefined && `rule ${seen(rule)}, action ${Number(action) + 1},`} since
        ${asked.times.short(firstAt)}</span
      >
    </h3>
    <p class="break">${seen(reason)}</p>
    <p class="muted">${fixFor(group)}</p>
    ${choiceForm(chosen, group.count === 1 ? '' : `${group.count}`, asked)}
    ${
      list === null
        ? html`<p><a href="${pathWith('/attention', queryOf(group))}">Which</a></p>`
        : html`<details ${asked.query['state'] !== undefined && html`open`}>
            <summary>Which</summary>
            ${list}
          </details>`
    }
  </section>`;
}

/** What to try, by why it is stuck. The tool's own words stand above it. */
function fixFor({ state, cause }: Group): string {
  if (state === 'held')
    return 'Nobody can ask this tool what arrived. Look there: replay what is missing, discard what came.';
  if (cause.includes(' in '))
    return 'The tool refuses this message. Change the config or the tool, then replay: that follows the config in force.';
  if (cause === 'auth') return 'The credentials were refused. Give it new ones, then replay.';
  return 'The tool did not work. When it does again (check --live asks it), replay.';
}
