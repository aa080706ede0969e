"""``serve``: the exercise pages and their buttons, for this machine only.

A page on the web can make a browser send requests to 127.0.0.1, and other
accounts of the machine can send their own. So every request must name this
very host (which stops a foreign name that resolves here), pages need a
cookie that only the launch link gives, and an action must come from a page
of ours, as JSON. What an action can say is its name and a stage: never a
path, never an argument of a command.
"""

from __future__ import annotations

import contextlib
import hmac
import http.client
import json
import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from lab import canonical
from lab.errors import InvalidInput, LabError
from lab.workbook import hints, pages
from lab.workbook.checking import check
from lab.workbook.manifest import HOME, LANGUAGES, Stage, track, track_ids
from lab.workbook.telling import told
from lab.workbook.workspace import Workspace

ADDRESS: Final = "127.0.0.1"
PORT: Final = 8642
NAME: Final = "keeps-secrets-workbook"
# An action is shorter than this by far.
LARGEST_BODY: Final = 1000
# What is read and thrown away so that a refusal arrives.
_DRAINED: Final = 1_000_000
# Seconds in which a browser must have sent its request.
PATIENCE: Final = 10.0

FILES: Final[Mapping[str, str]] = {
    "/panel.css": "text/css",
    "/panel.js": "text/javascript",
}

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self';"
        " img-src data:; connect-src 'self'; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Busy(LabError):
    """The port is taken."""

    code = "busy"


class Refused(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Panel:
    """What the buttons do, one at a time; ``root`` holds the workspaces."""

    def __init__(self, root: Path) -> None:
        self.tracks = tuple(track(name) for name in track_ids())
        self._workspaces = {one.id: Workspace(one, root) for one in self.tracks}
        self._stages = {
            pages.key(one, stage): (self._workspaces[one.id], stage)
            for one in self.tracks
            for stage in one.stages
        }
        self._running = threading.Lock()
        self._stop = threading.Event()
        self._actions: Mapping[
            str, Callable[[Workspace, Stage, str], dict[str, Any]]
        ] = {
            "begin": self._begin,
            "check": self._check,
            "hint": self._hint,
            "reset": self._reset,
            "undo": self._undo,
        }

    def stop(self) -> None:
        """End a check that is running, and wait until it has ended."""
        self._stop.set()
        if self._running.acquire(timeout=PATIENCE):
            self._running.release()

    def page(self, lang: str, name: str) -> str | None:
        """Return a page; ``None`` when there is none so named."""
        if not name:
            return pages.index(self.tracks, lang)
        workspace = self._workspaces.get(name)
        if workspace is None:
            return None
        progress, _ = workspace.keeper.load()
        return pages.exercise(
            workspace.track, str(workspace.folder), progress, lang
        )

    def act(self, body: Any, lang: str) -> dict[str, Any]:
        """Do what a body says; raise ``Refused`` for any other shape."""
        if not isinstance(body, dict) or set(body) != {"action", "stage"}:
            raise Refused(400, "a body is an action and a stage")
        action, name = body["action"], body["stage"]
        if not isinstance(action, str) or action not in self._actions:
            known = ", ".join(self._actions)
            raise Refused(400, f"there is no such action; there are {known}")
        if not isinstance(name, str) or name not in self._stages:
            raise Refused(404, "there is no such stage")
        if not self._running.acquire(blocking=False):
            raise Refused(409, "a check is running; wait until it is done")
        try:
            return self._actions[action](*self._stages[name], lang)
        except LabError as error:
            raise Refused(409, str(error)) from None
        except OSError as error:
            raise Refused(500, str(error)) from None
        finally:
            self._running.release()

    def _begin(
        self, workspace: Workspace, stage: Stage, lang: str
    ) -> dict[str, Any]:
        workspace.start()
        return {"text": str(workspace.folder)}

    def _check(
        self, workspace: Workspace, stage: Stage, lang: str
    ) -> dict[str, Any]:
        workspace.demand()
        kept = [f"{file.name}: given; restored" for file in workspace.restore()]
        result = check(workspace, stage, stop=self._stop)
        tested = [f"Testing {file}" for file in result.files]
        text = "\n".join([*kept, *tested, *told(result, stage.title[lang])])
        return {"outcome": result.outcome, "text": text}

    def _hint(
        self, workspace: Workspace, stage: Stage, lang: str
    ) -> dict[str, Any]:
        workspace.demand()
        number, words = hints.rung(workspace, stage)
        where = workspace.keeper.load()[0].record(stage.id).where
        lines = [f"{number}/{len(stage.hints)}", words[lang], where]
        return {"text": "\n".join(filter(None, lines))}

    def _reset(
        self, workspace: Workspace, stage: Stage, lang: str
    ) -> dict[str, Any]:
        workspace.demand()
        aside = workspace.keeper.reset()
        return self._cleared(workspace, str(aside or "-"))

    def _undo(
        self, workspace: Workspace, stage: Stage, lang: str
    ) -> dict[str, Any]:
        workspace.demand()
        return self._cleared(workspace, str(workspace.keeper.undo()))

    def _cleared(self, workspace: Workspace, text: str) -> dict[str, Any]:
        progress, _ = workspace.keeper.load()
        one = workspace.track
        return {
            "text": text,
            "cleared": True,
            "outcomes": {
                pages.key(one, stage): progress.record(stage.id).outcome
                for stage in one.stages
            },
        }


class Gate:
    """Who may come in: one launch link, then one cookie."""

    def __init__(self, port: int) -> None:
        self.host = f"{ADDRESS}:{port}"
        # Cookies know no ports: two panels must not share a name.
        self.cookie = f"ks_workbook_{port}"
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._lock = threading.Lock()
        self._used = False

    @property
    def link(self) -> str:
        """The address that lets one browser in, once."""
        return f"http://{self.host}/open?token={self.token}"

    def exchange(self, token: str) -> str:
        """Return the cookie's header for the token; the token is spent."""
        with self._lock:
            right = _equal(token, self.token)
            if not right or self._used:
                why = "was used already" if right else "is not of this panel"
                raise Refused(
                    403, f"this link {why}; run `serve` again for a new one"
                )
            self._used = True
        return (
            f"{self.cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"
        )

    def admits(self, header: str) -> bool:
        """Say whether a Cookie header holds this panel's session."""
        try:
            found = SimpleCookie(header).get(self.cookie)
        except CookieError:
            return False
        return found is not None and _equal(found.value, self._session)


def _equal(given: str, secret: str) -> bool:
    """Compare in a time that says nothing about where they differ."""
    return hmac.compare_digest(given.encode("utf-8"), secret.encode("utf-8"))


class Handler(BaseHTTPRequestHandler):
    """Answers one request of one panel."""

    server: Server
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Pages, the panel's two files, and the launch link."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Actions, at ``/LANG/act``."""
        self._answer(self._post)

    def _answer(self, handle: Callable[[], None]) -> None:
        try:
            host = self._only("Host")
            if host != self.server.gate.host:
                raise Refused(421, f"this is {self.server.gate.host} only")
            handle()
        except Refused as refusal:
            self._drain()
            self._refuse(refusal.status, refusal.message)
        except ValueError:
            self._drain()
            self._refuse(400, "the address is not understood")
        except OSError:
            # The browser went away.
            self.close_connection = True

    def _get(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/open":
            token = parse_qs(parts.query).get("token", [""])[0]
            cookie = self.server.gate.exchange(token)
            self._send(
                303, "text/plain", "", {"Set-Cookie": cookie, "Location": "/"}
            )
            return
        self._admit()
        if parts.path in FILES:
            text = (HOME / "panel" / parts.path[1:]).read_text("utf-8")
            self._send(200, FILES[parts.path], text)
            return
        if parts.path == "/":
            wanted = self.headers.get("Accept-Language", "")[:2]
            lang = wanted if wanted in LANGUAGES else LANGUAGES[0]
            self._send(303, "text/plain", "", {"Location": f"/{lang}/"})
            return
        lang, _, name = parts.path[1:].partition("/")
        page = self.server.panel.page(lang, name) if lang in LANGUAGES else None
        if page is None:
            raise Refused(404, "there is no such page")
        self._send(200, "text/html", page)

    def _post(self) -> None:
        lang = self.path[1:3]
        if self.path != f"/{lang}/act" or lang not in LANGUAGES:
            raise Refused(404, "actions go to /en/act or /zh/act")
        if self._only("Origin") != f"http://{self.server.gate.host}":
            raise Refused(403, "an action comes from a page of this panel")
        self._admit()
        kind = (self._only("Content-Type") or "").lower().replace(" ", "")
        if kind not in ("application/json", "application/json;charset=utf-8"):
            raise Refused(415, "an action is application/json")
        try:
            body = canonical.loads(self._body().decode("utf-8"), "the body")
        except (InvalidInput, UnicodeDecodeError) as error:
            raise Refused(400, f"not an action: {error}") from None
        told = self.server.panel.act(body, lang)
        self._json(200, told)

    def _admit(self) -> None:
        if not self.server.gate.admits(self._only("Cookie") or ""):
            raise Refused(
                401, "open the link that `serve` printed in the terminal"
            )

    def _only(self, name: str) -> str | None:
        """Return a header that is there once; two of a name are none."""
        found = self.headers.get_all(name) or []
        return found[0] if len(found) == 1 else None

    def _length(self) -> int | None:
        text = self._only("Content-Length") or ""
        # int() would take "+5", "1_0" and digits of other scripts.
        if not text.isascii() or not text.isdigit() or len(text) > 15:
            return None
        return int(text)

    def _body(self) -> bytes:
        length = self._length()
        if length is None or self.headers.get("Transfer-Encoding"):
            raise Refused(411, "say the length of the body")
        if length > LARGEST_BODY:
            raise Refused(413, f"an action has at most {LARGEST_BODY} bytes")
        body = self.rfile.read(length)
        self._unread = 0
        return body

    _unread: int | None = None

    def _drain(self) -> None:
        """Read what is left, or closing would cut the answer off."""
        self.close_connection = True
        left = min(self._length() or 0, _DRAINED)
        if self._unread == 0:
            return
        with contextlib.suppress(OSError):
            while left > 0 and (part := self.rfile.read(min(left, 65536))):
                left -= len(part)

    def _refuse(self, status: int, message: str) -> None:
        if self.command == "POST":
            self._json(status, {"error": message})
        else:
            self._send(status, "text/plain", f"{message}\n")

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answer what could not even be read, in the same manner."""
        self.close_connection = True
        self._send(code, "text/plain", f"{message or 'not understood'}\n")

    def version_string(self) -> str:
        """Return what tells another panel that this is one."""
        return NAME

    def _json(self, status: int, value: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(value))

    def _send(
        self,
        status: int,
        kind: str,
        text: str,
        more: Mapping[str, str] | None = None,
    ) -> None:
        data = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        for name, value in {**HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the launch link, secret and all, would be in it."""


class Server(ThreadingHTTPServer):
    """Serves one panel, to this machine only."""

    # Two servers on one port is what this would allow on Windows.
    allow_reuse_address = sys.platform != "win32"
    daemon_threads = True

    def __init__(self, root: Path, port: int = PORT) -> None:
        self.panel = Panel(root)
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            raise Busy(_busy(port, error)) from None
        self.gate = Gate(self.server_port)

    def server_close(self) -> None:
        """Close, and end a check that is still running."""
        self.panel.stop()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that goes away is no news."""


def _busy(port: int, error: OSError) -> str:
    other = "choose another with --port"
    if _is_panel(port):
        return (
            f"port {port}: a panel of the workbook is running there already;"
            f" go on in its page, or {other}"
        )
    return f"port {port} cannot be used ({error.strerror}); {other}"


def _is_panel(port: int) -> bool:
    """Say whether what listens there is one of these."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().getheader("Server", "") == NAME
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
