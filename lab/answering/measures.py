"""How long a text is, in tokens of a model nobody has named yet."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

Measure = Callable[[str], int]

_FORMS: Final = ("NFC", "NFD", "NFKC", "NFKD")


def token_bound(text: str) -> int:
    """Return an upper bound of the token count of ``text``; unit: tokens.

    The bound is one more than the length in UTF-8 bytes of ``text``, or of
    whichever of its four Unicode normalisation forms, lower-cased or not,
    is longest.

    Proof, for a tokenizer that first applies none or one of those forms,
    may lower-case or drop characters, and then cuts what is left, as
    byte-level BPE, SentencePiece and WordPiece do: every token stands for
    at least one byte of what is cut, and no byte is in two tokens, so there
    are no more tokens than bytes; the one more is for a leading space that
    some add. Tokens that a chat format puts around the text are not in the
    text and are not counted: leave room for them in the budget. A tokenizer
    that lengthens text by a mapping of its own is outside the proof.

    A token of ordinary text is several bytes long, so the bound wastes most
    of a budget. A model's own tokenizer, passed instead, wastes none.
    """
    forms = [text]
    if not text.isascii():
        forms += [unicodedata.normalize(form, text) for form in _FORMS]
        forms += [form.lower() for form in forms]
    longest = max(len(form.encode("utf-8")) for form in forms)
    return longest + 1 if text else 0
