// The part of a saved reader that says in words which cell of the heatmap is pointed at. It runs after
// coloured_sentence.js, whose weights and words it reads; `part` holds both pictures.
const cells = part.querySelector('.cells'), cell_line = part.querySelector('.cell-read-out');
const {left, top: above, side} = cells.dataset;
cells.addEventListener('pointermove', (event) => {
  const frame = cells.getBoundingClientRect();
  const key = Math.floor((event.clientX - frame.left - left) / side), query = Math.floor((event.clientY - frame.top - above) / side);
  if (!queries[query] || !keys[key]) return;
  const raw = weights.getUint16(2 * (query * columns + key), true);
  cell_line.textContent = raw === MASKED
    ? t('“{from}” may not look at “{to}”.', {from: name(queries[query]), to: name(keys[key])})
    : `${filled(box.dataset.gives, {from: name(queries[query]), to: name(keys[key]), share: percent(raw / WHOLE)})}.`;
});
