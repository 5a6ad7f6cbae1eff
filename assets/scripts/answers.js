// An answer belongs to a text: where the text was changed since, the answer is dimmed and says so. A new answer is
// brought into view and told to screen readers. Gradio asks for `showAnswer` when a run is over.
const openPanel = () => [...document.querySelectorAll('[role="tabpanel"]')].find((each) => each.offsetParent);
const gentle = () => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth');

// Scroll to an element only where its beginning is out of view, so that nothing moves without need.
const reveal = (target) => {
  if (!target) return;
  const {top} = target.getBoundingClientRect();
  if (top < 0 || top > innerHeight - 160) target.scrollIntoView({behavior: gentle(), block: 'start'});
};
const announce = (said) => {
  const line = document.querySelector('.announced');
  line.textContent = '';
  // A live region speaks of a change only.
  setTimeout(() => { line.textContent = said; }, 50);
};

const plain = (text) => text.replace(/\s+/g, ' ').trim();
const asked = (panel) => plain([...panel.querySelectorAll('.ask textarea, .ask input[type="text"]')].map((each) => each.value).join(' '));
const mark = (panel) => {
  const header = panel?.querySelector('.header-line .run-header');
  if (!header) return;
  const now = asked(panel);
  const stale = now !== plain(header.dataset.asked ?? now) && now !== panel.dataset.answered;
  panel.querySelector('.result').classList.toggle('stale', stale);
};
let marking;
const markSoon = () => {
  clearTimeout(marking);
  marking = setTimeout(() => mark(openPanel()), 150);
};
document.addEventListener('input', markSoon);
new MutationObserver(markSoon).observe(document.body, {childList: true, subtree: true, attributes: true, attributeFilter: ['data-asked']});

// What stood in the fields when the button was pressed is what the answer is about, however it was cleaned on the way.
let pressed = '';
const press = () => { const panel = openPanel(); if (panel) pressed = asked(panel); };
document.addEventListener('click', (event) => { if (event.target.closest('.run-button')) press(); }, true);

const isCommandEnter = (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') press();
  if (!isCommandEnter(event)) return;
  const button = openPanel()?.querySelector('button.run-button.primary');
  if (!button?.offsetParent) return;
  event.preventDefault();
  event.stopPropagation();
  button.click();
}, true);

window.clearhead = {
  ...window.clearhead,
  reveal: (selector) => reveal([...document.querySelectorAll(selector)].find((each) => each.offsetParent)),
  showAnswer: () => {
    const panel = openPanel();
    if (!panel?.querySelector('.answer')) return;
    if (pressed) panel.dataset.answered = pressed;
    const notice = [...panel.querySelectorAll('.ask .notice')].find((each) => each.offsetParent && each.textContent.trim());
    reveal(notice ?? panel.querySelector('.answer'));
    if (!notice) announce(panel.querySelector('.header-line .run-header')?.dataset.said ?? '');
    mark(panel);
  },
};
