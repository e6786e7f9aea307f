import type { DayCount } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { amount } from './fragments.ts';
import { duration } from './times.ts';

/** Charts, drawn here and so in every browser alike, each with its numbers as a table. */

export interface Chart {
  readonly title: string;
  /** `durations` are in ms, `rates` from 0 to 1. */
  readonly kind: 'bars' | 'durations' | 'rates';
  readonly labels: readonly string[];
  readonly series: readonly {
    readonly name: string;
    readonly colour: 'accent' | 'accent-soft' | 'grey' | 'good' | 'bad' | 'wait';
    /** One for each label. */
    readonly values: readonly (number | null)[];
  }[];
  /** What stands there where there is nothing to draw. Default: Nothing yet. */
  readonly none?: string;
}

/** How many of the messages that ended arrived. */
export function arrivedOf(counts: readonly DayCount[]): { readonly arrived: number; readonly ended: number } {
  const ended = counts.filter(({ sink }) => sink !== null);
  const sum = (all: readonly DayCount[]) => all.reduce((total, one) => total + one.count, 0);
  return { arrived: sum(ended.filter(({ what }) => what === 'delivered')), ended: sum(ended) };
}

/** Day by day, for each label one. */
export const arrivedChart = (labels: readonly string[], counts: readonly DayCount[]): Chart => ({
  title: 'Messages that arrived',
  kind: 'rates',
  labels,
  series: [
    {
      name: 'of those sent or given up',
      colour: 'good',
      values: byDay(labels, counts).map((ofDay) => {
        const { arrived, ended } = arrivedOf(ofDay);
        return ended === 0 ? null : arrived / ended;
      }),
    },
  ],
});

/** How soon messages were delivered, day by day. */
export function delayChart(labels: readonly string[], counts: readonly DayCount[]): Chart {
  const delays = byDay(labels, counts).map((ofDay) => delaysOf(ofDay, [0.5, 0.95]));
  return {
    title: 'From the event to the message',
    kind: 'durations',
    labels,
    series: [
      { name: 'half took at most', colour: 'accent', values: delays.map(([half]) => half ?? null) },
      { name: 'all but the slowest 5 %', colour: 'grey', values: delays.map(([, most]) => most ?? null) },
    ],
  };
}

const byDay = (labels: readonly string[], counts: readonly DayCount[]): DayCount[][] =>
  labels.map((_, at) => counts.filter(({ day }) => day === at));

export function chartFigure(chart: Chart): Html {
  const { title, labels, series, none = 'Nothing yet.' } = chart;
  const hasValues = series.some(({ values }) =>
    values.some((value) => value !== null && (value > 0 || chart.kind === 'rates')),
  );
  const key = series.map(({ name, colour }) => html`<span class="key ${colour}">${name}</span>`);
  return html`<figure class="card chart">
    <figcaption>
      <h2>${title}</h2>
      <div class="keys">${key}</div>
    </figcaption>
    ${hasValues ? drawing(chart) : html`<p class="plot empty">${none}</p>`}
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

function shown(value: number | null, { kind }: Pick<Chart, 'kind'>): string {
  if (value === null) return '–';
  if (kind === 'rates') return rate(value);
  return kind === 'bars' ? amount(value) : duration(value);
}

/** `99.3 %`. Only what is all is 100 %, and only what is nothing 0 %. */
export function rate(part: number): string {
  const tenths = Math.round(part * 1000);
  const fair = part < 1 ? Math.min(tenths, 999) : tenths;
  return `${(part > 0 ? Math.max(fair, 1) : fair) / 10} %`;
}

/** Of the picture, which is stretched to its place: the words are beside it. */
const [width, height] = [1000, 100];
/** Of a label and the room to the next one. */
const barPart = 0.62;
const shownLabels = 5;

function drawing(chart: Chart): Html {
  const { kind, labels, series } = chart;
  const { marks, heightOf } = scaleOf(chart);
  const step = width / labels.length;
  const x = (at: number) => rounded((at + 0.5) * step);
  const y = (value: number) => rounded(height * (1 - heightOf(value)));
  const shapes =
    kind === 'bars'
      ? labels.map((_, at) => stack(chart, at, x(at), step * barPart, y))
      : series.map(({ colour, values }) => {
          const points = values.flatMap((value, at) => (value === null ? [] : [`${x(at)} ${y(value)}`]));
          return html`<path class="key ${colour}" d="M${points.join('L')}" />
            <path class="key ${colour} dots" d="${points.map((point) => `M${point}h0`).join('')}" />`;
        });
  const every = Math.ceil(labels.length / shownLabels);
  const isShown = (at: number) => (labels.length - 1 - at) % every === 0;
  return html`<div class="plot" aria-hidden="true">
    <div class="marks">${marks.map((mark) => html`<span>${shown(mark, chart)}</span>`)}</div>
    <svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">
      ${marks.map((mark) => html`<path class="line" d="M0 ${y(mark)}H${width}" />`)} ${shapes}
      ${labels.map(
        (_, at) =>
          html`<rect class="hit" x="${rounded(at * step)}" y="0" width="${rounded(step)}" height="${height}">
            <title>${said(chart, at)}</title>
          </rect>`,
      )}
    </svg>
    <div class="labels">${labels.map((label, at) => html`<span>${isShown(at) && label}</span>`)}</div>
  </div>`;
}

const rounded = (place: number): number => Math.round(place * 100) / 100;

/** One bar, each series on top of those after it. */
function stack(
  { series }: Chart,
  at: number,
  middle: number,
  wide: number,
  y: (value: number) => number,
): Html[] {
  let below = 0;
  return series.toReversed().map(({ colour, values }) => {
    const from = below;
    below += values[at] ?? 0;
    return html`${
      below > from &&
      html`<rect
        class="key ${colour}"
        x="${rounded(middle - wide / 2)}"
        y="${y(below)}"
        width="${rounded(wide)}"
        height="${rounded(y(from) - y(below))}"
      />`
    }`;
  });
}

/** What is under the pointer. */
function said(chart: Chart, at: number): string {
  const values = chart.series.map(({ name, values: of }) => `${name} ${shown(of[at] ?? null, chart)}`);
  return [chart.labels[at], ...values].join('\n');
}

/** Marks at equal distances, and how high a value stands (0 to 1). */
function scaleOf({ kind, labels, series }: Chart): {
  marks: number[];
  heightOf: (value: number) => number;
} {
  if (kind === 'rates') {
    const least = Math.min(...series.flatMap(({ values }) => values.filter((value) => value !== null)));
    const low = lowestRates.findLast((mark) => mark <= least) ?? 0;
    return { marks: [low, (low + 1) / 2, 1], heightOf: (value) => (value - low) / (1 - low) };
  }
  if (kind === 'bars') {
    const sums = labels.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
    const most = Math.max(...sums, 1);
    const [ten, few] = [10 ** Math.floor(Math.log10(most / 4)), most / 4];
    const step = Math.max(
      1,
      [1, 2, 5, 10].map((n) => n * ten).find((one) => one >= few)!,
    );
    const marks = Array.from({ length: Math.ceil(most / step) + 1 }, (_, n) => n * step);
    return { marks, heightOf: (value) => value / marks.at(-1)! };
  }
  const all = series.flatMap(({ values }) => values.filter((value) => value !== null));
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const low = Math.max(
    0,
    roundTimes.findLastIndex((time) => time <= least),
  );
  const high = Math.max(
    low + 1,
    roundTimes.findIndex((time) => time >= most),
  );
  const marks = roundTimes.slice(low, high + 1);
  const heightOf = (value: number) => {
    const below = Math.max(
      0,
      Math.min(
        marks.findLastIndex((mark) => mark <= value),
        marks.length - 2,
      ),
    );
    const [from, to] = [marks[below]!, marks[below + 1]!];
    return (below + Math.log(Math.max(value, from) / from) / Math.log(to / from)) / (marks.length - 1);
  };
  return { marks, heightOf };
}

/** Where an axis of rates may begin: one message of many that did not arrive is to be seen. */
const lowestRates = [0, 0.5, 0.9, 0.99];

const [secondMs, minuteMs, hourMs] = [1000, 60_000, 3_600_000];
const roundTimes = [1, 10, 100, secondMs, 10 * secondMs, minuteMs, 10 * minuteMs, hourMs].concat(
  [10, 100, 1000, 10_000].map((hours) => hours * hourMs),
);

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
