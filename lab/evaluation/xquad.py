"""XQuAD: parallel English and Chinese passages, questions of others.

Artetxe, Ruder and Yogatama 2020: 240 passages and 1,190 questions of
SQuAD, translated by professionals. A question is asked and its passage is
to be found among the 240; each passage is one chunk, so that nothing is
measured but the search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from lab.chunking import WindowChunker
from lab.encoders import Encoder
from lab.evaluation import metrics
from lab.evaluation.metrics import Mean
from lab.evaluation.public import XQUAD, load
from lab.index import Index
from lab.model import Context, Document, Policy
from lab.rerank import Reranker

TENANT: Final = "xquad"
READER: Final = Context(TENANT, "reader")
# The longest passage has fewer code points, so a passage is one chunk.
CHUNKER: Final = WindowChunker(4096, 0)
# What is asked in which language, and of passages in which.
DIRECTIONS: Final = (("en", "en"), ("zh", "zh"), ("en", "zh"), ("zh", "en"))
LIMIT: Final = 10

Measure = Callable[[Sequence[str], Sequence[str]], Fraction | None]
MEASURES: Final[Mapping[str, Measure]] = {
    "recall_at_1": lambda run, gold: metrics.recall(run, gold, 1),
    "recall_at_10": lambda run, gold: metrics.recall(run, gold, 10),
    "mrr_at_10": lambda run, gold: metrics.reciprocal_rank(run, gold, 10),
}


@dataclass(frozen=True)
class Passage:
    """One passage: ``doc_id`` is the same in both languages."""

    doc_id: str
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question and the passage that answers it."""

    id: str
    text: str
    doc_id: str


@dataclass(frozen=True)
class Collection:
    """One language of XQuAD."""

    lang: str
    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]


@lru_cache(maxsize=2)
def collection(lang: str) -> Collection:
    """Return the passages and questions in ``en`` or ``zh``.

    Raises ``Unavailable`` where the data is not.
    """
    passages: list[Passage] = []
    questions: list[Question] = []
    for article in load(XQUAD, f"xquad.{lang}.json")["data"]:
        title = article["title"].replace("_", " ")
        for paragraph in article["paragraphs"]:
            doc_id = f"p{len(passages):03}"
            passages.append(Passage(doc_id, title, paragraph["context"]))
            questions += [
                Question(item["id"], item["question"], doc_id)
                for item in paragraph["qas"]
            ]
    return Collection(lang, tuple(passages), tuple(questions))


def fill(index: Index, lang: str, *, titled: bool = False) -> None:
    """Index the passages of a language for ``READER``, whole.

    ``titled`` puts the article's title above each passage. Raises
    ``ValueError`` should a passage not be one chunk.
    """
    for passage in collection(lang).passages:
        text = passage.text
        if titled:
            text = f"# {passage.title}\n\n{text}"
        done = index.upsert(
            Document(
                TENANT,
                passage.doc_id,
                1,
                "markdown",
                text,
                Policy((READER.principal,)),
            )
        )
        if done.chunks != 1:
            raise ValueError(f"{passage.doc_id}: {done.chunks} chunks, not 1")


class Remembering:
    """An encoder that encodes each text once; the rows are the same."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._rows: dict[tuple[bool, str], Any] = {}
        self.dims = encoder.dims
        self.minimum_score = encoder.minimum_score
        self.fingerprint = encoder.fingerprint

    def spec(self) -> Mapping[str, Any]:
        """Return the encoder's own spec."""
        return self._encoder.spec()

    def encode(self, texts: Sequence[str], *, query: bool = False) -> list[Any]:
        """Return one row per text, remembered or made now."""
        new = [
            text
            for text in dict.fromkeys(texts)
            if (query, text) not in self._rows
        ]
        if new:
            rows = self._encoder.encode(new, query=query)
            self._rows |= {
                (query, text): row for text, row in zip(new, rows, strict=True)
            }
        return [self._rows[query, text] for text in texts]


@dataclass(frozen=True)
class Run:
    """What one setting found: question id to passages, best first."""

    rankings: Mapping[str, tuple[str, ...]]
    gold: Mapping[str, str]

    def values(self, measure: str) -> list[Fraction]:
        """Return one value a question, in the order asked."""
        return [
            MEASURES[measure](ranking, [self.gold[name]]) or Fraction(0)
            for name, ranking in self.rankings.items()
        ]

    def means(self) -> dict[str, Mean]:
        """Return every measure's mean with its interval."""
        return {name: metrics.mean(self.values(name)) for name in MEASURES}


def run(
    index: Index,
    lang: str,
    *,
    mode: str,
    rerank: bool | Reranker = False,
) -> Run:
    """Ask the questions of a language of whatever the index holds."""
    questions = collection(lang).questions
    rankings = {}
    for question in questions:
        results = index.search(
            question.text, READER, limit=LIMIT, mode=mode, rerank=rerank
        )
        rankings[question.id] = tuple(hit.doc_id for hit in results.hits)
    return Run(rankings, {q.id: q.doc_id for q in questions})


def opened(
    encoder: Encoder | None, lang: str, *, titled: bool = False
) -> Index:
    """Return an index in memory that holds the passages of a language."""
    index = Index.open(":memory:", encoder=encoder, chunker=CHUNKER)
    fill(index, lang, titled=titled)
    return index


def drawn_by_article(
    run: Run, lang: str, measure: str
) -> tuple[Fraction, Fraction]:
    """Return a mean's interval when whole articles are drawn.

    Questions about one article are not independent of each other. ``lang``
    is that of the questions, whose order the run's values have.
    """
    titles = {p.doc_id: p.title for p in collection(lang).passages}
    groups: dict[str, list[Fraction]] = {}
    for gold, value in zip(run.gold.values(), run.values(measure), strict=True):
        groups.setdefault(titles[gold], []).append(value)
    return metrics.grouped_bootstrap(list(groups.values()))


def to_claims(run: Run) -> dict[str, Any]:
    """Return a run's measures, rounded, each with its interval."""
    means = run.means()
    return {
        **{name: metrics.rounded(mean.value) for name, mean in means.items()},
        "n": means["mrr_at_10"].count,
        "intervals": {
            name: {
                "low": metrics.rounded(mean.low),
                "high": metrics.rounded(mean.high),
            }
            for name, mean in means.items()
        },
    }


def to_line(name: str, run: Run) -> str:
    """Return a run as one line of a table headed by ``HEADER``."""
    means = run.means()
    mrr = means["mrr_at_10"]
    return (
        f"{name:<24}"
        + "".join(f"{_show(means[measure].value):>10}" for measure in MEASURES)
        + f"{_show(mrr.low) + ' to ' + _show(mrr.high):>19}"
    )


HEADER: Final = (
    f"{'':<24}"
    + "".join(f"{name.replace('_at_', '@'):>10}" for name in MEASURES)
    + f"{'95 % of mrr':>19}"
)


def difference(one: Run, other: Run, measure: str) -> Mean:
    """Return the mean of ``one - other`` over the same questions."""
    if one.gold.keys() != other.gold.keys():
        raise ValueError("the runs asked other questions")
    return metrics.mean(
        a - b
        for a, b in zip(one.values(measure), other.values(measure), strict=True)
    )


def _show(value: Fraction | None) -> str:
    return "-" if value is None else f"{float(value):.3f}"
