"""Terms: what a text is found by.

One function for documents and queries alike, so that any string finds
itself: ``38.101`` and ``multi-agent`` are cut the same way on both sides,
and no character of a query is ever syntax.

Claims hold across Python versions for characters assigned in Unicode 14.
Scripts written without spaces other than Chinese, Japanese and Korean
(Thai, Lao, Khmer, Myanmar) are not segmented: a run of theirs is one term.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from lab.terms_tables import CJK, MARKS, character_class

VERSION = 1
FINGERPRINT = f"terms/{VERSION}"

# FTS5 cuts a token at 32,768 bytes; a code point takes at most four.
MAX_TERM = 8191

_CJK = character_class(CJK)
_MARK = character_class(MARKS)
_LETTER = rf"[^\W{_CJK}]"

# A run of CJK characters, or a run of letters, digits and underscores of
# spaced scripts. Marks belong to the character they follow; a mark that
# follows nothing is nobody's.
_RUN = re.compile(
    rf"(?P<cjk>[{_CJK}][{_CJK}{_MARK}]*)"
    rf"|{_LETTER}+(?:[{_MARK}]+{_LETTER}*)*"
)
_CJK_CHARACTER = re.compile(rf"[{_CJK}][{_MARK}]*")
_ASCII_RUN = re.compile(r"\w+", re.ASCII)

# The half-width forms U+FF66 … U+FF9F in order. The two voiced marks
# become combining ones, which NFC then joins to their kana.
_HALF_WIDTH = (
    "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテト"
    "ナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u3099\u309a"
)
# Seen by nobody, typed by word processors: soft hyphen, joiners,
# direction marks, byte order mark, variation selectors.
_UNSEEN = (
    *(0x00AD, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
)
_FOLD: dict[int, int | str | None] = {
    **{0xFF01 + n: 0x21 + n for n in range(94)},
    **{0xFF66 + n: kana for n, kana in enumerate(_HALF_WIDTH)},
    **dict.fromkeys(_UNSEEN),
}


def terms(text: str) -> list[str]:
    """Return the terms of ``text`` in order, repetitions kept.

    Every term is lower case and made of ASCII letters, digits, underscore
    and characters above U+007F only, so terms joined by one space survive
    FTS5's ``ascii tokenchars '_'`` unchanged. Never raises for a ``str``;
    takes time linear in its length.
    """
    if text.isascii():
        return [t[:MAX_TERM] for t in _ASCII_RUN.findall(text.lower())]
    # Folding comes first: Ａ followed by a combining acute is one Á.
    folded = unicodedata.normalize("NFC", text.translate(_FOLD))
    found: list[str] = []
    for match in _RUN.finditer(folded):
        if match["cjk"] is not None:
            found.extend(_pairs(match["cjk"]))
        else:
            found.append(_lower(match[0])[:MAX_TERM])
    return found


def _lower(run: str) -> str:
    # Lower-casing can leave an uncomposed pair (J̌ has no capital letter
    # of its own, ǰ has a small one), so NFC is restored. It is applied to
    # the run alone: Greek final sigma depends on what follows.
    return unicodedata.normalize("NFC", run.lower())


def _pairs(run: str) -> list[str]:
    """Overlapping two-character terms; one character gives itself."""
    units = [m[0][: MAX_TERM // 2] for m in _CJK_CHARACTER.finditer(run)]
    if len(units) == 1:
        return units
    return [a + b for a, b in pairwise(units)]
