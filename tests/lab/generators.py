"""Seeded documents that look for trouble, with no dependency.

Every piece has broken some splitter: fences of the wrong length, line
ends that are none, text without spaces, text that is only space.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

PIECES = (
    *("# Head", "## C#", "### a ###", "Setext\n===", "Two\nlines\n---"),
    *("```", "````", "~~~", "   ```", "```python", "~~~ruby", "    # code"),
    *("- item", "  - inner", "- ```\n  # no\n  ```", "1. one", "> quote"),
    *("> # quoted", "> ```\n> x", "lazy", "***", "---", "<!-- # no\n", "-->"),
    *("<div>", "</div>", "<pre>\n\n# no", "| a | b |", "|---|---|", "| 1 |"),
    *("word", "a longer line of plain words, with 3.14 in it.", "A" * 90),
    *("云雀仪器的差旅政策", "苏州，2024年。", "日本語のテスト", "한국어", "ｶﾞｷﾞ"),
    *("e\u0301", "İİİ", "ß", "\U0001f44d\U0001f3fd", "\U00031350", "ﷺ"),
    *("\ufeff", "\u2028# no", "x\x0c# no", "\x85", "\u3000", "\u00a0", "\t"),
    *(" " * 300, "\n" * 40, "\r\n", "\r", "", " ", "[a]: /b", "snake_case"),
)
JOINS = ("\n", "\n", "\n\n", "\n\n", " ", "", "\r\n", "\n \t\n")


def documents(seed: int, count: int) -> Iterator[str]:
    """Yield ``count`` documents, the same for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(0, 24)):
            parts.append(rng.choice(PIECES))
            parts.append(rng.choice(JOINS))
        yield "".join(parts)
