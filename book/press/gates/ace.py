"""DAISY's Ace finds nothing against accessibility in either e-book.

EPUBCheck passes a book whose drawings have no text alternative; Ace does
not. It ends with 0 whatever it finds, so its report is read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, cast

from lxml import etree

from book.press.context import BuildContext
from book.press.gates import (
    INSTALL_NODE_MODULES,
    NODE_MODULES,
    Gate,
    GateResult,
    judged,
    not_run,
)
from book.press.gates.browser import chromium, missing_tools
from book.press.problems import Problem

_PACKAGE = "EPUB/content.opf"


def run(staging: Path, context: BuildContext) -> GateResult:
    """Check every e-book; each violation is a finding."""
    ace = context.root / NODE_MODULES / ".bin" / "ace-cli"
    if shutil.which("node") is None:
        return not_run("Node.js is not installed", "apt-get install nodejs npm")
    if not ace.exists():
        return not_run("Ace is not installed", INSTALL_NODE_MODULES)
    missing = missing_tools()
    if missing is not None:
        return missing
    findings = []
    books = sorted(staging.glob("*.epub"))
    for book in books:
        findings += check(book, ace)
    if not books:
        findings.append(Problem("*.epub", 0, "there is no e-book to check"))
    return judged(findings, f"{len(books)} books")


def check(book: Path, ace: Path) -> list[Problem]:
    """What Ace says about one book, with file and line."""
    with tempfile.TemporaryDirectory() as folder:
        # Ace keeps a log and its settings in the home folder: give it one.
        home = Path(folder) / "home"
        home.mkdir()
        environment = {
            **os.environ,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "XDG_STATE_HOME": str(home),
            "PUPPETEER_EXECUTABLE_PATH": chromium() or "",
        }
        done = subprocess.run(
            [str(ace), "--force", "--outdir", folder, str(book.resolve())],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            check=False,
        )
        report = Path(folder) / "report.json"
        if not report.is_file():
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            why = f"Ace wrote no report: {' '.join(last)}"
            return [Problem(book.name, 0, why)]
        return list(_problems(book, json.loads(report.read_text("utf-8"))))


def _problems(book: Path, report: Mapping[str, Any]) -> Iterator[Problem]:
    checked = 0
    for document in report["assertions"]:
        checked += 1
        member = _member(document["earl:testSubject"]["url"])
        for assertion in document["assertions"]:
            test = assertion["earl:test"]
            result = assertion["earl:result"]
            said = " ".join(str(result["dct:description"]).split())
            message = f"{test['earl:impact']} {test['dct:title']}: {said}"
            for path in (result.get("earl:pointer") or {}).get("cfi") or [""]:
                line = _line(book, member, path)
                yield Problem(f"{book.name}!{member}", line, message)
    if not checked:
        yield Problem(book.name, 0, "Ace looked at no document")


def _member(url: str) -> str:
    """The entry of the ZIP Ace means: it names documents by the package."""
    if url == _PACKAGE:
        return url
    return str(PurePosixPath(_PACKAGE).parent / url)


def _line(book: Path, member: str, path: str) -> int:
    """The line of an element given as a path of an EPUB CFI, 0 if unknown.

    ``/4/2/28[name]`` is the 14th child of the first child of the second:
    elements have even numbers.
    """
    steps = [int(step) for step in re.findall(r"/(\d+)", path)]
    if not steps:
        return 0
    with zipfile.ZipFile(book) as packed:
        element = etree.fromstring(packed.read(member))
    for step in steps:
        children = [child for child in element if isinstance(child.tag, str)]
        place = step // 2 - 1
        if step % 2 or place >= len(children):
            return 0
        element = children[place]
    return cast("int | None", element.sourceline) or 0


GATE = Gate("Ace", run, order=60)
