"""From a document to the rows a store keeps, outside any transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab import encoders
from lab.chunking import Chunker
from lab.encoders import Encoder
from lab.store import ChunkRow, Settings
from lab.terms import FINGERPRINT as TERMS
from lab.terms import terms
from lab.text import Projection


@dataclass(frozen=True)
class Projector:
    """The encoder and chunker that make an index's projection.

    ``encoder`` is ``None`` for a lexical index.
    """

    encoder: Encoder | None
    chunker: Chunker

    def settings(self) -> Settings:
        """Return what the store must remember of this projection."""
        return Settings(
            self.encoder.fingerprint if self.encoder else "",
            dict(self.encoder.spec()) if self.encoder else {},
            self.chunker.fingerprint,
            dict(self.chunker.spec()),
            TERMS,
        )

    def rows(self, projection: Projection) -> list[ChunkRow]:
        """Chunk and encode a projection.

        Raises ``EncoderError`` before anything is written.
        """
        chunks = self.chunker.chunk(projection)
        encoded: Sequence[encoders.Encoded | None]
        if self.encoder is None:
            encoded = [None] * len(chunks)
        else:
            encoded = encoders.encode(
                self.encoder, [chunk.text for chunk in chunks]
            )
        return [
            ChunkRow(
                number=chunk.number,
                start=chunk.start,
                end=chunk.end,
                text=chunk.text,
                sha256=chunk.sha256,
                heading_path=tuple(chunk.heading_path),
                terms=tuple(terms(chunk.text)),
                vector=row.vector if row else None,
                features=row.features if row else None,
                norm=row.norm if row else 0,
            )
            for chunk, row in zip(chunks, encoded, strict=True)
        ]
