import { catalogName } from '../../config/catalog.ts';
import type { Config } from '../../config/config.ts';
import type { Delivery, DeliveryState } from '../../model.ts';
import type { Pause, Pauses } from '../../ops/pauses.ts';
import type { EventStory } from '../../store/store.ts';
import { valueAt } from '../../support/json.ts';
import { printable } from '../../support/text.ts';
import { html, type Html } from '../../support/html.ts';
import type { Times } from './times.ts';

/** Pieces that several pages are made of. */

/** Text from outside, with what cannot be seen made visible. */
export const seen = (text: string): string => printable(text);

const withSeparators = new Intl.NumberFormat('en-GB');

/** `1,234`. */
export const amount = (many: number): string => withSeparators.format(many);

type Tone = 'good' | 'wait' | 'bad' | 'idle';

export const chip = (tone: Tone, text: string): Html => html`<span class="chip ${tone}">${text}</span>`;

export const tones: { readonly [state in DeliveryState]: Tone } = {
  pending: 'wait',
  sending: 'wait',
  delivered: 'good',
  dead: 'bad',
  held: 'bad',
  discarded: 'idle',
};

export const stateChip = (state: DeliveryState): Html => chip(tones[state], state);

/** What a pending delivery waits for. */
export function waitsFor(delivery: Delivery, pauses: Pauses, times: Times): Html | null {
  if (delivery.state !== 'pending') return null;
  const pause = pauses.get(delivery.sink);
  if (delivery.dueAt > times.now) return html`due ${times.relative(delivery.dueAt)}`;
  if (pause === undefined) return html`due now`;
  const next =
    pause.by === 'connector' && html`; next try ${times.relative(Math.max(times.now, pause.probeAt))}`;
  return html`the sink is paused ${pausedBy(pause, times)}${next}`;
}

/** Who paused a sink, since when, until when and why. */
export function pausedBy(pause: Pause, times: Times): Html {
  const since = html`since ${times.short(pause.since)}`;
  if (pause.by === 'connector') return since;
  return html`by ${seen(pause.who)}
  ${since}${pause.until !== null && html`, until ${times.short(pause.until)}`}${pause.note !== null && html`: “${seen(pause.note)}”`}`;
}

/** What the catalog calls a test. */
export const testName = ({ planSource }: Config, testId: number): string =>
  seen(catalogName(planSource, testId)) || `Test ${testId}`;

/** The ids and names of the catalog. */
export function testsOf({ planSource }: Config): (readonly [id: string, name: string])[] {
  const catalog = valueAt(planSource, ['catalog']) ?? {};
  return Object.keys(catalog).map((id) => [id, seen(catalogName(planSource, id)) || id]);
}

/** An event in a list; the candidate by the number, as messages have it, where there is one. */
export function eventRow(
  { event, decided, duplicates, deliveries }: EventStory,
  config: Config,
  times: Times,
): Html {
  const { candidateId, candidateNumericalId: number } = event;
  return html`<tr id="${event.id}">
    <td class="when">${times.short(event.receivedAt)}</td>
    <td>
      <a href="/events/${event.id}">${event.status}</a>
      <div class="muted small">${testName(config, event.testId)}</div>
    </td>
    <td class="id">
      ${number ?? seen(candidateId)}${number !== null && html`<div class="muted small">${seen(candidateId)}</div>`}${duplicates > 0 && html`<div class="muted small">repeated ${duplicates}×</div>`}
    </td>
    <td>
      <div class="chips">
        ${!decided ? chip('wait', 'to be decided') : deliveries.length === 0 ? html`<span class="muted">nobody was told</span>` : deliveries.map(({ sink, state }) => chip(tones[state], `${seen(sink)} ${state}`))}
      </div>
    </td>
  </tr>`;
}
