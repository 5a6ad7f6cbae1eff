// The texts of stylesheets in the visitor's language; the stylesheets hold the English. The masthead's other scripts
// run after this one, and use its `t`.
const {t} = window.clearhead;
const sheetWords = {
  '--words-read': t('Read · BERT'),
  '--words-write': t('Write · decoders'),
  '--words-understand': t('Understand'),
  '--words-stale': t('This answer is about your earlier text. Press the button for the new one.'),
};
for (const [name, words] of Object.entries(sheetWords)) document.documentElement.style.setProperty(name, JSON.stringify(words));
