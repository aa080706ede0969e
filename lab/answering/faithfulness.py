"""Faithfulness: does every sentence name a source that exists?

Form, not truth: a sentence that cites passage 2 may still say what passage
2 does not. Grounding compares words; a person compares meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lab.answering.code import Span, code_blocks, code_spans, inside
from lab.answering.passage import check_string
from lab.answering.prompting import is_refusal
from lab.answering.sentences import MARKER, sentence_spans
from lab.errors import InvalidInput

CITED: Final = "cited"
UNCITED: Final = "uncited"
REFUSAL: Final = "refusal"
EMPTY: Final = "empty"

_MARKER = re.compile(MARKER)
_NUMBER = re.compile(r"[0-9]+")
_LEADING = re.compile(rf"(?:\s*{MARKER})+")
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Sentence:
    """One sentence and the numbers in its markers.

    ``numbers`` are valid and distinct, in order; ``invalid`` are spelled as
    found (``0``, ``99``, ``007``).
    """

    text: str
    numbers: tuple[int, ...]
    invalid: tuple[str, ...]

    @property
    def cited(self) -> bool:
        """Say whether it names a source, and none that does not exist."""
        return bool(self.numbers) and not self.invalid


@dataclass(frozen=True)
class Faithfulness:
    """A generated text, judged by its form.

    ``state`` is ``cited`` (every sentence is), ``uncited`` (some sentence
    is not), ``refusal`` (the fixed sentence and nothing else) or ``empty``
    (nothing that could be cited).
    """

    state: str
    sentences: tuple[Sentence, ...]

    @property
    def share(self) -> float:
        """Return the share of cited sentences, 0.0 where there is none."""
        if not self.sentences:
            return 0.0
        return sum(1 for s in self.sentences if s.cited) / len(self.sentences)

    @property
    def uncited(self) -> tuple[str, ...]:
        """Return the sentences without a valid source."""
        return tuple(s.text for s in self.sentences if not s.cited)

    @property
    def invalid(self) -> tuple[str, ...]:
        """Return the numbers that name no source, in order."""
        return tuple(n for s in self.sentences for n in s.invalid)

    @property
    def used(self) -> tuple[int, ...]:
        """Return the distinct valid numbers, ascending."""
        return tuple(sorted({n for s in self.sentences for n in s.numbers}))


def faithfulness(text: str, n_sources: int) -> Faithfulness:
    """Judge whether each sentence of ``text`` cites one of the sources.

    Sources are numbered from 1 to ``n_sources``. A marker is ``[2]`` or
    ``[1, 3]`` outside code; ``[text](url)`` and ``[1]: url`` are links. A
    number outside the range, or with a leading zero, makes its sentence
    uncited. Every line is judged on its own, since a line without a full
    stop would else hide behind a cited neighbour; markers that lead a line
    belong to the sentence before. A block of code belongs to the sentence
    before it, else to the one after; alone it is one, and uncited.
    """
    check_string(text, "text")
    if (
        isinstance(n_sources, bool)
        or not isinstance(n_sources, int)
        or n_sources < 0
    ):
        raise InvalidInput("n_sources: must be a count of sources")
    code = code_spans(text)
    sentences = tuple(
        _sentence(text, span, code, n_sources) for span in _units(text, code)
    )
    if is_refusal(text):
        return Faithfulness(REFUSAL, sentences)
    if not sentences:
        return Faithfulness(EMPTY, ())
    cited = all(sentence.cited for sentence in sentences)
    return Faithfulness(CITED if cited else UNCITED, sentences)


def _units(text: str, code: list[Span]) -> list[Span]:
    """Return the spans of what must be cited: sentences, cut at lines."""
    blocks = code_blocks(text)
    units: list[Span] = []
    waiting: Span | None = None
    for start, end in sentence_spans(text):
        if inside(blocks, start):
            if units:
                units[-1] = (units[-1][0], end)
            else:
                waiting = (waiting[0] if waiting else start, end)
            continue
        for low, high in _lines(text, start, end, code):
            leading = _LEADING.match(text, low, high)
            if leading and units:
                units[-1] = (units[-1][0], leading.end())
                low = leading.end()
            if _WORD.search(_MARKER.sub("", text[low:high])):
                units.append((waiting[0] if waiting else low, high))
                waiting = None
    return [*units, waiting] if waiting else units


def _lines(text: str, start: int, end: int, code: list[Span]) -> list[Span]:
    """Cut at line feeds outside code."""
    cuts = [start]
    for at in range(start, end):
        if text[at] == "\n" and not inside(code, at):
            cuts.append(at + 1)
    return list(zip(cuts, [*cuts[1:], end], strict=True))


def _sentence(
    text: str, span: Span, code: list[Span], n_sources: int
) -> Sentence:
    start, end = span
    numbers: list[int] = []
    invalid: list[str] = []
    for marker in _MARKER.finditer(text, start, end):
        if inside(code, marker.start()):
            continue
        for number in _NUMBER.findall(marker[0]):
            if _exists(number, n_sources):
                numbers.append(int(number))
            else:
                invalid.append(number)
    return Sentence(
        text[start:end].strip(), tuple(dict.fromkeys(numbers)), tuple(invalid)
    )


def _exists(number: str, n_sources: int) -> bool:
    # The length first: an int of thousands of digits is refused by Python.
    return (
        len(number) <= 9
        and not number.startswith("0")
        and int(number) <= n_sources
    )
