// What all scripts share: which tab is open, and how they speak the visitor's language. For that the server writes in
// front of this `texts`, translations by their English, with all plural forms of what is counted, and `plural`, which
// says the right one of them. English needs neither.
{
  const {texts = {}, plural = (count) => Number(count !== 1)} = window.clearhead ?? {};
  const filled = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
  window.clearhead = {
    t: (sentence, values = {}) => filled(texts[sentence] ?? sentence, values),
    nt: (one, many, count, values = {}) => filled((texts[one] ?? [one, many])[plural(count)], {count, ...values}),
    // By its name alone: to ask which one is seen would lay out the page.
    openPanel: () => {
      const button = document.querySelector('.task-tabs [role="tab"][aria-selected="true"]');
      return document.getElementById(button?.id.replace(/-button$/, '') ?? '');
    },
  };
}
// Gradio speaks for itself in places, in the browser's language, and calls the whole page by it.
Object.defineProperty(navigator, 'language', {value: document.documentElement.lang || 'en'});
