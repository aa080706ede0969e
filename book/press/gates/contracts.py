"""Every contract has tests that claim it, and no test claims another."""

from __future__ import annotations

from pathlib import Path

from book.press import ledger
from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, failed, judged
from book.press.manuscript import LANGUAGES, read_page, read_plan
from book.press.problems import Problem


def run(_staging: Path, context: BuildContext) -> GateResult:
    """Hold ledger, tests and chapters against each other.

    A contract that no chapter explains is a fault too.
    """
    root = context.root
    contracts = ledger.read_ledger(root)
    pages = [
        read_page(root, lang, slug)
        for lang in LANGUAGES
        for slug in _written(root)
    ]
    problems = ledger.ledger_problems(root, contracts, pages)
    explained = {name for page in pages for name in page.contracts}
    problems += [
        Problem(
            ledger.FILE,
            contract.line,
            f"{contract.id} is explained in no chapter",
            "name it in the front matter of the one that does",
        )
        for contract in contracts.values()
        if contract.id not in explained
    ]
    if not contracts:
        return failed([Problem(ledger.FILE, 0, "holds no contract")])
    return judged(problems, f"{len(contracts)} contracts")


def _written(root: Path) -> list[str]:
    return [
        slug
        for part in read_plan(root).parts
        for slug in part.slugs
        if (root / "book" / LANGUAGES[0] / f"{slug}.md").is_file()
    ]


GATE = Gate("contract ledger", run, order=3)
