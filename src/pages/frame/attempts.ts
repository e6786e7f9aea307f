import type { Attempt } from '../../model/outcomes.ts';
import { html, type Html } from '../../support/html.ts';
import { outcomeNames, seen } from './fragments.ts';
import { duration, type Times } from './times.ts';

/**
 * What a tool answered, one attempt after the other, and what else whoever looks closer needs. `arrived`: what people call
 * one that did what it was to do.
 */
export function attempts(
  history: readonly Attempt[],
  times: Times,
  more?: Html,
  arrived = outcomeNames.delivered,
): Html {
  const rows = history.map(
    ({ number, startedAt, endedAt, outcome }) =>
      html`<li class="small">
        <b>Attempt ${number}</b>:
        <span title="${outcome.outcome}"
          >${outcome.outcome === 'delivered' ? arrived : outcomeNames[outcome.outcome]}</span
        >
        <span class="muted"
          >${times.exact(startedAt)}, took ${duration(Math.max(0, endedAt - startedAt))}</span
        >
        ${
          outcome.outcome === 'delivered'
            ? outcome.note && html`<div>${seen(outcome.note)}</div>`
            : html`<div>${seen(outcome.detail)}</div>`
        }
      </li>`,
  );
  // What a single one failed for stands above it.
  const isStory = history.length > 1 && history.at(-1)!.outcome.outcome !== 'delivered';
  return html`<details ${isStory && html`open`}>
    <summary class="small">${history.length === 1 ? '1 attempt' : `${history.length} attempts`}</summary>
    <ul class="plain spaced">
      ${rows}
    </ul>
    ${more}
  </details>`;
}
