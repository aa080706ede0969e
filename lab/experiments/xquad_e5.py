"""multilingual-e5-small on XQuAD: what the shipped model learnt from."""

from __future__ import annotations

from typing import Any

from lab.encoders import named
from lab.errors import EncoderError
from lab.experiments import Emit, Unavailable, Uses, _xquad

KIND = "model"
PAGE = False
LIMITATIONS = (
    *_xquad.LIMITATIONS,
    "Weights of four bits; whether the model saw the English passages, which"
    " are SQuAD's, when it was made is not known to us.",
)


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _xquad.uses(named("e5"))


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question of terms, the model, and both fused."""
    try:
        encoder = named("e5")
    except EncoderError as error:
        raise Unavailable(str(error)) from None
    assert encoder is not None
    return _xquad.measure(emit, {"e5": encoder}, "e5")
