/* Before anything is painted: the colours and the size chosen last time. */
(function () {
  var root = document.documentElement;
  root.classList.add("js");
  function saved(name) {
    try {
      return window.localStorage.getItem("keeps-secrets-" + name);
    } catch (error) {
      return null; /* storage is denied, or there is none */
    }
  }
  var theme = saved("theme");
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  var scale = parseFloat(saved("scale"));
  if (scale >= 0.8 && scale <= 1.6) root.style.setProperty("--scale", scale);
})();
