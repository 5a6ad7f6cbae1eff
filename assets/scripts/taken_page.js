// The saved page's own part: light or dark as the visitor's system is, and the cell that is pointed at, in words.
// It stands behind the script of the coloured sentence, whose weights and words it reads.
const darkness = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark', darkness.matches);
darkness.addEventListener('change', follow);
follow();

const cells = document.querySelector('.cells'), cell_line = document.querySelector('.cell-read-out');
const {left, top: above, side} = cells.dataset;
cells.addEventListener('pointermove', (event) => {
  const frame = cells.getBoundingClientRect();
  const key = Math.floor((event.clientX - frame.left - left) / side), query = Math.floor((event.clientY - frame.top - above) / side);
  if (!queries[query] || !keys[key]) return;
  const raw = weights.getUint16(2 * (query * columns + key), true);
  cell_line.textContent = raw === MASKED
    ? `${name(queries[query])} may not look at ${name(keys[key])}.`
    : `${name(queries[query])} ${box.dataset.gives} ${percent(raw / WHOLE)} ${box.dataset.to} ${name(keys[key])}.`;
});
