"""Four ways to put text into FTS5, and one score for three readers."""

from __future__ import annotations

import math
import sqlite3
from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.exact import UNIT
from lab.experiments import Emit, Refuted, Uses, _models
from lab.experiments.lexical_probes import PROBES
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.model import Context, Document, Hit, Policy
from lab.terms import terms

KIND = "core"
PAGE = True
LIMITATIONS = (
    "Strings chosen because some choice fails on them; their share says"
    " nothing about what people type.",
    "One query and one chunk; the identity of the sum is a contract and is"
    " tested for all.",
)

# Two more: a string that no choice finds, and one that ours should not.
MORE: Final = (("报税截止日是六月三十日", "税"), ("北京大学是好学校", "京大"))
QUERY: Final = "hotel limit"
CHUNK: Final = ("travel-policy", 4)
READERS: Final = ("wei", "omar", "dana")
# BM25's constants, and the largest error of a double here.
K1: Final = 1.5
B: Final = 0.75
NEAR: Final = 1e-9


def uses() -> Uses:
    """Return what the score was taken from."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return what each choice finds, and one score in its parts.

    ``Refuted`` when the parts do not add up, or the formula, worked out in
    floating point from the printed numbers, gives something else.
    """
    return {"strings": _strings(emit), "score": _score(emit)}


def _strings(emit: Emit) -> dict[str, Any]:
    names = ("as it comes", "quoted", "trigram", "the lab")
    emit(f"{'query':<20}" + "".join(f"{name:>13}" for name in names))
    rows = []
    for text, query in (*PROBES, *MORE):
        came = (
            _fts5(text, query, ""),
            _fts5(text, _quoted(query), ""),
            _fts5(text, _quoted(query), ", tokenize='trigram'"),
            "found" if _lab(text, query) else "nothing",
        )
        wide = sum(ord(c) > 0x2E80 for c in query)
        emit(f"{query:<{20 - wide}}" + "".join(f"{one:>13}" for one in came))
        rows.append(
            {
                "query": query,
                **dict(
                    zip(("raw", "quoted", "trigram", "lab"), came, strict=True)
                ),
            }
        )
    emit("")
    asked = rows[: len(PROBES)]
    return {
        "rows": rows,
        "asked": len(asked),
        **{
            way: sum(row[way] == "found" for row in asked)
            for way in ("raw", "quoted", "trigram", "lab")
        },
    }


def _quoted(query: str) -> str:
    """Return each word as an FTS5 string, so that nothing is syntax."""
    return " ".join(
        '"' + word.replace('"', '""') + '"' for word in query.split()
    )


def _fts5(text: str, query: str, options: str) -> str:
    db = sqlite3.connect(":memory:")
    try:
        db.execute(f"CREATE VIRTUAL TABLE notes USING fts5(body{options})")
        db.execute("INSERT INTO notes VALUES (?)", (text,))
        rows = db.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ?", (query,)
        ).fetchall()
    except sqlite3.OperationalError:
        return "error"
    finally:
        db.close()
    return "found" if rows else "nothing"


def _lab(text: str, query: str) -> bool:
    with Index.open(":memory:", encoder=None) as index:
        index.upsert(Document("t", "d", 1, "text", text, Policy(("*",))))
        found = index.search(query, Context("t", "reader"), mode="lexical")
    return bool(found.hits)


def _score(emit: Emit) -> dict[str, Any]:
    emit(f"{QUERY!r}: what {CHUNK[0]}, chunk {CHUNK[1]}, scores for whom")
    emit(
        f"{'reader':<8}{'chunks':>8}{'average':>9}  {'term':<7}{'tf':>3}"
        f"{'df':>4}{'in units of 2**-40':>19}{'share':>10}"
    )
    rows: dict[str, Any] = {}
    with Index.open(":memory:") as index:
        populate(index, load_fixture())
        for name in READERS:
            rows[name] = _reader(emit, index, Context("larkspur", name))
    return rows


def _reader(emit: Emit, index: Index, reader: Context) -> dict[str, Any]:
    with index.snapshot() as snapshot:
        view = snapshot.readable(reader)
        stats = snapshot.stats(view)
        text = snapshot.candidates(view, [CHUNK])[CHUNK].text
    hits = index.search(QUERY, reader, mode="lexical", limit=100).hits
    hit = next(h for h in hits if (h.doc_id, h.number) == CHUNK)
    lexical = hit.channels["lexical"]
    average = stats.terms / stats.chunks
    length = len(terms(text))
    row: dict[str, Any] = {
        "chunks": stats.chunks,
        "average": round(average, 3),
        "length": length,
        "terms": {},
    }
    first = f"{reader.principal:<8}{stats.chunks:>8}{average:>9.3f}"
    for part in lexical.terms:
        share = part.score / UNIT
        if (
            abs(
                share
                - _formula(part.tf, part.df, stats.chunks, length, average)
            )
            > NEAR
        ):
            raise Refuted("a share is what the formula gives")
        emit(
            f"{first:<25}  {part.term:<7}{part.tf:>3}{part.df:>4}"
            f"{part.score:>19,}{share:>10.6f}"
        )
        first = ""
        row["terms"][part.term] = {
            "tf": part.tf,
            "df": part.df,
            "units": part.score,
            "share": round(share, 6),
        }
    if sum(part.score for part in lexical.terms) != lexical.score:
        raise Refuted("the shares add up to the score")
    emit(f"{'':<25}  {'sum':<14}{lexical.score:>19,}{_six(hit):>10}")
    return row | {"sum": round(lexical.score / UNIT, 6), "units": lexical.score}


def _six(hit: Hit) -> str:
    return f"{hit.channels['lexical'].score / UNIT:.6f}"


def _formula(tf: int, df: int, n: int, length: int, average: float) -> float:
    weight = math.log(1 + (n - df + 0.5) / (df + 0.5))
    return weight * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / average))
