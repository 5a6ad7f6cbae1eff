// The open tab's panel, and translation into the visitor's language, for all scripts. The server writes before this
// script `texts`, translations by their English (of plurals, all forms), and `plural`, which gives the form for a
// count. English needs neither.
{
  const {texts = {}, plural = (count) => Number(count !== 1)} = window.clearhead ?? {};
  const filled = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
  window.clearhead = {
    t: (sentence, values = {}) => filled(texts[sentence] ?? sentence, values),
    nt: (one, many, count, values = {}) => filled((texts[one] ?? [one, many])[plural(count)], {count, ...values}),
    // Found by its name: to ask which panel is visible would lay out the page.
    openPanel: () => {
      const button = document.querySelector('.task-tabs [role="tab"][aria-selected="true"]');
      return document.getElementById(button?.id.replace(/-button$/, '') ?? '');
    },
  };
}
// Gradio picks the language of its own texts, and sets the page's `lang`, by the browser's: give it the page's.
Object.defineProperty(navigator, 'language', {value: document.documentElement.lang || 'en'});
