"""What the fixture's labels depend on: the cut, the reader, the wording."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any, Final

from lab.chunking import BlockChunker, Chunker, SectionChunker, WindowChunker
from lab.encoders.counts import TermCounts
from lab.evaluation import metrics
from lab.evaluation.runner import OVERALL, Report, evaluate, relevant
from lab.experiments import Emit, Uses, _models
from lab.fixture import Fixture, Query, load_fixture, populate
from lab.index import Index
from lab.model import Context
from lab.search import CANDIDATES
from lab.terms import terms

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The labels were made for this fixture, by those who built the search;"
    " another collection has other seams and other readers.",
    "Anchors were chosen so that the three chunkers of the lab keep them"
    " whole; the rows that lose some are settings nobody chose.",
)

# A name for the transcript, and how the documents are cut.
CUTS: Final[tuple[tuple[str, Chunker], ...]] = (
    ("windows of 220, 40 shared", WindowChunker(220, 40)),
    ("windows of 220, none shared", WindowChunker(220, 0)),
    ("windows of 110, 40 shared", WindowChunker(110, 40)),
    ("windows of 110, none shared", WindowChunker(110, 0)),
    ("sections", SectionChunker()),
    ("blocks", BlockChunker()),
)
TENANT: Final = "larkspur"
# The question whose page is worked through: two relevant chunks, one found.
WORKED: Final = "q038"
FIRST: Final = 10

Views = Mapping[Context, Mapping[str, str]]
Gold = Mapping[str, tuple[str, ...]]


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return what the gold sets are made of, and what changes them."""
    fixture = load_fixture()
    with Index.open(":memory:") as index:
        populate(index, fixture)
        views = _views(index, fixture)
        gold = _gold(fixture, views)
        page = evaluate(index, fixture, mode="lexical")
        deep = evaluate(
            index, fixture, mode="lexical", limit=CANDIDATES, rerank=False
        )
    return {
        "cuts": _cuts(emit, fixture, gold),
        "readers": _readers(emit, fixture, views),
        "twins": _twins(emit, gold, page),
        "wording": _wording(emit, fixture, views, gold),
        "shares": _shares(page, views),
        "worked": _worked(emit, page, views),
        "near": _near(emit, deep, views),
    }


def _views(index: Index, fixture: Fixture) -> Views:
    """Return the text of each chunk that each person may read."""
    views: dict[Context, dict[str, str]] = {}
    for person in fixture.principals:
        context = Context(person.tenant, person.principal)
        with index.snapshot() as snapshot:
            view = snapshot.readable(context)
            views[context] = {
                f"{chunk.doc_id}#{chunk.number}": chunk.text
                for record in snapshot.records(context.tenant)
                for chunk in snapshot.chunks(view, record.doc_id)
            }
    return views


def _positive(fixture: Fixture) -> list[Query]:
    return [query for query in fixture.queries if not query.negative]


def _gold(fixture: Fixture, views: Views) -> Gold:
    return {
        query.id: relevant(query, views[query.context])
        for query in _positive(fixture)
    }


def _cuts(emit: Emit, fixture: Fixture, first: Gold) -> list[dict[str, Any]]:
    """Cut everything anew; hold labels by place against labels by anchor.

    A label by place is one of ``first``, a chunk's number under the first
    cut. It survives when the chunk of that number still holds an anchor.
    """
    emit(
        f"{'documents cut into':<30}{'chunks':>8}{'lost':>6}{'places kept':>14}"
    )
    rows = []
    for name, chunker in CUTS:
        with Index.open(":memory:", chunker=chunker) as index:
            populate(index, fixture)
            views = _views(index, fixture)
            report = evaluate(index, fixture, mode="lexical")
            status = index.status()
        gold = _gold(fixture, views)
        places = [(id_, chunk) for id_, some in first.items() for chunk in some]
        kept = sum(chunk in gold[id_] for id_, chunk in places)
        recall = report.measures[OVERALL]["recall@10"].value
        row = {
            "cut": name,
            "chunks": status.chunks,  # type: ignore[union-attr]
            "lost": list(report.unanswerable),
            "lost_count": len(report.unanswerable),
            "places": len(places),
            "places_kept": kept,
            "recall_at_10": metrics.rounded(recall),
            "misses": [one.query.id for one in report.misses],
        }
        emit(
            f"{name:<30}{row['chunks']:>8}{row['lost_count']:>6}"
            f"{f'{kept} of {len(places)}':>14}"
        )
        rows.append(row)
    emit("")
    return rows


def _readers(
    emit: Emit, fixture: Fixture, views: Views
) -> dict[str, dict[str, Any]]:
    """Put one company's questions to each of its people."""
    asked = [q for q in _positive(fixture) if q.tenant == TENANT]
    emit(f"{TENANT}'s {len(asked)} questions, put to each of its people")
    emit(f"{'reader':<10}{'documents':>11}{'chunks':>8}{'have an answer':>16}")
    rows = {}
    for context, chunks in views.items():
        if context.tenant != TENANT:
            continue
        own = {query.id: relevant(query, chunks) for query in asked}
        row = {
            "documents": len({name.rpartition("#")[0] for name in chunks}),
            "chunks": len(chunks),
            "answerable": sum(bool(some) for some in own.values()),
            "e417": list(own["q001"]),
        }
        rows[context.principal] = row
        emit(
            f"{context.principal:<10}{row['documents']:>11}{row['chunks']:>8}"
            f"{row['answerable']:>16}"
        )
    emit("")
    return {"asked": {"count": len(asked)}, **rows}


def _twins(emit: Emit, gold: Gold, page: Report) -> dict[str, Any]:
    """Count the questions with two relevant chunks, and what that caps.

    Neighbours share the anchor in their overlap: one passage, two labels.
    """
    several = {id_: some for id_, some in gold.items() if len(some) > 1}
    near = [id_ for id_, some in several.items() if _neighbours(some)]
    most = metrics.mean(Fraction(1, len(some)) for some in gold.values())
    lexical = page.measures["lexical"]
    row = {
        "several": len(several),
        "neighbours": len(near),
        "ceiling": metrics.rounded(most.value),
        "lexical_several": sum(
            one.query.kind == "lexical" and one.query.id in several
            for one in page.asked
        ),
        "lexical_recall_at_1": metrics.rounded(lexical["recall@1"].value),
        "lexical_mrr_at_10": metrics.rounded(lexical["mrr@10"].value),
    }
    emit(
        f"{row['several']} of {len(gold)} questions have two relevant chunks,"
        f" {row['neighbours']} of them neighbours"
    )
    emit(f"the best recall@1 that any search can have: {row['ceiling']:.3f}")
    emit("")
    return row


def _neighbours(names: tuple[str, ...]) -> bool:
    places = [name.rpartition("#") for name in names]
    numbers = sorted(int(number) for _, _, number in places)
    return len({doc for doc, _, _ in places}) == 1 and numbers == list(
        range(numbers[0], numbers[-1] + 1)
    )


def _wording(
    emit: Emit, fixture: Fixture, views: Views, gold: Gold
) -> dict[str, dict[str, Any]]:
    """Return how much of a question's wording its answer contains."""
    emit("terms of the question that stand in its best answer")
    shares: dict[str, list[Fraction]] = {}
    for query in _positive(fixture):
        share = _share(query, gold[query.id], views[query.context])
        shares.setdefault(query.kind, []).append(share)
    rows = {}
    for kind, some in shares.items():
        rows[kind] = {
            "n": len(some),
            "mean": metrics.rounded(sum(some, Fraction(0)) / len(some)),
            "all": some.count(Fraction(1)),
            "none": some.count(Fraction(0)),
        }
        emit(
            f"{kind:<16}mean {rows[kind]['mean']:.3f}"
            f"   all {rows[kind]['all']:>2}   none {rows[kind]['none']:>2}"
            f"   of {len(some)}"
        )
    emit("")
    return rows


def _share(
    query: Query, gold: Collection[str], chunks: Mapping[str, str]
) -> Fraction:
    """Return how much of a question's wording its best answer contains."""
    wanted = set(terms(query.query))
    best = max(len(_shared(wanted, chunks[name])) for name in gold)
    return Fraction(best, len(wanted))


def _shares(page: Report, views: Views) -> dict[str, Any]:
    """Return each question's share, and whether its answer was found."""
    rows: dict[str, dict[str, Any]] = {}
    half: list[bool] = []
    for one in page.asked:
        if one.query.negative:
            continue
        share = _share(one.query, one.gold, views[one.query.context])
        found = one.first is not None
        if 2 * share > 1:
            half.append(found)
        rows[one.query.id] = {
            "kind": one.query.kind,
            "share": metrics.rounded(share),
            "found": found,
        }
    return {
        "rows": rows,
        "over_half": len(half),
        "over_half_found": half.count(True),
    }


def _worked(emit: Emit, page: Report, views: Views) -> dict[str, Any]:
    """Return one page with what each measure says of it."""
    one = next(a for a in page.asked if a.query.id == WORKED)
    emit(f"{one.query.id}, as {one.query.principal}: {one.query.query}")
    for rank, name in enumerate(one.ranking, start=1):
        emit(f"  {rank:>2}  {name}{'  *' if name in one.gold else ''}")
    for name in sorted(set(one.gold) - set(one.ranking)):
        emit(f"   -  {name}  *")
    values = {
        "recall_at_3": metrics.recall(one.ranking, one.gold, 3),
        "recall_at_10": metrics.recall(one.ranking, one.gold, FIRST),
        "precision_at_3": metrics.precision(one.ranking, one.gold, 3),
        "reciprocal_rank": metrics.reciprocal_rank(
            one.ranking, one.gold, FIRST
        ),
        "ndcg_at_10": metrics.ndcg(one.ranking, one.gold, FIRST),
    }
    emit("")
    return {
        "query": one.query.query,
        "ranking": list(one.ranking),
        "gold": list(one.gold),
        "first": one.first,
        "texts": {name: views[one.query.context][name] for name in one.gold},
        **{name: metrics.rounded(value) for name, value in values.items()},
    }


def _near(emit: Emit, deep: Report, views: Views) -> dict[str, Any]:
    """Return the questions that share a term with their answer and miss it."""
    emit("missed, though the answer shares a term with the question")
    emit(
        f"{'':<6}{'place':>6}  {'shared with the answer':<24}with the first hit"
    )
    rows = {}
    for one in deep.asked:
        query = one.query
        if query.negative or (one.first is not None and one.first <= FIRST):
            continue
        wanted = set(terms(query.query))
        chunks = views[query.context]
        shared = sorted(
            set().union(*(_shared(wanted, chunks[name]) for name in one.gold))
        )
        if not shared:
            continue
        top = one.ranking[0]
        top_shared = sorted(_shared(wanted, chunks[top]))
        rows[query.id] = {
            "query": query.query,
            "answer": list(one.gold),
            "place": one.first,
            "candidates": len(one.ranking),
            "shared": shared,
            "top": top,
            "top_shared": top_shared,
        }
        emit(
            f"{query.id:<6}{one.first or '-':>6}  {' '.join(shared):<24}"
            f"{' '.join(top_shared)}"
        )
    return {"rows": rows, "count": len(rows)}


def _shared(wanted: Collection[str], text: str) -> set[str]:
    return set(wanted) & set(terms(text))
