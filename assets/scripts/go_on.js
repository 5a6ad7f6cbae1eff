// A button beside each alternative: go on from it. `element` and `trigger` come from Gradio.
element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-alternative]');
  if (button) trigger('select', {step: Number(button.dataset.step), alternative: Number(button.dataset.alternative)});
});
