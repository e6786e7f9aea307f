import type { DayCount } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { duration } from './times.ts';

/** Charts, which assets/charts.js draws, each with its numbers as a table. */

export interface Chart {
  readonly title: string;
  /** `durations` are in ms. */
  readonly kind: 'bars' | 'durations';
  readonly labels: readonly string[];
  readonly series: readonly {
    readonly name: string;
    readonly colour: 'accent' | 'accent-soft' | 'grey' | 'good' | 'bad' | 'wait';
    /** One for each label. */
    readonly values: readonly (number | null)[];
  }[];
}

export function chartFigure(chart: Chart): Html {
  const { title, labels, series } = chart;
  const hasValues = series.some(({ values }) => values.some((value) => (value ?? 0) > 0));
  const key = series.map(({ name, colour }) => html`<span class="key ${colour}">${name}</span>`);
  return html`<figure class="card chart">
    <figcaption>
      <h2>${title}</h2>
      <div class="keys">${key}</div>
    </figcaption>
    ${hasValues ? html`<div class="plot" aria-hidden="true" data-chart="${JSON.stringify(chart)}"></div>` : html`<p class="plot empty">Nothing yet.</p>`}
    <details>
      <summary class="small muted">As a table</summary>
      <div class="table" tabindex="0">
        <table>
          <thead>
            <tr>
              <td></td>
              ${series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${labels.map(
              (label, at) =>
                html`<tr>
                  <th scope="row">${label}</th>
                  ${series.map(({ values }) => html`<td class="number">${shown(values[at] ?? null, chart)}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`;
}

function shown(value: number | null, { kind }: Chart): string {
  if (value === null) return '–';
  return kind === 'bars' ? String(value) : duration(value);
}

/** Within which times these parts of the deliveries arrived (ms); null where nothing did. Counted by powers of two. */
export function delaysOf(counts: readonly DayCount[], parts: readonly number[]): (number | null)[] {
  const known = counts.filter(({ what, delayMs }) => what === 'delivered' && delayMs > 0);
  const delivered = known.toSorted((a, b) => a.delayMs - b.delayMs);
  const total = delivered.reduce((sum, one) => sum + one.count, 0);
  return parts.map((part) => {
    let left = part * total;
    const found = delivered.find((one) => (left -= one.count) <= 0);
    // What a bucket has is spread over it.
    return found === undefined ? null : found.delayMs * 2 ** (left / found.count);
  });
}
