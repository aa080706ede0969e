"""The contract ledger: every promise, and the tests that would refute it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from book.press.manuscript import LANGUAGES, Page, read_text, read_toml
from book.press.problems import Problem, Problems
from book.press.symbols import defines, parsed

FILE = "lab/contracts.toml"
# The groups of the printed ledger, in its order.
GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "input": {"en": "What goes in", "zh": "进来的东西"},
    "access": {"en": "Who may see what", "zh": "谁能看见什么"},
    "retrieval": {"en": "Finding", "zh": "检索"},
    "evidence": {"en": "Citations and evidence", "zh": "引用与证据"},
    "lifecycle": {"en": "Change and deletion", "zh": "变更与删除"},
    "evaluation": {"en": "Measuring", "zh": "度量"},
    "answers": {"en": "Answers", "zh": "回答"},
    "service": {"en": "In service", "zh": "投入使用"},
}
_KEYS = frozenset({"id", "group", "title", "scope", "tests", *LANGUAGES})


@dataclass(frozen=True)
class Contract:
    """One promise; each mapping is from language to text.

    ``text`` is one falsifiable sentence, ``scope`` what it does not
    promise. ``tests`` are named in pytest's way, ``path::name``.
    """

    id: str
    group: str
    title: Mapping[str, str]
    text: Mapping[str, str]
    scope: Mapping[str, str]
    tests: tuple[str, ...]
    line: int


def read_ledger(root: Path) -> dict[str, Contract]:
    """The contracts by id, in order; ``Problems`` lists malformed ones."""
    data = read_toml(root, FILE)
    lines = _lines(read_text(root, FILE))
    problems: list[Problem] = []
    contracts: dict[str, Contract] = {}
    for position, entry in enumerate(data.get("contract", []), 1):
        name = str(entry.get("id", ""))
        line = lines.get(name, 0)
        faults = _faults(entry)
        if name in contracts:
            faults.append("stands twice")
        problems.extend(
            Problem(FILE, line, f"{name or f'contract {position}'}: {fault}")
            for fault in faults
        )
        if not faults:
            contracts[name] = Contract(
                name,
                entry["group"],
                entry["title"],
                {lang: entry[lang] for lang in LANGUAGES},
                entry["scope"],
                tuple(entry["tests"]),
                line,
            )
    if problems:
        raise Problems(problems)
    return contracts


def ledger_problems(
    root: Path, contracts: Mapping[str, Contract], pages: Iterable[Page]
) -> list[Problem]:
    """What makes the ledger untrue.

    A contract without a test, or naming a test that is not there or does
    not claim it; a test claiming a contract that does not exist or does
    not list it; a chapter whose front matter names an unknown contract.
    What a chapter cites in its text, the macro checks. Whether the tests
    pass is for the tests to say.
    """
    problems: list[Problem] = []
    claims = dict(_claims(root, problems))
    for contract in contracts.values():
        if not contract.tests:
            message = f"{contract.id} has no test"
            problems.append(Problem(FILE, contract.line, message))
        for test in contract.tests:
            fault = _test_fault(root, test)
            if not fault and contract.id not in claims.get(test, {}):
                fault = f'does not carry @contract("{contract.id}")'
            if fault:
                message = f"{contract.id}: test {test} {fault}"
                problems.append(Problem(FILE, contract.line, message))
    for test, claimed in claims.items():
        file = test.partition("::")[0]
        for name, line in claimed.items():
            if name not in contracts:
                message = f"the test claims {name}, which {FILE} has not"
                problems.append(Problem(file, line, message))
            elif test not in contracts[name].tests:
                message = f"{name} does not list the test {test}"
                hint = f"add it to tests in {FILE}"
                problems.append(Problem(file, line, message, hint))
    for page in pages:
        for name in page.contracts:
            if name not in contracts:
                line = page.lines.get("contracts", 1)
                message = f"explains {name}, which {FILE} has not"
                problems.append(Problem(page.file, line, message))
    return problems


def _faults(entry: Mapping[str, Any]) -> list[str]:
    faults = [f"lacks {key}" for key in sorted(_KEYS - set(entry))]
    faults += [f"has an unknown key {key}" for key in sorted({*entry} - _KEYS)]
    if faults:
        return faults
    if not re.fullmatch(r"C-\d{2,}", str(entry["id"])):
        faults.append("its id is not of the form C-07")
    if entry["group"] not in GROUPS:
        faults.append(f"its group is none of {', '.join(GROUPS)}")
    for key in ("id", "group", *LANGUAGES):
        if not isinstance(entry[key], str) or not entry[key]:
            faults.append(f"{key} is not a text")
    for key in ("title", "scope"):
        value = entry[key]
        if not isinstance(value, dict) or sorted(value) != sorted(LANGUAGES):
            faults.append(f"{key} needs en and zh")
    tests = entry["tests"]
    if not isinstance(tests, list) or not all(
        isinstance(test, str) for test in tests
    ):
        faults.append("tests is not a list of path::name")
    return faults


def _test_fault(root: Path, test: str) -> str:
    file, _, names = test.partition("::")
    if not names:
        return "is not of the form path::name"
    if not (root / file).is_file():
        return "is in a file that does not exist"
    if not defines(read_text(root, file), names.split("::")):
        return "does not exist"
    return ""


def _claims(
    root: Path, problems: list[Problem]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Each test that carries ``@contract(…)``: the ids, with their lines."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        file = path.relative_to(root).as_posix()
        try:
            tree = parsed(read_text(root, file))
        except SyntaxError as error:
            message = f"not valid Python: {error.msg}"
            problems.append(Problem(file, error.lineno or 0, message))
            continue
        yield from _claims_in(tree.body, file)


def _claims_in(
    scope: Iterable[ast.stmt], prefix: str
) -> Iterator[tuple[str, dict[str, int]]]:
    for node in scope:
        if isinstance(node, ast.ClassDef):
            yield from _claims_in(node.body, f"{prefix}::{node.name}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            named = {
                str(argument.value): mark.lineno
                for mark in node.decorator_list
                if isinstance(mark, ast.Call) and _is_contract(mark.func)
                for argument in mark.args
                if isinstance(argument, ast.Constant)
            }
            if named:
                yield f"{prefix}::{node.name}", named


def _is_contract(function: ast.expr) -> bool:
    """``contract`` or ``pytest.mark.contract``."""
    if isinstance(function, ast.Attribute):
        return function.attr == "contract"
    return isinstance(function, ast.Name) and function.id == "contract"


def _lines(text: str) -> dict[str, int]:
    return {
        found.group(1): number
        for number, line in enumerate(text.split("\n"), 1)
        if (found := re.match(r'\s*id\s*=\s*"([^"]+)"', line))
    }
