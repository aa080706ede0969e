"""Evidence: experiments written down so that anyone can contradict them.

``lab/evidence/NAME.json`` holds what an experiment claims (the same on
every machine) apart from what one machine observed, ``NAME.txt`` its
transcript. Checking runs the experiment again and compares.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab import canonical, schema
from lab.errors import InvalidInput, NotFound
from lab.experiments import Emit, Experiment

SHIPPED: Final = Path(__file__).parent / "evidence"
SCHEMA: Final = "ks.evidence/1"

# As wide as a line of code; a Chinese character takes two columns.
MAX_COLUMNS: Final = 80
# Parts of an evidence file that must come out the same again.
COMPARED: Final = ("kind", "fixture", "encoder", "chunker", "flags", "claims")
# A model's arithmetic differs in last bits between processors.
MODEL_DIGITS: Final = 3


@dataclass(frozen=True)
class Record:
    """One evidence file with its transcript (lines end in LF)."""

    data: Mapping[str, Any]
    transcript: str

    def to_json(self) -> str:
        """Return the file's text: sorted, indented for people to diff."""
        return (
            json.dumps(
                self.data,
                ensure_ascii=False,
                allow_nan=False,
                indent=1,
                sort_keys=True,
            )
            + "\n"
        )


@dataclass(frozen=True)
class Difference:
    """One disagreement between a record and a new run.

    ``path`` leads to it (``claims.steps[2].state``, ``transcript line 3``).
    """

    path: str
    recorded: str
    found: str

    def __str__(self) -> str:
        return f"{self.path}: recorded {self.recorded}, found {self.found}"


def perform(experiment: Experiment, emit: Emit | None = None) -> Record:
    """Run an experiment and return its record, writing nothing.

    ``emit`` also gets every line as it happens. A line wider than 80
    columns, or claims that are no JSON, are a fault of the experiment:
    ``ValueError``.
    """
    lines: list[str] = []

    def keep(line: str) -> None:
        if "\n" in line or columns(line) > MAX_COLUMNS:
            raise ValueError(f"{experiment.name}: no transcript line: {line!r}")
        lines.append(line)
        if emit is not None:
            emit(line)

    started = time.perf_counter()
    claims = experiment.run(keep)
    seconds = time.perf_counter() - started
    uses = experiment.uses()
    data = {
        "schema": SCHEMA,
        "name": experiment.name,
        "kind": experiment.kind,
        "fixture": uses.fixture,
        "encoder": uses.encoder,
        "chunker": uses.chunker,
        "flags": {"page": experiment.page, **uses.flags},
        "limitations": list(experiment.limitations),
        "claims": claims,
        "observed": {**environment(), "seconds": round(seconds, 3)},
    }
    # Through JSON once, so that a tuple or an integer key cannot make a
    # record differ from itself when it is read back.
    data = canonical.loads(canonical.dumps(data), experiment.name)
    schema.validate(data, "evidence", experiment.name)
    return Record(data, "".join(f"{line}\n" for line in lines))


def record(experiment: Experiment, folder: Path) -> Path:
    """Run an experiment and write its record; return the JSON file.

    Both files are written beside their place and moved into it, so that a
    run that fails leaves the old record.
    """
    made = perform(experiment)
    seen = dict(made.data["observed"]) | dict(experiment.observe())
    made = Record({**made.data, "observed": seen}, made.transcript)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{experiment.name}.json"
    write(folder / f"{experiment.name}.txt", made.transcript)
    write(target, made.to_json())
    return target


def write(target: Path, text: str) -> None:
    """Replace a file's content whole or not at all."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def read(name: str, folder: Path | None = None) -> Record:
    """Return a stored record, a shipped one where no folder is named.

    Raises ``NotFound`` when there is none and ``InvalidInput`` when a file
    is not what the schema says.
    """
    folder = SHIPPED if folder is None else folder
    path = folder / f"{name}.json"
    try:
        text = path.read_bytes().decode("utf-8")
        lines = path.with_suffix(".txt").read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise NotFound(
            f"{error.filename}: not recorded; run `evidence --record"
            f" {name} --output {folder}`"
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8 ({error.reason})") from None
    data = canonical.loads(text, str(path))
    schema.validate(data, "evidence", str(path))
    if data["name"] != name:
        raise InvalidInput(f"{path}: is named {data['name']!r} inside")
    return Record(data, lines.replace("\r\n", "\n"))


def check(
    experiment: Experiment, folder: Path | None = None
) -> list[Difference]:
    """Run an experiment again and name every difference from its record."""
    return compare(read(experiment.name, folder), perform(experiment))


def compare(recorded: Record, found: Record) -> list[Difference]:
    """Return every difference in what must be the same, by path.

    Claims of kind ``model`` are compared with numbers rounded to three
    decimals, all others exactly.
    """
    digits = MODEL_DIGITS if found.data["kind"] == "model" else None
    differences: list[Difference] = []
    for part in COMPARED:
        _compare(
            recorded.data[part], found.data[part], part, digits, differences
        )
    old = recorded.transcript.split("\n")
    new = found.transcript.split("\n")
    for number in range(max(len(old), len(new))):
        left = old[number] if number < len(old) else None
        right = new[number] if number < len(new) else None
        if left != right:
            place = f"transcript line {number + 1}"
            differences.append(Difference(place, _show(left), _show(right)))
    return differences


def _compare(
    old: Any,
    new: Any,
    path: str,
    digits: int | None,
    out: list[Difference],
) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            place = f"{path}.{key}"
            if key not in new:
                out.append(Difference(place, _show(old[key]), "nothing"))
            elif key not in old:
                out.append(Difference(place, "nothing", _show(new[key])))
            else:
                _compare(old[key], new[key], place, digits, out)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            out.append(
                Difference(path, f"{len(old)} items", f"{len(new)} items")
            )
        for number, (left, right) in enumerate(zip(old, new, strict=False)):
            _compare(left, right, f"{path}[{number}]", digits, out)
    elif not _same(old, new, digits):
        out.append(Difference(path, _show(old), _show(new)))


def _same(old: Any, new: Any, digits: int | None) -> bool:
    if type(old) is not type(new):
        return False
    if digits is not None and isinstance(old, float):
        return bool(round(old, digits) == round(new, digits))
    return bool(old == new)


def _show(value: Any) -> str:
    if value is None:
        return "nothing"
    text = canonical.dumps(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def columns(line: str) -> int:
    """Return how many terminal columns a line takes."""
    return sum(
        2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in line
        if not unicodedata.combining(character)
    )


def environment() -> dict[str, str]:
    """Return what this machine runs on, for the observed part."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "sqlite": sqlite3.sqlite_version,
        "system": platform.system(),
        "machine": platform.machine(),
    }
