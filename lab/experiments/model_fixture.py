"""The shipped model on the fixture, beside term vectors and hashing."""

from __future__ import annotations

from typing import Any

from lab.encoders import Encoder, named, specs
from lab.errors import EncoderError
from lab.experiments import Emit, Unavailable, Uses, _models

KIND = "model"
PAGE = False
LIMITATIONS = (
    *_models.LIMITATIONS,
    "The model knows some thirty thousand pieces and adds their meanings up:"
    " word order, negation and rare names are lost on it.",
)


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(named("shipped"))


def compared() -> dict[str, Encoder]:
    """Return the encoders by name."""
    try:
        return {
            name: encoder
            for name in ("counts", "hashing", "shipped")
            if (encoder := named(name)) is not None
        }
    except EncoderError as error:
        raise Unavailable(str(error)) from None


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question of each encoder, alone and fused with terms."""
    found = _models.measure(emit, compared(), "shipped")
    spec = specs.shipped()
    found["file"] = {
        "bytes": spec.model.size,
        "sha256": spec.model.sha256,
        "dims": spec.dims,
    }
    return found


def observe() -> dict[str, Any]:
    """Return milliseconds a text on this machine, one core."""
    return {"speed": _models.speed(compared())}
