"""What shared words show of a claim, and what they do not.

A dozen claims about two policies, judged by us as true or false of them,
are compared with the evidence for one reader. Then every figure in the
fixture's prose is replaced, once by another of its paragraph's figures and
once by one that stands nowhere, and compared again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lab.answering.grounding import Verdict, content_words, ground
from lab.answering.sentences import sentences
from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses, _models
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.model import Context, Evidence
from lab.text import project

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The claims are ours, written to show kinds of agreement and error; how"
    " often a model makes which of them is not measured.",
    "Whether a claim is true of the policies was judged by reading them.",
    "The replaced figures are those of 45 short documents of our own.",
)

ALICE: Final = Context("larkspur", "alice")
QUESTIONS: Final = (
    "GBP hotel limit, breakfast included",
    "meals repaid against receipts",
    "省会城市 每晚上限 多少元",
)
THRESHOLDS: Final = (0.4, 0.6, 0.8, 1.0)
_FIGURE: Final = re.compile(r"(?<![\w.,-])[0-9]{2,4}(?![\w.,-])")
NOWHERE: Final = "8675"


@dataclass(frozen=True)
class Claim:
    """A claim, what kind it is, and whether the policies say so."""

    kind: str
    text: str
    true: bool


# region: claims
CLAIMS: Final = (
    Claim(
        "the policy's words",
        "The hotel limit in the United Kingdom is 180 GBP a night.",
        True,
    ),
    Claim(
        "in other words",
        "A room in Britain may cost at most 180 pounds.",
        True,
    ),
    Claim(
        "from two places",
        "A British hotel may cost 180 GBP and meals 45 GBP a day.",
        True,
    ),
    Claim(
        "figures exchanged",
        "The hotel limit in the United Kingdom is 750 GBP a night.",
        False,
    ),
    Claim(
        "a figure invented",
        "The hotel limit in the United Kingdom is 240 GBP a night.",
        False,
    ),
    Claim(
        "from an old document",
        "The hotel limit in the United Kingdom is 110 GBP a night.",
        False,
    ),
    Claim("a negation lost", "Alcohol is repaid at a dinner.", False),
    Claim(
        "a negation added",
        "The hotel limit does not include breakfast and local tax.",
        False,
    ),
    Claim("invented", "Business class is allowed on flights to Tokyo.", False),
    Claim("Chinese, its words", "省会城市每晚上限 550 元。", True),
    Claim("Chinese, exchanged", "省会城市每晚上限 420 元。", False),
    Claim("nothing said", "That is so.", True),
)
# endregion


def uses() -> Uses:
    """Return what it runs on."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Judge the claims and the replaced figures; return the counts."""
    fixture = load_fixture()
    with Index.open(":memory:") as index:
        populate(index, fixture)
        evidence = gathered(index)
    paragraphs = [
        piece
        for document in fixture.documents
        for piece in split(project(document.format, document.source).body)
    ]
    rows = [(claim, judged(claim.text, evidence)) for claim in CLAIMS]
    emit("kind                 true  share  at 0.6       missing")
    for claim, verdict in rows:
        emit(_row(claim, verdict))
    by_kind = {claim.kind: verdict for claim, verdict in rows}
    if not by_kind["the policy's words"].supported:
        raise Refuted("a claim in the policy's words is supported")
    if by_kind["invented"].supported:
        raise Refuted("a claim that nothing speaks of is unsupported")
    emit("")
    emit("least share   true claims supported   false claims supported")
    thresholds = {}
    for least in THRESHOLDS:
        counts = at(least, evidence)
        thresholds[f"{least:.1f}".replace(".", "_")] = {"least": least} | counts
        emit(
            f"{least:<14.1f}{counts['true']:>4} of {counts['all_true']:<15}"
            f"{counts['false']:>4} of {counts['all_false']}"
        )
    figures = replaced(paragraphs)
    emit("")
    emit(f"{figures['sentences']} sentences with a figure, each changed twice")
    emit("  least share               0.6   0.8   1.0   named as missing")
    for name, title in (
        ("swapped", "from its paragraph"),
        ("invented", "from nowhere"),
    ):
        row = figures[name]
        emit(
            f"  {title:<22}{row['at_0_6']:>6}{row['at_0_8']:>6}"
            f"{row['at_1_0']:>6}{row['named']:>9}"
        )
    return {
        "claims": {
            f"c{number}": {
                "kind": claim.kind,
                "true": claim.true,
                "overlap": round(verdict.overlap, 3),
                "supported": verdict.supported,
                "missing": list(verdict.missing),
            }
            for number, (claim, verdict) in enumerate(rows, start=1)
        },
        "thresholds": thresholds,
        "figures": figures,
    }


def gathered(index: Index) -> list[Evidence]:
    """Return Alice's checked evidence for the questions, each piece once."""
    found: dict[str, Evidence] = {}
    for question in QUESTIONS:
        hits = index.search(question, ALICE).hits
        for piece in index.answer(hits, ALICE, limit=2).evidence:
            found[piece.citation] = piece
    return list(found.values())


def judged(text: str, evidence: Sequence[Evidence]) -> Verdict:
    """Return the verdict on one claim at the usual least share."""
    return ground([text], evidence).verdicts[0]


def at(least: float, evidence: Sequence[Evidence]) -> dict[str, int]:
    """Count what is supported at a least share, claims with content only."""
    counts = {"true": 0, "false": 0, "all_true": 0, "all_false": 0}
    for claim in CLAIMS:
        if not content_words(claim.text):
            continue
        kind = "true" if claim.true else "false"
        verdict = ground([claim.text], evidence, least).verdicts[0]
        counts[f"all_{kind}"] += 1
        counts[kind] += verdict.supported
    return counts


@dataclass(frozen=True)
class Piece:
    """A stretch of a document, as evidence."""

    citation: str
    text: str


def split(text: str) -> list[Piece]:
    """Return the paragraphs of a document as pieces."""
    parts = [part for part in text.split("\n\n") if part.strip()]
    return [Piece("", part) for part in parts]


def replaced(pieces: Sequence[Piece]) -> dict[str, Any]:
    """Change one figure of each sentence that has one; count verdicts.

    Only sentences whose paragraph holds a second figure, so that both
    changes can be made to the same ones.
    """
    count = 0
    totals = {
        name: {"at_0_6": 0, "at_0_8": 0, "at_1_0": 0, "named": 0}
        for name in ("swapped", "invented")
    }
    for piece in pieces:
        figures = list(dict.fromkeys(_FIGURE.findall(piece.text)))
        if len(figures) < 2:
            continue
        for sentence in sentences(piece.text):
            found = _FIGURE.search(sentence)
            if found is None:
                continue
            other = next(f for f in figures if f != found[0])
            count += 1
            for name, figure in (("swapped", other), ("invented", NOWHERE)):
                changed = (
                    sentence[: found.start()] + figure + sentence[found.end() :]
                )
                (verdict,) = ground([changed], [piece]).verdicts
                totals[name]["at_0_6"] += verdict.overlap >= 0.6
                totals[name]["at_0_8"] += verdict.overlap >= 0.8
                totals[name]["at_1_0"] += verdict.overlap >= 1.0
                totals[name]["named"] += figure in verdict.missing
    if totals["invented"]["named"] != count:
        raise Refuted("a figure that stands nowhere is named as missing")
    return {"sentences": count, **totals}


def _row(claim: Claim, verdict: Verdict) -> str:
    state = "supported" if verdict.supported else "unsupported"
    if verdict.trivial:
        state = "trivial"
    missing = " ".join(verdict.missing[:4]) or "-"
    true = "yes" if claim.true else "no"
    return (
        f"{claim.kind:<21}{true:<6}{verdict.overlap:<7.2f}{state:<13}{missing}"
    )
