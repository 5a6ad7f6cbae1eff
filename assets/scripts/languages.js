// Keep the chosen language for a year in a cookie, which every call carries.
element.addEventListener('change', (event) => {
  if (!event.target.matches('select.languages')) return;
  document.cookie = `clearhead_language=${event.target.value}; path=/; max-age=31536000; samesite=lax`;
  location.reload();
});
