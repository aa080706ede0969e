"""Experiments: what the book claims, as code that can be run again.

A module ``lab/experiments/NAME.py`` is the experiment ``NAME`` (with
hyphens for underscores) when it has

- ``KIND``: ``core`` (runs anywhere), ``model``, ``data`` or ``server``;
- ``LIMITATIONS``: sentences that say what the claims do not show;
- ``PAGE``: whether it can run inside a web page, without extras;
- ``run(emit) -> claims``: does it, writes the transcript line by line and
  returns what must come out the same everywhere.

It may have ``uses() -> Uses``, which names what it was measured on, and
``observe() -> dict``, what one machine saw (times, sizes), which is
recorded and never compared.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import ModuleType
from typing import Any, Final

from lab.errors import InvalidInput

KINDS: Final = ("core", "model", "data", "server")

# Takes one line of the transcript, without its line end.
Emit = Callable[[str], None]


class Unavailable(Exception):
    """An experiment cannot run here; the message says what it lacks."""


class Refuted(Exception):
    """A promise did not hold; the message is the promise."""


@dataclass(frozen=True)
class Uses:
    """What an experiment was measured on.

    ``fixture`` is the fixture's digest, ``encoder`` and ``chunker`` are
    fingerprints; ``None`` where there is none.
    """

    fixture: str | None = None
    encoder: str | None = None
    chunker: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One experiment, ready to run."""

    name: str
    kind: str
    limitations: tuple[str, ...]
    page: bool
    run: Callable[[Emit], Mapping[str, Any]]
    uses: Callable[[], Uses]
    observe: Callable[[], Mapping[str, Any]]


def names() -> list[str]:
    """Return the names of all experiments, sorted."""
    return sorted(
        found.name.replace("_", "-")
        for found in pkgutil.iter_modules(__path__)
        if not found.name.startswith("_")
    )


def load(name: str) -> Experiment:
    """Return an experiment; ``InvalidInput`` when there is none so named."""
    if name not in names():
        near = get_close_matches(name, names(), 1)
        hint = f"did you mean {near[0]}?" if near else "see `evidence`"
        raise InvalidInput(f"experiment {name!a}: there is none; {hint}")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return experiment(name, module)


def experiment(name: str, module: ModuleType) -> Experiment:
    """Return a module as an experiment; its parts are checked.

    A module that lacks a part is a fault of the lab: ``TypeError``.
    """
    for part in ("KIND", "LIMITATIONS", "PAGE", "run"):
        if not hasattr(module, part):
            raise TypeError(f"experiment {name}: lacks {part}")
    if module.KIND not in KINDS:
        raise TypeError(f"experiment {name}: KIND {module.KIND!r}")
    if isinstance(module.LIMITATIONS, str) or not module.LIMITATIONS:
        raise TypeError(f"experiment {name}: LIMITATIONS must be sentences")
    return Experiment(
        name,
        module.KIND,
        tuple(module.LIMITATIONS),
        bool(module.PAGE),
        module.run,
        getattr(module, "uses", Uses),
        getattr(module, "observe", dict),
    )
