"""Search: the readable set first, and nothing outside it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lab import bm25, citations, exact, fusion, rerank, vectors
from lab.encoders import Encoded
from lab.errors import InvalidInput
from lab.model import MODES, ChannelScore, Context, Hit, Results
from lab.store import Approximating, Candidate, Key, Snapshot, View
from lab.terms import terms
from lab.text import normalize

MAX_QUERY = 1024
MAX_TERMS = 64
MAX_LIMIT = 100
CANDIDATES = 100


@dataclass(frozen=True)
class Query:
    """A checked query: normalised text and its first distinct terms."""

    text: str
    terms: tuple[str, ...]
    mode: str
    limit: int


def parse(query: object, mode: object, limit: object) -> Query:
    """Check a query's parts; user text is never query syntax.

    Raises ``InvalidInput`` for a query that is not 1 to 1,024 code points
    of well-formed text, an unknown mode or a limit outside 1 to 100.
    """
    if not isinstance(query, str):
        raise InvalidInput("query: must be a string")
    if not 1 <= len(query) <= MAX_QUERY:
        raise InvalidInput(f"query: must have 1 to {MAX_QUERY} characters")
    text = normalize(query)
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidInput(f"mode: must be one of {', '.join(MODES)}")
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise InvalidInput("limit: must be an integer")
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit: must lie from 1 to {MAX_LIMIT}")
    distinct = tuple(dict.fromkeys(terms(text)))[:MAX_TERMS]
    return Query(text, distinct, mode, limit)


@dataclass(frozen=True)
class Freshness:
    """Documents not updated within ``max_age`` seconds of ``now`` drop."""

    max_age: int
    now: int

    def keeps(self, updated_at: int | None) -> bool:
        """Say whether a document with this time is fresh enough."""
        return updated_at is not None and self.now - updated_at <= self.max_age


def search(
    snapshot: Snapshot,
    context: Context,
    query: Query,
    encoded: Encoded | None,
    has_vectors: bool,
    minimum_score: float,
    reranker: rerank.Reranker | None,
    freshness: Freshness | None,
    approximate: bool = False,
) -> Results:
    """Return what ``query`` finds in this reader's view, exactly.

    ``encoded`` is the encoded query, ``None`` where no vector channel
    takes part; ``has_vectors`` says whether the index has one at all.
    Every statistic is of the view; no later step can see more. With
    ``approximate``, an index over everybody's rows chooses the vector
    channel's candidates, and the results say so.
    """
    if approximate and not isinstance(snapshot, Approximating):
        raise InvalidInput("approximate: this store has exact search only")
    degraded = []
    if not has_vectors and query.mode == "hybrid":
        degraded.append("vector")
    if reranker is None:
        degraded.append("rerank")
    if not query.terms:
        return Results(
            (), query.mode, query.limit, 0, 0, tuple(degraded), approximate
        )
    view = snapshot.readable(context)
    lexical: Mapping[Key, bm25.Lexical] = {}
    if query.mode != "vector":
        lexical = bm25.score(
            query.terms,
            snapshot.postings(view, query.terms),
            snapshot.stats(view),
        )
    nearness: Mapping[Key, int] = {}
    if query.mode != "lexical" and encoded is not None:
        nearness = near(snapshot, view, encoded, minimum_score, approximate)
    by_term = fusion.ranks(
        {key: part.score for key, part in lexical.items()}, CANDIDATES
    )
    by_vector = fusion.ranks(nearness, CANDIDATES)
    fused = fusion.fuse([by_term, by_vector])
    found = snapshot.candidates(view, sorted(fused))
    fresh = [
        rerank.Fused(found[key], score)
        for key, score in fused.items()
        if freshness is None or freshness.keeps(found[key].updated_at)
    ]
    if reranker is None:
        ranked = [rerank.Ranked(item, (), {}) for item in fresh]
    else:
        ranked = reranker.rank(query.text, query.terms, fresh)
    hits = []
    for place, entry in enumerate(rerank.order(ranked)[: query.limit], 1):
        candidate = entry.item.candidate
        key = (candidate.doc_id, candidate.number)
        channels = {}
        if key in by_term:
            channels["lexical"] = ChannelScore(
                by_term[key], lexical[key].score, lexical[key].terms
            )
        if key in by_vector:
            channels["vector"] = ChannelScore(by_vector[key], nearness[key])
        hits.append(hit(context, entry, place, channels))
    return Results(
        tuple(hits),
        query.mode,
        query.limit,
        len(fused),
        len(fused) - len(fresh),
        tuple(degraded),
        approximate,
    )


def near(
    snapshot: Snapshot,
    view: View,
    encoded: Encoded,
    minimum_score: float,
    approximate: bool = False,
) -> dict[Key, int]:
    """Return readable chunks at or above ``minimum_score``, with cosines.

    Units of 2**-40. A zero row has no direction and is never a candidate.
    """
    least = exact.units(minimum_score)
    if encoded.norm == 0:
        return {}
    scores: dict[Key, int] = {}
    if encoded.features is not None:
        mine = encoded.features
        for key, (norm, shared) in snapshot.features(
            view, sorted(mine)
        ).items():
            dot = sum(mine[name] * count for name, count in shared.items())
            scores[key] = exact.cosine(dot, encoded.norm, norm)
    elif encoded.vector is not None:
        if approximate and isinstance(snapshot, Approximating):
            stored = snapshot.nearest(view, encoded.vector, CANDIDATES)
        else:
            stored = snapshot.vectors(view)
        rows = [row for row in stored if row[2]]
        cosines = vectors.cosines(
            encoded.vector, [(data, norm) for _, data, norm in rows]
        )
        scores = {
            key: cosine
            for (key, _, _), cosine in zip(rows, cosines, strict=True)
        }
    return {key: score for key, score in scores.items() if score >= least}


def hit(
    context: Context,
    entry: rerank.Ranked,
    place: int,
    channels: Mapping[str, ChannelScore],
) -> Hit:
    """Return a ranked candidate as a hit bound to its reader."""
    candidate: Candidate = entry.item.candidate
    return Hit(
        tenant=context.tenant,
        principal=context.principal,
        doc_id=candidate.doc_id,
        revision=candidate.revision,
        document_sha256=candidate.document_sha256,
        title=candidate.title,
        updated_at=candidate.updated_at,
        origin=candidate.origin,
        number=candidate.number,
        start=candidate.start,
        end=candidate.end,
        text=candidate.text,
        sha256=candidate.sha256,
        heading_path=candidate.heading_path,
        citation=citations.cite(
            context.tenant,
            candidate.doc_id,
            candidate.revision,
            candidate.start,
            candidate.end,
            candidate.text,
        ),
        rank=place,
        fused=entry.item.fused,
        channels=channels,
        features=entry.features,
    )
