"""BM25 on XQuAD, beside the figures of an implementation not ours.

Same settings outside: k1 1.5, b 0.75, words for English and two-character
terms for Chinese, each passage whole.
"""

from __future__ import annotations

from typing import Any, Final

from lab.evaluation import xquad
from lab.evaluation.metrics import rounded
from lab.evaluation.xquad import DIRECTIONS
from lab.experiments import Emit, Uses, _xquad

KIND = "data"
PAGE = False
LIMITATIONS = (
    *_xquad.LIMITATIONS,
    "The outside figures were measured once, with another program, and are"
    " given to three digits.",
    "Across languages only names and numbers match, and how Latin letters"
    " inside Chinese text are cut decides ten questions: there the outside"
    " recall is .008 higher from English to Chinese, the same the other way.",
)

# (recall@1, recall@10, MRR@10) as an outside BM25 gave them; None: not given.
OUTSIDE: Final = {
    "en_en": (0.917, 0.992, 0.947),
    "zh_zh": (0.923, 0.992, 0.951),
    "en_zh": (None, 0.200, None),
    "zh_en": (None, 0.160, None),
}
NAMES: Final = ("recall_at_1", "recall_at_10", "mrr_at_10")


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _xquad.uses()


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question of the lexical channel alone."""
    found: dict[str, Any] = {}
    emit(xquad.HEADER)
    for asked, passages in DIRECTIONS:
        name = f"{asked}_{passages}"
        with xquad.opened(None, passages) as index:
            made = xquad.run(index, asked, mode="lexical")
        emit(xquad.to_line(f"{asked} -> {passages}", made))
        claims = xquad.to_claims(made)
        outside = dict(zip(NAMES, OUTSIDE[name], strict=True))
        claims["outside"] = outside
        claims["apart"] = {
            key: round(claims[key] - value, 3)
            for key, value in outside.items()
            if value is not None
        }
        low, high = xquad.drawn_by_article(made, asked, "mrr_at_10")
        claims["by_article"] = {
            "mrr_at_10": {"low": rounded(low), "high": rounded(high)}
        }
        claims["nothing_found"] = sum(not r for r in made.rankings.values())
        found[name] = claims
    emit("")
    emit("apart from the outside figures")
    for name, claims in found.items():
        told = ", ".join(f"{k} {v:+.3f}" for k, v in claims["apart"].items())
        emit(f"  {name.replace('_', ' -> ')}: {told}")
    emit("95 % of mrr when articles are drawn, and not questions")
    for name, claims in found.items():
        ends = claims["by_article"]["mrr_at_10"]
        told = f"{ends['low']:.3f} to {ends['high']:.3f}"
        emit(f"  {name.replace('_', ' -> ')}: {told}")
    emit("questions that share no term with any passage")
    for name, claims in found.items():
        told = f"{claims['nothing_found']} of {claims['n']}"
        emit(f"  {name.replace('_', ' -> ')}: {told}")
    return found
