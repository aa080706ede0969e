"""What the nine stages pass to each other. Given: read, do not change.

A chunk comes out of ``chunker``, lies in a table of ``store``, is found by
``retrieval``, put in order by ``reranking``, counted by ``metrics`` and
cited by ``answering``. Only the standard library is imported here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

KINDS = ("factual", "conceptual", "lexical")

# Stage 7: why a query was missed, and what would mend it.
FAILURE_KINDS = (
    "vocabulary-gap",
    "chunk-boundary",
    "ranking",
    "reranker-demotion",
    "anchor-ambiguity",
)
FIXES = (
    "hybrid-weights",
    "smaller-chunks",
    "contextual-chunk-headers",
    "query-rewrite",
    "better-embedder",
)

# An answer that the sources do not hold is this sentence and nothing else.
REFUSAL = "The sources do not answer this question."

# Questions about other things, in other words: stage 6 refuses them.
OFF_CORPUS = (
    "Which enzyme splits lactose in the human gut?",
    "How is kimchi fermented?",
    "When did Portugal adopt the euro?",
    "What does a goalkeeper do at a penalty kick?",
    "How do I declare a generic interface in TypeScript?",
    "Why do cats purr?",
)

# Words that a question is not about.
STOP_WORDS = frozenset(
    "a about after all an and any are as at be been before but by can did do"
    " does for from had has have her him his how i if in into is it its may"
    " more most must no not of on one only or our out over should so some"
    " somebody than that the their them then there they this to under up upon"
    " was we were what when where which while who whom whose why will with"
    " would you your".split()
)

# The variable that names a PostgreSQL of your own, as a DSN.
DSN_VARIABLE = "KEEPS_SECRETS_TEST_DSN"

# How deep the pipeline looks, and how deep a query must be answered.
POOL = 50
TOP_K = 10

# A text as the embedder sees it: numbers that a float32 holds exactly.
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Document:
    """One file of the corpus.

    ``doc_id`` is the stem of its name; ``format`` is ``markdown`` or
    ``text``; ``text`` is the whole file, line ends LF.
    """

    doc_id: str
    title: str
    text: str
    format: str = "markdown"


@dataclass(frozen=True)
class Chunk:
    """A stretch of a document: ``document.text[start:end] == text``.

    ``chunk_id`` is ``{doc_id}#{index:03d}``, ``index`` from 0 within the
    document. ``heading_path`` holds the headings in force, outermost first,
    joined by `` > ``; it is ``""`` where there are none.
    """

    chunk_id: str
    doc_id: str
    index: int
    heading_path: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Hit:
    """One entry of a ranking: ``rank`` counts from 1, best first.

    What ``score`` means depends on who gave it: scores of two rankings
    must not be compared.
    """

    chunk: Chunk
    score: float
    rank: int


@dataclass(frozen=True)
class GoldenQuery:
    """A question whose answer is known to be in the corpus.

    ``kind`` is one of ``KINDS``; ``anchor`` stands, letter for letter, in
    the text of the document ``doc_id``.
    """

    id: str
    kind: str
    query: str
    doc_id: str
    anchor: str

    def relevant(self, chunk: Chunk) -> bool:
        """Say whether a chunk holds the anchor, in the right document."""
        return chunk.doc_id == self.doc_id and self.anchor in chunk.text


@dataclass(frozen=True)
class Scores:
    """Means over queries, each from 0 to 1, at one depth ``k``."""

    queries: int
    k: int
    recall: float
    precision: float
    mrr: float
    ndcg: float


@dataclass(frozen=True)
class Miss:
    """A golden query without a relevant chunk among the first ``TOP_K``.

    ``best_rank`` is the rank of its first relevant chunk in the whole pool
    as the pipeline ordered it, or ``None``; ``fused_rank`` the rank the
    same query's first relevant chunk had before reranking, or ``None``.
    """

    query: GoldenQuery
    best_rank: int | None
    fused_rank: int | None


@dataclass(frozen=True)
class Source:
    """A chunk that an answer may cite as ``[number]``, from 1."""

    number: int
    chunk: Chunk


@dataclass(frozen=True)
class Prompt:
    """What a model is sent: instructions, and one message of the user."""

    system: str
    user: str


@dataclass(frozen=True)
class ModelSettings:
    """A model, the most tokens it may answer with, and its prices.

    Prices are US dollars for a million tokens.
    """

    name: str = "claude-haiku-4-5"
    max_tokens: int = 600
    input_price: float = 1.0
    output_price: float = 5.0


@dataclass(frozen=True)
class Completion:
    """What a model answered, and what it cost in US dollars."""

    text: str
    input_tokens: int
    output_tokens: int
    cost: float


@dataclass(frozen=True)
class Sentence:
    """One sentence of an answer, its markers left out.

    ``citations`` are the numbers it cites, in order, each once;
    ``invalid`` are those of them that no source has. It is ``cited`` when
    it has citations and none is invalid.
    """

    text: str
    citations: tuple[int, ...]
    invalid: tuple[int, ...] = ()

    @property
    def cited(self) -> bool:
        """Say whether every citation of it, and at least one, is valid."""
        return bool(self.citations) and not self.invalid


@dataclass(frozen=True)
class Faithfulness:
    """The sentences of an answer, and how many of them are cited.

    ``invalid`` are all the numbers that no source has, sorted. ``share`` is
    the share of sentences that are cited; 1.0 when there are none.
    """

    sentences: tuple[Sentence, ...]
    cited: int
    uncited: int
    invalid: tuple[int, ...]
    share: float


@dataclass(frozen=True)
class Answer:
    """What came of a question.

    A refusal has the text ``REFUSAL``; ``completion`` is ``None`` when no
    model was called. ``support`` is what was compared with the floor.
    """

    question: str
    text: str
    refused: bool
    support: float
    sources: tuple[Source, ...]
    faithfulness: Faithfulness
    completion: Completion | None = None


class Embedder(Protocol):
    """Turns texts into vectors of ``dims`` numbers, one for each text."""

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Vector]:
        """Return a vector of length 1 for each text, in order.

        A text with nothing to embed gives zeros. ``query`` says that the
        texts are questions, which some models embed differently. No texts
        give ``[]`` and load nothing.
        """
        ...


class Reranker(Protocol):
    """Puts the hits of one query into a better order."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the same chunks, best first, ranks from 1.

        Equal scores keep the order in which they came. No hits give ``[]``
        and load nothing.
        """
        ...


def _corpus() -> Path:
    """Return the corpus: beside this file, or in the track it is made from."""
    here = Path(__file__).resolve().parent
    for place in (
        here / "corpus",
        here.parent / "corpus",
        here.parent.parent / "tracks" / "pgvector-pipeline" / "corpus",
    ):
        if place.is_dir():
            return place
    return here / "corpus"


CORPUS = _corpus()
GOLDEN = CORPUS / "golden.jsonl"
KEY = CORPUS / "key.json"


def load_golden(path: Path = GOLDEN) -> tuple[GoldenQuery, ...]:
    """Return the golden queries in the order of the file.

    Raises ``ValueError`` naming the line for one that is not understood,
    has an unknown kind, a blank value or an id that was there before.
    """
    found: dict[str, GoldenQuery] = {}
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        where = f"{path.name}:{number}"
        try:
            query = GoldenQuery(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}: {error}") from None
        if query.kind not in KINDS:
            raise ValueError(f"{where}: unknown kind {query.kind!r}")
        for name in ("id", "query", "doc_id", "anchor"):
            if not str(getattr(query, name)).strip():
                raise ValueError(f"{where}: {name} is blank")
        if query.id in found:
            raise ValueError(f"{where}: {query.id} was there before")
        found[query.id] = query
    return tuple(found.values())


def dsn_from_environment() -> str:
    """Return the DSN that ``DSN_VARIABLE`` names, or ``""``."""
    return os.environ.get(DSN_VARIABLE, "").strip()
