// The sheet of all heads: a click, or Enter, opens a head; arrow keys move between heads.
// `element`, `trigger` and `watch` come from Gradio.
const cells = () => [...element.querySelectorAll('button[data-head]')];
const reader = element.closest('.reader');

function mark() {
  const {layer, head} = reader?.querySelector('.sentence')?.dataset ?? {};
  const all = cells();
  all.forEach((cell) => cell.setAttribute('aria-pressed', String(cell.dataset.layer === layer && cell.dataset.head === head)));
  const open = all.find((cell) => cell.getAttribute('aria-pressed') === 'true') ?? all[0];
  all.forEach((cell) => { cell.tabIndex = cell === open ? 0 : -1; });
}

element.addEventListener('click', (event) => {
  const cell = event.target.closest('button[data-head]');
  if (cell) trigger('select', {layer: Number(cell.dataset.layer), head: Number(cell.dataset.head)});
});
element.addEventListener('keydown', (event) => {
  const all = cells(), place = all.indexOf(event.target), heads = Number(element.querySelector('.sheet')?.dataset.heads);
  const steps = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: heads, ArrowUp: -heads, Home: -place, End: all.length - 1 - place};
  if (place < 0 || !(event.key in steps)) return;
  event.preventDefault();
  const next = all[place + steps[event.key]];
  if (!next) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
reader?.addEventListener('clearhead-view', mark);
watch('value', mark);
mark();
