// The bar of a lecture: links and keys (also those that clickers send) turn to another step; the page stays.
// `element`, `trigger` and `watch` come from Gradio.
const BACK = ['ArrowLeft', 'PageUp'], NEXT = ['ArrowRight', 'PageDown'];
const FIELDS = 'input, textarea, select, [contenteditable], audio, video';
const MOVED_BY_ARROWS = '[role=radio], [role=tab], [role=option], [role=slider], [role=menuitem], [role=treeitem], .words, .js-plotly-plot, [tabindex="0"][role=region]';
const ROOM = matchMedia('(min-width: 1000px)'), LARGER = '133%';

const said = document.createElement('p');
said.className = 'sr-only';
said.setAttribute('role', 'status');
element.after(said);

let shown = '', folded = !ROOM.matches, focused = null;
const bar = () => element.querySelector('.lecture-step');

function go(link) {
  if (!link?.href) return;
  focused = element.contains(document.activeElement) ? link.dataset.go : null;
  history.pushState(null, '', link.getAttribute('href') === '?' ? location.pathname : link.href);
  trigger('select', {});
}

function size() {
  const large = Boolean(bar()) && ROOM.matches;
  document.body.classList.toggle('lecture', large);
  document.documentElement.style.fontSize = large ? LARGER : '';
}

function read() {
  size();
  const now = bar()?.dataset.step ?? '';
  const code = element.querySelector('.lecture-link');
  if (code) code.open = !folded;
  if (now === shown) return;
  const first = !shown;
  shown = now;
  said.textContent = bar()?.dataset.said ?? '';
  if (focused && !first) {
    // A link that has gone gives its place to its neighbour, so that the keyboard stays in the bar.
    const links = [...element.querySelectorAll('nav a[href]')];
    (links.find((link) => link.dataset.go === focused) ?? links[0])?.focus({preventScroll: true});
  }
  focused = null;
  if (now) scrollTo(0, 0);
}

element.addEventListener('click', (event) => {
  const link = event.target.closest('nav a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(link);
});
element.addEventListener('toggle', (event) => {
  if (event.target.matches('.lecture-link')) folded = !event.target.open;
}, true);
document.addEventListener('keydown', (event) => {
  if (!bar() || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const name = BACK.includes(event.key) ? 'back' : NEXT.includes(event.key) ? 'next' : '';
  if (!name || event.target.closest?.(FIELDS)) return;
  if (event.key.startsWith('Arrow') && event.target.closest?.(MOVED_BY_ARROWS)) return;
  event.preventDefault();
  go(element.querySelector(`[data-go=${name}]`));
});
addEventListener('popstate', () => trigger('select', {}));
ROOM.addEventListener('change', size);
watch('value', read);
read();
