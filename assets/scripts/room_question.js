// A question to the room: phones choose, the lecturer's screen counts, and its key `a` shows what was chosen. That
// screen is the page that opened the lecture without a room's code, if it is wide enough for a room.
// `element`, `trigger` and `watch` come from Gradio.
const OWN_ROOM = 'clearhead-room', SETTLES_MS = 200, COUNT_EVERY_MS = 2000, LONGEST_WAIT_MS = 8000;
const FIELDS = 'input:not([type=radio]), textarea, select, [contenteditable]';
const WIDE = matchMedia('(min-width: 1000px)'), body = document.body;
const question = () => element.querySelector('.room-question');
const inFront = () => WIDE.matches && sessionStorage.getItem(OWN_ROOM) === question()?.dataset.room;
const state = () => question()?.dataset.state ?? 'none';

let shownAt = '', seenAt = '';
// The lecture's bar says which step is open; a question about the step before may arrive late.
const step = () => document.querySelector('.lecture-step')?.dataset.step ?? '';
const isLate = () => step() && step() !== `${question().dataset.lecture} ${question().dataset.step}`;
const tell = (event, chosen = '') => {
  const [lecture, number] = step().split(' ');
  trigger(event, {lecture, step: Number(number), room: question().dataset.room, chosen, shown: shownAt === step()});
};
// One count at a time: `read` runs when a count changed something; otherwise the next one waits for a while.
let counted = 0;
function count() {
  if (!inFront() || !['open', 'shown'].includes(state()) || Date.now() - counted < LONGEST_WAIT_MS) return;
  counted = Date.now();
  tell('edit');
}

function read() {
  counted = 0;
  const room = question()?.dataset.room;
  if (room) {
    const address = new URL(location.href);
    if (!address.searchParams.has('room')) {
      sessionStorage.setItem(OWN_ROOM, room);
      address.searchParams.set('room', room);
      history.replaceState(history.state, '', address);
    }
  }
  body.classList.toggle('room-front', inFront());
  hide(['waiting', 'open'].includes(state()));
  if (state() === 'open' && seenAt !== step()) {
    seenAt = step();
    if (!WIDE.matches) element.scrollIntoView({block: 'start'});
  }
  setTimeout(() => { if (question() && (state() === 'waiting' || isLate())) tell('edit'); }, SETTLES_MS);
  // If no question can be made, the page must not stay hidden.
  setTimeout(() => { if (state() === 'waiting') hide(false); }, LONGEST_WAIT_MS);
}

// Hide what is asked about until the answer is shown; the lecture's bar then fits it to the screen.
function hide(hidden) {
  const was = body.classList.contains('room-asks');
  body.classList.toggle('room-asks', hidden);
  if (was !== hidden) dispatchEvent(new Event('clearhead-fit'));
}

function show() {
  shownAt = step();
  tell('edit');
}
element.addEventListener('click', (event) => { if (event.target.closest('.room-show')) show(); });
element.addEventListener('change', (event) => { if (event.target.matches('.tour-choice input')) tell('submit', event.target.value); });
document.addEventListener('keydown', (event) => {
  if (event.key !== 'a' || event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.(FIELDS)) return;
  if (!inFront() || state() === 'none') return;
  event.preventDefault();
  show();
});
WIDE.addEventListener('change', read);
setInterval(count, COUNT_EVERY_MS);
watch('value', read);
read();
