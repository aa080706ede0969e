"""`build.py new chapter SLUG`: the two files a chapter starts as."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from book.press.manuscript import LANGUAGES

SLUG = re.compile(r"[0-9]{2}-[a-z0-9]+(-[a-z0-9]+)*")

START = """\
---
title: {title}
summary: {summary}
---

"""


def run(args: argparse.Namespace, root: Path) -> int:
    """Write front matter for both languages; never over a file."""
    if not SLUG.fullmatch(args.slug):
        print(
            f"{args.slug!r} is no slug: two digits and lower-case words, as "
            "in 05-lexical-baseline",
            file=sys.stderr,
        )
        return 2
    paths = [root / "book" / lang / f"{args.slug}.md" for lang in LANGUAGES]
    there = [path for path in paths if path.exists()]
    if there:
        names = ", ".join(p.relative_to(root).as_posix() for p in there)
        print(f"{names}: is there already", file=sys.stderr)
        return 2
    title = args.slug[3:].replace("-", " ").capitalize()
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = START.format(title=title, summary=title)
        path.write_text(text, "utf-8", newline="\n")
        print(f"wrote {path.relative_to(root).as_posix()}")
    print(f'to print it, add "{args.slug}" to a part in book/book.toml')
    return 0
