"""Small strings, asked of FTS5 as it comes and of the lab."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Policy
from lab.terms import FINGERPRINT

KIND = "core"
PAGE = True
LIMITATIONS = (
    "A handful of strings chosen because they fail; not a sample of what"
    " people type.",
    "FTS5 with its default tokenizer and with user text passed to MATCH as"
    " it stands; an application can quote and tokenise, which is the point.",
)

# A text, and a query that a reader would expect to find it.
PROBES: Final = (
    ("a multi-agent plan", "multi-agent"),
    ("band 38.101 applies", "38.101"),
    ("serial TS01-H-18011-005 ships", "TS01-H-18011-005"),
    ("ask Mr. Jones about it", "Mr. Jones"),
    ("步2 重跑gen-itgc后50条悬空引用清零", "悬空"),
    ("步2 重跑gen-itgc后50条悬空引用清零", "itgc"),
    ("北京大学是好学校", "北京"),
    ("開始ﾕｰｻﾞｰ認証", "ユーザー"),
)


def uses() -> Uses:
    """Return the version of the terms that the lab's answers rest on."""
    return Uses(flags={"terms": FINGERPRINT})


def run(emit: Emit) -> dict[str, Any]:
    """Return, for each probe, what FTS5 and the lab found.

    ``Refuted`` when the lab does not find a text by its own string.
    """
    emit("query                FTS5 as it comes        the lab")
    probes = []
    for text, query in PROBES:
        plain, ours = _fts5(text, query), _lab(text, query)
        emit(_row(query, plain, "found" if ours else "not found"))
        if not ours:
            raise Refuted(f"{text!r} is found by {query!r}")
        probes.append({"text": text, "query": query, "fts5": plain})
    emit("")
    emit("a word in every one of n documents: BM25 of the first")
    everywhere = []
    for count in (1, 2, 4, 8):
        plain_score, our_score = _everywhere(count)
        emit(f"n = {count}   FTS5 {plain_score}   the lab {our_score}")
        everywhere.append(
            {"documents": count, "fts5": plain_score, "lab": our_score}
        )
    return {
        "probes": probes,
        "asked": len(probes),
        "fts5_found": sum(p["fts5"] == "found" for p in probes),
        "fts5_errors": sum(p["fts5"].startswith("error") for p in probes),
        "everywhere": everywhere,
    }


def _row(query: str, plain: str, ours: str) -> str:
    wide = sum(ord(c) > 0x2E80 for c in query)
    return f"{query:<{20 - wide}} {plain:<23} {ours}"


def _table(texts: list[str]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE notes USING fts5(body)")
    db.executemany("INSERT INTO notes VALUES (?)", [(t,) for t in texts])
    return db


def _fts5(text: str, query: str) -> str:
    db = _table([text])
    try:
        rows = db.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ?", (query,)
        ).fetchall()
    except sqlite3.OperationalError as error:
        # Its words differ between versions of SQLite; that it fails, and
        # as what kind of fault, does not.
        kind = "no such column" if "column" in str(error) else "syntax"
        return f"error: {kind}"
    finally:
        db.close()
    return "found" if rows else "nothing"


def _index(texts: list[str]) -> Index:
    index = Index.open(":memory:", encoder=None)
    for number, text in enumerate(texts):
        index.upsert(
            Document("t", f"d{number}", 1, "text", text, Policy(("*",)))
        )
    return index


def _lab(text: str, query: str) -> bool:
    with _index([text, "something else entirely"]) as index:
        results = index.search(query, Context("t", "reader"), mode="lexical")
    return [hit.doc_id for hit in results.hits] == ["d0"]


def _everywhere(count: int) -> tuple[str, str]:
    texts = ["DuckDB notes"] * count
    db = _table(texts)
    # FTS5 returns the negative, so that ascending order is best first.
    (plain,) = db.execute(
        "SELECT -bm25(notes) FROM notes WHERE notes MATCH 'duckdb' LIMIT 1"
    ).fetchone()
    db.close()
    with _index(texts) as index:
        (hit, *_) = index.search(
            "DuckDB", Context("t", "reader"), mode="lexical"
        ).hits
    ours = hit.channels["lexical"].score / 2**40
    return f"{plain:.6f}", f"{ours:.6f}"
