"""Print one digest over everything that readers of fixed views are told.

Run it from the top folder with any Python (``python -m
tests.lab.view_digest``): every machine, version and path must print the
same line. Standard library only.
"""

from __future__ import annotations

import hashlib
import random

from lab.index import Index
from lab.text import project
from tests.lab import views
from tests.lab.generators import documents

SEEDS = range(3)
# Assigned since Unicode 14, and none that a later version folds otherwise.
TROUBLE = 40


def digest() -> str:
    """Return the SHA-256 of every byte of every view."""
    made = hashlib.sha256()
    for encoder, chunker, seed in combinations():
        view = views.a_view(random.Random(seed))
        with Index.open(":memory:") as index:
            views.build(
                index,
                view,
                random.Random(1_000 + seed),
                views.ENCODERS[encoder](),
                views.CHUNKERS[chunker](),
            )
            for line in views.observe(index, view):
                made.update(line.encode("utf-8") + b"\n")
    for source in documents(8, TROUBLE):
        projection = project("markdown", source)
        made.update(projection.sha256.encode("ascii"))
        for make in views.CHUNKERS.values():
            for chunk in make().chunk(projection):
                row = f"{chunk.start} {chunk.end} {chunk.heading_path}\n"
                made.update(row.encode("utf-8"))
    return made.hexdigest()


def combinations() -> list[tuple[str, str, int]]:
    """Return encoder, chunker and seed of every view."""
    return [
        (encoder, chunker, seed)
        for encoder in sorted(views.ENCODERS)
        for chunker in sorted(views.CHUNKERS)
        for seed in SEEDS
    ]


if __name__ == "__main__":
    print(digest())
