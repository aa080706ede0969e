"""`build.py release`: every test, every gate, then DELIVERY.md."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from book.press import driver, publish, testing
from book.press.digest import manifest_problems, read_source
from book.press.problems import Problem, Problems
from book.press.testing import Outcome


def refuse(root: Path) -> list[Problem]:
    """Why this tree cannot be released."""
    source = read_source(root)
    found = manifest_problems(root, source.files)
    if not source.commit:
        message = "a release is made from a git checkout"
        found.append(Problem(".git", 0, message, "clone the repository"))
    if source.dirty:
        message = "the tree differs from its commit"
        hint = "commit or remove what `git status` shows"
        found.append(Problem(".", 0, message, hint))
    return found


def run(_args: argparse.Namespace, root: Path) -> int:
    """Release, or say why not; 0 when DELIVERY.md was written."""
    try:
        problems = refuse(root)
    except Problems as error:
        problems = list(error.problems)
    if problems:
        for problem in problems:
            print(f"  {problem}", file=sys.stderr)
        print("not released", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        outcome = testing.run_all(root, Path(folder) / "report.xml")
    if outcome.exit_code:
        print("not released: the tests did not pass", file=sys.stderr)
        return 1
    code = driver.build(argparse.Namespace(strict=True), root)
    if code:
        print("not released: the build did not pass", file=sys.stderr)
        return code
    facts = json.loads((root / "dist" / publish.RELEASE).read_text("utf-8"))
    if not facts["verified"]:
        print(
            "not released: not every gate ran and passed, or the tree "
            "changed meanwhile",
            file=sys.stderr,
        )
        return 1
    text = delivery(root, facts, outcome, ci_address(os.environ))
    (root / "DELIVERY.md").write_text(text, "utf-8", newline="\n")
    print("released: DELIVERY.md is written; commit it")
    return 0


def ci_address(variables: Mapping[str, str]) -> str:
    """Where the CI run that makes this release can be read."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    if not all(variables.get(name) for name in names):
        return "none: made by hand"
    server, repository, run_id = (variables[name] for name in names)
    return f"{server}/{repository}/actions/runs/{run_id}"


def delivery(
    root: Path, facts: Mapping[str, Any], outcome: Outcome, ci_run: str
) -> str:
    """The text of DELIVERY.md."""
    environment = facts["environment"]
    lines = [
        "# Delivery",
        "",
        f"What release {facts['version']} delivered. Written by "
        "`python3 build.py release`.",
        "",
        f"- Source commit: `{facts['commit']}`",
        f"- Source digest: `{facts['source']['sha256']}`",
        f"- CI run: {ci_run}",
        f"- Environment: Python {environment['python']} on "
        f"{environment['system']}",
        "",
        "## Artefacts",
        "",
        *_table(
            ("file", "bytes", "SHA-256"),
            (
                (item["name"], f"{item['size']:,}", f"`{item['sha256']}`")
                for item in facts["artefacts"]
            ),
        ),
        "",
        "## Tests",
        "",
        f"{outcome.passed} passed, {outcome.failed} failed, "
        f"{len(outcome.skipped)} skipped. A skip is not a pass:",
        "",
        *_skips(outcome),
        "",
        "Of those that passed, these ran a published model; the others need "
        "none:",
        "",
        *_models(outcome),
        "",
        "## Gates",
        "",
        *_table(
            ("gate", "result", "looked at", "seconds"),
            (
                (g["name"], g["status"], g["reason"], f"{g['seconds']:.1f}")
                for g in facts["gates"]
            ),
        ),
        "",
        "## Fixture, encoders and evidence",
        "",
        f"- Fixture manifest: `{_digest(root / 'lab/data/manifest.json')}`",
        "",
        *_table(
            ("evidence", "encoder", "SHA-256"),
            evidence(root),
        ),
        "",
        "## Tools",
        "",
        *_table(("package", "version"), environment["tools"].items()),
        "",
    ]
    return "\n".join(lines)


def evidence(root: Path) -> list[tuple[str, str, str]]:
    """Name, encoder fingerprint and digest of each evidence file."""
    found = []
    for path in sorted((root / "lab" / "evidence").glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        encoder = data.get("encoder")
        if isinstance(encoder, dict):
            encoder = encoder.get("fingerprint")
        found.append((path.stem, str(encoder or "none"), f"`{_digest(path)}`"))
    return found


def _skips(outcome: Outcome) -> list[str]:
    lines = [f"- `{name}`: {reason}" for name, reason in outcome.skipped]
    return lines or ["- nothing was skipped"]


def _models(outcome: Outcome) -> list[str]:
    return [f"- `{name}`" for name in outcome.models] or ["- none"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        clean = (cell.replace("|", "\\|") or " " for cell in cells)
        return f"| {' | '.join(clean)} |"

    return [line(head), line("---" for _ in head), *map(line, rows)]
