"""The shipped model on XQuAD, within and across languages."""

from __future__ import annotations

from typing import Any

from lab.encoders import named
from lab.errors import EncoderError
from lab.experiments import Emit, Unavailable, Uses, _xquad

KIND = "model"
PAGE = False
LIMITATIONS = (
    *_xquad.LIMITATIONS,
    "The passages were not trained on; the settings of the training were"
    " chosen on other texts, with these figures in sight.",
)


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _xquad.uses(named("shipped"))


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question of terms, term vectors, hashing and the model."""
    try:
        encoders = {
            name: encoder
            for name in ("counts", "hashing", "shipped")
            if (encoder := named(name)) is not None
        }
    except EncoderError as error:
        raise Unavailable(str(error)) from None
    return _xquad.measure(emit, encoders, "shipped")
