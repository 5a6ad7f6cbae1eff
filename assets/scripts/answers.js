// An answer is about one text: when the text in the fields changes, the answer is dimmed and says so. A new answer is
// brought into view and announced to screen readers. Gradio calls `showAnswer` when a run is over.
const {openPanel} = window.clearhead;
const gentle = () => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth');

// Scroll to an element only where its beginning is out of view, so that nothing moves without need.
const reveal = (target) => {
  if (!target) return;
  const {top} = target.getBoundingClientRect();
  const covered = document.querySelector('.tour-card')?.offsetHeight ?? 0;
  if (top < 0 || top > innerHeight - covered - 160) target.scrollIntoView({behavior: gentle(), block: 'start'});
};
const announce = (said) => {
  const line = document.querySelector('.announced');
  line.textContent = '';
  // Screen readers announce a live region only when it changes.
  setTimeout(() => { line.textContent = said; }, 50);
};

const plain = (text) => text.replace(/\s+/g, ' ').trim();
// A tab may hold several forms, each in a row of its own with its answer.
const forms = (panel) => [...(panel?.querySelectorAll('.task') ?? [])];
const asked = (form) => plain([...form.querySelectorAll('.ask textarea, .ask input[type="text"]')].map((each) => each.value).join(' '));
const markForm = (form) => {
  const header = form.querySelector('.header-line .run-header');
  if (!header) return;
  const now = asked(form);
  const stale = now !== plain(header.dataset.asked ?? now) && now !== form.dataset.answered;
  form.querySelector('.result').classList.toggle('stale', stale);
};
const mark = (panel) => forms(panel).forEach(markForm);
let marking;
const markSoon = () => {
  clearTimeout(marking);
  marking = setTimeout(() => mark(openPanel()), 150);
};
document.addEventListener('input', markSoon);
// A field that the server fills, as a lecture's step does, fires no event.
setInterval(() => mark(openPanel()), 500);
new MutationObserver(markSoon).observe(document.body, {childList: true, subtree: true, attributes: true, attributeFilter: ['data-asked']});

// The answer is about the fields as they were when the button was pressed, however the server cleaned their text.
let pressed = '', pressedIn;
const formOf = (element) => element.closest?.('.task') ?? forms(openPanel())[0];
const press = (event) => { pressedIn = formOf(event.target); if (pressedIn) pressed = asked(pressedIn); };
document.addEventListener('click', (event) => {
  if (event.target.closest('.run-button')) press(event);
  if (event.target.closest('.examples')) { press(event); pressed = ''; }
}, true);

const isCommandEnter = (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') press(event);
  if (!isCommandEnter(event)) return;
  const button = formOf(event.target)?.querySelector('button.run-button.primary');
  if (!button?.offsetParent) return;
  event.preventDefault();
  event.stopPropagation();
  button.click();
}, true);

window.clearhead = {
  ...window.clearhead,
  reveal: (selector) => reveal([...document.querySelectorAll(selector)].find((each) => each.offsetParent)),
  showAnswer: () => {
    const form = pressedIn?.offsetParent ? pressedIn : forms(openPanel())[0];
    if (!form?.querySelector('.answer')) return;
    if (pressed) form.dataset.answered = pressed;
    const notice = [...form.querySelectorAll('.ask .notice')].find((each) => each.offsetParent && each.textContent.trim());
    reveal(notice ?? form.querySelector('.answer'));
    if (!notice) announce(form.querySelector('.header-line .run-header')?.dataset.said ?? '');
    markForm(form);
    if (!notice) document.dispatchEvent(new Event('clearhead-answered'));
  },
};
