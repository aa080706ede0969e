/* What a page does beyond being read: colours, size of text, contents,
   copying, search. Every part works alone; none needs storage or a server. */
(function () {
  "use strict";
  const root = document.documentElement;
  const page = JSON.parse(document.getElementById("ks-page").textContent);
  const words = page.words;
  const $ = (id) => document.getElementById(id);

  /* Storage may throw, be null, or be full: what cannot be remembered is
     simply not remembered. */
  function remember(key, value) {
    try { localStorage.setItem("keeps-secrets." + key, value); } catch (e) { /* so be it */ }
  }

  /* ---- Colours: the system decides until the button is pressed. -------- */
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const theme = $("ks-theme");
  function nameTheme() {
    const label = isDark() ? theme.dataset.light : theme.dataset.dark;
    theme.title = label;
    theme.setAttribute("aria-label", label);
  }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember("theme", root.dataset.theme);
    nameTheme();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();

  /* ---- Size of text ------------------------------------------------------ */
  const sizes = [0.8, 0.9, 1, 1.15, 1.3, 1.5, 1.75];
  const scale = () => parseFloat(root.style.getPropertyValue("--scale")) || 1;
  function nearest() {
    let best = 0;
    sizes.forEach((size, i) => {
      if (Math.abs(size - scale()) < Math.abs(sizes[best] - scale())) best = i;
    });
    return best;
  }
  function resize(step) {
    const next = Math.min(sizes.length - 1, Math.max(0, nearest() + step));
    root.style.setProperty("--scale", sizes[next]);
    remember("size", sizes[next]);
    showSize();
  }
  function showSize() {
    $("ks-smaller").setAttribute("aria-disabled", String(nearest() === 0));
    $("ks-larger").setAttribute("aria-disabled", String(nearest() === sizes.length - 1));
  }
  $("ks-smaller").addEventListener("click", () => resize(-1));
  $("ks-larger").addEventListener("click", () => resize(1));
  showSize();

  /* ---- The other language keeps the place. ------------------------------- */
  const language = $("ks-language");
  language.addEventListener("click", () => {
    if (location.hash) language.href = language.href.split("#")[0] + location.hash;
  });

  /* ---- Drawer: a checkbox that works without us; Esc closes it. ---------- */
  const drawer = $("ks-drawer");
  addEventListener("click", (event) => {
    const inside = event.target.closest?.(".md-sidebar--primary, .md-header");
    if (drawer.checked && !inside) drawer.checked = false;
  });
  /* A page that comes back from the browser's memory comes back closed. */
  addEventListener("pageshow", () => { drawer.checked = false; });
  document.querySelector(".ks-nav a[aria-current]")?.scrollIntoView({ block: "nearest" });
  scrollTo(scrollX, scrollY);

  /* ---- Where we are in the page ------------------------------------------- */
  const links = new Map();
  document.querySelectorAll("nav.ks-toc a").forEach((a) => {
    links.set(decodeURIComponent(a.hash.slice(1)), a);
  });
  const marks = [...links.keys()].map($).filter(Boolean);
  let current = null;
  function follow() {
    let found = marks[0];
    for (const mark of marks) if (mark.getBoundingClientRect().top < 120) found = mark;
    const link = found && links.get(found.id);
    if (link === current) return;
    current?.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "true");
    current = link;
  }
  if (marks.length) {
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; follow(); });
    }, { passive: true });
    follow();
  }

  /* ---- Copying: what one would type, never prompts or output. ------------ */
  function codeOf(figure) {
    const code = figure.querySelector("code");
    const lines = [...code.querySelectorAll(".l")];
    const prompted = lines.filter((line) => line.querySelector(".gp"));
    if (!prompted.length) return code.textContent;
    return prompted.map((line) => {
      const copy = line.cloneNode(true);
      copy.querySelectorAll(".gp").forEach((prompt) => prompt.remove());
      return copy.textContent.replace(/\n$/, "");
    }).join("\n");
  }
  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (e) {
      /* Pages opened from a file have no clipboard; the old way does. */
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "ks-hidden";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }
  document.querySelectorAll("figure.listing, figure.code, figure.transcript").forEach((figure) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "ks-copy";
    button.dataset.chrome = "1";
    button.textContent = words.copy;
    button.setAttribute("aria-label", words.copy_label);
    button.addEventListener("click", async () => {
      const done = await copyText(codeOf(figure));
      button.dataset.said = "1";
      button.textContent = done ? words.copied : words.copy_failed;
      button.setAttribute("aria-label", button.textContent);
      button.focus();
      setTimeout(() => {
        delete button.dataset.said;
        button.textContent = words.copy;
        button.setAttribute("aria-label", words.copy_label);
      }, 1600);
    });
    figure.append(button);
  });

  /* ---- Search --------------------------------------------------------------- */
  const dialog = $("ks-search");
  const query = $("ks-query");
  const status = $("ks-status");
  const results = $("ks-results");
  const loading = new Map();

  function load(lang) {
    if (!loading.has(lang)) {
      loading.set(lang, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `${page.base}/search/${lang}.js`;
        script.onload = () => resolve(prepare(self.ksIndex[lang], lang));
        script.onerror = () => { loading.delete(lang); script.remove(); reject(new Error(lang)); };
        document.head.append(script);
      }));
    }
    return loading.get(lang);
  }

  /* One character for one, so that places in the folded text are places in
     the text: a character whose folding is longer or shorter stays as it is. */
  function fold(text) {
    const whole = text.normalize("NFKC").toLowerCase();
    if (whole.length === text.length) return whole;
    let out = "";
    for (const c of text) {
      const folded = c.normalize("NFKC").toLowerCase();
      out += folded.length === c.length ? folded : c;
    }
    return out;
  }
  function prepare(pages, lang) {
    return pages.map((one) => ({
      lang,
      url: `${page.base}/${lang}/${one.url}`,
      number: one.number,
      heading: one.sections.length ? one.sections[0][1] : one.url,
      title: one.sections.length ? fold(one.sections[0][1]) : "",
      appendix: /^[A-Z]$/.test(one.number),
      sections: one.sections.map(([anchor, title, text]) => ({
        anchor, title, text, foldedTitle: fold(title), folded: fold(text),
      })),
    }));
  }
  /* ranking.js */

  function marked(text, folded, terms) {
    const out = document.createDocumentFragment();
    let at = 0;
    while (at < text.length) {
      let next = -1;
      let length = 0;
      for (const term of terms) {
        const where = folded.indexOf(term, at);
        if (where >= 0 && (next < 0 || where < next || (where === next && term.length > length))) {
          next = where;
          length = term.length;
        }
      }
      if (next < 0) break;
      out.append(text.slice(at, next));
      const mark = document.createElement("mark");
      mark.textContent = text.slice(next, next + length);
      out.append(mark);
      at = next + length;
    }
    out.append(text.slice(at));
    return out;
  }
  function snippet(section, terms) {
    const places = terms.map((term) => section.folded.indexOf(term)).filter((at) => at >= 0);
    const at = places.length ? Math.min(...places) : 0;
    let from = Math.max(0, at - 40);
    let to = Math.min(section.text.length, at + 110);
    /* Cut between words where there are any, never inside a character. */
    if (from > 0) {
      const space = section.text.slice(from, at).search(/\s/);
      if (space >= 0) from += space + 1;
    }
    if (/[\uDC00-\uDFFF]/.test(section.text[from] || "")) from += 1;
    if (/[\uDC00-\uDFFF]/.test(section.text[to] || "")) to += 1;
    const out = document.createDocumentFragment();
    if (from > 0) out.append("… ");
    out.append(marked(section.text.slice(from, to), section.folded.slice(from, to), terms));
    if (to < section.text.length) out.append(" …");
    return out;
  }
  function link(href, kind) {
    const a = document.createElement("a");
    a.href = href;
    a.className = kind;
    return a;
  }
  function show(hit, terms) {
    const item = document.createElement("li");
    item.className = "ks-hit";
    if (hit.page.lang !== page.lang) item.lang = hit.page.lang === "zh" ? "zh-Hans" : "en";
    const top = link(hit.page.url, "ks-hit__title");
    const number = hit.page.number ? `${hit.page.number}. ` : "";
    top.append(number, marked(hit.page.heading, fold(hit.page.heading), terms));
    item.append(top);
    hit.hits.slice(0, 3).forEach(({ section }) => {
      /* A chapter found by its title alone has nothing more to show. */
      if (!section.anchor && !section.text) return;
      const url = section.anchor ? `${hit.page.url}#${section.anchor}` : hit.page.url;
      const a = link(url, "ks-hit__section");
      if (section.anchor) {
        const title = document.createElement("b");
        title.append(marked(section.title, section.foldedTitle, terms));
        a.append(title);
      }
      a.append(snippet(section, terms));
      item.append(a);
    });
    if (hit.hits.length > 3) {
      const more = document.createElement("div");
      more.className = "ks-hit__more";
      more.textContent = words.search_more.replace("{n}", hit.hits.length - 3);
      item.append(more);
    }
    return item;
  }

  let turn = 0;
  async function search() {
    const mine = ++turn;
    const asked = fold(query.value);
    if (!asked.trim()) {
      results.replaceChildren();
      status.textContent = "";
      return;
    }
    if (!loading.size) status.textContent = words.search_loading;
    let found;
    try {
      const indexes = await Promise.all([load(page.lang), load(page.other)]);
      if (mine !== turn) return;
      found = indexes.flatMap((pages) => {
        const terms = termsOf(asked, pages);
        return terms.length ? find(pages, terms).map((hit) => ({ ...hit, terms })) : [];
      });
    } catch (e) {
      results.replaceChildren();
      results.dataset.query = query.value;
      status.textContent = words.search_failed;
      return;
    }
    const list = document.createElement("ol");
    found.slice(0, 30).forEach((hit) => list.append(show(hit, hit.terms)));
    results.replaceChildren(list);
    results.dataset.query = query.value;
    status.textContent = !found.length
      ? `${words.search_none} ${words.search_none_help}`
      : found.length === 1 ? words.search_one : words.search_many.replace("{n}", found.length);
  }
  function open() {
    if (dialog.open) return;
    drawer.checked = false;
    dialog.showModal();
    query.focus();
    query.select();
    load(page.lang).catch(() => {});
    load(page.other).catch(() => {});
  }
  $("ks-search-open").addEventListener("click", open);
  $("ks-search-close").addEventListener("click", () => dialog.close());
  query.addEventListener("input", search);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("a")) dialog.close();
  });
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    results.querySelector("a")?.click();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const stops = [query, ...results.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement);
    const next = stops[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });

  /* ---- Keys ------------------------------------------------------------------ */
  addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "k") {
      event.preventDefault();
      open();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
    if (event.key === "Escape" && drawer.checked) {
      drawer.checked = false;
      drawer.focus();
    } else if (event.key === "/" || event.key === "s") {
      event.preventDefault();
      open();
    } else if (event.key === "n" || event.key === "p") {
      const rel = event.key === "n" ? "next" : "prev";
      const target = document.querySelector(`link[rel=${rel}]`);
      if (target) location.href = target.href;
    } else if (event.key === "Enter" && event.target === drawer) {
      drawer.click();
    }
  });
})();
