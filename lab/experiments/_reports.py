"""How experiments write reports down: paths that a chapter can name."""

from __future__ import annotations

from typing import Any

from lab.evaluation.metrics import Mean, rounded
from lab.evaluation.runner import OVERALL, Report


def claims(report: Report) -> dict[str, Any]:
    """Return a report with its overall measures at the top.

    ``recall@3`` is named ``recall_at_3``, so that a path can name it.
    """
    data = report.to_claims()
    measures = {
        kind: {_name(name): mean for name, mean in means.items()}
        for kind, means in data.pop("measures").items()
    }
    return {
        **{name: mean["value"] for name, mean in measures[OVERALL].items()},
        "n": measures[OVERALL]["mrr_at_10"]["count"],
        "intervals": {
            name: {"low": mean["low"], "high": mean["high"]}
            for name, mean in measures.pop(OVERALL).items()
        },
        "by_kind": {
            kind: {
                **{name: mean["value"] for name, mean in means.items()},
                "n": means["mrr_at_10"]["count"],
                "intervals": {
                    name: {"low": mean["low"], "high": mean["high"]}
                    for name, mean in means.items()
                },
            }
            for kind, means in measures.items()
        },
        **data,
    }


def _name(measure: str) -> str:
    return measure.replace("@", "_at_").replace("-", "_")


def ends(mean: Mean) -> dict[str, Any]:
    """Return a mean with its interval, rounded."""
    return {
        "value": rounded(mean.value),
        "low": rounded(mean.low),
        "high": rounded(mean.high),
    }


def signed(mean: Mean) -> str:
    """Return a difference with its interval, signs shown."""
    value, low, high = (
        f"{float(part):+.3f}" if part is not None else "-"
        for part in (mean.value, mean.low, mean.high)
    )
    return f"{value} ({low} to {high})"
