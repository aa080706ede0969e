"""Chunks: spans of a projection, each small enough to be found and cited.

Whatever the chunker and whatever the text: ``text == body[start:end]``,
starts strictly increase, every code point that is not white space lies in
some chunk, no chunk is blank, an empty document has no chunks, and the
time is linear in the text for fixed settings.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, Final, Protocol

from lab import canonical, markdown
from lab.errors import InvalidInput
from lab.terms_tables import CJK, character_class
from lab.text import Projection


@dataclass(frozen=True)
class Chunk:
    """A span ``[start, end)`` of a body, in code points.

    ``heading_path`` holds the headings in force at its first character
    that is not white space, outermost first; ``sha256`` is the digest of
    the UTF-8 bytes of ``text``.
    """

    number: int
    start: int
    end: int
    text: str
    heading_path: tuple[str, ...]
    sha256: str


class Chunker(Protocol):
    """Cuts projections; equal fingerprints promise equal chunks."""

    @property
    def fingerprint(self) -> str:
        """Name, versions and settings."""
        ...

    def chunk(self, projection: Projection) -> list[Chunk]:
        """Return the chunks of ``projection`` in order."""
        ...

    def spec(self) -> dict[str, Any]:
        """Return what ``from_spec`` needs to make this chunker again."""
        ...


class _Settings:
    """What the chunkers share: names for themselves, made from fields."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int]

    @property
    def fingerprint(self) -> str:
        settings = canonical.dumps(_values(self))
        return (
            f"{self.KIND}/{self.VERSION}+markdown/{markdown.VERSION}{settings}"
        )

    def spec(self) -> dict[str, Any]:
        return {"kind": self.KIND, "version": self.VERSION} | _values(self)


def _values(chunker: Any) -> dict[str, int]:
    return asdict(chunker)


@dataclass(frozen=True)
class WindowChunker(_Settings):
    """Windows of at most ``size`` code points, ``overlap`` repeated.

    A window prefers to end after a blank line in its second half. Raises
    ``InvalidInput`` unless ``1 <= size <= 4096``, ``0 <= overlap < size``.
    """

    KIND: ClassVar[str] = "window"
    VERSION: ClassVar[int] = 1

    size: int = 220
    overlap: int = 40

    def __post_init__(self) -> None:
        _check("size", self.size, 1, 4096)
        _check("overlap", self.overlap, 0, self.size - 1)

    def chunk(self, projection: Projection) -> list[Chunk]:
        """Return the windows of ``projection`` that are not blank."""
        return _chunks(projection, self._spans(projection.body))

    def _spans(self, body: str) -> Iterator[tuple[int, int]]:
        breaks = _blank_line_ends(body)
        start = 0
        while start < len(body):
            end = min(start + self.size, len(body))
            if end < len(body):
                at = bisect_right(breaks, end) - 1
                if at >= 0 and breaks[at] >= start + (self.size + 1) // 2:
                    end = max(breaks[at], start + 1)
            yield start, end
            if end == len(body):
                return
            start = max(start + 1, end - self.overlap)


def _blank_line_ends(body: str) -> list[int]:
    """Return where each blank line ends, its LF included."""
    ends = []
    start = 0
    while (lf := body.find("\n", start)) >= 0:
        if not body[start:lf].strip():
            ends.append(lf + 1)
        start = lf + 1
    return ends


_CJK_CHARACTER = re.compile(f"[{character_class(CJK)}]")
# A unit that is never cut: one CJK character, or a run of anything else
# between white space.
_UNIT = re.compile(rf"[{character_class(CJK)}]|[^\s{character_class(CJK)}]+")


def estimate_tokens(text: str) -> int:
    """Estimate model tokens: one per CJK character, else one per four.

    It is a rule of thumb, not a tokenizer: an encoder that needs a bound
    has to measure with its own.
    """
    cjk = sum(1 for _ in _CJK_CHARACTER.finditer(text))
    return _tokens(len(text) - cjk, cjk)


def _tokens(spaced: int, cjk: int) -> int:
    return -(-spaced // 4) + cjk


@dataclass(frozen=True)
class SectionChunker(_Settings):
    """One section at a time, its words packed up to ``max_tokens``.

    Tokens are those of ``estimate_tokens``. No word is cut, except one
    longer than the limit. Within a section a chunk repeats at most
    ``overlap_tokens`` from the end of the one before. Raises
    ``InvalidInput`` unless ``1 <= max_tokens <= 4096``,
    ``0 <= overlap_tokens < max_tokens``.
    """

    KIND: ClassVar[str] = "section"
    VERSION: ClassVar[int] = 1

    max_tokens: int = 96
    overlap_tokens: int = 16

    def __post_init__(self) -> None:
        _check("max_tokens", self.max_tokens, 1, 4096)
        _check("overlap_tokens", self.overlap_tokens, 0, self.max_tokens - 1)

    def chunk(self, projection: Projection) -> list[Chunk]:
        """Return the chunks of each section; none crosses a heading."""
        body = projection.body
        cuts = [h.start for h in _headings(projection)]
        bounds = [0, *(cut for cut in cuts if cut), len(body)]
        spans = (
            span
            for start, end in pairwise(bounds)
            for span in self._spans(_units(body, start, end, self.max_tokens))
        )
        return _chunks(projection, spans)

    def _spans(self, units: list[_Unit]) -> Iterator[tuple[int, int]]:
        first = 0
        for last, unit in enumerate(units):
            following = units[last + 1] if last + 1 < len(units) else None
            if following and self._fits(units[first], following):
                continue
            yield units[first].start, unit.end
            if following is None:
                return
            # At ``first`` it would not fit, so a new chunk starts later.
            start = last + 1
            while _between(
                units[start - 1], unit
            ) <= self.overlap_tokens and self._fits(
                units[start - 1], following
            ):
                start -= 1
            first = start

    def _fits(self, first: _Unit, last: _Unit) -> bool:
        return _between(first, last) <= self.max_tokens


@dataclass(frozen=True)
class _Unit:
    """A word or CJK character; ``cjk_before`` counts those left of it."""

    start: int
    end: int
    cjk_before: int
    cjk: int


def _between(first: _Unit, last: _Unit) -> int:
    """Estimate the tokens from the start of one unit to another's end."""
    cjk = last.cjk_before + last.cjk - first.cjk_before
    return _tokens(last.end - first.start - cjk, cjk)


def _units(body: str, start: int, end: int, max_tokens: int) -> list[_Unit]:
    units: list[_Unit] = []
    cjk = 0
    for match in _UNIT.finditer(body, start, end):
        at, stop = match.span()
        if stop - at == 1 and _CJK_CHARACTER.match(body, at):
            units.append(_Unit(at, stop, cjk, 1))
            cjk += 1
            continue
        step = max_tokens * 4
        units.extend(
            _Unit(cut, min(cut + step, stop), cjk, 0)
            for cut in range(at, stop, step)
        )
    return units


@dataclass(frozen=True)
class BlockChunker(_Settings):
    """Whole Markdown blocks, packed up to ``max_chars`` code points.

    A heading starts a section and is its first block; blank lines between
    blocks count. No block is ever split: one longer than ``max_chars``
    becomes one chunk that is longer. The next chunk repeats ``overlap``
    blocks, or as many of them as leave room for a new one. Raises
    ``InvalidInput`` unless ``1 <= max_chars <= 65536`` and
    ``0 <= overlap <= 64``.
    """

    KIND: ClassVar[str] = "block"
    VERSION: ClassVar[int] = 1

    max_chars: int = 1200
    overlap: int = 1

    def __post_init__(self) -> None:
        _check("max_chars", self.max_chars, 1, 65536)
        _check("overlap", self.overlap, 0, 64)

    def chunk(self, projection: Projection) -> list[Chunk]:
        """Return the packed blocks of each section."""
        return _chunks(projection, self._spans(projection))

    def _spans(self, projection: Projection) -> Iterator[tuple[int, int]]:
        section: list[tuple[int, int]] = []
        for block in _blocks(projection):
            stop = block.start + len(
                projection.body[block.start : block.end].rstrip()
            )
            if stop == block.start:
                continue
            if block.kind == markdown.HEADING and not block.depth:
                yield from self._pack(section)
                section = []
            section.append((block.start, stop))
        yield from self._pack(section)

    def _pack(self, blocks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        first = 0
        for last, (_, end) in enumerate(blocks):
            following = blocks[last + 1] if last + 1 < len(blocks) else None
            if following and following[1] - blocks[first][0] <= self.max_chars:
                continue
            yield blocks[first][0], end
            if following is None:
                return
            repeated = max(first + 1, last + 1 - self.overlap)
            while (
                repeated <= last
                and following[1] - blocks[repeated][0] > self.max_chars
            ):
                repeated += 1
            first = repeated


CHUNKERS: Final = (WindowChunker, SectionChunker, BlockChunker)


def from_spec(spec: Mapping[str, Any]) -> Chunker:
    """Return the chunker that ``spec()`` described.

    Raises ``InvalidInput`` for an unknown kind, another version, and
    settings that are missing, unknown or out of range.
    """
    if not isinstance(spec, Mapping):
        raise InvalidInput("chunker: must be an object with a kind")
    settings = dict(spec)
    kind = settings.pop("kind", None)
    version = settings.pop("version", None)
    for made in CHUNKERS:
        if kind != made.KIND:
            continue
        if version is True or version != made.VERSION:
            raise InvalidInput(
                f"chunker.version: {kind} is at {made.VERSION},"
                f" not {version!r}; rebuild the index"
            )
        if settings.keys() != {field.name for field in fields(made)}:
            names = ", ".join(field.name for field in fields(made))
            raise InvalidInput(f"chunker: {kind} takes exactly {names}")
        return made(**settings)
    known = ", ".join(made.KIND for made in CHUNKERS)
    raise InvalidInput(f"chunker.kind: must be one of {known}, got {kind!r}")


def _check(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name}: must be an integer, got {value!r}")
    if not least <= value <= most:
        raise InvalidInput(
            f"{name}: must lie from {least} to {most}, got {value}"
        )


def _blocks(projection: Projection) -> list[markdown.Block]:
    """Return the blocks; plain text has paragraphs and nothing else."""
    if projection.format != "text":
        return markdown.scan(projection.body)
    cuts = _blank_line_ends(projection.body)
    bounds = pairwise([0, *cuts, len(projection.body)])
    return [
        markdown.Block(markdown.PARAGRAPH, start, end)
        for start, end in bounds
        if start < end
    ]


def _headings(projection: Projection) -> list[markdown.Block]:
    return markdown.headings(_blocks(projection))


def _chunks(
    projection: Projection, spans: Iterator[tuple[int, int]]
) -> list[Chunk]:
    """Number the spans that are not blank and say where each stands."""
    starts, paths = _heading_paths(projection)
    chunks: list[Chunk] = []
    for start, end in spans:
        text = projection.body[start:end]
        inked = text.lstrip()
        if not inked:
            continue
        at = bisect_right(starts, end - len(inked)) - 1
        chunks.append(
            Chunk(
                len(chunks),
                start,
                end,
                text,
                paths[at] if at >= 0 else (),
                canonical.sha256(text),
            )
        )
    return chunks


def _heading_paths(
    projection: Projection,
) -> tuple[list[int], list[tuple[str, ...]]]:
    """Return heading starts, and the path from each heading on."""
    starts: list[int] = []
    paths: list[tuple[str, ...]] = []
    above: list[markdown.Block] = []
    for heading in _headings(projection):
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        starts.append(heading.start)
        paths.append(tuple(h.text for h in above))
    return starts, paths
