"""Nothing a reader downloads has grown beyond its budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged
from book.press.problems import Problem

MEGABYTE = 1_000_000

# Most bytes for one file, by pattern; the first that fits is the budget.
# The offline file must open at once on a phone; a page of the site is what
# one click costs; the rest is what a slow line brings in a minute. Most of
# the lab ZIP, which is stored so that it is the same everywhere, is a model.
BUDGETS = (
    ("*.html", 4 * MEGABYTE),
    ("*.md", 4 * MEGABYTE),
    ("*.epub", 4 * MEGABYTE),
    ("*.zip", 12 * MEGABYTE),
    ("content-map.json", 4 * MEGABYTE),
    ("site/downloads/*.html", 4 * MEGABYTE),
    ("site/**/*.html", 1_500_000),
    ("site/**/*.css", 300_000),
    ("site/**/*.js", 2 * MEGABYTE),
    ("site/**/*.json", 6 * MEGABYTE),
)


def run(staging: Path, _context: BuildContext) -> GateResult:
    """Compare each file with its budget."""
    findings = []
    files = 0
    for path, budget in _budgeted(staging):
        files += 1
        size = path.stat().st_size
        if size > budget:
            name = path.relative_to(staging).as_posix()
            message = f"is {size:,} bytes, over its budget of {budget:,}"
            findings.append(Problem(name, 0, message))
    return judged(findings, f"{files} files")


def _budgeted(staging: Path) -> Iterator[tuple[Path, int]]:
    seen: set[Path] = set()
    for pattern, budget in BUDGETS:
        for path in sorted(staging.glob(pattern)):
            if path.is_file() and path not in seen:
                seen.add(path)
                yield path, budget


GATE = Gate("size budgets", run, order=10)
