"""Can a least score say "I do not know"? The shipped model, floor by floor."""

from __future__ import annotations

from typing import Any, Final

from lab.encoders import named
from lab.errors import EncoderError
from lab.evaluation.runner import evaluate
from lab.evaluation.xquad import Remembering
from lab.experiments import Emit, Unavailable, Uses, _models
from lab.experiments._reports import claims
from lab.fixture import load_fixture, populate
from lab.index import Index

KIND = "model"
PAGE = False
LIMITATIONS = (
    *_models.LIMITATIONS,
    "The floors above the shipped one were chosen for this table alone.",
)

# Least cosine, in percent.
FLOORS: Final = (15, 20, 25, 30, 35, 40, 50, 60)
NEGATIVE: Final = ("unknown", "forbidden", "other-tenant")


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(named("shipped"))


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question of the vector channel at every floor."""
    try:
        model = named("shipped")
    except EncoderError as error:
        raise Unavailable(str(error)) from None
    assert model is not None
    encoder = Remembering(model)
    fixture = load_fixture()
    found: dict[str, Any] = {}
    emit(
        f"{'least score':<13}{'recall@10':>10}{'paraphrase':>12}"
        f"{'found nothing:':>17}{'unknown':>9}{'forbidden':>11}"
        f"{'other':>7}"
    )
    for percent in FLOORS:
        encoder.minimum_score = percent / 100
        with Index.open(":memory:", encoder=encoder) as index:
            populate(index, fixture)
            report = evaluate(index, fixture, mode="vector", rerank=False)
        made = claims(report)
        row = {
            "recall_at_10": made["recall_at_10"],
            "by_kind": {
                kind: {"recall_at_10": values["recall_at_10"]}
                for kind, values in made["by_kind"].items()
            },
            "found_nothing": {
                kind: made["abstention"][kind]["value"] for kind in NEGATIVE
            },
        }
        found[f"at_{percent}"] = row
        silent = row["found_nothing"]
        emit(
            f"{percent / 100:<13.2f}{row['recall_at_10']:>10.3f}"
            f"{row['by_kind']['paraphrase']['recall_at_10']:>12.3f}"
            f"{'':>17}{silent['unknown']:>9.3f}{silent['forbidden']:>11.3f}"
            f"{silent['other-tenant']:>7.3f}"
        )
    shipped = round(model.minimum_score * 100)
    return {"shipped": f"at_{shipped}", "floors": found}
