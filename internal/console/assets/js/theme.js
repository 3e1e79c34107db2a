// Sets the chosen theme before anything is painted.
(() => {
  const chosen = localStorage.getItem('tongs-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
})();
