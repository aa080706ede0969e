"""The content map: what is in each edition, and in each output.

``editions`` comes from the manuscript. ``outputs`` is filled only by
reading the finished artefacts back, so the map says what a reader has in
hand, block by block, and anyone can compare the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from book.press import readback
from book.press.blocks import Edition
from book.press.context import BuildContext
from book.press.problems import Problem, Problems
from book.press.readback import Expected, Pages, UnreadableError

NAME = "content-map.json"
SCHEMA = "ks.content-map/1"

Blocks = dict[str, dict[str, list[Expected]]]


def write(
    editions: Mapping[str, Edition], staging: Path, context: BuildContext
) -> None:
    """Read every output back, compare, and write the map.

    Raises ``Problems`` when an output lacks a block, has one too many, has
    them in another order, or says something else than the manuscript.
    """
    expected = blocks_of(editions)
    outputs = read(staging)
    problems = differences(expected, outputs)
    if problems:
        raise Problems(problems)
    text = json.dumps(
        content_map(expected, outputs, context.source_digest),
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    (staging / NAME).write_text(text + "\n", "utf-8", newline="\n")


def blocks_of(editions: Mapping[str, Edition]) -> Blocks:
    """The blocks of each edition by language and slug."""
    return {
        lang: {
            chapter.slug: [
                Expected(block.id, block.kind, block.sha256)
                for block in chapter.blocks
            ]
            for chapter in edition.chapters
        }
        for lang, edition in editions.items()
    }


def read(staging: Path) -> dict[str, Pages]:
    """Every output read back; ``Problems`` for one that cannot be."""
    try:
        return readback.read_outputs(staging)
    except UnreadableError as error:
        raise Problems([error.problem]) from error
    except OSError as error:
        name = Path(str(error.filename)).name
        raise Problems([Problem(name, 0, "cannot be read")]) from error


def differences(
    expected: Blocks, outputs: Mapping[str, Pages]
) -> list[Problem]:
    """Where outputs and editions disagree, of every output."""
    found = []
    for name, pages in outputs.items():
        lang = name.partition("/")[2]
        found += readback.compare(expected.get(lang, {}), name, pages)
    return found


def content_map(
    expected: Blocks, outputs: Mapping[str, Pages], source_digest: str
) -> dict[str, Any]:
    """The map as it is written to JSON."""
    return {
        "schema": SCHEMA,
        "source": source_digest,
        "editions": {
            lang: [
                {"slug": slug, "blocks": [vars(block) for block in blocks]}
                for slug, blocks in chapters.items()
            ]
            for lang, chapters in expected.items()
        },
        "outputs": readback.as_map(outputs),
    }


def editions_of(data: Mapping[str, Any]) -> Blocks:
    """The blocks of each edition, from a map read from JSON."""
    return {
        lang: {
            chapter["slug"]: [Expected(**block) for block in chapter["blocks"]]
            for chapter in chapters
        }
        for lang, chapters in data["editions"].items()
    }


def disagreements(staging: Path) -> tuple[list[Problem], int]:
    """Compare the map in ``staging`` with the outputs beside it.

    Returns the faults, and how many blocks the outputs hold.
    """
    data = json.loads((staging / NAME).read_text("utf-8"))
    outputs = read(staging)
    problems = differences(editions_of(data), outputs)
    if readback.as_map(outputs) != data["outputs"]:
        message = "does not list what the outputs hold"
        problems.append(Problem(NAME, 0, message))
    blocks = sum(
        len(blocks) for pages in outputs.values() for blocks in pages.values()
    )
    return problems, blocks
