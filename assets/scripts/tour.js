// A tour: the card at the foot of the page asks about the visitor's own run. The browser keeps the card's number, the
// sentence and which answers were right; the server gets what it needs with each event and keeps nothing.
// `element`, `trigger` and `watch` come from Gradio.
const {t, nt, openPanel} = window.clearhead;
const KEPT = 'clearhead-tour', LOOK_EVERY_MS = 500, ANSWER_WITHIN_MS = 10000;
const body = document.body, root = document.documentElement;
const query = () => new URLSearchParams(location.search);
const plain = (text) => text.replace(/\s+/g, ' ').trim();

const said = document.createElement('p');
said.className = 'sr-only';
said.setAttribute('role', 'status');
element.after(said);

let kept = JSON.parse(localStorage.getItem(KEPT) ?? '{}');
const save = (changed) => {
  kept = {...kept, ...changed};
  localStorage.setItem(KEPT, JSON.stringify(kept));
};
const card = () => element.querySelector('.tour-card');
const picked = () => element.querySelector('.tour-choice input:checked')?.value;
const coloured = () => openPanel()?.querySelector('.sentence');
const typed = () => plain([...(openPanel()?.querySelectorAll('.ask textarea') ?? [])].map((each) => each.value).join('\n'));

// The data that the server gets with each event.
const tell = (event, more = {}) => trigger(event, {
  tour: query().get('tour') ?? '', card: kept.card ?? 1, sentence: kept.sentence ?? '', example: false, chosen: '', query: -1,
  layer: Number(coloured()?.dataset.layer ?? -1), head: Number(coloured()?.dataset.head ?? -1),
  seen: coloured()?.querySelector('[aria-pressed="true"][data-query]')?.dataset.name ?? '', ...more,
});
const here = () => Number(card()?.dataset.card) === kept.card && card().dataset.tour === query().get('tour');

// A question is about the text in the fields, so it is asked anew once that has stopped changing.
let asked = null, before = null, waiting = 0;
function ask() {
  asked = typed();
  waiting = Date.now();
  tell('edit');
}
setInterval(() => {
  if (!card()) return;
  const now = typed(), still = now === before;
  before = now;
  const {asks, graded, question} = card()?.dataset ?? {};
  if (!here() || !asks || graded || !still || (waiting && Date.now() - waiting < ANSWER_WITHIN_MS)) return;
  // A notice about a text stays until the text changes, a question about attention as long as its run.
  if (element.querySelector('.tour-notice')) asked ??= now;
  if (now !== asked && !(question && asks === 'attention')) ask();
}, LOOK_EVERY_MS);

const answered = (chosen) => {
  const {query: at, layer, head} = card().dataset;
  waiting = Date.now();
  tell('submit', {chosen, ...(at === undefined ? {} : {query: Number(at), layer: Number(layer), head: Number(head)})});
};
document.addEventListener('clearhead-answered', () => {
  if (!here() || card().dataset.graded) return;
  if (kept.card === 1) save({sentence: typed()});
  if (card().dataset.asks === 'attention') ask();
  else answered(picked() ?? '');
});

// An answer about attention is seen when the word is chosen in the head that the question is about.
const isShown = () => {
  const {layer, head, query: at} = card().dataset, shown = coloured();
  const chosen = shown?.querySelector('[aria-pressed="true"][data-query]');
  return shown?.dataset.layer === layer && shown.dataset.head === head && chosen?.dataset.query === at;
};
function look() {
  if (!here() || card().dataset.query === undefined || card().dataset.graded) return;
  const {layer, head, turns} = card().dataset;
  if (turns === 'false' && (coloured()?.dataset.layer !== layer || coloured()?.dataset.head !== head)) ask();
  else if (picked() && isShown() && !waiting) answered(picked());
}
document.addEventListener('clearhead-view', look, true);
document.addEventListener('click', (event) => { if (event.target.closest('.sentence, .tour-choice')) setTimeout(look); });
document.addEventListener('focusin', (event) => { if (event.target.closest('.sentence')) setTimeout(look); });
element.addEventListener('change', () => setTimeout(look));

// The address tells that the page is in a tour, so a link, Back or a reload can open it.
function turn(number, more = {}) {
  save({card: number});
  asked = null;
  waiting = Date.now();
  tell('select', more);
}
function go(address) {
  if (location.search !== address) history.pushState(null, '', location.pathname + address);
  follow();
}
function follow() {
  const tour = query().get('tour');
  if (tour && kept.tour !== tour) save({tour, card: 1, sentence: '', right: {}});
  if (tour || card()) turn(kept.card ?? 1);
  offer();
}
addEventListener('popstate', follow);

// The first visit is offered a tour, once; later ones have a quiet link.
function offer() {
  const line = document.querySelector('.tour-offer'), link = document.querySelector('.tour-link');
  if (!line) return;
  const on = ['tour', 'lecture'].some((each) => query().has(each));
  line.hidden = on || Boolean(kept.offered);
  link.hidden = on || !line.hidden;
  link.firstElementChild.textContent = kept.tour ? t('Go on with the tour') : t('Take the tour');
}
const deeds = {
  start: () => { save({offered: true}); go(document.querySelector('.tour-link a').getAttribute('href')); },
  decline: () => { save({offered: true}); offer(); document.querySelector('.tour-link a').focus(); },
  leave: () => { go(''); document.querySelector('.tour-link a')?.focus(); },
  back: () => turn(Math.max(1, kept.card - 1)),
  next: () => turn(kept.card + 1),
  again: () => { save({sentence: '', right: {}}); turn(1); },
  example: () => turn(kept.card, {example: true}),
};
document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-tour]:is(button, a)');
  if (button && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    deeds[button.dataset.tour]();
  } else if (element.contains(event.target) && event.target.closest('a[href^="?tab="]')) go('');
}, true);

// The card covers the foot of the page, so the page gets as much room below.
const fit = () => root.style.setProperty('--tour', `${card()?.offsetHeight ?? 0}px`);
new ResizeObserver(fit).observe(element);

const gentle = () => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth');
const bringIn = (where, behavior = gentle()) => [...(openPanel()?.querySelectorAll(where) ?? [])].find((each) => each.offsetParent)?.scrollIntoView({behavior, block: 'nearest'});

let shown = '', was = '', inside = false;
document.addEventListener('focusin', (event) => { inside = element.contains(event.target); });
function read() {
  waiting = 0;
  body.classList.toggle('touring', Boolean(card()));
  fit();
  offer();
  if (!card()) { shown = ''; return; }
  if (!here()) return void (query().has('tour') && turn(kept.card ?? 1));
  const {graded, query: looksAt} = card().dataset, first = shown !== card().dataset.card;
  if (graded && graded !== 'unguessed' && !(kept.card in (kept.right ?? {}))) save({right: {...kept.right, [kept.card]: graded === 'right'}});
  const answers = Object.values(kept.right ?? {}), right = answers.filter(Boolean).length;
  const score = answers.length ? t('{right} of {answered} right', {right, answered: answers.length}) : '';
  const place = element.querySelector('.tour-right'), end = element.querySelector('.tour-score');
  if (place) place.textContent = score;
  if (end) {
    end.textContent = answers.length
      ? nt('You answered {count} question, {right} of them right.', 'You answered {count} questions, {right} of them right.', answers.length, {right})
      : t('You answered no question this time.');
  }
  const again = [...element.querySelectorAll('.tour-choice input:enabled')].find((each) => each.value === was);
  if (again && !first) again.checked = true;
  was = '';
  if (first || inside) element.querySelector('h2').focus({preventScroll: true});
  shown = card().dataset.card;
  const news = element.querySelector(graded ? '.tour-verdict' : '.tour-notice, legend');
  if (news) said.textContent = news.textContent;
  // The reader may have turned to another head while the question was made.
  setTimeout(look);
  if (graded) return;
  setTimeout(() => {
    if (looksAt !== undefined) return bringIn('.sentence-box');
    if (first) bringIn('.ask', 'auto');
    bringIn('.run-button');
  }, 300);
}
element.addEventListener('change', (event) => { was = event.target.value; });
watch('value', read);
// The masthead may be drawn after this.
const begin = () => (document.querySelector('.tour-offer') ? follow() : setTimeout(begin, 100));
begin();
