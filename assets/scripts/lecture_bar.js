// The bar of a lecture: links and keys (also those that clickers send) open another step without a reload. On a wide
// screen only sentence and picture are shown, fitted to it, until the key `m` shows the rest.
// `element`, `trigger` and `watch` come from Gradio.
const {t, openPanel} = window.clearhead;
const BACK = ['ArrowLeft', 'PageUp'], NEXT = ['ArrowRight', 'PageDown'], WHOLE = ['m', 'M'];
const FIELDS = 'input, textarea, select, [contenteditable], audio, video';
const MOVED_BY_ARROWS = '[role=radio], [role=tab], [role=option], [role=slider], [role=menuitem], [role=treeitem], .words, .js-plotly-plot, [tabindex="0"][role=region]';
const ROOM = matchMedia('(min-width: 1000px)'), LARGER = '133%', TYPE_PX = 22, EDGE_PX = 8;
const PICTURES = '.answer, .sentence-box, .heatmap-frame, .room-1, .room-2';
const PHONES_WAIT_MS = 15000, POINTER_SHOWS_MS = 4000;
const html = document.documentElement, body = document.body;

const said = document.createElement('p');
said.className = 'sr-only';
said.setAttribute('role', 'status');
element.after(said);

let shown = '', unfolded = false, whole = false, focused = null;
const bar = () => element.querySelector('.lecture-step');

function go(link) {
  if (!link?.href) return;
  focused = element.contains(document.activeElement) ? link.dataset.go : null;
  history.pushState(null, '', link.getAttribute('href') === '?' ? location.pathname : link.href);
  trigger('select', {});
}

function size() {
  const room = Boolean(bar()) && ROOM.matches, hall = room && !whole;
  body.classList.toggle('lecture', room);
  body.classList.toggle('hall', hall);
  body.dataset.picture = bar()?.dataset.picture ?? '';
  const scale = Math.max(1, Math.min(innerWidth / 1280, innerHeight / 720, 4));
  html.style.fontSize = hall ? `${TYPE_PX * scale}px` : room ? LARGER : '';
  element.querySelector('.lecture-whole')?.setAttribute('aria-pressed', String(whole));
  fit();
}

// Show the heatmap where it fits beside the sentence, and make smaller what is still too large.
function fit() {
  const hall = body.classList.contains('hall'), result = openPanel()?.querySelector('.result');
  for (const each of document.querySelectorAll('.result')) each.style.zoom = '';
  body.classList.remove('with-map');
  if (!hall || !result || body.classList.contains('room-asks')) return;
  const top = result.getBoundingClientRect().top, pictures = [...result.querySelectorAll(PICTURES)];
  const room = () => innerHeight - EDGE_PX - top;
  const height = () => Math.max(0, ...pictures.filter((each) => each.offsetParent).map((each) => each.getBoundingClientRect().bottom - top));
  const wide = () => result.scrollWidth > result.clientWidth + EDGE_PX;
  if (result.querySelector('.heatmap-frame .js-plotly-plot')) {
    body.classList.add('with-map');
    if (height() > room() || wide()) body.classList.remove('with-map');
  }
  let zoom = 1;
  for (let tries = 0; tries < 12 && (height() > room() || wide()); tries++) {
    zoom *= wide() ? 0.95 : Math.min(0.98, Math.max(0.7, Math.sqrt(room() / height())));
    result.style.zoom = String(zoom);
  }
}

// Phones scroll to the picture until somebody touches the page, as what is drawn above may still move it.
let following = 0;
function follow() {
  if (!following || Date.now() > following) return;
  const pictures = `.answer, .room-${bar()?.dataset.picture ?? 1}`;
  const asked = document.querySelector('.room-asks .room-question');
  const picture = asked ?? [...(openPanel()?.querySelectorAll(pictures) ?? [])].find((each) => each.offsetParent);
  picture?.scrollIntoView({block: 'start', behavior: 'auto'});
}
for (const moved of ['touchstart', 'wheel', 'keydown', 'pointerdown']) addEventListener(moved, () => { following = 0; }, {passive: true});

let settling;
new MutationObserver(() => {
  if (!bar()) return;
  clearTimeout(settling);
  settling = setTimeout(() => { if (ROOM.matches) fit(); else follow(); }, 60);
}).observe(document.querySelector('.task-tabs') ?? body, {childList: true, subtree: true, characterData: true});

function read() {
  const now = bar()?.dataset.step ?? '';
  const code = element.querySelector('.lecture-link');
  if (code) code.open = unfolded;
  if (now === shown) return size();
  const first = !shown;
  if (!now) whole = false;
  shown = now;
  size();
  said.textContent = bar()?.dataset.said ?? '';
  if (focused && !first) {
    // Where the focused link is gone, focus another one, so that the keyboard stays in the bar.
    const links = [...element.querySelectorAll('nav a[href]')];
    (links.find((link) => link.dataset.go === focused) ?? links[0])?.focus({preventScroll: true});
  }
  focused = null;
  following = 0;
  if (now) scrollTo(0, 0);
  if (now && first && !ROOM.matches) {
    following = Date.now() + PHONES_WAIT_MS;
    follow();
  }
}

function turnWhole() {
  whole = !whole;
  size();
  scrollTo(0, 0);
  said.textContent = whole ? t('The whole page is shown.') : t('Only sentence and picture are shown.');
}

let pointed;
addEventListener('pointermove', () => {
  if (!bar()) return;
  body.classList.add('pointed-at');
  clearTimeout(pointed);
  pointed = setTimeout(() => body.classList.remove('pointed-at'), POINTER_SHOWS_MS);
}, {passive: true});

element.addEventListener('click', (event) => {
  if (event.target.closest('.lecture-whole')) return turnWhole();
  const link = event.target.closest('nav a[data-go]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(link);
});
element.addEventListener('toggle', (event) => {
  if (event.target.matches('.lecture-link')) unfolded = event.target.open;
}, true);
document.addEventListener('keydown', (event) => {
  if (!bar() || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest?.(FIELDS)) return;
  if (WHOLE.includes(event.key) && ROOM.matches) {
    event.preventDefault();
    return turnWhole();
  }
  const name = BACK.includes(event.key) ? 'back' : NEXT.includes(event.key) ? 'next' : '';
  if (!name) return;
  if (event.key.startsWith('Arrow') && event.target.closest?.(MOVED_BY_ARROWS)) return;
  event.preventDefault();
  go(element.querySelector(`[data-go=${name}]`));
});
addEventListener('popstate', () => trigger('select', {}));
ROOM.addEventListener('change', size);
for (const changed of ['resize', 'clearhead-fit']) addEventListener(changed, size);
watch('value', read);
read();
