// Says the place in line in words: Gradio writes "queue: 2/5 |" where an answer will be.
const ordinals = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'];
const inWords = (place, length) => {
  const named = ordinals[place - 1] ?? `number ${place}`;
  return length === 1 ? 'You are next in line' : `You are ${named} of ${length} in line`;
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
