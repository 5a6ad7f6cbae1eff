// Say the place in line in words, where Gradio writes "queue: 2/5 |" while an answer is awaited.
const ordinals = (length) => [
  t('You are first of {length} in line', {length}),
  t('You are second of {length} in line', {length}),
  t('You are third of {length} in line', {length}),
  t('You are fourth of {length} in line', {length}),
  t('You are fifth of {length} in line', {length}),
  t('You are sixth of {length} in line', {length}),
  t('You are seventh of {length} in line', {length}),
  t('You are eighth of {length} in line', {length}),
  t('You are ninth of {length} in line', {length}),
  t('You are tenth of {length} in line', {length}),
];
const inWords = (place, length) => {
  if (length === 1) return t('You are next in line');
  return ordinals(length)[place - 1] ?? t('You are number {place} of {length} in line', {place, length});
};
const say = (node) => {
  const found = /queue: (\d+)\/(\d+)/.exec(node.nodeValue ?? '');
  if (found) node.nodeValue = `${inWords(Number(found[1]), Number(found[2]))} · `;
};
const sayAll = (node) => {
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) say(text);
};
new MutationObserver((changes) => {
  for (const change of changes) {
    if (change.type === 'characterData') say(change.target);
    else change.addedNodes.forEach((node) => (node.nodeType === Node.TEXT_NODE ? say(node) : sayAll(node)));
  }
}).observe(document.body, { childList: true, characterData: true, subtree: true });
