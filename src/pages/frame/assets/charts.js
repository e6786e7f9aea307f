// Draws the charts of a page with uPlot. Their numbers stand beside them as tables, for all who cannot see charts.
const dark = matchMedia('(prefers-color-scheme: dark)');
const plots = [...document.querySelectorAll('[data-chart]')];
let drawn = [];

function drawAll() {
  for (const one of drawn) one.destroy();
  drawn = plots.map((plot) => draw(plot, JSON.parse(plot.dataset.chart)));
}

function draw(plot, { kind, labels, series }) {
  const isBars = kind === 'bars';
  const values = isBars ? stacked(series) : series.map((one) => one.values);
  const ink = colourOf('muted');
  const grid = { stroke: colourOf('line'), width: 1 };
  const axis = { stroke: ink, font: '12px system-ui, sans-serif', ticks: { show: false } };
  const text = isBars ? String : duration;
  const options = {
    width: plot.clientWidth,
    height: plot.clientHeight,
    padding: [12, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: !isBars } },
    scales: {
      x: { time: false, range: [-0.6, labels.length - 0.4] },
      y: isBars ? { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } : { distr: 3 },
    },
    axes: [
      {
        ...axis,
        size: 32,
        grid: { show: false },
        splits: () => ticks(labels, plot.clientWidth),
        values: (_, at) => at.map((n) => labels[n]),
      },
      {
        ...axis,
        grid,
        size: 52,
        values: (_, at) => at.map((n) => (n === null || !isWhole(n, isBars) ? '' : text(n))),
      },
    ],
    series: [{}, ...series.map(({ colour }) => (isBars ? bar(colour) : line(colour)))],
    hooks: { setCursor: [(u) => tell(plot, u.cursor.idx, labels, series, text)] },
  };
  // The highest stack is drawn first, and the others over it.
  return new uPlot(options, [labels.map((_, at) => at), ...values], plot);
}

const isWhole = (n, isBars) => !isBars || Number.isInteger(n);

/** Each series on top of those after it. */
function stacked(series) {
  return series.map((_, at) =>
    series[at].values.map((__, place) =>
      series.slice(at).reduce((sum, one) => sum + (one.values[place] ?? 0), 0),
    ),
  );
}

function bar(colour) {
  return {
    fill: colourOf(colour),
    stroke: colourOf(colour),
    width: 0,
    paths: uPlot.paths.bars({ size: [0.62, 44], radius: 0.12 }),
    points: { show: false },
  };
}

function line(colour) {
  return {
    stroke: colourOf(colour),
    width: 2,
    spanGaps: true,
    points: { show: true, size: 6, fill: colourOf(colour) },
  };
}

/** As many labels as there is room for. */
function ticks(labels, width) {
  const every = Math.ceil((labels.length * 56) / Math.max(56, width - 52));
  return labels.map((_, at) => at).filter((at) => (labels.length - 1 - at) % every === 0);
}

/** What is under the pointer. */
function tell(plot, at, labels, series, text) {
  let said = plot.querySelector('.said');
  if (!said) {
    said = document.createElement('div');
    said.className = 'said';
    plot.append(said);
  }
  said.hidden = at === null || at === undefined;
  if (said.hidden) return;
  const values = series.map(({ name, values: of }) => (of[at] === null ? null : `${name} ${text(of[at])}`));
  said.textContent = [labels[at], ...values.filter((one) => one !== null)].join(' · ');
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

/** A canvas knows no variables of the styles. */
function colourOf(name) {
  const probe = document.createElement('i');
  probe.className = `key ${name}`;
  probe.hidden = true;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

drawAll();
dark.addEventListener('change', drawAll);
let width = innerWidth;
addEventListener('resize', () => {
  if (innerWidth === width) return;
  width = innerWidth;
  for (const [at, plot] of plots.entries())
    drawn[at].setSize({ width: plot.clientWidth, height: plot.clientHeight });
});
