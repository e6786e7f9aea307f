// An element with data-key is clicked or focused by that key, or by two keys in turn ("g t"). "?" lists the keys.
let before = '';
addEventListener('keydown', (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || key.length > 1) return;
  // A tick box takes no letters; the one of a dialog keeps the focus for a moment after it closed.
  const isWriting = target.matches('input:not([type=checkbox]), select, textarea');
  if (isWriting || document.querySelector('dialog[open]')) return;
  const isOff = localStorage.getItem('keys') === 'off';
  const named = before === '' ? key : `${before} ${key}`;
  before = key === 'g' && !isOff ? key : '';
  const found = key === '?' ? document.querySelector('[data-keys]') : !isOff && meant(named);
  if (!found) return;
  event.preventDefault();
  if (found.matches('input, .to a, .of a')) found.focus();
  else found.click();
});

function meant(named) {
  const rows = [...document.querySelectorAll('.events a')];
  const step = { j: 1, k: -1 }[named];
  const next = step && rows[rows.indexOf(document.activeElement) + step];
  return next || document.querySelector(`[data-key="${CSS.escape(named)}"]`);
}

document.querySelector('[data-keys]')?.addEventListener('click', () => {
  const keys = [...document.querySelectorAll('[data-key]')].map((one) => [
    one.dataset.key.replace(' ', ' then '),
    one.dataset.does ?? one.textContent.trim(),
  ]);
  if (document.querySelector('.events'))
    keys.push(['j, k', 'The next row, the one before'], ['Enter', 'Open the row']);
  const list = document.createElement('dl');
  list.className = 'facts';
  for (const [key, does] of [...keys, ['?', 'These keys']]) {
    const [term, said] = [document.createElement('dt'), document.createElement('dd')];
    term.append(Object.assign(document.createElement('kbd'), { textContent: key }));
    said.textContent = does;
    list.append(term, said);
  }
  const label = document.createElement('label');
  const box = Object.assign(document.createElement('input'), { type: 'checkbox' });
  box.checked = localStorage.getItem('keys') !== 'off';
  box.addEventListener('change', () => localStorage.setItem('keys', box.checked ? 'on' : 'off'));
  label.append(box, ' Use these keys');
  const title = document.createElement('h2');
  title.textContent = 'Keyboard';
  void openDialog(title, [list, label], [['Close', '']]);
});
