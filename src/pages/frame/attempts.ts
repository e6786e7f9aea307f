import type { Attempt } from '../../model/outcomes.ts';
import { html, type Html } from '../../support/html.ts';
import { printable } from '../../support/text.ts';
import { outcomeNames } from './fragments.ts';
import { duration, type Times } from './times.ts';

/** The attempts at a delivery, folded, with what the tool answered. `more` follows them; `arrived` names a success. */
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
            ? outcome.note && html`<div>${printable(outcome.note)}</div>`
            : html`<div>${printable(outcome.detail)}</div>`
        }
      </li>`,
  );
  // The failure of a single attempt is shown above the list already.
  const isStory = history.length > 1 && history.at(-1)!.outcome.outcome !== 'delivered';
  return html`<details ${isStory && html`open`}>
    <summary class="small">${history.length === 1 ? '1 attempt' : `${history.length} attempts`}</summary>
    <ul class="plain spaced">
      ${rows}
    </ul>
    ${more}
  </details>`;
}
