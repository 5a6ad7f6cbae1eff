// The sentence of the attention reader: the token that is pointed at, focused or chosen colours the others.
// `element` and `watch` come from Gradio. All weights came along with the sentence; nothing is asked of the server.
const MASKED = 65535, WHOLE = 65534, STEPS = 7, NAMED = 3, NUMBERED = 6, LEAST_NUMBERED = 0.02;

let box, weights, columns, queries, keys, top_weight, two_texts;
let chosen = 0, pointed = null, receives = false, text = null, waited = 0;

const percent = (share) => {
  const hundredths = 100 * share;
  if (hundredths >= 99.999) return '100\u202f%';
  if (hundredths >= 99.95) return 'over 99.9\u202f%';
  if (hundredths > 99) return `${hundredths.toFixed(1)}\u202f%`;
  if (hundredths >= 9.95) return `${hundredths.toFixed(0)}\u202f%`;
  if (hundredths >= 0.1) return `${hundredths.toFixed(1)}\u202f%`;
  return 'under 0.1\u202f%';
};
const name = (token) => `“${token.dataset.name}”`;
const tokens = () => [...box.querySelectorAll('button[data-token]')];

function read() {
  box = element.querySelector('.sentence');
  if (!box) return;
  const bytes = Uint8Array.from(atob(box.dataset.weights), (character) => character.charCodeAt(0));
  weights = new DataView(bytes.buffer);
  columns = Number(box.dataset.columns);
  top_weight = Number(box.dataset.top) * WHOLE;
  two_texts = 'twoTexts' in box.dataset;
  const ordered = (axis) => [...box.querySelectorAll(`[data-${axis}]`)];
  queries = ordered('query');
  keys = ordered('key');
  const now = tokens().map((token) => token.dataset.name).join('\n');
  // Another layer of the same text keeps the token that the visitor chose.
  if (now !== text) chosen = Number(box.dataset.start);
  text = now;
  pointed = null;
  name_heatmap();
  paint();
  element.closest('.reader')?.dispatchEvent(new Event('clearhead-view'));
}

// Plotly gives its picture no name; the sentence that reads it out is its name. Its buttons forbid the role of an image.
function name_heatmap() {
  const frame = element.closest('.reader')?.querySelector('.heatmap-frame');
  if (!frame) {
    // Gradio fetches what draws plots only when the first one is needed.
    if (waited++ < 100) setTimeout(name_heatmap, 200);
    return;
  }
  frame.setAttribute('role', 'group');
  frame.setAttribute('tabindex', '0');
  frame.setAttribute('aria-label', `Heatmap. ${box.dataset.readOut} The same numbers are in the table below.`);
}

function paint() {
  const all = tokens();
  const source = all[pointed ?? chosen] ?? all[0];
  if (!source) return;
  const gives = two_texts ? 'query' in source.dataset : !receives;
  const place = Number(gives ? source.dataset.query : source.dataset.key);
  const targets = gives ? keys : queries;
  const raw = targets.map((_, other) => weights.getUint16(2 * (gives ? place * columns + other : other * columns + place), true));
  const order = raw.map((_, other) => other).filter((other) => raw[other] < MASKED).sort((a, b) => raw[b] - raw[a]);
  const numbered = new Set(order.slice(0, NUMBERED).filter((other) => raw[other] / WHOLE >= LEAST_NUMBERED));

  for (const token of box.querySelectorAll('.word')) {
    token.removeAttribute('data-step');
    token.removeAttribute('data-share');
    token.classList.remove('masked');
  }
  targets.forEach((token, other) => {
    token.classList.toggle('masked', raw[other] === MASKED);
    if (raw[other] === MASKED) return;
    token.dataset.step = Math.min(STEPS, Math.round((STEPS * raw[other]) / top_weight));
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
}

function say(source, gives, shares) {
  const line = box.querySelector('.pointed');
  const verb = box.dataset[gives ? 'gives' : 'gets'];
  const named = shares.slice(0, NAMED).map(([token, share]) => `${percent(share)} ${box.dataset[gives ? 'to' : 'from']} ${name(token)}`);
  const unseen = shares.find(([token]) => 'rest' in token.dataset);
  const rest = unseen && !shares.slice(0, NAMED).includes(unseen) ? `; not shown: ${percent(unseen[1])}` : '';
  line.textContent = `${name(source)} ${verb} ${named.join(', ')}${rest}.`;
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
  if (index === null) return;
  chosen = index;
  pointed = null;
  paint();
});
element.addEventListener('click', (event) => {
  const direction = event.target.closest('[data-direction]');
  if (direction) receives = direction.dataset.direction === 'receives';
  const index = index_of(event);
  if (index !== null) chosen = index;
  if (direction || index !== null) paint();
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
