// Gradio 6.31 shows its page of the endpoints when its footer's button is pressed, but not at the address of that page.
if (new URLSearchParams(location.search).get('view') === 'api') {
  const press = new MutationObserver(() => {
    const button = document.querySelector('footer .show-api');
    if (!button) return;
    press.disconnect();
    // Gradio takes the page to be open already: the first press closes it.
    button.click();
    button.click();
  });
  press.observe(document.body, { childList: true, subtree: true });
}
