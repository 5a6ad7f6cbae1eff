// Every tab and every step of Inside has an address: opening another one adds to the browser's history, Back returns,
// and a reloaded page opens at the same place with the same words. What a visitor typed is kept in `sessionStorage` and
// not in the address, which goes to servers and into their logs.
const TYPED = 'clearhead-typed';
const query = () => new URLSearchParams(location.search);
const tabButton = (name) => document.getElementById(`tab-${name}-button`);
const nameOf = (button) => /^tab-(.+)-button$/.exec(button?.id ?? '')?.[1];
const openTab = () => nameOf(document.querySelector('.task-tabs [role="tab"][aria-selected="true"]'));
const otherwise = () => ['shared', 'lecture', 'tour'].some((each) => query().has(each));
const FIRST = 'fill-mask';

const wanted = () => (query().has('inside') ? 'inside' : query().get('tab') ?? FIRST);
const turnTo = (name) => { if (openTab() !== name) tabButton(name)?.click(); };
let going = false, coming = 0;
const follow = () => {
  going = true;
  turnTo(wanted());
  setTimeout(() => { going = false; }, 300);
};
const add = (address) => { if (location.search !== address) history.pushState(null, '', location.pathname + address); };

document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="?tab="]');
  if (link) {
    event.preventDefault();
    const {searchParams, hash} = new URL(link.href);
    turnTo(searchParams.get('tab'));
    setTimeout(() => document.querySelector(hash || null)?.scrollIntoView({behavior: gentle()}), 100);
    return;
  }
  const name = nameOf(event.target.closest('[role="tab"]'));
  if (!name || going || query().has('lecture') || query().has('tour')) return;
  add(name === 'inside' ? window.clearhead.inside ?? '?inside=tokens' : `?tab=${name}`);
});
addEventListener('popstate', () => {
  if (otherwise()) return;
  follow();
  if (!query().has('inside')) return;
  // The server draws the step of Inside for this address; that drawing must not add to the history again.
  coming += 1;
  trigger('select', {});
});
for (const act of ['pointerdown', 'keydown']) document.addEventListener(act, () => { coming = 0; }, true);

// The typed text, by tab: kept as it is typed, and put back when a tab is opened for the first time after a reload.
const fieldsOf = (panel) => [...panel.querySelectorAll('.ask textarea')];
const typed = () => JSON.parse(sessionStorage.getItem(TYPED) ?? '{}');
const remember = () => {
  const panel = openPanel();
  if (!panel?.dataset.restored) return;
  sessionStorage.setItem(TYPED, JSON.stringify({...typed(), [panel.id]: fieldsOf(panel).map((each) => each.value)}));
};
const put = (field, text) => {
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(field, text);
  field.dispatchEvent(new Event('input', {bubbles: true}));
};
// Gradio may yet fill a field that it has just mounted with the page's first text, so look again for a while.
const insist = (panel, texts, looks) => {
  if (panel.dataset.restored) return;
  texts.forEach((text, place) => {
    const field = fieldsOf(panel)[place];
    if (field && field.value !== text) put(field, text);
  });
  if (looks) setTimeout(insist, 200, panel, texts, looks - 1);
  else panel.dataset.restored = 'yes';
};
// Text that a visitor types meanwhile goes before the text that was kept.
document.addEventListener('input', (event) => {
  const panel = openPanel();
  if (event.isTrusted && panel) panel.dataset.restored = 'yes';
}, true);
const restore = () => {
  const panel = openPanel();
  if (!panel || panel.dataset.restored || !fieldsOf(panel).length) return;
  const kept = otherwise() || query().has('inside') ? undefined : typed()[panel.id];
  panel.dataset.restored = kept ? '' : 'yes';
  if (kept && !panel.dataset.restoring) insist(panel, kept, 5);
  panel.dataset.restoring = 'yes';
};
// On a phone the tabs are one strip that scrolls: bring the open one into its middle.
let shown;
const bringIn = () => {
  const button = tabButton(openTab());
  const strip = button?.closest('[role="tablist"]');
  if (!strip || shown === button.id || !strip.clientWidth) return;
  shown = button.id;
  const [tab, all] = [button, strip].map((each) => each.getBoundingClientRect());
  strip.scrollBy({left: tab.left + tab.width / 2 - all.left - all.width / 2, behavior: gentle()});
};
let due = false;
const oncePerFrame = () => {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; restore(); bringIn(); });
};
new MutationObserver(oncePerFrame).observe(document.body, {childList: true, subtree: true, attributes: true, attributeFilter: ['aria-selected', 'style', 'class']});
document.addEventListener('input', () => setTimeout(remember));
setInterval(remember, 2000);

const started = new MutationObserver(() => {
  if (!tabButton(FIRST)) return;
  started.disconnect();
  if (!otherwise() && ['tab', 'inside'].some((each) => query().has(each))) follow();
});
started.observe(document.body, {childList: true, subtree: true});

window.clearhead = {
  ...window.clearhead,
  copyLink: async (end) => {
    const {href} = new URL(end, location.origin + location.pathname);
    const button = openPanel()?.querySelector('.copy-link');
    try {
      await navigator.clipboard.writeText(href);
    } catch {
      // Pages served without encryption have no clipboard API.
      prompt(t('Copy this address:'), href);
      return;
    }
    announce(t('Link copied.'));
    if (!button) return;
    button.textContent = t('Copied');
    setTimeout(() => { button.textContent = t('Copy link'); }, 2000);
  },
  // Inside has drawn a step at `address`: another step is a new entry in the history, another layer replaces the entry.
  drewInside: (address) => {
    window.clearhead.inside = address;
    if (openTab() !== 'inside' || query().has('lecture') || location.search === address) return;
    const same = query().get('inside') === new URLSearchParams(address).get('inside');
    if (coming) {
      coming -= 1;
      if (!same) return;
    }
    history[same ? 'replaceState' : 'pushState'](null, '', location.pathname + address);
  },
};
