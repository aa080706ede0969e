"""One retrieval of the workbook's reference, step by step, and its leaks.

The reference filters after it has ranked. What that still tells a reader
is shown on three small attacks, and each is tried on the laboratory too.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from lab.chunking import WindowChunker
from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Policy
from lab.model import Document as LabDocument
from lab.workbook.manifest import track
from lab.workbook.reference import load

KIND = "core"
PAGE = False
LIMITATIONS = (
    "A handful of one-chunk documents, chosen so that every figure can be"
    " worked out by hand.",
    "The attacks are on the reference's own design; what they tell of the"
    " laboratory is only that these three do not work there.",
)

QUESTION: Final = "hotel limit per night"
NOW: Final = 100
MAX_AGE: Final = 60
BUDGET: Final = 60
CLAIM: Final = "The hotel limit is 210 pounds a night."

# Tenant, id, text, version, classification, barrier, tick.
DOCUMENTS: Final = (
    (
        *("larkspur", "travel-policy"),
        "A hotel night has a limit of 210 pounds.",
        *(2, "internal", None, 90),
    ),
    (
        *("larkspur", "expenses-2019"),
        "The hotel limit is 140 pounds per night.",
        *(1, "internal", None, 10),
    ),
    (
        *("larkspur", "expenses-guide"),
        "Keep the hotel receipt and file it within a week.",
        *(4, "internal", None, 80),
    ),
    (
        *("larkspur", "board-paper-q3"),
        "Layoffs at Leeds: hotel bookings have a limit per night.",
        *(1, "restricted", None, 95),
    ),
    (
        *("larkspur", "heron-term-sheet"),
        "Project Heron: the hotel for the talks is booked by night.",
        *(1, "internal", "heron", 95),
    ),
    (
        *("larkspur", "remote-work"),
        "Two days a week are worked from the office.",
        *(3, "internal", None, 70),
    ),
    (
        *("quayside", "travel-policy"),
        "The hotel limit is 95 pounds per night for drivers.",
        *(1, "internal", None, 95),
    ),
)


def uses() -> Uses:
    """Return what the laboratory's side of the attacks is made of."""
    return Uses(
        encoder=TermCounts().fingerprint,
        chunker=WindowChunker().fingerprint,
    )


def run(emit: Emit) -> dict[str, Any]:
    """Return every figure of the trace, and what each attack learns."""
    modules = load(track("authorized-retrieval"))
    made = SimpleNamespace(
        **vars(modules["retrieval_types"]), **_public(modules)
    )
    trace = _trace(made, emit)
    emit("")
    leaks = _leaks(made, emit)
    claims: dict[str, Any] = _rounded({"trace": trace, "leaks": leaks})
    return claims


def _rounded(value: Any) -> Any:
    """Return a value whose floats are the same on every machine."""
    if isinstance(value, float):
        # A logarithm may differ in its last bit between C libraries.
        return round(value, 6)
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return value


def _public(modules: dict[str, Any]) -> dict[str, Any]:
    given = vars(modules["retrieval_types"])
    own = vars(modules["authorized_retrieval"])
    return {name: value for name, value in own.items() if name not in given}


def _filled(made: Any, documents: Any, **settings: Any) -> Any:
    retriever = made.AuthorizedRetriever(**settings)
    for document in documents:
        retriever.add(made.Document(*document))
    return retriever


def _trace(made: Any, emit: Emit) -> dict[str, Any]:
    retriever = _filled(made, DOCUMENTS, max_age=MAX_AGE)
    bob = made.Caller("larkspur", "internal")
    space = made.namespace(bob.tenant)
    emit(f"question   {QUESTION}")
    emit(f"caller     {bob.tenant}, clearance {bob.clearance}, no barrier")
    emit(f"namespace  {space} of {', '.join(retriever.dense.namespaces())}")
    idf = {
        token: retriever.lexical.idf(space, token)
        for token in made.tokenize(QUESTION)
    }
    emit("idf        " + "  ".join(f"{k} {v:.3f}" for k, v in idf.items()))
    rankings: dict[str, Any] = {}
    removed: dict[str, list[str]] = {"invisible": [], "stale": []}
    kept = []
    for name, index in (
        ("lexical", retriever.lexical),
        ("dense", retriever.dense),
    ):
        emit(f"{name}:")
        rows = []
        left = []
        for rank, scored in enumerate(index.search(space, QUESTION), 1):
            chunk = retriever.chunks[space, scored.chunk_id]
            fate = "kept"
            if not made.visible(chunk, bob):
                fate = "invisible"
            elif not retriever.fresh(chunk, NOW):
                fate = "stale"
            else:
                left.append(scored)
            if fate != "kept":
                removed[fate].append(scored.chunk_id)
            rows.append(
                {"id": scored.chunk_id, "score": scored.score, "fate": fate}
            )
            emit(f"  {rank}  {scored.chunk_id:<22}{scored.score:>7.4f}  {fate}")
        rankings[name] = rows
        kept.append(left)
    fused = made.reciprocal_rank_fusion(kept)
    emit("fused:")
    for rank, one in enumerate(fused, 1):
        emit(f"  {rank}  {one.chunk_id:<22}{one.score:>7.4f}")
    found = retriever.retrieve(QUESTION, bob, NOW)
    emit("reranked:")
    for rank, one in enumerate(found.results, 1):
        emit(f"  {rank}  {one.chunk_id:<22}{one.score:>7.4f}")
    emit(
        f"considered {found.considered}, invisible {found.invisible},"
        f" stale {found.stale}"
    )
    if (found.invisible, found.stale) != tuple(map(len, removed.values())):
        raise Refuted("every removal is counted, once for each ranking")
    grounding = made.ground([CLAIM], found.chunks)
    (claim,) = grounding.claims
    emit(f"claim      {CLAIM}")
    emit(f"           overlap {claim.overlap:.3f}, {claim.citation}")
    parts = made.Parts(QUESTION, "Answer from the passages only.")
    context = made.assemble(parts, found.chunks, BUDGET)
    emit(
        f"context    {context.tokens} of {BUDGET} tokens,"
        f" in {', '.join(context.included)},"
        f" out {', '.join(context.dropped) or 'none'}"
    )
    return {
        "idf": idf,
        "rankings": rankings,
        "fused": [{"id": o.chunk_id, "score": o.score} for o in fused],
        "results": [
            {"id": o.chunk_id, "score": o.score} for o in found.results
        ],
        "considered": found.considered,
        "invisible": found.invisible,
        "stale": found.stale,
        "overlap": claim.overlap,
        "citation": claim.citation,
        "tokens": context.tokens,
        "cacheable": context.cacheable_fraction,
        "included": list(context.included),
        "dropped": list(context.dropped),
    }


def _hidden(count: int, text: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(
        ("larkspur", f"hidden-{n:02}", text, 1, "restricted", None, 95)
        for n in range(count)
    )


SHOWN: Final = (
    (
        *("larkspur", "travel-policy"),
        "The hotel limit is 210 pounds.",
        *(1, "public", None, 95),
    ),
    (
        *("larkspur", "visitor-guide"),
        "Visitors sign in at the front desk, and the hotel is near.",
        *(1, "public", None, 95),
    ),
)


def _leaks(made: Any, emit: Emit) -> dict[str, Any]:
    emit("what erin, with public clearance, learns of hidden documents")
    erin = made.Caller("larkspur", "public")
    space = made.namespace("larkspur")
    plain = _filled(made, SHOWN)
    found: dict[str, Any] = {}

    more = _filled(made, SHOWN + _hidden(20, "A hotel for the talks."))
    scores = [one.lexical.search(space, "hotel", 50) for one in (plain, more)]
    before, after = (
        {one.chunk_id: one.score for one in ranking} for ranking in scores
    )
    visible = "travel-policy::1"
    emit(
        f"  idf       {visible} scores {before[visible]:.4f}, with 20 hidden"
        f" chunks {after[visible]:.4f}"
    )
    found["idf"] = {"before": before[visible], "after": after[visible]}

    crowd = _filled(made, SHOWN + _hidden(12, "hotel limit"))
    kept = len(plain.retrieve("hotel limit", erin).results)
    left = len(crowd.retrieve("hotel limit", erin).results)
    emit(f"  crowding  {kept} results, with 12 hidden chunks {left}")
    found["crowding"] = {"before": kept, "after": left}

    paper = _filled(made, SHOWN + DOCUMENTS[3:4])
    told = paper.retrieve("layoffs", erin)
    nothing = plain.retrieve("layoffs", erin)
    emit(
        f"  counters  0 results for layoffs, considered {told.considered},"
        f" without the paper {nothing.considered}"
    )
    found["counters"] = {
        "before": nothing.considered,
        "after": told.considered,
    }

    for name, question, hidden in (
        ("idf", "hotel", _hidden(20, "A hotel for the talks.")),
        ("crowding", "hotel limit", _hidden(12, "hotel limit")),
        ("counters", "layoffs", DOCUMENTS[3:4]),
    ):
        same = _lab_view(SHOWN, question) == _lab_view(SHOWN + hidden, question)
        if not same:
            raise Refuted(f"what a reader may not read changes nothing: {name}")
        found[name]["lab_equal"] = same
    emit("the same three of the laboratory: equal bytes, before and after")
    return found


def _lab_view(documents: Any, question: str) -> str:
    """Return what erin is answered by the laboratory, as bytes."""
    with Index.open(":memory:") as index:
        for tenant, doc_id, text, version, classification, _, tick in documents:
            readers = ("erin",) if classification == "public" else ("dana",)
            index.upsert(
                LabDocument(
                    tenant=tenant,
                    doc_id=doc_id,
                    revision=version,
                    format="text",
                    source=text,
                    policy=Policy(readers, "internal"),
                    updated_at=tick,
                )
            )
        found = index.search(question, Context("larkspur", "erin"))
        return found.to_json()
