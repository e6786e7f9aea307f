import type { DayCount, Reads } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { amount } from './fragments.ts';
import { duration, type Times } from './times.ts';
import { totalOf } from '../../support/lists.ts';

/** Charts, drawn on the server so that they look alike in every browser. Each has its numbers as a table, too. */

const days = 14;

/** What the charts show: how many events and deliveries each of the last days had, today the last. */
export interface DayCounts {
  /** A label for each day, such as `Sat 21`. */
  readonly labels: readonly string[];
  /** `day`: the index of its label. */
  readonly counts: readonly DayCount[];
}

export async function lastDays(reads: Pick<Reads, 'daily'>, times: Times): Promise<DayCounts> {
  // The last one is where tomorrow begins.
  const starts = Array.from({ length: days + 1 }, (_, at) => times.daysBefore(times.now, days - 1 - at));
  const labels = starts.slice(0, days).map((start) => times.weekday(start));
  return { labels, counts: await countsOfDays(reads, starts) };
}

const dayMs = 86_400_000;

/** The counts of the days that begin at `starts` (ms). The last start only ends the day before it. */
export async function countsOfDays(
  reads: Pick<Reads, 'daily'>,
  starts: readonly number[],
): Promise<DayCount[]> {
  const counts: DayCount[] = [];
  for (let first = 0, next = 1; next < starts.length; first = next, next += 1) {
    // The store counts days of 24 hours: one call has the days up to one on which the clocks change.
    while (next + 1 < starts.length && dayMs === starts[next]! - starts[next - 1]!) next += 1;
    for (const one of await reads.daily(starts[first]!, starts[next]!))
      counts.push({ ...one, day: Math.min(first + one.day, next - 1) });
  }
  return counts;
}

export interface Chart {
  readonly title: string;
  /** `durations` are in ms, `rates` from 0 to 1. */
  readonly kind: 'bars' | 'durations' | 'rates';
  readonly labels: readonly string[];
  readonly series: readonly {
    readonly name: string;
    readonly colour: 'accent' | 'accent-soft' | 'grey' | 'good';
    /** One for each label. */
    readonly values: readonly (number | null)[];
  }[];
}

/** How many messages arrived, of those that were delivered or given up. */
export function arrivedOf(counts: readonly DayCount[]): { readonly arrived: number; readonly ended: number } {
  const ended = counts.filter(({ sink }) => sink !== null);
  return { arrived: totalOf(ended.filter(({ what }) => what === 'delivered')), ended: totalOf(ended) };
}

/** The share of messages that arrived, by day. */
export const arrivedChart = ({ labels, counts }: DayCounts): Chart => ({
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

/** How soon messages were delivered, by day. */
export function delayChart({ labels, counts }: DayCounts): Chart {
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
  const { title, labels, series } = chart;
  const hasValues = series.some(({ values }) =>
    values.some((value) => value !== null && (value > 0 || chart.kind === 'rates')),
  );
  const key = series.map(({ name, colour }) => html`<span class="key ${colour}">${name}</span>`);
  return html`<figure class="card chart">
    <figcaption>
      <h2>${title}</h2>
      <div class="keys">${key}</div>
    </figcaption>
    ${hasValues ? drawing(chart) : html`<p class="plot empty">Nothing yet.</p>`}
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

/** `99.3 %` for a part of 0.993. Only a part of 1 is shown as 100 %, and only one of 0 as 0 %. */
export function rate(part: number): string {
  const tenths = Math.round(part * 1000);
  const fair = part < 1 ? Math.min(tenths, 999) : tenths;
  return `${(part > 0 ? Math.max(fair, 1) : fair) / 10} %`;
}

/** The size of the picture, which is stretched to its place. Words stand beside it, so that they are not. */
const [width, height] = [1000, 100];
/** The width of a bar, as a part of the distance between two. */
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

/** One bar. Each series is stacked on top of those that follow it. */
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

/** The tooltip of a label. */
function said(chart: Chart, at: number): string {
  const values = chart.series.map(({ name, values: of }) => `${name} ${shown(of[at] ?? null, chart)}`);
  return [chart.labels[at], ...values].join('\n');
}

/** The marks of the axis, at equal distances, and the height of a value (0 to 1). */
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

/** Where an axis of rates may begin: as high as possible, so that one lost message of many can be seen. */
const lowestRates = [0, 0.5, 0.9, 0.99];

const [secondMs, minuteMs, hourMs] = [1000, 60_000, 3_600_000];
const roundTimes = [1, 10, 100, secondMs, 10 * secondMs, minuteMs, 10 * minuteMs, hourMs].concat(
  [10, 100, 1000, 10_000].map((hours) => hours * hourMs),
);

/** Within how many ms each of these parts (0 to 1) of the deliveries arrived; null where none did. */
export function delaysOf(counts: readonly DayCount[], parts: readonly number[]): (number | null)[] {
  const known = counts.filter(({ what, delayMs }) => what === 'delivered' && delayMs > 0);
  const delivered = known.toSorted((a, b) => a.delayMs - b.delayMs);
  const total = totalOf(delivered);
  return parts.map((part) => {
    let left = part * total;
    const found = delivered.find((one) => (left -= one.count) <= 0);
    // The store counts by powers of two: the deliveries of a bucket are taken as spread evenly over it.
    return found === undefined ? null : found.delayMs * 2 ** (left / found.count);
  });
}
