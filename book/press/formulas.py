"""Formulas: TeX as MathML that keeps its TeX beside it."""

from __future__ import annotations

import functools
import re

from latex2mathml.converter import convert

from book.press.xhtml import escape, escape_attribute


@functools.lru_cache(maxsize=1024)
def mathml(tex: str, display: str) -> str:
    """``<math>`` with the TeX as annotation and as alternative text.

    ``display`` is ``inline`` or ``block``. Raises ``ValueError`` for TeX
    the converter cannot read or does not know.
    """
    tex = tex.strip()
    if not tex:
        raise ValueError("an empty formula")
    braces = re.findall(r"(?<!\\)[{}]", tex)
    if braces.count("{") != braces.count("}"):
        raise ValueError(f"unbalanced braces: {tex}")
    try:
        made = convert(tex, display=display)
    except Exception as error:
        reason = type(error).__name__
        raise ValueError(f"not valid TeX ({reason}): {tex}") from None
    found = re.fullmatch(r"<math [^>]*>(.*)</math>", made, re.DOTALL)
    if found is None:
        raise ValueError(f"not valid TeX: {tex}")
    # What the converter does not know, it prints as it stands.
    unknown = re.search(r">(\\[A-Za-z]+)<", made)
    if unknown:
        raise ValueError(f"unknown TeX {unknown[1]}: {tex}")
    return (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"'
        f' display="{display}" alttext="{escape_attribute(tex)}">'
        f"<semantics>{found[1]}"
        f'<annotation encoding="application/x-tex">{escape(tex)}'
        "</annotation></semantics></math>"
    )
