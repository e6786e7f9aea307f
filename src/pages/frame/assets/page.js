// Adds dialogs, copy buttons and more to the pages. All pages also work without scripts.

// A button with data-confirm asks first, in a dialog that says what will happen.
document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  const question = event.submitter?.dataset.confirm;
  if (question === undefined || form.dataset.confirmed === 'yes') return;
  event.preventDefault();
  const fields = fieldsOf(form);
  const ticked = form.querySelectorAll('input:checked').length;
  const asked = question.replace('{count}', ticked);
  if (!(await ask(asked, event.submitter?.textContent.trim() || 'Go on', fields))) return;
  form.dataset.confirmed = 'yes';
  form.append(confirmed(), fields);
  form.requestSubmit(event.submitter);
  delete form.dataset.confirmed;
});

/** The fields of the form's template: they are shown in the dialog, and sent with the form. */
function fieldsOf(form) {
  const fields = document.createElement('div');
  fields.className = 'fields';
  const template = form.querySelector('template');
  if (template) fields.append(template.content.cloneNode(true));
  return fields;
}

/** The field that tells the server that the question was answered. */
function confirmed() {
  const field = document.createElement('input');
  field.type = 'hidden';
  field.name = 'confirmed';
  field.value = 'yes';
  return field;
}

/** Resolves to the value of the button that closed it; empty for Escape. */
function openDialog(heading, content, answers) {
  const dialog = document.createElement('dialog');
  heading.id = 'question';
  dialog.setAttribute('aria-labelledby', heading.id);
  const form = document.createElement('form');
  form.method = 'dialog';
  const buttons = document.createElement('div');
  buttons.className = 'actions';
  buttons.append(...answers.map(([text, value], at) => button(text, value, at > 0 ? 'quiet' : '')));
  // Enter in one of its fields is the first answer.
  form.append(...content, buttons);
  dialog.append(heading, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue);
      dialog.remove();
    });
  });
}

function ask(question, answer, fields) {
  const text = document.createElement('p');
  text.textContent = question;
  return openDialog(
    text,
    [fields],
    [
      [answer, 'yes'],
      ['Cancel', 'no'],
    ],
  ).then((value) => value === 'yes');
}

function button(text, value, className) {
  const made = document.createElement('button');
  made.textContent = text;
  made.value = value;
  made.className = className;
  return made;
}

// A button with data-copy copies that text.
document.addEventListener('click', async ({ target }) => {
  const copies = target instanceof Element && target.closest('[data-copy]');
  if (!copies) return;
  const text = copies.dataset.copy;
  // Browsers lend the clipboard to pages of https only; to others, they copy what is selected.
  await (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error())).catch(() => copySelected(text));
  copies.classList.add('done');
  setTimeout(() => copies.classList.remove('done'), 1500);
});

function copySelected(text) {
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}
