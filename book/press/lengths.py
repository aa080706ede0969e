"""How long each chapter is, code apart, in each language."""

from __future__ import annotations

from collections.abc import Mapping

from book.press.blocks import Edition
from book.press.manuscript import LANGUAGES


def table(editions: Mapping[str, Edition]) -> str:
    """One line per chapter: English words, Chinese characters and words."""
    counted = {
        lang: {
            chapter.slug: chapter.words for chapter in editions[lang].chapters
        }
        for lang in LANGUAGES
    }
    slugs = list(dict.fromkeys(s for found in counted.values() for s in found))
    width = max(map(len, slugs), default=5)
    heading = "".join(f"{lang:>9}" for lang in LANGUAGES)
    lines = [f"{'words, code apart':<{width}}{heading}"]
    for slug in slugs:
        row = "".join(f"{counted[lang].get(slug, 0):>9,}" for lang in LANGUAGES)
        lines.append(f"{slug:<{width}}{row}")
    total = "".join(f"{sum(counted[lang].values()):>9,}" for lang in LANGUAGES)
    return "\n".join([*lines, f"{'all':<{width}}{total}"])
