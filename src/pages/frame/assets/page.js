// What the pages do besides what they show; all of them also work without it.

// A form with data-confirm asks first, in a dialog that says what will happen.
document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
  if (question === undefined || form.dataset.confirmed === 'yes') return;
  event.preventDefault();
  const fields = fieldsOf(form);
  if (!(await ask(question, event.submitter?.textContent.trim() || 'Go on', fields))) return;
  form.dataset.confirmed = 'yes';
  form.append(confirmed(), fields);
  form.requestSubmit(event.submitter);
  delete form.dataset.confirmed;
});

/** What the form's template has is asked for in the dialog, and sent with the form. */
function fieldsOf(form) {
  const fields = document.createElement('div');
  fields.className = 'fields';
  const template = form.querySelector('template');
  if (template) fields.append(template.content.cloneNode(true));
  return fields;
}

/** Without it, the server asks. */
function confirmed() {
  const field = document.createElement('input');
  field.type = 'hidden';
  field.name = 'confirmed';
  field.value = 'yes';
  return field;
}

function ask(question, answer, fields) {
  const dialog = document.createElement('dialog');
  const text = document.createElement('p');
  text.id = 'question';
  text.textContent = question;
  dialog.setAttribute('aria-labelledby', 'question');
  const actions = document.createElement('form');
  actions.method = 'dialog';
  actions.className = 'actions';
  actions.append(button(answer, 'yes'), button('Cancel', 'no', 'quiet'));
  dialog.append(text, fields, actions);
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

// A part with data-refresh is loaded again every so many ms while somebody may see it, until it has none.
for (const part of document.querySelectorAll('[data-refresh]')) void refresh(part);

async function refresh(part) {
  const status = part.parentElement.querySelector('.live');
  // A text that is set anew is read out anew.
  const say = (text) => status && status.textContent !== text && (status.textContent = text);
  say('Live: what comes is shown at once.');
  for (let shown = part.innerHTML; part.dataset.refresh !== undefined;) {
    await new Promise((resolve) => setTimeout(resolve, Number(part.dataset.refresh)));
    if (document.hidden) continue;
    const fresh = await load(part.id);
    say(
      fresh
        ? 'Live: what comes is shown at once.'
        : 'Not live just now. Load the page again to see what is new.',
    );
    if (!fresh) continue;
    if (fresh.dataset.refresh === undefined) delete part.dataset.refresh;
    if (fresh.innerHTML === shown) continue;
    shown = fresh.innerHTML;
    const known = new Set(Array.from(part.querySelectorAll('tr'), ({ id }) => id));
    part.replaceChildren(...fresh.childNodes);
    for (const row of part.querySelectorAll('tr')) row.classList.toggle('new', !known.has(row.id));
  }
}

/** The part as the server has it now; null if it cannot be had, as after the logout. */
async function load(id) {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => null);
  const text = await answer?.text().catch(() => '');
  return new DOMParser().parseFromString(text ?? '', 'text/html').getElementById(id);
}
