// The tokens of a written text are one group of radio buttons: a click or the arrow keys choose one.
// `element` and `trigger` come from Gradio.
const MOVES = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};

function choose(token) {
  for (const other of element.querySelectorAll('[role=radio]')) {
    other.setAttribute('aria-checked', String(other === token));
    other.tabIndex = other === token ? 0 : -1;
  }
  token.focus();
  trigger('select', {step: Number(token.dataset.step)});
}

element.addEventListener('click', (event) => {
  const token = event.target.closest('[role=radio]');
  if (token) choose(token);
});

element.addEventListener('keydown', (event) => {
  const token = event.target.closest('[role=radio]');
  if (!token || event.ctrlKey || event.altKey || event.metaKey) return;
  const all = [...element.querySelectorAll('[role=radio]')];
  const at = all.indexOf(token);
  const place = {Home: 0, End: all.length - 1, ' ': at, Enter: at}[event.key] ?? at + MOVES[event.key];
  if (Number.isNaN(place)) return;
  event.preventDefault();
  if (all[place]) choose(all[place]);
});
