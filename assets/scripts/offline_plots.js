// Draw the figures of a saved page, again whenever it turns light or dark: their text takes the page's colour.
const places = [...document.querySelectorAll('.offline-plot')];
const draw = () => {
  const color = getComputedStyle(document.body).color;
  figures.forEach(({data, layout, config}, which) => {
    const font = {...layout.font, color};
    Plotly.react(places[which], data, {...layout, font, autosize: true}, {...config, responsive: true});
  });
};
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTimeout(draw));
draw();
