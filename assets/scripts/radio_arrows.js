// Radio buttons as browsers have them: one stop for Tab, and arrows move the choice. Gradio gives each button of a group
// a name of its own, so that the browser sees no group.
{
  const BY = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
  const groupOf = (radio) => [...(radio.closest('fieldset')?.querySelectorAll('input[type=radio]:enabled') ?? [])];
  const isRadio = (target) => target instanceof HTMLInputElement && target.type === 'radio';

  document.addEventListener('keydown', (event) => {
    if (!isRadio(event.target) || event.altKey || event.ctrlKey || event.metaKey) return;
    const group = groupOf(event.target), by = BY[event.key];
    if (event.key === 'Tab') {
      const others = group.filter((each) => each !== event.target);
      for (const each of others) each.tabIndex = -1;
      setTimeout(() => others.forEach((each) => each.removeAttribute('tabindex')));
    } else if (by && !event.shiftKey && group.length > 1) {
      event.preventDefault();
      const next = group[(group.indexOf(event.target) + by + group.length) % group.length];
      next.focus();
      next.click();
    }
  });
  document.addEventListener('focusin', (event) => {
    if (!isRadio(event.target) || event.target.checked || !event.target.matches(':focus-visible')) return;
    const group = groupOf(event.target);
    if (!group.includes(event.relatedTarget)) group.find((each) => each.checked)?.focus();
  });
}

// Tabs likewise: arrows, Home and End turn to another one (WAI-ARIA, the pattern of tabs).
{
  const TO = {ArrowRight: (at, count) => (at + 1) % count, ArrowLeft: (at, count) => (at + count - 1) % count, Home: () => 0, End: (_, count) => count - 1};
  document.addEventListener('keydown', (event) => {
    const tab = event.target.closest?.('[role="tab"]');
    if (!tab || !TO[event.key] || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const tabs = [...tab.closest('.task-tabs').querySelectorAll('[role="tab"]')].filter((each) => each.offsetParent);
    const next = tabs[TO[event.key](tabs.indexOf(tab), tabs.length)];
    next.focus();
    next.click();
  });
}
