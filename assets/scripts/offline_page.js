// A saved page is light or dark as the visitor's system is.
const darkness = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark', darkness.matches);
darkness.addEventListener('change', follow);
follow();
