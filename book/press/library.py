"""What macros look things up in: one root, each file read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from book.press.evidence import (
    Evidence,
    evidence_names,
    read_evidence,
    read_transcript,
)
from book.press.faults import MacroError, nearest
from book.press.glossary import Term, read_glossary
from book.press.ledger import Contract, read_ledger
from book.press.manuscript import Page, Plan, read_text
from book.press.problems import Problem, Problems
from book.press.sources import Source, read_sources


@dataclass
class Library:
    """The project's root and its registers.

    A register that cannot be read is ``None``: its own fault is reported
    once, and what names its entries is then not judged. ``titles`` maps a
    language and slug to the title of a chapter.
    """

    root: Path
    plan: Plan
    titles: Mapping[tuple[str, str], str]
    sources: Mapping[str, Source] | None
    terms: Mapping[str, Term] | None
    contracts: Mapping[str, Contract] | None
    _texts: dict[str, str] = field(default_factory=dict)
    _evidence: dict[str, Evidence | Problems] = field(default_factory=dict)

    def read(self, file: str) -> str:
        """A text file of the project; ``MacroError`` when it is not there."""
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or "\\" in file:
            raise MacroError(f"{file!r} is not a path inside the project")
        if file not in self._texts:
            if not (self.root / file).is_file():
                raise MacroError(f"no such file: {file}", self._near(file))
            try:
                self._texts[file] = read_text(self.root, file)
            except Problems as error:
                raise MacroError(str(error)) from None
        return self._texts[file]

    def evidence(self, name: str) -> Evidence:
        """An evidence file; ``MacroError`` when it is not there or faulty."""
        if name not in self._evidence:
            try:
                self._evidence[name] = read_evidence(self.root, name)
            except Problems as error:
                self._evidence[name] = error
        found = self._evidence[name]
        if isinstance(found, Problems):
            names = evidence_names(self.root)
            hint = "" if name in names else nearest(name, names)
            raise MacroError(str(found), hint)
        return found

    def transcript(self, name: str) -> str:
        """A recorded session; ``MacroError`` when there is none."""
        try:
            return read_transcript(self.root, name)
        except Problems as error:
            raise MacroError(str(error)) from None

    def _near(self, file: str) -> str:
        path = PurePosixPath(file)
        beside = (self.root / path.parent).glob("*")
        return nearest(path.name, [one.name for one in beside])


def open_library(
    root: Path, plan: Plan, pages: Mapping[tuple[str, str], Page]
) -> tuple[Library, list[Problem]]:
    """The library, and the faults of registers that cannot be read."""
    problems: list[Problem] = []
    sources: Mapping[str, Source] | None = None
    terms: Mapping[str, Term] | None = None
    contracts: Mapping[str, Contract] | None = None
    try:
        sources = read_sources(root)
    except Problems as error:
        problems.extend(error.problems)
    try:
        terms = read_glossary(root)
    except Problems as error:
        problems.extend(error.problems)
    try:
        contracts = read_ledger(root)
    except Problems as error:
        problems.extend(error.problems)
    titles = {key: page.title for key, page in pages.items()}
    library = Library(root, plan, titles, sources, terms, contracts)
    return library, problems
