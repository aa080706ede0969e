"""What a screen does not show, and what is read once it is taken away.

A screener and a reader see different texts: the one compares code points,
the other (a language model included) reads letters. ``visible`` folds a
text to what is read; ``tagged`` spells out what was written in characters
nobody sees. Both keep, for every character, where it came from, since a
fold changes lengths: U+FDFA becomes 18 characters, İ becomes two.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Folded:
    """A folded text; ``origins[i]`` is where character ``i`` came from."""

    text: str
    origins: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original for one of the folded text.

        ``start < end``; code points, half-open.
        """
        return self.origins[start], self.origins[end - 1] + 1


# Default-ignorable code points of Unicode 14 and what else is blank without
# being white space, by range: the database of one Python is not the other's.
_IGNORABLE: Final = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_UNSEEN: Final = re.compile(f"[{_IGNORABLE}]")

TAG_BLOCK: Final = "\U000e0000-\U000e007f"
# A subdivision flag: a black flag, a region code in tags, the cancel tag
# (Unicode Technical Standard 51, emoji tag sequences).
FLAG: Final = re.compile(
    "\U0001f3f4[\U000e0061-\U000e007a]{2}"
    "[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f"
)
_TAG: Final = re.compile(f"[{TAG_BLOCK}]")

# Cyrillic and Greek letters that look like Latin ones, ours.
_ALIKE: Final = str.maketrans(
    "аеорсухіјѕԁһӏԛԝтмквнгпиαοεικνρτυχ",
    "aeopcyxijsdhlqwtmkbhrnuaoeikvptux",
)
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_BETWEEN_HAN: Final = re.compile(rf"(?<={_HAN.pattern}) (?={_HAN.pattern})")


def visible(text: str) -> Folded:
    """Return ``text`` as it is read.

    Unseen characters are dropped; each other one is compatibility
    decomposed (the K of NFKC), loses its marks, is case-folded, and turned
    into the Latin letter it imitates; white space becomes single spaces,
    none between two Han characters.
    """
    out: list[str] = []
    origins: list[int] = []
    for at, character in enumerate(text):
        if _UNSEEN.match(character):
            continue
        for part in _plain(character):
            if part.isspace():
                if not out or out[-1] == " ":
                    continue
                part = " "
            out.append(part)
            origins.append(at)
    joined = "".join(out)
    drop = {m.start() for m in _BETWEEN_HAN.finditer(joined)}
    kept = [n for n in range(len(out)) if n not in drop]
    return Folded(
        "".join(out[n] for n in kept), tuple(origins[n] for n in kept)
    )


def _plain(character: str) -> str:
    if character.isascii():
        return character.lower()
    parts = unicodedata.normalize("NFKD", character)
    kept = "".join(c for c in parts if not unicodedata.combining(c))
    return kept.casefold().translate(_ALIKE)


def words(folded: Folded) -> Folded:
    """Return the text with one space for each run of what is no word."""
    out: list[str] = []
    origins: list[int] = []
    for character, at in zip(folded.text, folded.origins, strict=True):
        if not character.isalnum():
            if out and out[-1] == " ":
                continue
            character = " "
        out.append(character)
        origins.append(at)
    return Folded("".join(out), tuple(origins))


def tagged(text: str) -> Folded:
    """Return what the tag characters of ``text`` spell in ASCII.

    Flags are read too: a message cut into flags is still a message.
    """
    out: list[str] = []
    origins: list[int] = []
    for match in _TAG.finditer(text):
        code = ord(match[0]) - 0xE0000
        if 0x20 <= code < 0x7F:
            out.append(chr(code).lower())
            origins.append(match.start())
    return Folded("".join(out), tuple(origins))
