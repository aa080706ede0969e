"""A fence that what it encloses cannot close.

Fixed delimiters can be written by whoever writes a document. The mark here
is derived from every enclosed text and then checked to occur in none of
them, so that no text can hold the line that would end it. Equal inputs give
equal marks: nothing is random.
"""

from __future__ import annotations

from collections.abc import Sequence

from lab import canonical
from lab.answering.unseen import visible

DIGITS = 16


def mark(texts: Sequence[str]) -> str:
    """Return 16 hexadecimal digits that occur in none of ``texts``.

    Occurring is judged on the text as it is read: full-width digits or a
    zero-width space between them would pass a comparison of code points
    and still look like the mark to a model.
    """
    read = ["".join(visible(text).text.split()) for text in texts]
    attempt = 0
    while True:
        digits = canonical.digest([attempt, *texts])[:DIGITS]
        if not any(digits in text for text in read):
            return digits
        attempt += 1


def enclose(name: str, text: str, digits: str) -> str:
    """Return ``text`` between an opening and a closing line.

    ``name`` is ours, never taken from a document.
    """
    return f"<{name} {digits}>\n{text}\n</{name} {digits}>"
