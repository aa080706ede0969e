"""One question from a source to evidence, and what forging a hit gains."""

from __future__ import annotations

import hashlib
import textwrap
from typing import Any, Final

from lab import canonical
from lab.answers import ABSTENTION
from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses, _models
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.model import Answer, Context

KIND = "core"
PAGE = True
LIMITATIONS = (
    "One question, one document and eight forgeries; a forgery that nobody"
    " thought of is not among them.",
)

WEI: Final = Context("larkspur", "wei")
QUESTION: Final = "travel: hotel limit a night"
LIE: Final = "The hotel limit in the United Kingdom is 900 GBP a night."

# What is changed in the hit's JSON, what is expected, and the name of it.
FORGERIES: Final[tuple[tuple[str, dict[str, Any], str], ...]] = (
    ("nothing", {}, "as stored"),
    ("the text", {"text": LIE}, "as stored"),
    ("the title and the rank", {"title": "Law", "rank": 0}, "as stored"),
    ("the span", {"start": 0}, "digest"),
    ("the text and its digest", {"text": LIE}, "digest"),
    ("the revision", {"revision": 2}, "revision"),
    ("the document", {"doc_id": "board-paper-q3"}, "unreadable"),
    ("the reader", {"principal": "dana"}, "foreign"),
    ("all, to another chunk's", {}, "that chunk"),
)
# What names a chunk: copied together, it is no forgery but another hit.
NAMED: Final = (
    "doc_id",
    "revision",
    "document_sha256",
    "number",
    "start",
    "end",
    "sha256",
)


def uses() -> Uses:
    """Return what the question was asked of."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return each link of the chain, and what became of each forgery.

    ``Refuted`` when a link does not lead back to the one before it, or a
    forged hit makes the answer say what the store does not hold.
    """
    fixture = load_fixture()
    source = fixture.document("larkspur", "travel-policy")
    raw = source.source.encode("utf-8")
    with Index.open(":memory:") as index:
        populate(index, fixture)
        hits = index.search(QUESTION, WEI).hits
        hit = next(h for h in hits if h.doc_id == source.doc_id)
        document = index.read(hit.doc_id, WEI)
        answer = index.answer([hit], WEI)
        above = index.answer(hits[: hit.rank - 1], WEI).evidence
        forged = [
            _forge(index, hit.to_data(), hits[0].to_data(), *row)
            for row in FORGERIES
        ]
    evidence = answer.evidence[0]
    lexical = hit.channels["lexical"]
    emit(f"wei asks      {QUESTION}")
    emit(f"source        {source.tenant}/{source.doc_id}, {source.format}")
    emit(f"              revision {source.revision}, {len(raw)} bytes")
    emit(f"              sha256 {_short(hashlib.sha256(raw).hexdigest())}")
    emit(f"projection    {len(document.body)} code points, LF, NFC")
    emit(f"              sha256 {_short(document.sha256)}")
    emit(f"chunk         number {hit.number}, [{hit.start},{hit.end})")
    emit(f"              under {' > '.join(hit.heading_path)}")
    emit(f"              sha256 {_short(hit.sha256)}")
    emit(f"hit           for {hit.tenant}/{hit.principal}, rank {hit.rank}")
    emit(f"              by {' '.join(sorted(t.term for t in lexical.terms))}")
    emit(f"evidence      {evidence.citation}")
    _quote(emit, evidence.text)
    emit("")
    _walk_back(document.body, hit.start, hit.end, evidence.text, hit.sha256)
    emit("the same hit, changed on its way, and what `answer` makes of it")
    for row in forged:
        emit(f"  {row['changed']:<26}{row['came']}")
    emit("")
    emit("above it stood")
    for item in above:
        emit(f"  {item.citation}")
        _quote(emit, _sentence(item.text, "GBP a night"))
    return {
        "source": {"bytes": len(raw), "revision": source.revision},
        "projection": {
            "code_points": len(document.body),
            "sha256": document.sha256,
        },
        "chunk": {
            "number": hit.number,
            "start": hit.start,
            "end": hit.end,
            "heading_path": list(hit.heading_path),
        },
        "hit": {"rank": hit.rank, "doc_id": hit.doc_id},
        "evidence": {"citation": evidence.citation, "text": evidence.text},
        "above": [item.citation for item in above],
        "forged": forged,
        "tried": len(forged) - 1,
    }


def _short(digest: str) -> str:
    return digest[:16] + "…"


def _quote(emit: Emit, text: str) -> None:
    for line in text.strip().split("\n"):
        for part in textwrap.wrap(line, 74) or [""]:
            emit(f"  | {part}".rstrip())


def _sentence(text: str, words: str) -> str:
    return next(line for line in text.split("\n") if words in line)


def _walk_back(body: str, start: int, end: int, quote: str, sha: str) -> None:
    if body[start:end] != quote:
        raise Refuted("the quotation is the slice that its span names")
    if canonical.sha256(quote) != sha:
        raise Refuted("the digest of the hit is that of the quotation")


def _forge(
    index: Index,
    data: dict[str, Any],
    other: dict[str, Any],
    name: str,
    change: dict[str, Any],
    expected: str,
) -> dict[str, str]:
    """Answer from a changed hit; say what came, and hold it to the stored."""
    changed = data | change
    if name == "the text and its digest":
        changed["sha256"] = canonical.sha256(LIE)
    if expected == "that chunk":
        changed |= {field: other[field] for field in NAMED}
    sink: dict[str, int] = {}
    answer = index.answer([changed], WEI, sink=sink)
    came = _came(answer, data["text"], other["text"], sink)
    if came.split(",")[0] != expected:
        raise Refuted(f"a hit with {name} changed gives {expected}, not {came}")
    return {"changed": name, "came": came}


def _came(answer: Answer, stored: str, other: str, sink: dict[str, int]) -> str:
    if answer.evidence:
        known = {stored: "as stored", other: "that chunk, as stored"}
        return known.get(answer.evidence[0].text, "a lie")
    if answer.text != ABSTENTION:
        raise Refuted("an answer without evidence is the fixed sentence")
    return f"{next(iter(sink))}, abstains"
