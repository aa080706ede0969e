"""Nothing shipped calls out, tells a secret, or says where it was made.

Reads every text file of every output, those inside the e-books and the lab
ZIP included. A link a reader may follow is fine; what a page would load by
itself from another host is not.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged
from book.press.problems import Problem

_PAGES: Final = (".html", ".xhtml", ".svg", ".opf")
_STYLES: Final = (".css", *_PAGES)
_SCRIPTS: Final = (".js", ".mjs")

# What a page loads without being asked: attributes of elements, by suffix.
_LOADED_BY_PAGE: Final = re.compile(
    r"""<(?:img|script|iframe|audio|video|source|track|embed|object|input)\b
        [^>]*?\s(?:src|data|srcset|poster)=["']\s*((?:https?:)?//[^"'\s]+)
      | <link\b(?=[^>]*\brel=["'](?:stylesheet|icon|preload|modulepreload
          |prefetch|preconnect|dns-prefetch|manifest|shortcut\ icon))
        [^>]*?\shref=["']((?:https?:)?//[^"'\s]+)
      | <(?:image|use|feImage)\b[^>]*?\s(?:xlink:)?href=["']
        ((?:https?:)?//[^"'\s]+)""",
    re.VERBOSE,
)
_LOADED_BY_STYLE: Final = re.compile(
    r"""url\(\s*["']?((?:https?:)?//[^"')\s]+)
      | @import\s+["']((?:https?:)?//[^"'\s]+)""",
    re.VERBOSE,
)
_IN_SCRIPT: Final = re.compile(r"""["'`]((?:https?:)?//[\w.-]+\.\w[^"'`\s]*)""")

# Names of XML vocabularies; nobody loads them.
_NAMESPACES: Final = ("http://www.w3.org/", "http://www.idpf.org/")

SECRETS: Final = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "an AWS key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,})"
    ),
    "a model provider's key": re.compile(r"\bsk-(?:ant-|proj-)?[\w-]{24,}"),
    "a Slack token": re.compile(r"\bxox[abprs]-[\w-]{12,}"),
    "a Google key": re.compile(r"\bAIza[\w-]{35}\b"),
    "a signed token": re.compile(r"\beyJ[\w-]{12,}\.eyJ[\w-]{12,}\.[\w-]{16,}"),
    "a password in an address": re.compile(
        r"\b[a-z][a-z0-9+]*://[^/\s:@\"'<>{}]+:[^/\s:@\"'<>{}]+@[\w.-]+"
    ),
}

# Folders of somebody's machine.
_PATHS: Final = re.compile(
    r"""(?<![\w./~-])(?:/home/[a-z_][\w.-]*/|/Users/[\w.-]+/|/root/[\w.]
      |/var/folders/\w|/private/var/)|\b[A-Z]:\\(?:Users|Windows)\\
      |\bfile:///[A-Za-z]""",
    re.VERBOSE,
)


def texts(staging: Path) -> Iterator[tuple[str, str]]:
    """Every text file shipped, by a name that says where it is.

    A copy on the site of an artefact beside it is read once.
    """
    for path in sorted(staging.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(staging).as_posix()
        if name.startswith("site/downloads/"):
            continue
        if path.suffix in (".zip", ".epub"):
            with zipfile.ZipFile(path) as archive:
                for member in sorted(archive.namelist()):
                    text = _decoded(archive.read(member))
                    if text is not None:
                        yield f"{name}!{member}", text
            continue
        text = _decoded(path.read_bytes())
        if text is not None:
            yield name, text


def _decoded(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def calls_out(name: str, text: str) -> Iterator[Problem]:
    """What this file would load from another host."""
    patterns = []
    if name.endswith(_PAGES):
        patterns.append(_LOADED_BY_PAGE)
    if name.endswith(_STYLES):
        patterns.append(_LOADED_BY_STYLE)
    if name.endswith(_SCRIPTS) and "/search/" not in name:
        # A search index is a script that holds the text of the book.
        patterns.append(_IN_SCRIPT)
    for pattern in patterns:
        for match in pattern.finditer(text):
            url = next(group for group in match.groups() if group)
            if not url.startswith(_NAMESPACES):
                message = f"would load {url[:120]} from another host"
                yield Problem(name, _line(text, match.start()), message)


def tells_secrets(name: str, text: str) -> Iterator[Problem]:
    """What looks like a key; the finding does not repeat it."""
    for what, pattern in SECRETS.items():
        for match in pattern.finditer(text):
            shown = f"{match[0][:6]}…, {len(match[0])} characters"
            message = f"holds what looks like {what} ({shown})"
            yield Problem(name, _line(text, match.start()), message)


def tells_places(name: str, text: str, places: list[str]) -> Iterator[Problem]:
    """Where on somebody's machine this was made."""
    found = [(match.start(), match[0]) for match in _PATHS.finditer(text)]
    for place in places:
        found += [
            (m.start(), place) for m in re.finditer(re.escape(place), text)
        ]
    for at, shown in sorted(found):
        message = f"names a folder of somebody's machine: {shown}"
        yield Problem(name, _line(text, at), message)


def run(staging: Path, context: BuildContext) -> GateResult:
    """Every text file of every output."""
    roots = {context.root, context.root.resolve(), Path.home(), staging}
    # A root as short as / would be found everywhere.
    places = sorted(str(one) for one in roots if len(one.parts) > 2)
    found: list[Problem] = []
    count = 0
    for name, text in texts(staging):
        count += 1
        found += calls_out(name, text)
        found += tells_secrets(name, text)
        found += tells_places(name, text, places)
    return judged(found, f"{count} text files")


GATE = Gate("assets", run, order=41)
