import type { Delivery, Event } from '../model.ts';
import { needsOf, readStatus, type SinkStatus, type Status } from '../status.ts';
import type { Reads } from '../store/reads.ts';
import type { StuckCount } from '../store/store.ts';
import { count } from '../support/text.ts';
import { changeList, type Chosen, choiceForm, deliveriesOf } from './changes.ts';
import { chip, seen } from './fragments.ts';
import { html, type Html } from './html.ts';
import type { Asked, Page } from './page.ts';
import type { Times } from './times.ts';

const shownOfGroup = 10;
const shownChanges = 10;

/** What needs a person: by sink and cause, with what helps. */
export const attentionPage: Page = {
  path: '/attention',
  async show(asked, { reads }) {
    const status = await readStatus(reads, asked.now);
    const groups = await Promise.all(groupsOf(status).map((group) => withDeliveries(reads, group)));
    const bySink = Map.groupBy(groups, ({ sink }) => sink);
    const wanted = asked.query['sink'];
    const stuck = status.sinks.filter(({ dead, held }) => dead + held > 0);
    const sinks = stuck.filter(({ sink }) => wanted === undefined || sink === wanted);
    const needs = needsOf(status).length;
    const changes = await reads.audit({ limit: shownChanges });
    return {
      title: 'Needs a person',
      body: html`<div class="stack">
        ${needs + status.missed.length === 0 && emptyCard}
        <ul class="plain stack troubles">
          ${troubleItems(status, asked.times)}
        </ul>
        ${sinks.length < stuck.length && html`<p>Only of ${seen(wanted ?? '')}. <a href="/attention">All sinks</a></p>`}
        ${sinks.map((sink) => sinkCard(sink, bySink.get(sink.sink) ?? [], asked))}
        ${status.missed.length > 0 && missedCard(status.missed, asked)}
        ${
          changes.length > 0 &&
          html`<section class="card">
            <h2>Done by hand lately</h2>
            ${changeList(changes, asked.times, true)}
          </section>`
        }
      </div>`,
    };
  },
};

const emptyCard = html`<section class="card empty">
  <h2>Nothing needs you</h2>
  <p>What a tool refuses, or nobody can tell about, shows up here with its cause and what to do.</p>
</section>`;

interface Group extends StuckCount {
  readonly state: 'dead' | 'held';
}

const groupsOf = ({ dead, held }: Status): Group[] => [
  ...dead.map((one): Group => ({ ...one, state: 'dead' })),
  ...held.map((one): Group => ({ ...one, state: 'held' })),
];

interface WholeGroup extends Group {
  readonly deliveries: readonly { readonly delivery: Delivery; readonly event: Event | null }[];
}

async function withDeliveries(reads: Reads, group: Group): Promise<WholeGroup> {
  const { state, sink, cause } = group;
  const first = await reads.deliveries({
    states: [state],
    sink,
    limit: shownOfGroup,
    ...(state === 'dead' && { cause }),
  });
  const deliveries = await Promise.all(
    first.map(async (delivery) => {
      const story = delivery.eventId === null ? null : await reads.event(delivery.eventId);
      return { delivery, event: story?.event ?? null };
    }),
  );
  return { ...group, deliveries };
}

/** What is wrong with the connector itself and with its sinks, as items of a list. */
export const troubleItems = (status: Status, times: Times): (Html | null)[] => [
  ...status.copies.map(({ config }) => configNeeds(config, times)),
  ...status.sinks.map((sink) => pausedSink(sink, times)),
];

function configNeeds({ file, refused, waiting }: Status['copies'][number]['config'], times: Times): Html {
  return html`${
    refused &&
    html`<li>
      <b>The changed config was refused</b> ${times.short(refused.since)}:
      ${seen(refused.problem)}${refused.others > 0 && ` (and ${count(refused.others, 'more problem')})`}
      <div class="small muted">
        The one before stays in force. <code>candidate-connector check --config ${file}</code> shows all that
        is wrong.
      </div>
    </li>`
  }${waiting.length > 0 && html`<li><b>These changed keys wait for a restart</b>: ${waiting.join(', ')}</li>`}`;
}

function pausedSink({ sink, connector, pause }: SinkStatus, times: Times): Html | null {
  if (pause === null || connector === null) return null;
  return html`<li>
    <b>${seen(sink)} is paused</b> since
    ${times.short(pause.since)}${pause.because && `: ${seen(pause.because.detail)}`}
    <div class="small muted">
      It is tried again ${times.relative(pause.probeAt)}. Nothing is lost meanwhile.
    </div>
  </li>`;
}

function sinkCard(
  { sink, connector, dead, held }: SinkStatus,
  groups: readonly WholeGroup[],
  asked: Asked,
): Html {
  const states = [...(dead > 0 ? (['dead'] as const) : []), ...(held > 0 ? (['held'] as const) : [])];
  const ofNotices = dead + held - groups.reduce((sum, group) => sum + group.count, 0);
  const all: Chosen = { states, sink, count: dead + held };
  return html`<section class="card">
    <h2>
      <span class="break">${sink}</span>
      <small>${connector ?? 'not in the config any more'}</small>
    </h2>
    <div class="parts">
      ${groups.map((group) => groupPart(group, asked))}
      ${(groups.length > 1 || ofNotices > 0) && allPart(sink, all, ofNotices, asked)}
    </div>
  </section>`;
}

function allPart(sink: string, all: Chosen, ofNotices: number, asked: Asked): Html {
  const were = ofNotices === 1 ? 'was' : 'were';
  return html`<section>
    <h3>All to ${sink}</h3>
    ${
      ofNotices > 0 &&
      html`<p>
        ${count(ofNotices, 'message')} about the connector itself ${were} not delivered, either:
        <code>candidate-connector events --notices</code> shows what people were to be told.
      </p>`
    }
    ${choiceForm(all, `all ${all.count}`, asked)}
  </section>`;
}

function groupPart(group: WholeGroup, asked: Asked): Html {
  const { state, sink, cause, reason, firstAt, deliveries } = group;
  const chosen: Chosen = { states: [state], sink, count: group.count, ...(state === 'dead' && { cause }) };
  const [first] = deliveries;
  const ofAction =
    first &&
    cause.includes(' in ') &&
    `rule ${seen(first.delivery.rule)}, action ${first.delivery.action + 1},`;
  return html`<section>
    <h3>
      ${chip('bad', `${group.count} ${state === 'dead' ? 'given up' : 'held'}`)}
      <span class="muted small">${ofAction} since ${asked.times.short(firstAt)}</span>
    </h3>
    <p class="break">${seen(reason)}</p>
    <p class="muted">${fixFor(group)}</p>
    ${choiceForm(chosen, group.count === 1 ? '' : `${group.count}`, asked)}
    <details>
      <summary>
        ${group.count > shownOfGroup ? `The first ${shownOfGroup} of ${group.count}` : 'Which'}
      </summary>
      <ul class="plain items">
        ${deliveries.map((one) => deliveryItem(one, asked))}
      </ul>
    </details>
  </section>`;
}

function deliveryItem({ delivery, event }: WholeGroup['deliveries'][number], asked: Asked): Html {
  const { id, states, sink } = { id: delivery.id, states: [], sink: delivery.sink };
  return html`<li>
    <p class="break">
      ${
        event
          ? html`<a href="/events/${event.id}">${seen(event.candidateId)}</a> ${event.status}, test
              ${event.testId}, ${asked.times.short(event.receivedAt)}`
          : html`<span class="id">${id}</span>`
      }
      <br /><span class="muted small"
        >rule ${seen(delivery.rule)}, ${count(delivery.attempts, 'attempt')}, </span
      ><span class="id muted">${id}</span>
    </p>
    ${choiceForm({ id, states, sink, count: 1 }, '', asked)}
  </li>`;
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

function missedCard(missed: readonly StuckCount[], { times }: Asked): Html {
  return html`<section class="card">
    <h2>Not to everybody <small>in the last 7 days</small></h2>
    <p>These were delivered, and somebody was left out. Tell them yourself: nothing is sent twice.</p>
    <ul>
      ${missed.map(
        (one) =>
          html`<li class="break">
            ${deliveriesOf(one.count)} to ${one.sink} since ${times.short(one.firstAt)}: ${seen(one.reason)}
          </li>`,
      )}
    </ul>
  </section>`;
}
