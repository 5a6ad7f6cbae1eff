// The tokens of a measured text are one group of radio buttons; the line below describes the chosen one.
// `element` and `watch` come from Gradio. All numbers come with the text.
const box = () => element.querySelector('.surprises');

function say(token) {
  const line = box()?.querySelector('.pointed');
  if (line && token) line.textContent = token.dataset.said;
}

function choose(token) {
  for (const other of token.closest('[role=radiogroup]').querySelectorAll('[role=radio]')) {
    other.setAttribute('aria-checked', String(other === token));
    other.tabIndex = other === token ? 0 : -1;
  }
  say(token);
}

function show(what) {
  for (const button of box().querySelectorAll('[data-show]')) {
    button.setAttribute('aria-pressed', String(button.dataset.show === what));
  }
  box().classList.toggle('in-bits', what === 'bits');
  box().querySelector('.of-rank').hidden = what === 'bits';
  box().querySelector('.of-bits').hidden = what !== 'bits';
  const of_rank = [0, 2, 4, 7];
  for (const token of box().querySelectorAll('[role=radio]')) {
    token.dataset.step = what === 'bits' ? token.dataset.bits : of_rank[token.dataset.rank];
  }
}

element.addEventListener('click', (event) => {
  const button = event.target.closest('[data-show]');
  if (button) show(button.dataset.show);
  const token = event.target.closest('[role=radio]');
  if (!token) return;
  choose(token);
  token.focus();
});
element.addEventListener('pointerover', (event) => {
  const token = event.target.closest?.('[role=radio]');
  if (token && event.pointerType === 'mouse') say(token);
});
element.addEventListener('focusin', (event) => say(event.target.closest('[role=radio]')));
