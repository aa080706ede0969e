"""What the third track's reference reaches, ranking by ranking.

The pool of fifty bounds every reranker, so its recall stands beside what
each ranking makes of the first ten. Vectors are compared exactly here: an
approximate index is built with random numbers, and may move a chunk by a
place from one run to the next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from lab.encoders import specs
from lab.experiments import Emit, Refuted, Unavailable, Uses
from lab.experiments._servers import served
from lab.workbook import figures, reference, requirements
from lab.workbook.manifest import track

KIND = "server"
PAGE = False
LIMITATIONS = (
    "One corpus of 37 short texts and 60 questions, written for the"
    " workbook and made hard on purpose; it is no benchmark.",
    "The embedder of stages 2 to 7 is a hash of words and their pieces and"
    " knows no meaning; of models only the one that ships was run, and no"
    " cross-encoder.",
    "The support floor was found on the questions it is judged by here.",
    "Vectors are compared exactly; the approximate index of the track may"
    " differ from this by a place.",
)

# The column of the table, and the field of `Scores`.
MEASURES: Final = {
    "recall_at_10": "recall",
    "mrr_at_10": "mrr",
    "ndcg_at_10": "ndcg",
}
DIGITS: Final = figures.DIGITS

# The last three only order what is in the pool.
POOLED: Final = ("hybrid", "reranked", "mmr")
RANKINGS: Final = ("vector", "text", *POOLED)

# Returns the whole pool of a question, best first.
Search = Callable[[str], Sequence[Any]]


class Remembering:
    """An embedder in front of another, that embeds no text twice."""

    def __init__(self, embedder: Any) -> None:
        self.dims: int = embedder.dims
        self._embedder = embedder
        self._known: dict[tuple[str, bool], Any] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Any]:
        """Return a vector for each text, as the other embedder makes it."""
        for text in texts:
            if (text, query) not in self._known:
                (made,) = self._embedder.embed([text], query=query)
                self._known[text, query] = made
        return [self._known[text, query] for text in texts]


def uses() -> Uses:
    """Return the model that takes the hash's place in stage 8."""
    return Uses(encoder=specs.known("shipped").fingerprint)


def run(emit: Emit) -> dict[str, Any]:
    """Measure the reference; return its figures and what it misses.

    ``Unavailable`` without a server or a runtime for the shipped model.
    ``Refuted`` when they are not those that the track's tests compare a
    learner's pipeline with, or when a pool's bound does not hold.
    """
    lacking = requirements.missing(("onnx",))
    if lacking:
        raise Unavailable(f"it needs {lacking[0].command}")
    modules = reference.load(track(figures.TRACK))
    schema = f"pipeline_evidence_{os.getpid()}"
    with served() as dsn:
        import psycopg

        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("SET enable_indexscan = off")
            pinned = figures.measured(connection, schema)
            runs = modules["metrics"].measure(connection, schema)
            made = _rankings(modules, connection, schema, runs)
            outside = _outside(modules, connection, schema)
    missed = modules["metrics"].misses(runs)
    inside = [
        modules["answering"].support(one.query.query, one.hits) for one in runs
    ]
    floor = pinned["support_floor"]
    documents = modules["chunker"].load_documents()
    claims = {
        "documents": len(documents),
        "chunks": len(modules["chunker"].chunk_documents(documents)),
        "queries": len(runs),
        "kinds": _by_kind(modules, runs, made),
        "misses": _misses(modules, runs, missed),
        "floor": {
            "support": floor,
            "outside": len(outside),
            "outside_refused": sum(one < floor for one in outside),
            "inside_refused": sum(one < floor for one in inside),
        },
        "shipped": {
            "pool": pinned["local"]["pool"],
            **{
                name: {
                    measure: pinned["local"][order][field]
                    for measure, field in MEASURES.items()
                }
                for name, order in (("hybrid", "hybrid"), ("reranked", "full"))
            },
        },
    }
    _tell(claims, emit)
    _judge(claims, pinned)
    return claims


def _rankings(
    modules: Mapping[str, ModuleType],
    connection: Any,
    schema: str,
    runs: Sequence[Any],
) -> dict[str, list[Any]]:
    """Return the runs again for each ranking that there is."""
    retrieval, reranking = modules["retrieval"], modules["reranking"]
    embedder = Remembering(modules["store"].HashingEmbedder())
    store = modules["store"].ChunkStore(connection, schema, embedder.dims)
    mmr = reranking.MmrReranker(embedder)
    reranked = {one.query.query: one.hits for one in runs}
    fused = {one.query.query: one.fused for one in runs}
    searches: dict[str, Search] = {
        "vector": lambda asked: retrieval.vector_search(store, embedder, asked),
        "text": lambda asked: retrieval.text_search(store, asked),
        "hybrid": fused.__getitem__,
        "reranked": reranked.__getitem__,
        "mmr": lambda asked: mmr.rerank(asked, reranked[asked]),
    }
    return {
        name: [
            modules["metrics"].Run(
                one.query,
                tuple(search(one.query.query)),
                one.fused,
                one.relevant,
            )
            for one in runs
        ]
        for name, search in searches.items()
    }


def _outside(
    modules: Mapping[str, ModuleType], connection: Any, schema: str
) -> list[float]:
    """Return the support of each question about something else."""
    embedder = modules["store"].HashingEmbedder()
    pipeline = modules["reranking"].Pipeline(
        modules["store"].ChunkStore(connection, schema, embedder.dims),
        embedder,
        modules["reranking"].Bm25Reranker(),
    )
    return [
        modules["answering"].support(question, pipeline.search(question))
        for question in modules["pipeline_types"].OFF_CORPUS
    ]


def _by_kind(
    modules: Mapping[str, ModuleType],
    runs: Sequence[Any],
    made: Mapping[str, Sequence[Any]],
) -> dict[str, dict[str, Any]]:
    """Return the pool's recall and each ranking's measures, kind by kind."""
    metrics = modules["metrics"]
    scores = {name: metrics.evaluate(ranked) for name, ranked in made.items()}
    return {
        kind: {
            "questions": one.queries,
            "pool": round(
                metrics.bound(
                    [run for run in runs if kind in ("all", run.query.kind)]
                ),
                DIGITS,
            ),
            **{
                name: {
                    measure: round(getattr(found[kind], field), DIGITS)
                    for measure, field in MEASURES.items()
                }
                for name, found in scores.items()
            },
        }
        for kind, one in scores["reranked"].items()
    }


def _misses(
    modules: Mapping[str, ModuleType],
    runs: Sequence[Any],
    missed: Sequence[Any],
) -> dict[str, Any]:
    """Count what is missed, by kind and by where the right chunk is."""
    types = modules["pipeline_types"]
    top = types.TOP_K
    before = {
        one.query.id
        for one in modules["metrics"].misses(
            [
                modules["metrics"].Run(
                    one.query, one.fused, one.fused, one.relevant
                )
                for one in runs
            ]
        )
    }
    after = {one.query.id for one in missed}
    return {
        "all": len(missed),
        **{
            kind: sum(one.query.kind == kind for one in missed)
            for kind in types.KINDS
        },
        "not_in_pool": sum(one.best_rank is None for one in missed),
        "just_beyond": sum(
            one.best_rank is not None and one.best_rank <= 2 * top
            for one in missed
        ),
        "before_reranking": len(before),
        "won_by_reranking": len(before - after),
        "lost_by_reranking": len(after - before),
        "listed": [
            {
                "id": one.query.id,
                "kind": one.query.kind,
                "after": one.best_rank,
                "before": one.fused_rank,
            }
            for one in missed
        ],
    }


def _tell(claims: Mapping[str, Any], emit: Emit) -> None:
    overall, *kinds = claims["kinds"].items()
    emit(
        f"{claims['documents']} documents, {claims['chunks']} chunks,"
        f" {claims['queries']} questions; the first 10 of each ranking"
    )
    emit("")
    emit(
        f"{'':<12}{'recall':>8}{'MRR':>8}{'nDCG':>8}"
        + "".join(f"{kind:>12}" for kind, _ in kinds)
    )
    for name in RANKINGS:
        scores = "".join(f"{one:>8.3f}" for one in overall[1][name].values())
        recalls = "".join(
            f"{one[name]['recall_at_10']:>12.3f}" for _, one in kinds
        )
        emit(f"{name:<12}{scores}{recalls}")
    emit(
        f"{'pool of 50':<12}{overall[1]['pool']:>8.3f}{'':>16}"
        + "".join(f"{one['pool']:>12.3f}" for _, one in kinds)
    )
    misses = claims["misses"]
    emit("")
    emit(
        f"misses: {misses['before_reranking']} before reranking,"
        f" {misses['all']} after"
        f" ({misses['won_by_reranking']} won, {misses['lost_by_reranking']}"
        " lost)"
    )
    emit(f"  {misses['not_in_pool']} are not in the pool at all")
    emit(f"  {misses['just_beyond']} stand at places 11 to 20")
    floor = claims["floor"]
    emit("")
    emit(
        f"support floor {floor['support']:.3f}: refuses"
        f" {floor['outside_refused']} of {floor['outside']} questions about"
        " something else,"
    )
    emit(f"  and {floor['inside_refused']} of {claims['queries']} others")
    emit("")
    emit("with the shipped model in place of the hash")
    for name in ("hybrid", "reranked"):
        scores = claims["shipped"][name].values()
        emit(f"{name:<12}" + "".join(f"{one:>8.3f}" for one in scores))
    emit(f"{'pool of 50':<12}{claims['shipped']['pool']:>8.3f}")


def _judge(claims: Mapping[str, Any], pinned: Mapping[str, Any]) -> None:
    """Raise ``Refuted`` where a promise of the track does not hold."""
    for kind, one in claims["kinds"].items():
        if any(
            one["reranked"][measure] != pinned["scores"][kind][field]
            for measure, field in MEASURES.items()
        ):
            raise Refuted(f"two runs of the reference agree: {kind}")
        for name in POOLED:
            if one[name]["recall_at_10"] > one["pool"]:
                raise Refuted(f"the pool bounds what {name} finds: {kind}")
    overall = claims["kinds"]["all"]
    before = overall["hybrid"]["mrr_at_10"]
    if overall["reranked"]["mrr_at_10"] <= before:
        raise Refuted("reranking raises the MRR of the fused order")
    if overall["mmr"]["mrr_at_10"] < before:
        raise Refuted("variety leaves the MRR of the fused order")
    shipped = claims["shipped"]
    if shipped["hybrid"]["recall_at_10"] <= overall["hybrid"]["recall_at_10"]:
        raise Refuted("a model finds what the hash does not")
    floor = claims["floor"]
    if floor["outside_refused"] != floor["outside"]:
        raise Refuted("what the corpus does not speak of is refused")
    if floor["inside_refused"] > 1:
        raise Refuted("the floor loses at most one golden question")
