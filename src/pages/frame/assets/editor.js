// The editor of a config: the colours are a layer behind the text, and the text is checked when somebody pauses.

function editor(form) {
  const area = form.querySelector('textarea');
  const layer = document.createElement('pre');
  layer.ariaHidden = 'true';
  area.before(layer);
  area.parentElement.classList.add('coloured');
  const lost = lostText(form, area);
  if (lost !== null) {
    area.value = lost;
    form.querySelector('.lost').hidden = false;
  }
  const colour = colourer(layer);
  colour(area.value);
  const check = checker(form, area, (problems) => mark(layer, problems));
  mark(layer, document.querySelectorAll('[data-line]'));
  if (lost !== null) check();
  area.addEventListener('input', () => {
    colour(area.value);
    check();
    for (const older of document.querySelectorAll('.older')) older.hidden = false;
  });
  document.addEventListener('click', (event) => {
    const place = event.target.closest('[data-line]');
    if (!place) return;
    event.preventDefault();
    goTo(area, layer, Number(place.dataset.line), Number(place.dataset.column));
  });
}

/** The text that was sent last, where no result came of it, as when the session had ended; else null. */
function lostText(form, area) {
  const key = 'config-sent';
  const sent = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  form.addEventListener('submit', () => sessionStorage.setItem(key, area.value));
  return location.pathname === new URL(form.action).pathname ? null : sent;
}

/** Returns a function that colours a text. Lines that have not changed stay as they are. */
function colourer(layer) {
  let known = [];
  return (text) => {
    const lines = parsed(text);
    let same = 0;
    while (same < lines.length && lines[same] === known[same]) same += 1;
    let after = 0;
    const most = Math.min(lines.length, known.length) - same;
    while (after < most && lines.at(-1 - after) === known.at(-1 - after)) after += 1;
    for (let gone = known.length - same - after; gone > 0; gone -= 1) layer.children[same].remove();
    const before = layer.children[same] ?? null;
    for (const line of lines.slice(same, lines.length - after)) layer.insertBefore(drawn(line), before);
    known = lines;
  };
}

const insideBlock = '\0';

/** The lines of a text. Those within a text block of YAML begin with `insideBlock`. */
function parsed(text) {
  let block = null;
  return text.split('\n').map((line) => {
    const indent = line.search(/\S/);
    if (block !== null && (indent === -1 || indent > block)) return insideBlock + line;
    block = /(?:^|[:\s-] ?)[|>][+-]?\d?[+-]?\s*(?:\s#.*)?$/.test(line) ? Math.max(indent, 0) : null;
    return line;
  });
}

const code = /(?<held>•+hidden•+)|(?<code>\$\{[^}]*\}?|\{\{.{0,500}?\}\}|\{%.{0,500}?%\})/g;
const yaml = new RegExp(
  [
    /(?<note>(?<=^|\s)#.*)/,
    /(?<name>(?:"[^"]{0,99}"|'[^']{0,99}'|[\w$./@+*&-][^:#{}[\],"']{0,99}?)(?=\s?:(?:\s|$)))/,
    /(?<text>(?<=[\s,[{:])"(?:\\.|[^"\\])*"?|(?<=[\s,[{:])'(?:''|[^'])*'?)/,
    code,
    /(?<value>(?<=[\s,[:])(?:true|false|null|-?\d[\d.]*(?:ms|kb|mb|[smhd])?)(?=[\s,\]}]|$))/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

function drawn(line) {
  const span = document.createElement('span');
  if (line.startsWith(insideBlock)) paint(span, line.slice(1), code);
  else paint(span, line, yaml);
  return span;
}

function paint(into, line, pattern) {
  let end = 0;
  for (const { 0: part, index, groups } of line.matchAll(pattern)) {
    const [kind] = Object.entries(groups).find(([, value]) => value !== undefined);
    const piece = document.createElement('i');
    piece.className = kind;
    if (kind === 'text') paint(piece, part, code);
    else piece.textContent = part;
    into.append(line.slice(end, index), piece);
    end = index + part.length;
  }
  into.append(line.slice(end));
}

/** Marks the lines with problems. A line that changes loses its mark. */
function mark(layer, problems) {
  for (const line of layer.querySelectorAll('.error, .warning')) line.className = '';
  for (const { dataset } of problems) {
    const line = layer.children[dataset.line - 1];
    if (line && line.className !== 'error') line.className = dataset.severity;
  }
}

function goTo(area, layer, line, column) {
  const start =
    area.value
      .split('\n')
      .slice(0, line - 1)
      .join('\n').length + (line > 1 ? 1 : 0);
  area.focus({ preventScroll: true });
  area.setSelectionRange(start + column - 1, start + column - 1);
  const frame = area.parentElement;
  frame.scrollIntoView({ block: 'nearest' });
  const at = layer.children[line - 1];
  if (at) frame.scrollTop = at.offsetTop - frame.clientHeight / 3;
}

const pauseMs = 500;

/** Returns a function that has the text checked soon. One check runs at a time, and a result for an older text is dropped. */
function checker(form, area, shown) {
  const says = form.querySelector('[role=status]');
  const result = form.nextElementSibling;
  let waiting;
  let asking = null;
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, pauseMs);
  };
  async function ask() {
    if (asking) return;
    asking = new AbortController();
    const { signal } = asking;
    result.ariaBusy = 'true';
    const text = area.value;
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.dataset.check, { method: 'POST', body, signal }).catch(() => null);
    const html = (await answer?.text().catch(() => '')) ?? '';
    const found = new DOMParser().parseFromString(html, 'text/html').getElementById('checked');
    asking = null;
    if (signal.aborted) return;
    if (area.value !== text || answer?.status === 503) return soon();
    result.ariaBusy = 'false';
    if (found) document.getElementById('checked').replaceWith(found);
    const said = found ?? document.getElementById('checked');
    if (!found) said.textContent = 'It cannot be checked just now. Copy your text, and load the page again.';
    says.textContent = (said.querySelector('.notice') ?? said).textContent;
    shown(said.querySelectorAll('[data-line]'));
  }
  // A form that is sent is checked by the page that follows.
  form.addEventListener('submit', () => {
    clearTimeout(waiting);
    asking?.abort();
  });
  return soon;
}

for (const form of document.querySelectorAll('form[data-check]')) editor(form);
