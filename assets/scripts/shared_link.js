// The address of a shared run: write it out for this page's own address, copy it, and stop sharing it.
// `element`, `trigger` and `watch` come from Gradio.
const {t} = window.clearhead;

function write() {
  const field = element.querySelector('input[data-key]');
  if (!field) return;
  const address = new URL(location.pathname, location.origin);
  address.searchParams.set('shared', field.dataset.key);
  address.hash = field.dataset.place;
  field.value = address.href;
}

async function copy() {
  const field = element.querySelector('input[data-key]'), line = element.querySelector('[role=status]');
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Pages served without encryption have no clipboard API.
    if (!document.execCommand('copy')) {
      line.textContent = t('The browser did not let this page copy. The address is marked: copy it with Ctrl+C or ⌘C.');
      return;
    }
  }
  line.textContent = t('Copied.');
}

element.addEventListener('click', (event) => {
  if (event.target.closest('[data-copy]')) copy();
  if (event.target.closest('[data-unshare]')) trigger('delete', {});
});
element.addEventListener('focusin', (event) => event.target.select?.());
watch('value', write);
write();
