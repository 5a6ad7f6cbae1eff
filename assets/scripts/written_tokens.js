// The tokens of a written text are one group of radio buttons. `element` and `trigger` come from Gradio.
element.addEventListener('click', (event) => {
  const token = event.target.closest('[role=radio]');
  if (!token) return;
  for (const other of element.querySelectorAll('[role=radio]')) {
    other.setAttribute('aria-checked', String(other === token));
    other.tabIndex = other === token ? 0 : -1;
  }
  token.focus();
  trigger('select', {step: Number(token.dataset.step)});
});
