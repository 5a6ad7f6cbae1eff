// Save the heatmap of the open tab as a PNG, with the sentence that reads it out and the run's header. Plotly, which
// Gradio loads to draw plots, makes the picture in the browser; no server is asked.
async () => {
  const {t} = window.clearhead;
  const NAME = 'clearhead-attention.png', SCALE = 2, EDGE = 16, LINE = 20, LEAST_WIDTH = 480;
  const reader = [...document.querySelectorAll('.reader')].find((each) => each.offsetParent);
  const figure = reader?.querySelector('.heatmap-frame .js-plotly-plot');
  if (!figure?._fullLayout || !window.Plotly) return `<p role="alert">${t('There is no picture to save yet.')}</p>`;

  const colour = (name) => getComputedStyle(reader).getPropertyValue(name).trim();
  const ground = getComputedStyle(document.querySelector('gradio-app')).backgroundColor, text = getComputedStyle(reader).color;
  const data = figure.data.map((trace, index) => index ? trace : {...trace, colorscale: [[0, ground], ...[1, 2, 3, 4, 5, 6, 7].map((step) => [step / 7, colour(`--step-${step}`)])]});
  const layout = {...figure.layout, paper_bgcolor: ground, plot_bgcolor: ground, font: {...figure.layout.font, color: text}};
  const {width, height} = figure._fullLayout;
  const picture = new Image();
  picture.src = await window.Plotly.toImage({data, layout}, {format: 'png', width, height, scale: SCALE});
  await picture.decode();

  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  const across = Math.max(width, LEAST_WIDTH) + 2 * EDGE;
  const font = (size) => { pen.font = `${size}px ${getComputedStyle(reader).fontFamily}`; };
  const lines = (said) => said.split(/\s+/).reduce((all, word) => {
    const longer = `${all.at(-1)} ${word}`.trim();
    return pen.measureText(longer).width <= across - 2 * EDGE ? [...all.slice(0, -1), longer] : [...all, word];
  }, ['']);
  font(15);
  const above = lines(reader.querySelector('.read-out').textContent);
  font(12);
  const header = [...document.querySelectorAll('.run-header')].find((each) => each.offsetParent)?.textContent ?? '';
  const below = [...lines(header), t('Clearhead. Attention is not an explanation.')];

  canvas.width = SCALE * across;
  canvas.height = SCALE * (height + LINE * (above.length + below.length) + 3 * EDGE);
  pen.scale(SCALE, SCALE);
  pen.fillStyle = ground;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.textBaseline = 'top';
  let down = EDGE;
  const write = (all, size, ink) => {
    font(size);
    pen.fillStyle = ink;
    for (const line of all) { pen.fillText(line, EDGE, down); down += LINE; }
  };
  write(above, 15, text);
  pen.drawImage(picture, EDGE, down, width, height);
  down += height + EDGE;
  write(below, 12, colour('--muted'));

  const link = document.createElement('a');
  link.href = URL.createObjectURL(await new Promise((done) => canvas.toBlob(done, 'image/png')));
  link.download = NAME;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  return `<p role="status">${t('Saved as {name}.', {name: NAME})}</p>`;
}
