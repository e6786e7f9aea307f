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
  form.requestSubmit(event.submitter);
  delete form.dataset.confirmed;
});

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
