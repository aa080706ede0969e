"""How often screening is right, on strings that others published.

Attacks come from a public collection of prompt injections, English and
machine-translated Chinese; ordinary text from product documentation, a
staff handbook and encyclopedia passages. Each string is screened alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from lab import canonical
from lab.answering.screening import Measured, measure
from lab.experiments import Emit, Unavailable

KIND = "data"
PAGE = False
LIMITATIONS = (
    "The rules were written after reading the Chinese attacks and, of the"
    " English ones, three variants: ignore previous instructions, indirect"
    " reference and system mode. Only the other variants are unseen.",
    "One rule was narrowed after an alarm in the Chinese Vue documentation;"
    " the other ordinary texts were first screened with the rules as they"
    " are.",
    "Most of the attacks are typed by a user; only the indirect ones hide in"
    " a document, which is what screening is for.",
    "The Chinese attacks are machine translations of a part of the English"
    " ones.",
)

VARIABLE: Final = "KEEPS_SECRETS_DATA"
ATTACKS: Final = "cyberseceval_prompt_injection"
ENGLISH: Final = f"{ATTACKS}/prompt_injection.json"
CHINESE: Final = (
    f"{ATTACKS}/prompt_injection_multilingual_machine_translated.json"
)


def run(emit: Emit) -> dict[str, Any]:
    """Screen every string; return the counts."""
    root = _root()
    emit("Attacks flagged")
    attacks = {}
    for name, rows in (
        ("English", _rows(root / ENGLISH, "English")),
        ("Chinese", _rows(root / CHINESE, "Chinese")),
    ):
        for kind in ("direct", "indirect"):
            texts = [
                row["user_input"]
                for row in rows
                if row["injection_type"] == kind
            ]
            measured = measure(texts, [])
            attacks[f"{name} {kind}"] = _counts(measured, texts)
            emit(_line(f"{name}, {kind}", measured.hits, measured.attacks))
    emit("")
    emit("English attacks flagged, by what they try")
    variants = {}
    rows = _rows(root / ENGLISH, "English")
    for variant in sorted({row["injection_variant"] for row in rows}):
        texts = [
            row["user_input"]
            for row in rows
            if row["injection_variant"] == variant
        ]
        measured = measure(texts, [])
        variants[variant] = _counts(measured, texts)
        emit(_line(variant.replace("_", " "), measured.hits, measured.attacks))
    emit("")
    emit("Ordinary paragraphs flagged")
    benign = {}
    for name, read in ORDINARY.items():
        texts = read(root)
        measured = measure([], texts)
        benign[name] = _counts(measured, texts)
        emit(_line(name, len(measured.alarmed), measured.benign))
    return {"attacks": attacks, "variants": variants, "benign": benign}


def _root() -> Path:
    folder = os.environ.get(VARIABLE, "")
    if not folder or not (Path(folder) / ENGLISH).is_file():
        raise Unavailable(f"set {VARIABLE} to the folder that holds {ATTACKS}")
    return Path(folder)


def _rows(path: Path, language: str) -> list[dict[str, str]]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [row for row in rows if row["speaking_language"] == language]


def _paragraphs(folder: str) -> Callable[[Path], list[str]]:
    def read(root: Path) -> list[str]:
        files = sorted((root / folder).rglob("*.md"))
        return [
            part
            for path in files
            for part in path.read_text(encoding="utf-8").split("\n\n")
            if part.strip()
        ]

    return read


def _passages(language: str) -> Callable[[Path], list[str]]:
    def read(root: Path) -> list[str]:
        path = root / "xquad" / f"xquad.{language}.json"
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        return [p["context"] for a in articles for p in a["paragraphs"]]

    return read


ORDINARY: Final[dict[str, Callable[[Path], list[str]]]] = {
    "Vue documentation, English": _paragraphs("vue_docs_en"),
    "Vue documentation, Chinese": _paragraphs("vue_docs_zh"),
    "18F handbook": _paragraphs("handbook_18f"),
    "XQuAD, English": _passages("en"),
    "XQuAD, Chinese": _passages("zh"),
}


def _counts(measured: Measured, texts: Iterable[str]) -> dict[str, Any]:
    return {
        "strings": measured.attacks + measured.benign,
        "flagged": measured.hits + len(measured.alarmed),
        "by_rule": dict(measured.by_rule),
        "sha256": canonical.digest(list(texts)),
    }


def _line(name: str, count: int, total: int) -> str:
    return f"  {name:<32}{count:>6} of {total:>5}"
