"""`build.py serve`: the manuscript as a reader sees it, while it is written.

A page that frames the offline book and looks twice a second whether a file
was saved. When one was, the book is resolved again and the frame shown anew,
at the same place. Faults, each with file and line, stand above it; as much of
the book as can be printed stays in view.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from book.press import offline
from book.press.context import BuildContext
from book.press.digest import UNDATED, version
from book.press.links import LinkError
from book.press.manuscript import LANGUAGES
from book.press.memo import WATCHED, Memo, files, is_page
from book.press.problems import Problem, Problems
from book.press.resolve import Resolved, load

SHELL = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Preview</title>
<style>
html, body { margin: 0; height: 100%; }
body { display: flex; flex-direction: column; font: 15px/1.5 sans-serif; }
nav, ol { background: Canvas; color: CanvasText; margin: 0; }
nav { padding: .3em 1em; }
ol { padding: .5em 1em .5em 3em; max-height: 40%; overflow: auto; }
ol:empty { display: none; }
iframe { border: 0; border-top: 1px solid; flex: 1; }
</style>
<nav><a href="/en">English</a> · <a href="/zh">中文</a>
<span id="state" role="status"></span></nav>
<ol id="faults"></ol>
<iframe title="The book" src="/LANG/book.html"></iframe>
<script>
let shown = -1;
const frame = document.querySelector("iframe");
const state = document.getElementById("state");
async function look() {
  try {
    const seen = await (await fetch("/LANG/state.json")).json();
    if (seen.edition !== shown) {
      const place = frame.contentWindow.scrollY;
      if (shown >= 0) {
        frame.onload = () => frame.contentWindow.scrollTo(0, place);
        frame.contentWindow.location.reload();
      }
      shown = seen.edition;
    }
    state.textContent = seen.problems.length
      ? `${seen.problems.length} to mend` : `in ${seen.seconds.toFixed(1)} s`;
    document.getElementById("faults").replaceChildren(
      ...seen.problems.map(text => {
        const item = document.createElement("li");
        item.textContent = text;
        return item;
      }));
  } catch (error) {
    state.textContent = "the preview has stopped";
  }
  setTimeout(look, 500);
}
look();
</script>
</html>
"""


@dataclass(frozen=True)
class View:
    """What is shown, and what is wrong.

    ``edition`` counts how often the book changed, ``pages`` is by language.
    """

    edition: int
    pages: dict[str, str]
    problems: tuple[str, ...]
    seconds: float


class Preview:
    """The book of one tree, resolved again when a file there changes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._stamp: tuple[tuple[str, int], ...] = ()
        self._view = View(0, {}, (), 0.0)
        self._memo: Memo[Resolved] = Memo()

    def view(self) -> View:
        """The book as it is on disk now."""
        with self._lock:
            stamp = tuple(self._files())
            if stamp != self._stamp:
                self._stamp = stamp
                self._view = self._resolve(self._view)
            return self._view

    def _files(self) -> Iterator[tuple[str, int]]:
        for path in files(self._root, WATCHED):
            # Editors save by renaming: a file may be gone by now.
            with contextlib.suppress(FileNotFoundError):
                yield str(path), path.stat().st_mtime_ns

    def _around(self) -> str:
        """What the pages stand in: every file that is not a page."""
        return repr(
            [entry for entry in self._stamp if not is_page(Path(entry[0]))]
        )

    def _resolve(self, before: View) -> View:
        started = time.monotonic()
        pages = before.pages
        try:
            loaded = load(self._root, memo=self._memo, stamp=self._around())
            problems = [str(problem) for problem in loaded.problems]
            context = BuildContext(
                root=self._root,
                source_digest="preview",
                source_date_epoch=UNDATED,
                version=version(self._root),
                dirty=True,
            )
            if loaded.editions:
                pages = {
                    lang: offline.edition_html(edition, context)
                    for lang, edition in loaded.editions.items()
                }
        except Problems as error:
            problems = [str(problem) for problem in error.problems]
        except LinkError as error:
            # Links into a chapter that could not be read; the fault itself
            # is in the list.
            problems = problems or [str(Problem("book", 0, str(error)))]
        seconds = time.monotonic() - started
        changed = pages != before.pages
        return View(before.edition + changed, pages, tuple(problems), seconds)


class Handler(BaseHTTPRequestHandler):
    """Answers for one preview; ``server`` says which."""

    server: Server

    def do_GET(self) -> None:
        """``/``, ``/LANG``, ``/LANG/book.html``, ``/LANG/state.json``."""
        lang, _, page = self.path.partition("?")[0].strip("/").partition("/")
        if lang in ("", *LANGUAGES) and not page:
            text = SHELL.replace("LANG", lang or LANGUAGES[0])
            self._send(200, "text/html", text)
            return
        view = self.server.preview.view()
        if lang in LANGUAGES and page == "book.html":
            nothing = html.escape("There is no book to show yet; see above.")
            self._send(200, "text/html", view.pages.get(lang, nothing))
        elif lang in LANGUAGES and page == "state.json":
            facts = {
                "edition": view.edition,
                "problems": view.problems,
                "seconds": view.seconds,
            }
            self._send(200, "application/json", json.dumps(facts))
        else:
            self._send(404, "text/plain", "There is no such page.\n")

    def _send(self, code: int, kind: str, text: str) -> None:
        data = text.encode("utf-8")
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: twice a second would be noise."""


class Server(ThreadingHTTPServer):
    """Serves one preview, to this machine only."""

    daemon_threads = True

    def __init__(self, preview: Preview, port: int) -> None:
        self.preview = preview
        super().__init__(("127.0.0.1", port), Handler)


def run(args: argparse.Namespace, root: Path) -> int:
    """Serve until interrupted."""
    try:
        server = Server(Preview(root), args.port)
    except OSError as error:
        print(
            f"port {args.port} cannot be used ({error.strerror}); choose "
            "another with --port"
        )
        return 1
    print(f"preview: http://127.0.0.1:{args.port}/ (stop with Ctrl-C)")
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0
