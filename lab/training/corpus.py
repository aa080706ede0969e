"""The words and the texts that the teacher is asked about.

Which texts are taken is decided by their digests, not by chance: of each
kind those whose SHA-256 comes first. Taking more later keeps the ones
there are. No text of XQuAD, of the fixture, or of the pages that settings
were chosen on is among them.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from lab.training import sources

HAN: Final = "\u4e00-\u9fff"
_ENGLISH = re.compile("[a-z]+")
WORD = re.compile(f"[{HAN}]{{1,4}}")
_LONG = re.compile(f"[{HAN}]{{5,12}}")
_QUOTED = re.compile(r'"([^"]+)"')
# Frequencies of Zipf's law with Mandelbrot's shift, for a list in order.
_SHIFT = 2.7

# How many texts of each kind; the teacher's time is what limits them.
TAKE: Final = {
    ("en", "definition"): 3000,
    ("en", "example"): 3500,
    ("en", "help"): 1500,
    ("en", "drawn"): 1500,
    ("zh", "help"): 5000,
    ("zh", "name"): 1500,
    ("zh", "drawn"): 3000,
}


@dataclass(frozen=True)
class Text:
    """One training text: its language, what it is, and itself."""

    lang: str
    kind: str
    text: str


def english(folder: Path) -> dict[str, float]:
    """Return English words with their share of running text.

    The mean of two lists: counts in books, and ranks in an encyclopedia
    read as frequencies.
    """
    counts: dict[str, int] = {}
    listed = sources.member(
        "symspellpy", folder, "frequency_dictionary_en_82_765.txt"
    )
    for line in listed.splitlines():
        word, count = line.split()
        counts[word] = int(count)
    total = sum(counts.values())
    shares = {word: count / total for word, count in counts.items()}
    ranked = _wikipedia(sources.member("zxcvbn", folder, "frequency_lists.py"))
    weights = [1 / (rank + _SHIFT) for rank in range(len(ranked))]
    whole = sum(weights)
    for word, weight in zip(ranked, weights, strict=True):
        shares[word] = shares.get(word, 0.0) + weight / whole
    return {
        word: share / 2
        for word, share in shares.items()
        if _ENGLISH.fullmatch(word)
    }


def _wikipedia(module: str) -> list[str]:
    """Return the words of one list in a Python module, without running it."""
    found = re.search('"english_wikipedia": "([^"]*)"', module)
    assert found is not None
    return found[1].split(",")


def chinese(folder: Path) -> dict[str, float]:
    """Return Chinese words of any length with their share of the list."""
    counts = {}
    for line in sources.member("jieba", folder, "jieba/dict.txt").splitlines():
        word, count = line.split()[:2]
        counts[word] = int(count)
    total = sum(counts.values())
    return {word: count / total for word, count in counts.items()}


def most_frequent(shares: dict[str, float], most: int) -> list[str]:
    """Return the most frequent words, equals in the order of code points."""
    return sorted(shares, key=lambda word: (-shares[word], word))[:most]


def texts(folder: Path) -> list[Text]:
    """Return the training texts, a list that is always the same."""
    found: list[Text] = []
    for (lang, kind), most in TAKE.items():
        some = dict.fromkeys(_all(lang, kind, most, folder))
        found += [
            Text(lang, kind, text) for text in sorted(some, key=_digest)[:most]
        ]
    # Mixed, so that a part of them is like the whole.
    return sorted(found, key=lambda item: _digest(item.text))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _all(lang: str, kind: str, most: int, folder: Path) -> Iterable[str]:
    if kind == "help":
        return _help(lang, folder)
    if kind == "name":
        return (w for w in chinese(folder) if _LONG.fullmatch(w))
    if kind == "drawn":
        return _drawn(lang, most, folder)
    return _wordnet(kind, folder)


def _wordnet(kind: str, folder: Path) -> Iterator[str]:
    for part in ("noun", "verb", "adj", "adv"):
        listed = sources.member("wordnet", folder, f"wordnet/data.{part}")
        for line in listed.splitlines():
            if line.startswith("  "):
                continue
            head, gloss = line.split(" | ", 1)
            if kind == "example":
                yield from (t for t in _QUOTED.findall(gloss) if len(t) > 15)
                continue
            fields = head.split(" ")
            names = [
                re.sub(r"\(.*\)", "", name).replace("_", " ")
                for name in fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            ]
            meaning = gloss.strip().split('; "')[0]
            yield f"{', '.join(names[:3])}: {meaning}"


def _help(lang: str, folder: Path) -> Iterator[str]:
    end = re.compile(r"(?<=[。！？])" if lang == "zh" else r"(?<=[.!?])\s+")
    for path, data in sources.members(f"help-{lang}", folder):
        if "/text/" not in path or not path.endswith(".html"):
            continue
        page = _Page()
        page.feed(data.decode("utf-8"))
        page.close()
        for block in page.blocks():
            for text in end.split(block):
                if _prose(text.strip(), lang):
                    yield text.strip()


def _prose(text: str, lang: str) -> bool:
    han = len(re.findall(f"[{HAN}]", text))
    if lang == "zh":
        return han >= 4 and 0.4 * len(text) <= han and len(text) <= 160
    letters = len(re.findall("[A-Za-z]", text))
    return not han and 12 <= len(text) <= 300 and letters >= 0.6 * len(text)


def _drawn(lang: str, most: int, folder: Path) -> Iterator[str]:
    """Yield texts of words drawn at random, by the root of frequency.

    They mean nothing, and show the teacher's weights: which of several
    words decides what a text is about.
    """
    if lang == "en":
        shares, least, longest, join = english(folder), 3, 8, " "
    else:
        every = chinese(folder)
        shares = {w: s for w, s in every.items() if WORD.fullmatch(w)}
        least, longest, join = 3, 9, ""
    words = most_frequent(shares, 30000)
    bounds = list(itertools.accumulate(shares[w] ** 0.5 for w in words))
    # Of the generator only random() is used: it is the same everywhere.
    draw = random.Random(f"{lang} drawn").random
    for _ in range(most):
        length = least + int(draw() * (longest - least + 1))
        yield join.join(
            words[
                min(
                    bisect.bisect(bounds, draw() * bounds[-1]),
                    len(words) - 1,
                )
            ]
            for _ in range(length)
        )


class _Page(HTMLParser):
    """Collects the text of an HTML page's blocks."""

    BLOCKS = frozenset(
        "p li h1 h2 h3 h4 h5 td th dt dd div title".split(),
    )
    UNREAD = frozenset("script style nav header footer pre".split())

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = [""]
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._unread += tag in self.UNREAD
        if tag in self.BLOCKS:
            self._parts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in self.UNREAD and self._unread > 0
        if tag in self.BLOCKS:
            self._parts.append("")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self._parts[-1] += data

    def blocks(self) -> Iterator[str]:
        """Yield each block's text, white space squeezed."""
        for part in self._parts:
            if text := " ".join(part.split()):
                yield text
