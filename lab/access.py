"""Who may read the files of a folder: the rules of an ``access.toml``.

Each rule has a glob that matches paths relative to the folder::

    [[rule]]
    match = "board/**"
    readers = ["group:board", "dana"]
    classification = "restricted"
    barrier = "heron"

``*`` and ``?`` stand for characters of one name, ``**`` for any number of
folders; ``board/`` is short for ``board/**``. The nearest rule that matches
decides alone, wherever it stands: the one that names most parts of the path
in full; then most folders in part (``2026-*``); then most folders as ``*``;
then the file in part (``*.md``); among equals the later one. A path that no
rule matches nobody may read.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.errors import InvalidInput
from lab.model import Policy

NAME: Final = "access.toml"
NOBODY: Final = Policy(())

_KEYS: Final = frozenset({"match", "readers", "classification", "barrier"})


@dataclass(frozen=True)
class Rule:
    """One rule; ``number`` counts from 1 in the order of the file."""

    number: int
    match: str
    policy: Policy
    parts: tuple[str, ...]
    pattern: re.Pattern[str]

    def matches(self, path: str) -> bool:
        """Say whether the rule speaks of ``path`` (parts joined by /)."""
        return self.pattern.fullmatch(path) is not None

    @property
    def nearness(self) -> tuple[int, int, int, int, int]:
        """Return what orders matching rules, the nearest highest."""
        kinds = [_kind(part) for part in self.parts]
        # Where a file is says more about who may read it than what it is
        # called: "**/*.md" must not reach into "board-*/**".
        folders = kinds[:-1]
        return (
            kinds.count("whole"),
            folders.count("partly"),
            folders.count("any"),
            kinds[-1:].count("partly"),
            self.number,
        )


@dataclass(frozen=True)
class Access:
    """The rules of one folder."""

    rules: tuple[Rule, ...]

    def rule(self, path: str) -> Rule | None:
        """Return the rule that decides about ``path``."""
        return max(
            (rule for rule in self.rules if rule.matches(path)),
            key=lambda rule: rule.nearness,
            default=None,
        )

    def policy(self, path: str) -> Policy:
        """Return who may read ``path``; nobody where no rule matches."""
        rule = self.rule(path)
        return NOBODY if rule is None else rule.policy


def read(path: Path) -> Access:
    """Read the rules in a file.

    Raises ``InvalidInput`` naming the file and the rule when it is missing
    or malformed: half a rule must not open anything.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(
            f"{path}: there is none, so nobody could read anything; say who"
            ' may, for example: [[rule]] match = "**" readers = ["alice"]'
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be read ({error.strerror}); nothing was changed"
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8 at byte {error.start}") from None
    return parse(text, str(path))


def parse(text: str, where: str = NAME) -> Access:
    """Read rules from TOML; ``where`` names the source in messages."""
    try:
        data = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{where}: not TOML: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{where}: nested too deeply") from None
    for key in data:
        if key != "rule":
            raise InvalidInput(
                f"{where}: unknown key {key!a}; rules start with [[rule]]"
            )
    rules = data.get("rule", [])
    if not isinstance(rules, list):
        raise InvalidInput(f"{where}: a rule starts with [[rule]]")
    return Access(
        tuple(
            _rule(item, number, f"{where}: rule {number}")
            for number, item in enumerate(rules, 1)
        )
    )


def _rule(item: Any, number: int, where: str) -> Rule:
    if not isinstance(item, dict):
        raise InvalidInput(f"{where}: must be a table, [[rule]]")
    for key in item:
        if key not in _KEYS:
            raise InvalidInput(
                f"{where}: unknown key {key!a}; known are"
                f" {', '.join(sorted(_KEYS))}"
            )
    for key in ("match", "readers"):
        if key not in item:
            raise InvalidInput(f"{where}: lacks {key}")
    match = item["match"]
    if not isinstance(match, str) or not match:
        raise InvalidInput(f"{where}: match must be a glob, such as board/**")
    readers = item["readers"]
    if not isinstance(readers, list):
        raise InvalidInput(f"{where}: readers must be a list of names")
    try:
        policy = Policy(
            tuple(readers),
            item.get("classification", "internal"),
            item.get("barrier"),
        )
    except (InvalidInput, TypeError) as error:
        raise InvalidInput(f"{where}: {error}") from None
    parts = _parts(match, where)
    return Rule(number, match, policy, parts, _pattern(parts))


def _parts(match: str, where: str) -> tuple[str, ...]:
    if "\\" in match:
        raise InvalidInput(f"{where}: match separates folders by /, not \\")
    if match.startswith("/"):
        raise InvalidInput(
            f"{where}: match is relative to the folder; drop the leading /"
        )
    # Files are named in NFC too, so that a name typed on one system
    # matches the same name made on another.
    text = unicodedata.normalize("NFC", match)
    if text.endswith("/"):
        text += "**"
    parts: list[str] = []
    for part in text.removeprefix("./").split("/"):
        if part in ("", ".", ".."):
            raise InvalidInput(f"{where}: match has an empty or dotted part")
        if "**" in part and part != "**":
            raise InvalidInput(f"{where}: in match, ** stands between slashes")
        if part == "**" and parts[-1:] == ["**"]:
            continue
        parts.append(part)
    return tuple(parts)


def _kind(part: str) -> str:
    if part == "**":
        return "none"
    rest = part.replace("*", "").replace("?", "")
    if rest == part:
        return "whole"
    return "partly" if rest else "any"


def _pattern(parts: tuple[str, ...]) -> re.Pattern[str]:
    last = len(parts) - 1
    pieces = []
    for place, part in enumerate(parts):
        if part == "**":
            pieces.append(
                r"[^/]+(?:/[^/]+)*" if place == last else r"(?:[^/]+/)*"
            )
            continue
        pieces += [
            {"*": "[^/]*", "?": "[^/]"}.get(character, re.escape(character))
            for character in part
        ]
        if place != last:
            pieces.append("/")
    return re.compile("".join(pieces), re.DOTALL)
