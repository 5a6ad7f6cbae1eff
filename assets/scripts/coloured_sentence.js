// The attention reader's sentence: the token pointed at, focused or chosen colours the others by their weights.
// `element`, `watch` and `trigger` come from Gradio.
// All weights come with the sentence: the server is not asked, only told which word was chosen.
const {t} = window.clearhead;
const MASKED = 65535, WHOLE = 65534, STEPS = 7, NUMBERED = 6, LEAST_NUMBERED = 0.02, LEAST_SAID = 0.005;

let box, weights, columns, queries, keys, top_weight, two_texts;
let chosen = 0, pointed = null, receives = false, text = null, waited = 0;

// Numbers are rounded as on the server, in demo/plots/reading.py.
const decimal = (value, digits) => Number(value.toFixed(digits)).toLocaleString(document.documentElement.lang, {minimumFractionDigits: digits});
const percent = (share) => {
  const hundredths = 100 * share;
  if (hundredths < 0.1) return t('under {share}\u202f%', {share: decimal(0.1, 1)});
  if (hundredths >= 99.95 && hundredths < 99.999) return t('over {share}\u202f%', {share: decimal(99.9, 1)});
  const whole = (hundredths >= 9.95 && hundredths <= 99) || hundredths >= 99.999;
  return `${decimal(hundredths, whole ? 0 : 1)}\u202f%`;
};
const name = (token) => token.dataset.name;
const filled = (template, given) => template.replace(/\{(from|to|share)\}/g, (_, place) => given[place]);
const tokens = () => [...box.querySelectorAll('button[data-token]')];
const raw_weight = (query, key) => weights.getUint16(2 * (query * columns + key), true);

function read() {
  box = element.querySelector('.sentence');
  if (!box) return;
  const bytes = Uint8Array.from(atob(box.dataset.weights), (character) => character.charCodeAt(0));
  weights = new DataView(bytes.buffer);
  columns = Number(box.dataset.columns);
  top_weight = Number(box.dataset.top) * WHOLE;
  two_texts = 'twoTexts' in box.dataset;
  const ordered = (axis) => [...box.querySelectorAll(`[data-${axis}]`)].sort((a, b) => a.dataset[axis] - b.dataset[axis]);
  queries = ordered('query');
  keys = ordered('key');
  const now = tokens().map(name).join('\n');
  // Another layer of the same text keeps the token that the visitor chose.
  if (now !== text) chosen = Number(box.dataset.start);
  text = now;
  pointed = null;
  paint();
  watch_heatmap();
  element.closest('.reader')?.dispatchEvent(new Event('clearhead-view'));
}

function paint() {
  const all = tokens();
  const source = all[pointed ?? chosen] ?? all[0];
  if (!source) return;
  const gives = 'query' in source.dataset && (two_texts || !receives || !('key' in source.dataset));
  const place = Number(gives ? source.dataset.query : source.dataset.key);
  const targets = gives ? keys : queries;
  const raw = targets.map((_, other) => gives ? raw_weight(place, other) : raw_weight(other, place));
  const order = raw.map((_, other) => other).filter((other) => raw[other] < MASKED).sort((a, b) => raw[b] - raw[a]);
  const numbered = new Set(order.slice(0, NUMBERED).filter((other) => raw[other] / WHOLE >= LEAST_NUMBERED));

  for (const token of box.querySelectorAll('.word')) {
    delete token.dataset.step;
    delete token.dataset.share;
    token.classList.remove('masked');
  }
  targets.forEach((token, other) => {
    token.classList.toggle('masked', raw[other] === MASKED);
    if (raw[other] === MASKED) return;
    if (!('rest' in token.dataset)) token.dataset.step = Math.min(STEPS, Math.round((STEPS * raw[other]) / top_weight));
    if (numbered.has(other)) token.dataset.share = percent(raw[other] / WHOLE);
  });
  all.forEach((token, index) => {
    token.tabIndex = index === chosen ? 0 : -1;
    token.setAttribute('aria-pressed', String(index === chosen));
    token.classList.toggle('source', token === source);
  });
  for (const button of box.querySelectorAll('[data-direction]')) {
    button.setAttribute('aria-pressed', String((button.dataset.direction === 'receives') === receives));
  }
  say(source, gives, order.map((other) => [targets[other], raw[other] / WHOLE]));
  mark_heatmap(gives, place);
}

// Write a sentence about one word: the word it gives most to or gets most from, and what marks and full stops get.
function say(source, gives, shares) {
  const rests = ([token]) => 'rest' in token.dataset || 'rests' in token.dataset;
  const others = gives ? shares.filter((each) => !rests(each)) : shares.filter(([token]) => token !== source);
  const [other, share] = others[0] ?? shares[0] ?? [source, 0];
  const template = box.dataset[gives ? (other === source ? 'itself' : 'gives') : 'gets'];
  const [from, to] = gives ? [source, other] : [other, source];
  const missing = gives ? shares.filter(rests).reduce((sum, each) => sum + each[1], 0) : 0;
  const rest = missing >= LEAST_SAID && !rests([other]) ? filled(box.dataset.rest, {share: percent(missing)}) : '';
  const line = box.querySelector('.pointed'), why = line.querySelector('.why');
  line.firstElementChild.textContent = `${filled(template, {from: name(from), to: name(to), share: percent(share)})}${rest}.`;
  if (why) why.hidden = !gives || tokens().indexOf(source) !== Number(box.dataset.start);
}

// The heatmap has no accessible name, so the sentence is used; plotly's buttons in it forbid the role of an image.
// A frame in it marks the row of the word that gives, or the column of the one that receives.
let drawn_again;
function watch_heatmap() {
  const frame = element.closest('.reader')?.querySelector('.heatmap-frame');
  if (!frame) {
    // Gradio loads its component for plots only when the first plot is shown.
    if (waited++ < 100) setTimeout(watch_heatmap, 200);
    return;
  }
  frame.setAttribute('role', 'group');
  frame.setAttribute('tabindex', '0');
  if (!drawn_again) {
    const is_mark = (node) => node.classList?.contains('heatmap-mark');
    drawn_again = new MutationObserver((changes) => {
      const drawn = changes.some(({target, addedNodes}) => !is_mark(target) && ![...addedNodes].some(is_mark));
      if (drawn) requestAnimationFrame(paint);
    });
    drawn_again.observe(frame, {childList: true, subtree: true});
  }
  paint();
}

function mark_heatmap(gives, place) {
  const frame = element.closest('.reader')?.querySelector('.heatmap-frame');
  if (!frame) return;
  frame.setAttribute('aria-label', t('Heatmap. {sentence}', {sentence: box.querySelector('.pointed').firstElementChild.textContent}));
  const area = heatmap_area(frame);
  let mark = frame.querySelector('.heatmap-mark');
  if (!area) return mark?.remove();
  if (!mark) {
    mark = document.createElement('div');
    mark.className = 'heatmap-mark';
    frame.append(mark);
  }
  const {left, top, width, height, rows, across} = area;
  const [first, last] = gives ? rows : across;
  const from = (place - 0.5 - first) / (last - first), cell = 1 / (last - first);
  mark.hidden = from < -0.001 || from + cell > 1.001;
  mark.style.left = `${left + (gives ? 0 : from * width)}px`;
  mark.style.top = `${top + (gives ? from * height : 0)}px`;
  mark.style.width = `${gives ? width : cell * width}px`;
  mark.style.height = `${gives ? cell * height : height}px`;
}

// The place of the cells within the frame, in pixels, and the rows and columns in view, as plotly counts them.
function heatmap_area(frame) {
  const {left: x, top: y} = frame.getBoundingClientRect();
  const at = (rect) => ({left: rect.left - x + frame.scrollLeft, top: rect.top - y + frame.scrollTop, width: rect.width, height: rect.height});
  const saved = frame.querySelector('svg.cells image');
  if (saved) return {...at(saved.getBoundingClientRect()), rows: [-0.5, queries.length - 0.5], across: [-0.5, columns - 0.5]};
  const layout = frame.querySelector('.js-plotly-plot')?._fullLayout, plot = frame.querySelector('.nsewdrag');
  if (!layout || !plot) return null;
  const {width} = plot.getBoundingClientRect();
  if (!width) return null;
  const [bottom, top] = layout.yaxis.range;
  return {...at(plot.getBoundingClientRect()), rows: [top, bottom], across: layout.xaxis.range};
}

function choose(index) {
  chosen = index;
  pointed = null;
  paint();
  const query = tokens()[index].dataset.query;
  if (typeof trigger === 'function' && query !== undefined) trigger('select', {query: Number(query)});
}

function index_of(event) {
  const token = event.target.closest?.('button[data-token]');
  return token ? tokens().indexOf(token) : null;
}

element.addEventListener('pointerover', (event) => {
  const index = index_of(event);
  if (event.pointerType !== 'mouse' || index === null || index === pointed) return;
  pointed = index;
  paint();
});
element.addEventListener('pointerleave', () => {
  if (pointed === null || !box) return;
  pointed = null;
  paint();
});
element.addEventListener('focusin', (event) => {
  const index = index_of(event);
  if (index !== null && index !== chosen) choose(index);
});
element.addEventListener('click', (event) => {
  const direction = event.target.closest('[data-direction]');
  if (direction) {
    receives = direction.dataset.direction === 'receives';
    paint();
  }
  const index = index_of(event);
  if (index !== null) choose(index);
});
element.addEventListener('keydown', (event) => {
  if (index_of(event) === null) return;
  const last = tokens().length - 1;
  const steps = {ArrowRight: chosen + 1, ArrowDown: chosen + 1, ArrowLeft: chosen - 1, ArrowUp: chosen - 1, Home: 0, End: last};
  if (!(event.key in steps)) return;
  event.preventDefault();
  tokens()[Math.max(0, Math.min(last, steps[event.key]))].focus();
});

watch('value', read);
read();
