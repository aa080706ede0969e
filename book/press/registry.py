"""Every macro a chapter may call. A feature joins the book by one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from book.press import (
    evidence_macros,
    exercises,
    figures_macro,
    listings,
    references,
)
from book.press.macros import Macro

MACROS: Final[Mapping[str, Macro]] = {
    "chapter": references.chapter,
    "contract": references.contract,
    "exercise": exercises.exercise,
    "figure": figures_macro.figure,
    "listing": listings.listing,
    "ref": references.ref,
    "source": references.source,
    "table": evidence_macros.table,
    "term": references.term,
    "test": references.link_to_test,
    "transcript": evidence_macros.transcript,
    "typed": references.typed,
    "value": evidence_macros.value,
}
