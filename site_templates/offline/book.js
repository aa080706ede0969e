(function () {
  "use strict";
  var root = document.documentElement;
  var words = JSON.parse(WORDS);
  var $ = function (id) { return document.getElementById(id); };
  var blocks = Array.prototype.slice.call(
    document.querySelectorAll("[data-block]"));

  /* ---- What is remembered, where remembering is allowed ------------- */

  function load(name) {
    try {
      return window.localStorage.getItem("keeps-secrets-" + name);
    } catch (error) {
      return null;
    }
  }
  function save(name, value) {
    try {
      window.localStorage.setItem("keeps-secrets-" + name, value);
    } catch (error) {
      /* denied or full: the book works without */
    }
  }

  /* ---- Colours and size --------------------------------------------- */

  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  }
  function nameTheme() {
    var button = $("theme");
    button.setAttribute("aria-label",
      isDark() ? button.dataset.light : button.dataset.dark);
  }
  $("theme").addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    save("theme", root.dataset.theme);
    nameTheme();
  });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  function scale() {
    return parseFloat(root.style.getPropertyValue("--scale")) || 1;
  }
  function resize(step) {
    var place = here();
    var next = Math.min(1.6, Math.max(0.8, Math.round((scale() + step) * 10) / 10));
    root.style.setProperty("--scale", next);
    save("scale", String(next));
    $("smaller").disabled = next <= 0.8;
    $("larger").disabled = next >= 1.6;
    if (place) show(place.block, place.top);
  }
  $("smaller").addEventListener("click", function () { resize(-0.1); });
  $("larger").addEventListener("click", function () { resize(0.1); });
  $("smaller").disabled = scale() <= 0.8;
  $("larger").disabled = scale() >= 1.6;

  /* ---- Where the reader is ------------------------------------------- */

  var bar = document.querySelector(".bar");
  function here() {
    var text = $("text").getBoundingClientRect();
    var x = text.left + text.width / 2;
    var from = bar.offsetHeight + 8;
    for (var y = from; y < window.innerHeight; y += 24) {
      var hit = document.elementFromPoint(x, y);
      var block = hit && hit.closest("[data-block]");
      if (block) {
        return { block: block, top: block.getBoundingClientRect().top };
      }
    }
    return null;
  }
  /* Bring a block to a height in the window. What lies around the goal is
     laid out only when it comes near, so it takes a few frames to settle. */
  var goal = 0;
  function show(block, top) {
    var mine = goal += 1;
    var frames = 0;
    var calm = 0;
    (function step() {
      if (mine !== goal) return;
      var off = block.getBoundingClientRect().top - top;
      calm = Math.abs(off) < 1 ? calm + 1 : 0;
      window.scrollBy(0, off);
      frames += 1;
      if (calm < 3 && frames < 30) window.requestAnimationFrame(step);
    })();
  }
  ["wheel", "touchstart", "keydown", "pointerdown"].forEach(function (name) {
    window.addEventListener(name, function () { goal += 1; }, { passive: true });
  });

  var current = null;
  function markCurrent(slug) {
    if (slug === current) return;
    current = slug;
    document.querySelectorAll(".contents li[data-for]").forEach(function (li) {
      var on = li.dataset.for === slug;
      li.classList.toggle("current", on);
      var link = li.querySelector("a");
      if (on) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
      if (on) {
        var nav = $("contents");
        var box = link.getBoundingClientRect();
        var frame = nav.getBoundingClientRect();
        if (box.top < frame.top || box.bottom > frame.bottom) {
          nav.scrollTop += box.top - frame.top - frame.height / 3;
        }
      }
    });
  }
  var place = "place-" + root.lang;
  function remember() {
    var now = here();
    if (!now) return;
    var chapter = now.block.closest("[data-chapter]");
    markCurrent(chapter ? chapter.dataset.chapter : null);
    save(place, window.scrollY < 40 ? "" :
      now.block.dataset.block + " " + Math.round(now.top));
  }
  var waiting = 0;
  window.addEventListener("scroll", function () {
    if (!waiting) {
      waiting = window.setTimeout(function () {
        waiting = 0;
        remember();
      }, 200);
    }
  }, { passive: true });

  if ("scrollRestoration" in window.history) {
    window.history.scrollRestoration = "manual";
  }
  function resume() {
    var left = (load(place) || "").split(" ");
    if (window.location.hash || left.length !== 2) return;
    var block = blocks.find(function (b) { return b.dataset.block === left[0]; });
    if (!block) return;
    show(block, parseFloat(left[1]) || 0);
    var said = $("resumed");
    said.hidden = false;
    said.textContent = words.resumed + " ";
    var again = document.createElement("button");
    again.type = "button";
    again.textContent = words.start_over;
    again.addEventListener("click", function () {
      said.hidden = true;
      window.scrollTo(0, 0);
      $("text").focus({ preventScroll: true });
    });
    said.appendChild(again);
    window.setTimeout(function () {
      if (!said.contains(document.activeElement)) said.hidden = true;
    }, 8000);
  }
  resume();
  if (!goal) remember();

  /* ---- Contents ------------------------------------------------------- */

  var contents = $("contents");
  var opener = $("open-contents");
  opener.setAttribute("role", "button");
  opener.setAttribute("aria-expanded", "false");
  opener.setAttribute("aria-controls", "contents");
  function setContents(open) {
    root.classList.toggle("contents-open", open);
    opener.setAttribute("aria-expanded", String(open));
    if (open) $("close-contents").focus();
    else if (contents.contains(document.activeElement)) opener.focus();
  }
  opener.addEventListener("click", function (event) {
    event.preventDefault();
    setContents(!root.classList.contains("contents-open"));
  });
  opener.addEventListener("keydown", function (event) {
    if (event.key === " ") { event.preventDefault(); opener.click(); }
  });
  $("close-contents").addEventListener("click", function () {
    setContents(false);
    opener.focus();
  });
  contents.addEventListener("click", function (event) {
    if (event.target.closest("a")) setContents(false);
  });
  document.addEventListener("click", function (event) {
    if (root.classList.contains("contents-open") &&
        !contents.contains(event.target) && !opener.contains(event.target)) {
      setContents(false);
    }
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && root.classList.contains("contents-open")) {
      setContents(false);
      opener.focus();
    }
  });

  /* ---- Search ---------------------------------------------------------- */

  var forms = new Map();
  function foldCharacter(character) {
    var form = forms.get(character);
    if (form === undefined) {
      form = character.normalize("NFKC").toLowerCase();
      forms.set(character, form);
    }
    return form;
  }
  /* Text as it is compared; starts[i] is where the i-th folded unit came
     from in the text, so that what is found can be shown as it is written. */
  function fold(text) {
    var folded = "";
    var starts = [];
    var at = 0;
    var spaced = true;
    for (var character of text) {
      var form = foldCharacter(character);
      if (/^\s*$/.test(form)) {
        form = spaced ? "" : " ";
        spaced = true;
      } else {
        spaced = false;
      }
      for (var unit = 0; unit < form.length; unit += 1) starts.push(at);
      folded += form;
      at += character.length;
    }
    starts.push(at);
    return { folded: folded, starts: starts };
  }

  var PARTS = /^(?:LI|P|TD|TH|TR|FIGCAPTION|DIV|BR|DT|DD|PRE|ASIDE)$/;
  function skipped(element) {
    return element.hasAttribute("data-chrome") ||
      /^(?:annotation|style|desc|button)$/i.test(element.localName);
  }
  /* Every piece of text a block shows, in order. */
  function pieces(element, found) {
    for (var node = element.firstChild; node; node = node.nextSibling) {
      if (node.nodeType === 3) found.push(node);
      else if (node.nodeType === 1 && !skipped(node)) {
        if (PARTS.test(node.tagName)) found.push(null);
        pieces(node, found);
        if (PARTS.test(node.tagName)) found.push(null);
      }
    }
    return found;
  }
  function textOf(block) {
    return pieces(block, []).map(function (node) {
      return node ? node.data : " ";
    }).join("");
  }

  /* ranking.js */

  var chapters = null;
  function gather() {
    var section = null;
    chapters = [];
    blocks.forEach(function (block) {
      var text = textOf(block);
      if (block.dataset.kind === "heading") {
        if (block.tagName === "H1") {
          var slug = block.closest("[data-chapter]").dataset.chapter;
          chapters.push({ heading: text, title: fold(text).folded,
                          appendix: /^[a-z]-/.test(slug), sections: [] });
        }
        section = { heading: text, foldedTitle: fold(text).folded,
                    top: block.tagName === "H1", folded: null, blocks: [] };
        chapters[chapters.length - 1].sections.push(section);
      }
      if (!section) return;
      section.blocks.push({ block: block, text: text, fold: null });
    });
  }
  /* All the text of the sections, folded: what is left to do is done now. */
  function prepare() {
    if (!chapters) gather();
    chapters.forEach(function (chapter) {
      chapter.sections.forEach(function (section) {
        if (section.folded !== null) return;
        section.blocks.forEach(function (entry) {
          if (!entry.fold) entry.fold = fold(entry.text);
        });
        /* The heading is the title and not the text. */
        section.folded = section.blocks.slice(1).map(function (entry) {
          return entry.fold.folded;
        }).join("\n");
      });
    });
  }
  /* While the reader types the first word, get the text ready, in slices. */
  function warm() {
    if (!chapters) gather();
    var waiting = [];
    chapters.forEach(function (chapter) {
      chapter.sections.forEach(function (section) {
        section.blocks.forEach(function (entry) {
          if (!entry.fold) waiting.push(entry);
        });
      });
    });
    (function slice() {
      var until = performance.now() + 8;
      while (waiting.length && performance.now() < until) {
        var entry = waiting.pop();
        if (!entry.fold) entry.fold = fold(entry.text);
      }
      if (waiting.length) window.setTimeout(slice, 0);
    })();
  }
  /* Where the terms stand in a block, none inside another. */
  function placesIn(entry, terms) {
    var found = [];
    terms.forEach(function (term) {
      var at = entry.fold.folded.indexOf(term);
      while (at >= 0) {
        found.push({ entry: entry, at: at, length: term.length });
        at = entry.fold.folded.indexOf(term, at + term.length);
      }
    });
    found.sort(function (a, b) { return a.at - b.at || b.length - a.length; });
    var end = -1;
    return found.filter(function (place) {
      if (place.at < end) return false;
      end = place.at + place.length;
      return true;
    });
  }

  var SHOWN = 60;
  function search() {
    var query = fold($("query").value).folded.trim();
    var list = $("results");
    var status = $("search-status");
    list.textContent = "";
    if (!query) {
      status.textContent = "";
      return;
    }
    prepare();
    /* What stands somewhere as it was typed is meant so. */
    var whole = chapters.some(function (one) { return stands(one.sections, query); });
    var terms = whole ? [query] : termsOf(query, chapters);
    var total = 0;
    var hits = [];
    (terms.length ? find(chapters, terms) : []).forEach(function (one) {
      one.hits.forEach(function (hit) {
        var places = [];
        hit.section.blocks.forEach(function (entry) {
          places = places.concat(placesIn(entry, terms));
        });
        total += places.length;
        if (places.length) {
          hits.push({ chapter: one.page, section: hit.section, places: places });
        }
      });
    });
    var left = SHOWN;
    hits.forEach(function (hit) {
      if (left <= 0) return;
      var shown = hit.places.slice(0, Math.min(3, left));
      left -= shown.length;
      list.appendChild(result(hit, shown));
    });
    if (total === 0) status.textContent = words.none;
    else if (total === 1) status.textContent = words.found_one;
    else {
      status.textContent = words.found.replace("{n}", total)
        .replace("{s}", hits.length);
    }
    var listed = SHOWN - left;
    if (total > listed) {
      var more = document.createElement("li");
      more.className = "more";
      more.textContent = words.more.replace("{n}", total - listed);
      list.appendChild(more);
    }
  }
  function result(hit, shown) {
    var item = document.createElement("li");
    var head = document.createElement("p");
    head.className = "where";
    if (!hit.section.top) head.append(hit.chapter.heading + " › ");
    var name = document.createElement("b");
    name.textContent = hit.section.heading;
    head.append(name, " (" + hit.places.length + ")");
    item.appendChild(head);
    shown.forEach(function (place) {
      var link = document.createElement("a");
      link.href = "#";
      var text = place.entry.text;
      var starts = place.entry.fold.starts;
      var from = starts[place.at];
      var to = starts[place.at + place.length];
      var begin = Math.max(0, from - 36);
      var end = Math.min(text.length, to + 60);
      var mark = document.createElement("mark");
      mark.textContent = text.slice(from, to);
      link.append((begin ? "…" : "") + text.slice(begin, from), mark,
        text.slice(to, end) + (end < text.length ? "…" : ""));
      link.addEventListener("click", function (event) {
        event.preventDefault();
        dialog.close();
        visit(place, from, to);
      });
      item.appendChild(link);
    });
    return item;
  }
  /* Go to a place and light it up, where the browser can. */
  function visit(place, from, to) {
    var block = place.entry.block;
    var anchor = block.id || (block.closest("article").querySelector("h1") || {}).id;
    if (anchor) window.history.pushState(null, "", "#" + anchor);
    show(block, bar.offsetHeight + 24);
    block.classList.add("visited");
    window.setTimeout(function () { block.classList.remove("visited"); }, 2400);
    block.tabIndex = -1;
    block.focus({ preventScroll: true });
    if (!window.CSS || !CSS.highlights || !window.Highlight) return;
    var at = 0;
    var range = document.createRange();
    var begun = false;
    pieces(block, []).some(function (node) {
      var length = node ? node.data.length : 1;
      if (node && !begun && from < at + length) {
        range.setStart(node, Math.max(0, from - at));
        begun = true;
      }
      if (node && begun) {
        range.setEnd(node, Math.min(length, to - at));
      }
      at += length;
      return at >= to;
    });
    if (begun) CSS.highlights.set("found", new Highlight(range));
    var box = range.getBoundingClientRect();
    if (begun && box.bottom > window.innerHeight) {
      window.scrollBy(0, box.top - window.innerHeight / 3);
    }
  }

  var dialog = $("search");
  function openSearch() {
    if (dialog.open) return;
    setContents(false);
    dialog.showModal();
    $("query").focus();
    $("query").select();
    window.setTimeout(warm, 30);
  }
  $("open-search").addEventListener("click", openSearch);
  document.addEventListener("keydown", function (event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    openSearch();
  });
  dialog.addEventListener("click", function (event) {
    if (event.target === dialog) dialog.close();
  });
  dialog.querySelector("form").addEventListener("submit", function (event) {
    /* Enter goes to the first place; only the button closes. */
    if (event.submitter === $("close-search") && document.activeElement !== $("query")) return;
    event.preventDefault();
    search();
    var first = $("results").querySelector("a");
    if (first) first.click();
  });
  var typed = 0;
  $("query").addEventListener("input", function (event) {
    if (event.isComposing) return;
    window.clearTimeout(typed);
    typed = window.setTimeout(search, 60);
  });
  $("query").addEventListener("compositionend", search);

  /* ---- Copying code ----------------------------------------------------- */

  function codeOf(pre) {
    if (!pre.querySelector(".gp")) return pre.textContent;
    return pre.textContent.split("\n").filter(function (line) {
      return line.slice(0, 2) === "$ ";
    }).map(function (line) { return line.slice(2); }).join("\n");
  }
  function put(text) {
    if (navigator.clipboard && window.isSecureContext) {
      return navigator.clipboard.writeText(text);
    }
    var area = document.createElement("textarea");
    area.value = text;
    area.className = "away";
    document.body.appendChild(area);
    area.select();
    var done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("refused"));
  }
  document.querySelectorAll("figure > pre").forEach(function (pre) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.setAttribute("data-chrome", "1");
    button.setAttribute("aria-label", words.copy_label);
    button.textContent = words.copy;
    button.addEventListener("click", function () {
      put(codeOf(pre)).then(function () {
        button.textContent = words.copied;
        window.setTimeout(function () { button.textContent = words.copy; }, 1600);
      }, function () {
        window.getSelection().selectAllChildren(pre);
      });
    });
    pre.parentNode.insertBefore(button, pre);
  });
})();
