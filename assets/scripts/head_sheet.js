// Buttons that open a head: in the sheet, where arrow keys move between heads, and in the groups of heads above it.
// `element`, `trigger` and `watch` come from Gradio.
const cells = () => [...element.querySelectorAll('.sheet button[data-head]')];
const reader = element.closest('.reader');
let opening = false;

function mark() {
  const {layer, head} = reader?.querySelector('.sentence')?.dataset ?? {};
  for (const button of element.querySelectorAll('button[data-head]')) {
    button.setAttribute('aria-pressed', String(button.dataset.layer === layer && button.dataset.head === head));
  }
  const all = cells();
  const open = all.find((cell) => cell.getAttribute('aria-pressed') === 'true') ?? all[0];
  all.forEach((cell) => { cell.tabIndex = cell === open ? 0 : -1; });
  if (!opening) return;
  // The opened head is drawn further up: scroll there.
  opening = false;
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  reader.scrollIntoView({behavior: calm ? 'auto' : 'smooth', block: 'start'});
}

element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-head]');
  if (!button) return;
  opening = true;
  trigger('select', {layer: Number(button.dataset.layer), head: Number(button.dataset.head)});
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
