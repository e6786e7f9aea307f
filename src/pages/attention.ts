import { program } from '../support/invocation.ts';
import { type Delivery, type StuckState, stuckStates } from '../model.ts';
import { weekMs } from '../ops/absence.ts';
import type { SinkStatus, Status, StuckNotice } from '../ops/status/status.ts';
import { causesOf, needsOf } from '../ops/needs.ts';
import { missedTitle } from '../ops/status/words.ts';
import type { StuckCount } from '../store/store.ts';
import { count, printable } from '../support/text.ts';
import { changeList } from './changes/done.ts';
import { changesExplained, type Chosen, choiceForm, doubtOf, tickForm } from './changes/question.ts';
import { tickBox } from './frame/asking.ts';
import { candidateName, chip, commandLine, knownOf, ruleName, subjectOf, toolOf } from './frame/fragments.ts';
import { html, type Html, pathWith } from '../support/html.ts';
import { type Page, type PageRequest, type Parts, storiesOf } from './page.ts';
import { refusedCards } from './refused/events.ts';
import { rejectedNotice, troubleItems } from './frame/troubles.ts';
import { totalOf } from '../support/lists.ts';

/** The number of causes shown: those of most deliveries. */
const shownGroups = 40;
const shownDeliveries = 50;
const shownChanges = 10;

/** What needs a person, by sink and cause, with what helps. The query may narrow it to a sink, a state and a cause. */
export const attentionPage: Page = {
  path: '/attention',
  menu: 'Needs a person',
  async show(asked, all) {
    const status = await asked.status();
    const { sink, state, cause } = asked.query;
    const stuckIn = (of: StuckState) => status[of].map((one): Group => Object.assign({ state: of }, one));
    const groups = stuckStates
      .flatMap(stuckIn)
      .filter(
        (one) =>
          (sink ?? one.sink) === one.sink &&
          (state ?? one.state) === one.state &&
          (cause ?? one.cause) === one.cause,
      );
    const total = totalOf(groups);
    const shown = groups.toSorted((a, b) => b.count - a.count).slice(0, shownGroups);
    const isListed = state !== undefined || total <= shownDeliveries;
    const parts: GroupView[] = [];
    // One after the other, as each may have to search thousands of deliveries for its cause.
    for (const group of shown)
      parts.push({ ...group, list: isListed ? await listOf(all, group, asked) : null });
    const isLeft = state === undefined || groups.length > 0;
    const stuck = status.sinks.filter((one) => one.dead + one.held > 0 && (sink ?? one.sink) === one.sink);
    const cards = isLeft ? stuck.map((one) => sinkCard(one, status.stuckNotices, groups, parts, asked)) : [];
    const body =
      sink === undefined
        ? await overview(status, [...(await refusedCards(all, asked)), ...cards], all, asked)
        : html`<p><a href="/attention">All that needs a person</a></p>
            ${cards.length > 0 ? cards : html`<p class="card">Nothing of this is left.</p>`}`;
    const causes = causesOf(status);
    return {
      title: 'Needs a person',
      body: html`<div class="stack">${body}</div>`,
      ...(sink === undefined && causes > 0 && { beside: chip('bad', count(causes, 'cause')) }),
    };
  },
};

async function overview(
  status: Status,
  cards: readonly Html[],
  all: Parts,
  asked: PageRequest,
): Promise<Html> {
  const { times } = asked;
  const { missed } = status;
  const changes = await all.reads.audit({ limit: shownChanges });
  const isEmpty = needsOf(status).length + missed.length + status.rejectedThisWeek === 0;
  return html`${
    isEmpty
      ? html`<section class="card empty">
          <h2>Nothing needs you</h2>
          <p>
            ${status.lastEventAt === null && 'No event has come yet. '}What is refused, fails or was given up
            shows up here with its cause and what to do.
          </p>
        </section>`
      : html`<ul class="plain stack troubles">
          ${troubleItems(status, asked, true)}
        </ul>`
  }
  ${rejectedNotice(status)} ${cards} ${missed.length > 0 && (await missedCard(missed, all, asked))}
  ${
    changes.length > 0 &&
    html`<section class="card">
      <h2>Done by hand lately</h2>
      ${changeList(changes, times, true)}
    </section>`
  }`;
}

/** What was delivered, though not as meant, by cause, and whom it is about. */
async function missedCard(missed: readonly StuckCount[], all: Parts, asked: PageRequest): Promise<Html> {
  const found = await all.reads.missed(asked.now - weekMs, shownDeliveries);
  const stories = await storiesOf(found, all.reads);
  const isOf =
    ({ sink, reason, cause }: StuckCount) =>
    (one: Delivery) =>
      one.sink === sink && one.lastError === reason && cause.endsWith(` ${one.rule} ${one.action}`);
  const listed = (one: Delivery) =>
    html`<li>
      <p class="break">
        ${subjectOf(stories.get(one), all.config(), asked)}<br /><span class="muted small id">${one.id}</span>
      </p>
    </li>`;
  const items = missed.map((cause) => {
    const shown = found.filter(isOf(cause));
    return html`<li>
      <p class="break">
        ${count(cause.count, 'delivery')} to ${cause.sink} since ${asked.times.short(cause.firstAt)}:
        ${printable(cause.reason)}
      </p>
      <details>
        <summary>Which ones</summary>
        <ul class="plain items">
          ${shown.map(listed)}
        </ul>
        ${shown.length < cause.count && html`<p>Older ones: ${commandLine(`${program} events --sink ${cause.sink}`)}</p>`}
      </details>
    </li>`;
  });
  return html`<section class="card">
    <h2>${missedTitle} <small>in the last 7 days</small></h2>
    <p>
      Put right what it says. Where somebody was left out of a message, tell them yourself, or send it to
      everybody again with ${commandLine(`${program} resend`)} and the id of the delivery. Do not send a row
      again: it would be there twice.
    </p>
    <ul>
      ${items}
    </ul>
  </section>`;
}

interface Group extends StuckCount {
  readonly state: StuckState;
}

/** A group with the list of its deliveries; null where the list is not shown. */
interface GroupView extends Group {
  readonly list: Html | null;
}

async function listOf(all: Parts, group: Group, asked: PageRequest): Promise<Html> {
  const { state, sink, cause, reason } = group;
  const { after } = asked.query;
  const found = await all.reads.deliveries({
    states: [state],
    sink,
    limit: shownDeliveries + 1,
    ...(state === 'dead' && { cause }),
    ...(after !== undefined && { after }),
  });
  const shown = found.slice(0, shownDeliveries);
  const stories = await storiesOf(shown, all.reads);
  const canTick = group.count > 1 && asked.person.role === 'full';
  const isMixed = doubtOf(group.doubtful, group.count) === 'some';
  const items = shown.map((one) => {
    const { id, rule, attempts, uncertain, lastError } = one;
    const story = stories.get(one);
    const name = story && candidateName(story.event, knownOf(story.lookups, asked.person));
    const more = [
      ofRule(cause) === null && ruleName(rule),
      attempts > 1 && count(attempts, 'attempt'),
      isMixed && uncertain && 'may have arrived',
      lastError !== null && !reason.startsWith(lastError) && ofRule(cause) !== null && printable(lastError),
    ]
      .filter(Boolean)
      .join(', ');
    return html`<li>
      ${canTick && tickBox(id, name ? `Candidate ${name}` : id)}
      <p class="break">
        ${subjectOf(story, all.config(), asked) || html`<span class="id">${id}</span>`}
        ${more && html`<br /><span class="muted small">${more}</span>`}
      </p>
    </li>`;
  });
  const list = html`<ul class="plain items">
    ${items}
  </ul>`;
  const next =
    found.length > shown.length
      ? pathWith('/attention', { ...queryOf(group), after: shown.at(-1)!.id })
      : null;
  return html`${canTick ? tickForm({ sink, doubt: doubtOf(group.doubtful, group.count) }, list, asked) : list}
  ${next && html`<p><a href="${next}">The next ${shownDeliveries}</a></p>`}`;
}

/** `rule “all”`, or `rule “all”, action 2`, for a cause that names the action whose messages the tool refuses; null for any other cause. */
function ofRule(cause: string): string | null {
  const [, rule, action] = / in (.*) (\d+)$/s.exec(cause) ?? [];
  if (rule === undefined) return null;
  return action === '0' ? ruleName(rule) : `${ruleName(rule)}, action ${Number(action) + 1}`;
}

const queryOf = ({ sink, state, cause }: Group) => ({ sink, state, cause });

function sinkCard(
  { sink, connector, dead, held }: SinkStatus,
  notices: readonly StuckNotice[],
  groups: readonly Group[],
  parts: readonly GroupView[],
  asked: PageRequest,
): Html {
  const states = stuckStates.filter((state) => ({ dead, held })[state] > 0);
  const ofSink = groups.filter((group) => group.sink === sink);
  const shown = parts.filter((part) => part.sink === sink);
  const isWhole = asked.query['state'] === undefined;
  const ofEvents = totalOf(ofSink);
  const stuckNotices = isWhole ? notices.filter(({ delivery }) => delivery.sink === sink) : [];
  const ofNotices = stuckNotices.length;
  const over = stuckNotices.filter(({ isOver }) => isOver).map(({ delivery }) => delivery);
  const reasons = new Set(stuckNotices.map(({ delivery }) => delivery.lastError ?? ''));
  const doubtful =
    ofSink.reduce((sum, group) => sum + group.doubtful, 0) +
    stuckNotices.filter(({ delivery }) => delivery.uncertain).length;
  const doubt = doubtOf(doubtful, ofEvents + ofNotices);
  const ofOver: Chosen = {
    ids: over.map(({ id }) => id),
    states: [],
    sink,
    count: over.length,
    doubt: doubtOf(over.filter(({ uncertain }) => uncertain).length, over.length),
  };
  const all: Chosen = { ids: [], states, sink, count: dead + held, doubt };
  const others = ofSink.length - shown.length;
  return html`<section class="card">
    <h2>
      <a class="break" href="/sinks/${sink}">${sink}</a>
      <small>${connector === null ? 'not in the config any more' : toolOf(sink, connector)}</small>
    </h2>
    ${changesExplained(asked)}
    <div class="parts">
      ${shown.map((part) => groupPart(part, asked))}
      ${others > 0 && html`<section><p>There are ${count(others, 'more cause')}.</p></section>`}
      ${
        isWhole &&
        (ofNotices > 0 || (ofSink.length > 1 && asked.person.role === 'full')) &&
        html`<section>
          <h3>All to ${sink}</h3>
          ${
            ofNotices > 0 &&
            html`<p>
              ${count(ofNotices, 'message')} about the connector itself ${ofNotices === 1 ? 'was' : 'were'}
              not delivered, either: ${commandLine(`${program} events --notices`)} shows what people were to
              be told. ${[...reasons].map((reason) => html`<br />${printable(reason)}`)}
            </p>`
          }
          ${
            over.length > 0 &&
            html`<p>
                ${whatOf(over.length, ofNotices)} is over: nobody has to be told any more.
                ${over.length < all.count && html`<i>Replay all</i> leaves it out.`} Replayed here, it says
                when it was.
              </p>
              ${choiceForm(ofOver, `${over.length} of what is over`, asked)}`
          }
          ${over.length < all.count && choiceForm(all, `all ${all.count}`, asked)}
        </section>`
      }
    </div>
  </section>`;
}

const whatOf = (some: number, all: number): string =>
  some < all
    ? `What ${some} of them ${some === 1 ? 'tells' : 'tell'} of`
    : `What ${all === 1 ? 'it tells' : 'they tell'} of`;

function groupPart({ list, ...group }: GroupView, asked: PageRequest): Html {
  const { state, sink, cause, reason, firstAt } = group;
  const chosen: Chosen = {
    ids: [],
    states: [state],
    sink,
    count: group.count,
    doubt: doubtOf(group.doubtful, group.count),
    ...(state === 'dead' && { cause }),
  };
  const [rule, fix] = [ofRule(cause), fixFor(group)];
  return html`<section>
    <h3>
      ${chip('bad', `${group.count} ${state === 'dead' ? 'given up' : 'held'}`)}
      <span class="muted small">${rule !== null && `${rule},`} since ${asked.times.short(firstAt)}</span>
    </h3>
    <p class="break">${printable(reason)}</p>
    ${fix !== null && html`<p class="muted">${fix}</p>`}
    ${choiceForm(chosen, group.count === 1 ? '' : `${group.count}`, asked)}
    ${
      list === null
        ? html`<p><a href="${pathWith('/attention', queryOf(group))}">Which ones</a></p>`
        : group.count === 1
          ? list
          : html`<details ${asked.query['state'] !== undefined && html`open`}>
              <summary>Which ones</summary>
              ${list}
            </details>`
    }
  </section>`;
}

/** Causes that pass by themselves: the tool cannot be reached, or has too much to do. */
const passing: ReadonlySet<string> = new Set(['network', 'rate_limited', 'server', 'timeout']);

/** What to try, by the cause. Null where the tool's own words, which are shown above, say it already. */
function fixFor({ state, cause, reason }: Group): string | null {
  if (state === 'held')
    return 'Look there: replay what is missing, discard what came. Where the reason is a right that is missing, give it first: a replay then asks the tool, and sends only what is missing.';
  if (/\breplay\b/.test(reason)) return null;
  if (ofRule(cause) !== null) return 'When that is put right, in the tool or in the config, replay.';
  if (passing.has(cause)) return 'The tool did not work. When it does again (check --live asks it), replay.';
  return 'Put right what it says, in the tool or in the config, then replay.';
}
