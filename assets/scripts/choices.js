// Keys for radio buttons, tabs and written tokens: Tab enters a group once, and keys choose within it (WAI-ARIA).
// Gradio gives each radio button a name of its own, so that the browser sees no group, and its tabs handle no keys.
{
  const next = (at, count) => (at + 1) % count, before = (at, count) => (at + count - 1) % count;
  const first = () => 0, last = (at, count) => count - 1, same = (at) => at;
  const GROUPS = [
    {one: 'input[type=radio]:enabled', of: 'fieldset', keys: {ArrowRight: next, ArrowDown: next, ArrowLeft: before, ArrowUp: before}},
    {one: '[role="tab"]', of: '.task-tabs', keys: {ArrowRight: next, ArrowLeft: before, Home: first, End: last}},
    // Arrow keys do not wrap around in a written text.
    {one: '.token', of: '[role="radiogroup"]', keys: {ArrowRight: (at) => at + 1, ArrowDown: (at) => at + 1, ArrowLeft: (at) => at - 1,
      ArrowUp: (at) => at - 1, Home: first, End: last, ' ': same, Enter: same}},
  ];
  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const group = GROUPS.find(({one}) => event.target.closest?.(one)), to = group?.keys[event.key];
    if (!to) return;
    event.preventDefault();
    const chosen = event.target.closest(group.one);
    const all = [...chosen.closest(group.of).querySelectorAll(group.one)].filter((each) => each.checkVisibility());
    const found = all[to(all.indexOf(chosen), all.length)];
    found?.focus();
    found?.click();
  });

  const radiosBeside = (radio) => [...(radio.closest('fieldset')?.querySelectorAll(GROUPS[0].one) ?? [])];
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Tab' || !event.target.matches(GROUPS[0].one)) return;
    const others = radiosBeside(event.target).filter((each) => each !== event.target);
    for (const each of others) each.tabIndex = -1;
    setTimeout(() => others.forEach((each) => each.removeAttribute('tabindex')));
  });
  document.addEventListener('focusin', (event) => {
    if (!event.target.matches(`${GROUPS[0].one}:not(:checked):focus-visible`)) return;
    const group = radiosBeside(event.target);
    if (!group.includes(event.relatedTarget)) group.find((each) => each.checked)?.focus();
  });
}
