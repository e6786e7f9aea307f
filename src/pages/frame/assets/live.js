// A part with data-refresh is loaded again every so many ms while the page is visible, until the part has none.

async function refresh(part) {
  const status = part.parentElement.querySelector('.live');
  for (const one of part.querySelectorAll('*')) plain(one);
  say(status, 'live', 'Live');
  while (part.dataset.refresh !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, Number(part.dataset.refresh)));
    if (document.hidden) continue;
    const fresh = await load(part.id);
    part.classList.toggle('old', !fresh);
    if (!fresh) say(status, 'off', 'Not live just now. Load the page again to see what is new.');
    else if (part.dataset.rows !== undefined && isRead(part) && wouldJump(part, fresh))
      hold(status, part, fresh);
    else {
      renew(part, fresh);
      say(status, 'live', 'Live');
    }
  }
}

/** A server that hangs, or a network that is away, may never answer. */
const longestMs = 10_000;

/** The part as the server has it now; null if it cannot be had, as after the logout. */
async function load(id) {
  const signal = AbortSignal.timeout(longestMs);
  const answer = await fetch(location.href, { headers: { accept: 'text/html' }, signal }).catch(() => null);
  const text = await answer?.text().catch(() => '');
  const page = new DOMParser().parseFromString(text ?? '', 'text/html');
  const part = page.getElementById(id);
  // The menu and the tab say how much needs a person.
  const needs = 'nav [href="/attention"]';
  if (part) document.title = page.title;
  if (part) renew(document.querySelector(needs), page.querySelector(needs));
  return part;
}

/** Whether somebody reads a part: has the pointer over it, the focus in it, or has scrolled into it. */
const isRead = (part) =>
  (matchMedia('(hover: hover)').matches && part.matches(':hover')) ||
  part.contains(document.activeElement) ||
  part.getBoundingClientRect().top < 0;

const idsOf = (part) => Array.from(part.querySelectorAll('tr[id]'), ({ id }) => id);
const wouldJump = (part, fresh) => idsOf(part).join() !== idsOf(fresh).join();

/** Rows that are shown are kept up to date where they are; others wait until nobody reads, or for a click. */
function hold(status, part, fresh) {
  const shown = new Set(idsOf(part));
  for (const row of fresh.querySelectorAll('tr[id]'))
    if (shown.has(row.id)) renew(document.getElementById(row.id), row.cloneNode(true));
  for (const around of [part, ...part.querySelectorAll('.table, table, tbody')]) sent.delete(around);
  const come = idsOf(fresh).filter((id) => !shown.has(id)).length;
  say(status, 'paused', `Paused while you read${come === 0 ? '' : `: ${come} new`}`, () => {
    scrollTo({ top: 0 });
    renew(part, fresh);
    say(status, 'live', 'Live');
  });
}

/** Shows a text in the status. The same text is not set again, as screen readers would read it again. */
function say(status, is, text, show) {
  if (!status || status.dataset.said === text) return;
  status.dataset.is = is;
  status.dataset.said = text;
  status.textContent = text;
  if (!show) return;
  const shows = button('Show', '', 'quiet');
  shows.type = 'button';
  shows.addEventListener('click', show);
  status.append(shows);
}

/** The markup that the server sent for an element, without the times, which pass by themselves. */
const sent = new WeakMap();
function plain(element) {
  if (!sent.has(element)) sent.set(element, element.outerHTML.replaceAll(/(<time[^>]*>)[^<]*/g, '$1'));
  return sent.get(element);
}

/** Turns an element into the one that the server has now. Children that are the same stay: they may have the focus. */
function renew(old, fresh) {
  if (plain(old) === plain(fresh)) {
    const times = fresh.querySelectorAll('time');
    for (const [at, time] of old.querySelectorAll('time').entries())
      if (time.textContent !== times[at].textContent) time.textContent = times[at].textContent;
  } else if (old.matches('[data-refresh], .table, table, tbody')) {
    if (fresh.dataset.refresh === undefined) delete old.dataset.refresh;
    sent.set(old, plain(fresh));
    const known = new Map(Array.from(old.children, (child, at) => [keyOf(child, at), child]));
    // A child that takes its place leaves the others.
    const children = [...fresh.children].map((child, at) => {
      const had = known.get(keyOf(child, at));
      if (had) return renew(had, child);
      plain(child);
      if (child.id !== '') child.classList.add('new');
      return child;
    });
    if (children.some((child, at) => child !== old.children[at]) || children.length !== old.children.length)
      old.replaceChildren(...children);
    return old;
  } else if (old.isConnected) {
    const opened = old.querySelectorAll('details');
    for (const [at, one] of fresh.querySelectorAll('details').entries()) one.open = opened[at]?.open ?? false;
    old.replaceWith(fresh);
  }
  return plain(old) === plain(fresh) ? old : fresh;
}

const keyOf = (child, at) => child.id || `${child.tagName} ${at}`;

for (const part of document.querySelectorAll('[data-refresh]')) void refresh(part);
