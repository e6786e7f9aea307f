// What the pages do besides what they show; all of them also work without it.

// A form with data-confirm asks first, in a dialog that says what will happen.
document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
  if (question === undefined || form.dataset.confirmed === 'yes') return;
  event.preventDefault();
  if (!(await ask(question, event.submitter?.textContent.trim() || 'Go on'))) return;
  form.dataset.confirmed = 'yes';
  form.append(confirmed());
  form.requestSubmit(event.submitter);
  delete form.dataset.confirmed;
});

/** Without it, the server asks. */
function confirmed() {
  const field = document.createElement('input');
  field.type = 'hidden';
  field.name = 'confirmed';
  field.value = 'yes';
  return field;
}

function ask(question, answer) {
  const dialog = document.createElement('dialog');
  const text = document.createElement('p');
  text.id = 'question';
  text.textContent = question;
  dialog.setAttribute('aria-labelledby', 'question');
  const actions = document.createElement('form');
  actions.method = 'dialog';
  actions.className = 'actions';
  actions.append(button(answer, 'yes'), button('Cancel', 'no', 'quiet'));
  dialog.append(text, actions);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue === 'yes');
      dialog.remove();
    });
  });
}

function button(text, value, className = '') {
  const made = document.createElement('button');
  made.textContent = text;
  made.value = value;
  made.className = className;
  return made;
}

// A part with data-refresh is loaded again after so many ms, until it has none.
for (const part of document.querySelectorAll('[data-refresh]')) void refresh(part);

async function refresh(part) {
  while (part.dataset.refresh !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, Number(part.dataset.refresh)));
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => null);
    if (answer === null) continue;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.getElementById(part.id);
    if (fresh === null) return;
    part.replaceChildren(...fresh.childNodes);
    if (fresh.dataset.refresh === undefined) delete part.dataset.refresh;
  }
}

// A list of events stays up to date by itself.
const live = document.querySelector('[data-live]');
if (live) keepLive(live);

function keepLive(section) {
  const status = section.querySelector('.live');
  const table = section.querySelector('table');
  const source = new EventSource(section.dataset.live + location.search);
  source.addEventListener('open', () => (status.textContent = 'Live: what comes is shown at once.'));
  source.addEventListener(
    'error',
    () => (status.textContent = 'Not live just now. Load the page again to see what is new.'),
  );
  source.addEventListener('message', ({ data }) => {
    const { id, row } = JSON.parse(data);
    const made = document.createElement('template');
    made.innerHTML = row;
    show(table, id, made.content.firstElementChild);
    section.querySelector('.empty')?.remove();
    table.parentElement.hidden = false;
  });
}

const mostRows = 50;

function show(table, id, row) {
  const [body] = table.tBodies;
  const before = document.getElementById(id);
  if (before) {
    if (before.isEqualNode(row)) return;
    before.replaceWith(row);
  } else {
    body.prepend(row);
    if (body.rows.length > mostRows) body.lastElementChild.remove();
  }
  row.classList.add('new');
}
