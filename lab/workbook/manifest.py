"""Tracks and their stages, as ``track.toml`` declares them.

One manifest drives the runner, the panel, the pages of the book and CI.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from lab.errors import InvalidInput

HOME: Final = Path(__file__).parent
LANGUAGES: Final = ("en", "zh")

# Text in every language, as the manifest has it.
Words = Mapping[str, str]

_TRACK = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_STAGE = re.compile(r"\d\d-[a-z0-9]+(-[a-z0-9]+)*")
_FILE = re.compile(r"[a-z][a-z0-9_]*\.(?:py|ipynb|md)")
_FOLDER = re.compile(r"[a-z][a-z0-9_]*")
_REQUIREMENT = re.compile(r"[a-z-]+")
_TEST = re.compile(r"test_[a-z0-9_]+\.py")


@dataclass(frozen=True)
class Live:
    """The part of a stage that talks to a model or a service outside.

    ``tests`` are test files of their own, ``expected`` how many tests they
    hold, ``requires`` what they need besides what the stage requires. When
    that is missing the rest of the stage is checked all the same.
    """

    requires: tuple[str, ...]
    tests: tuple[str, ...]
    expected: int


@dataclass(frozen=True)
class Stage:
    """One stage of a track.

    ``id`` begins with two digits, its place. ``read`` are numbers of
    chapters, ``files`` what the learner edits, ``tests`` test files,
    ``expected`` how many tests they hold, ``requires`` names of
    requirements, ``timeout`` seconds. ``live`` is the part that talks to a
    model or a service outside, if there is one. ``hints`` go from a nudge
    to nearly the answer.
    """

    id: str
    title: Words
    about: Words
    read: tuple[int, ...]
    requires: tuple[str, ...]
    files: tuple[str, ...]
    tests: tuple[str, ...]
    expected: int
    hints: tuple[Words, ...]
    timeout: float
    live: Live | None = None

    @property
    def number(self) -> str:
        """Its two digits, as in ``05``."""
        return self.id[:2]

    @property
    def whole(self) -> Stage:
        """The stage with its live part as one of the others."""
        if self.live is None:
            return self
        return replace(
            self,
            requires=(*self.requires, *self.live.requires),
            tests=(*self.tests, *self.live.tests),
            expected=self.expected + self.live.expected,
            live=None,
        )


@dataclass(frozen=True)
class Track:
    """One track: ``files`` the learner edits, ``given`` they leave alone.

    ``data`` are folders of the track, given too, copied as they are.
    ``after`` is the number of the chapter it comes after. With ``either``
    the files are forms of one thing, and the learner works in one of them.
    """

    id: str
    title: Words
    about: Words
    after: int
    either: bool
    files: tuple[str, ...]
    given: tuple[str, ...]
    data: tuple[str, ...]
    stages: tuple[Stage, ...]

    @property
    def folder(self) -> Path:
        """Where its manifest, source and tests are."""
        return HOME / "tracks" / self.id

    @property
    def tests(self) -> Path:
        """The folder of its tests."""
        return self.folder / "tests"

    @property
    def starter(self) -> Path:
        """The folder of the generated starter."""
        return HOME / "starters" / self.id

    @property
    def reference(self) -> Path:
        """The folder of the generated solution."""
        return HOME / "solutions" / self.id

    def numbers(self) -> tuple[str, ...]:
        """The two digits of every stage."""
        return tuple(stage.number for stage in self.stages)

    def stage(self, name: str) -> Stage:
        """Return a stage by id, or by number as in ``5`` or ``05``.

        Raises ``InvalidInput`` when there is none.
        """
        for stage in self.stages:
            number = name.zfill(2) if name.isascii() else name
            if name == stage.id or number == stage.number:
                return stage
        ids = [stage.id for stage in self.stages]
        raise InvalidInput(
            f"stage {name!a}: {self.id} has none; {_hint(name, ids)}"
        )


def track_ids() -> tuple[str, ...]:
    """Return the id of every track that ships, sorted."""
    return tuple(
        sorted(path.parent.name for path in HOME.glob("tracks/*/track.toml"))
    )


def track(name: str) -> Track:
    """Return a track; ``InvalidInput`` when there is none so named."""
    ids = track_ids()
    if name not in ids:
        raise InvalidInput(f"track {name!a}: there is none; {_hint(name, ids)}")
    file = HOME / "tracks" / name / "track.toml"
    made = read(file.read_text("utf-8"), f"tracks/{name}/track.toml")
    if made.id != name:
        raise InvalidInput(f"tracks/{name}/track.toml: is named {made.id!r}")
    return made


def read(text: str, name: str) -> Track:
    """Return the track of a manifest.

    Raises ``InvalidInput`` naming file and key for whatever is missing,
    unknown or of another kind.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{name}: not valid TOML ({error})") from None
    top = _Table(data, name)
    files = top.names("files", _FILE)
    stages = []
    for place, entry in enumerate(top.tables("stage"), 1):
        table = _Table(entry, f"{name}: stage {place}")
        stage = _stage(table)
        if int(stage.number) != place:
            raise InvalidInput(
                f"{name}: stage {place}: its id {stage.id!r} does not begin"
                f" with {place:02}"
            )
        if unknown := sorted(set(stage.files) - set(files)):
            raise InvalidInput(
                f"{name}: {stage.id}: {unknown[0]!r} is no file of the track"
            )
        stages.append(stage)
    made = Track(
        id=top.name("id", _TRACK),
        title=top.words("title"),
        about=top.words("about"),
        after=top.whole("after"),
        either=top.flag("either"),
        files=files,
        given=top.names("given", _FILE),
        data=top.names("data", _FOLDER),
        stages=tuple(stages),
    )
    top.done()
    return made


def _stage(table: _Table) -> Stage:
    made = Stage(
        id=table.name("id", _STAGE),
        title=table.words("title"),
        about=table.words("about"),
        read=table.numbers("read"),
        requires=table.names("requires", _REQUIREMENT),
        files=table.names("files", _FILE),
        tests=table.names("tests", _TEST),
        expected=table.whole("expected"),
        hints=tuple(
            _Table(entry, f"{table.where}: hint {place}").both()
            for place, entry in enumerate(table.tables("hints"), 1)
        ),
        timeout=float(table.whole("timeout", 60)),
        live=_live(table.table("live")),
    )
    table.done()
    return made


def _live(table: _Table | None) -> Live | None:
    if table is None:
        return None
    made = Live(
        requires=table.names("requires", _REQUIREMENT),
        tests=table.names("tests", _TEST),
        expected=table.whole("expected"),
    )
    table.done()
    return made


@dataclass(frozen=True)
class _Table:
    """A table of TOML that says where it is when something is wrong."""

    data: dict[str, Any]
    where: str

    def _take(self, key: str, kind: type, default: Any = None) -> Any:
        value = self.data.pop(key, default)
        if type(value) is not kind:
            raise InvalidInput(f"{self.where}: {key} must be a {kind.__name__}")
        return value

    def text(self, key: str) -> str:
        value: str = self._take(key, str)
        if not value.strip():
            raise InvalidInput(f"{self.where}: {key} must not be blank")
        return value.strip()

    def whole(self, key: str, default: int | None = None) -> int:
        value: int = self._take(key, int, default)
        if value < 1:
            raise InvalidInput(f"{self.where}: {key} must be at least 1")
        return value

    def flag(self, key: str) -> bool:
        value: bool = self._take(key, bool, False)
        return value

    def name(self, key: str, shape: re.Pattern[str]) -> str:
        value = self.text(key)
        if not shape.fullmatch(value):
            raise InvalidInput(f"{self.where}: {key} {value!r} is no name")
        return value

    def names(self, key: str, shape: re.Pattern[str]) -> tuple[str, ...]:
        values = self._take(key, list, [])
        for value in values:
            if not isinstance(value, str) or not shape.fullmatch(value):
                raise InvalidInput(f"{self.where}: {key}: {value!r} is no name")
        return tuple(values)

    def numbers(self, key: str) -> tuple[int, ...]:
        values = self._take(key, list, [])
        if not all(type(value) is int and value > 0 for value in values):
            raise InvalidInput(f"{self.where}: {key} must be chapter numbers")
        return tuple(values)

    def tables(self, key: str) -> Sequence[dict[str, Any]]:
        values = self._take(key, list)
        if not values or not all(isinstance(one, dict) for one in values):
            raise InvalidInput(f"{self.where}: {key} must be tables")
        return list(values)

    def table(self, key: str) -> _Table | None:
        if key not in self.data:
            return None
        return _Table(self._take(key, dict), f"{self.where}: {key}")

    def words(self, key: str) -> Words:
        return _Table(self._take(key, dict), f"{self.where}: {key}").both()

    def both(self) -> Words:
        made = {lang: self.text(lang) for lang in LANGUAGES}
        self.done()
        return made

    def done(self) -> None:
        for key in self.data:
            raise InvalidInput(f"{self.where}: unknown key {key!r}")


def _hint(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, 1)
    return (
        f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    )
