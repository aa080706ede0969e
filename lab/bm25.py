"""BM25 whose statistics know only what the reader may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab import exact
from lab.model import TermScore
from lab.store import Key, Posting, Stats


@dataclass(frozen=True)
class Lexical:
    """One chunk's lexical score and the terms that make it up."""

    score: int
    terms: tuple[TermScore, ...]


def score(
    terms: Sequence[str],
    postings: Mapping[str, Sequence[Posting]],
    stats: Stats,
) -> dict[Key, Lexical]:
    """Return the score of every readable chunk that holds a query term.

    Document frequency, the number of chunks and their average length come
    from ``stats`` and ``postings``, both of readable chunks only. Each
    term's contribution is rounded once to units of 2**-40; the score is
    their exact sum.
    """
    shares: dict[Key, list[TermScore]] = {}
    for term in terms:
        found = postings.get(term, ())
        df = len(found)
        if df == 0:
            continue
        weight = exact.idf(stats.chunks, df)
        for posting in found:
            shares.setdefault((posting.doc_id, posting.number), []).append(
                TermScore(
                    term,
                    posting.tf,
                    df,
                    weight,
                    exact.bm25_term(
                        weight,
                        posting.tf,
                        posting.length,
                        stats.chunks,
                        stats.terms,
                    ),
                )
            )
    return {
        key: Lexical(sum(share.score for share in parts), tuple(parts))
        for key, parts in shares.items()
    }
