"""The answer cache that crosses readers, attacked and mended.

Three caches stand before one index. ``NaiveAnswerCache`` finds an answer by
its question. The second checks every source for the reader who asks; the
third also keeps each reader's answers apart. Bob asks what Dana asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any, Final, Protocol

from lab.answering.cache import AnswerCache
from lab.answering.derived import Derived, derived, readable
from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses, _models
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import Context

KIND = "core"
PAGE = True
LIMITATIONS = (
    "Answers are quotations here. A model's answer would cross the same way,"
    " and would be harder to recognise.",
    "The naive cache compares questions as strings; one that compares them"
    " by likeness leaks more, since the words need not be guessed.",
    "A checked cache still shows, by its speed, that somebody asked before;"
    " timing is not looked at.",
)

QUESTION: Final = "layoffs severance Leeds"
SECRET: Final = "board-paper-q3"
WORDS: Final = "layoffs of 34 people"
DANA: Final = Context("larkspur", "dana")
BOB: Final = Context("larkspur", "bob")
OTHER_BOB: Final = Context("quayside", "bob")

# Asked by every ordered pair of Larkspur's readers.
QUESTIONS: Final = (
    QUESTION,
    "hotel limit a night",
    "E-417",
    "form EX-3",
    "E2 等级 标准砝码",
    "差旅住宿标准",
    "how do I get a laptop",
    "salary band of an engineer",
    "who signs a term sheet",
    "warranty of a balance",
)


class Cache(Protocol):
    """What the three have in common."""

    def get(self, question: str, context: Context) -> Derived | None:
        """Return a kept answer or ``None``."""

    def put(self, question: str, context: Context, answer: Derived) -> None:
        """Keep an answer."""


class NaiveAnswerCache:
    """Finds an answer by its question, whoever asks. Here to be attacked."""

    def __init__(self) -> None:
        self._answers: dict[str, Derived] = {}

    def get(self, question: str, context: Context) -> Derived | None:
        """Return what anybody was told."""
        return self._answers.get(question)

    def put(self, question: str, context: Context, answer: Derived) -> None:
        """Keep what somebody was told."""
        self._answers[question] = answer


class Service:
    """Answers from the cache, else from the index, keeping the answer."""

    def __init__(self, index: Index, cache: Cache) -> None:
        self.index = index
        self.cache = cache

    def ask(self, question: str, context: Context) -> str:
        """Return the answer that ``context`` is shown."""
        kept = self.cache.get(question, context)
        if kept is not None:
            return kept.text
        answer = fresh(self.index, question, context)
        if answer is None:
            return "No evidence."
        self.cache.put(question, context, answer)
        return answer.text


def fresh(index: Index, question: str, context: Context) -> Derived | None:
    """Return an answer made now, bound to its evidence."""
    hits = index.search(question, context).hits
    answer = index.answer(hits, context)
    if not answer.evidence:
        return None
    return derived(answer.text, answer.evidence)


def uses() -> Uses:
    """Return what it runs on."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Attack the three caches; raise ``Refuted`` if the lab's give way."""
    fixture = load_fixture()
    claims: dict[str, Any] = {"question": QUESTION}
    emit(f'Dana, then Bob, then Quayside\'s Bob ask: "{QUESTION}"')
    for name, title in CACHES.items():
        with Index.open(":memory:") as index:
            populate(index, fixture)
            crossed = crossings(index, name, fixture)
            told = attack(Service(index, cache(name, index)))
        claims[name] = {**told, **crossed}
        emit("")
        emit(title)
        emit(f"  Bob reads of the layoffs:             {_yes(told['bob'])}")
        emit(f"  Quayside's Bob does:                  {_yes(told['other'])}")
        emit(f"  Dana does when the paper is deleted:  {_yes(told['late'])}")
        emit(
            f"  {crossed['asked']} questions asked by one reader, then another:"
        )
        emit(f"  {crossed['crossed']:5} show the other what they may not read")
        emit(f"  {crossed['another']:5} differ from their own view's answer")
    judge(claims)
    emit("")
    emit("Deciding again at each hit stops the text. Only keeping readers")
    emit("apart stops one reader's ranking from reaching another.")
    return claims


CACHES: Final = {
    "naive": "Found by the question alone",
    "shared": "Shared, every source checked for the reader who asks",
    "own": "Kept for each reader, every source checked",
}


def cache(name: str, index: Index) -> Cache:
    """Return one of the three caches, empty."""
    if name == "naive":
        return NaiveAnswerCache()
    return AnswerCache(index, shared=name == "shared")


def attack(service: Service) -> dict[str, bool]:
    """Ask Dana's question as others, then delete what she was shown."""
    if WORDS not in service.ask(QUESTION, DANA):
        raise Refuted("Dana's answer quotes the board paper")
    bob = WORDS in service.ask(QUESTION, BOB)
    other = WORDS in service.ask(QUESTION, OTHER_BOB)
    paper = service.index.read(SECRET, DANA)
    service.index.delete("larkspur", SECRET, paper.revision + 1)
    late = WORDS in service.ask(QUESTION, DANA)
    return {"bob": bob, "other": other, "late": late}


def crossings(index: Index, name: str, fixture: Fixture) -> dict[str, int]:
    """Ask as one reader, then as another, each pair with an empty cache.

    ``asked`` counts the pairs whose first reader got an answer, ``crossed``
    those whose second was shown what they may not read, ``another`` those
    whose second got an answer other than one made without a cache.
    """
    readers = [
        Context(p.tenant, p.principal)
        for p in fixture.principals
        if p.tenant == DANA.tenant
    ]
    asked = crossed = another = 0
    for question in QUESTIONS:
        answers = {r: fresh(index, question, r) for r in readers}
        for first, second in permutations(readers, 2):
            told, own = answers[first], answers[second]
            if told is None:
                continue
            kept = cache(name, index)
            kept.put(question, first, told)
            shown = kept.get(question, second) or own
            asked += 1
            if shown != own and shown is not None:
                another += 1
                crossed += not readable(shown, index, second)
    return {"asked": asked, "crossed": crossed, "another": another}


def judge(claims: Mapping[str, Any]) -> None:
    """Raise ``Refuted`` unless the naive cache leaks and the lab's do not."""
    naive, shared, own = (claims[name] for name in CACHES)
    if not (naive["bob"] and naive["other"] and naive["late"]):
        raise Refuted("the naive cache shows everyone what Dana was told")
    for told in (shared, own):
        if told["bob"] or told["other"] or told["late"] or told["crossed"]:
            raise Refuted("a checked cache shows only what may be read now")
    if own["another"]:
        raise Refuted("a reader's own cache gives what their own view gives")


def _yes(true: bool) -> str:
    return "yes" if true else "no"
