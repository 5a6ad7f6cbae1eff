// Keep the theme, light or dark, as the visitor last chose it. `element` comes from Gradio.
const kept = localStorage.getItem('clearhead-theme');
if (kept) document.body.classList.toggle('dark', kept === 'dark');
element.addEventListener('click', (event) => {
  if (!event.target.closest('.theme')) return;
  const dark = document.body.classList.toggle('dark');
  localStorage.setItem('clearhead-theme', dark ? 'dark' : 'light');
});
