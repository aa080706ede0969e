"""Stage 9: three questions, put to a real model, for at most $0.20.

A model that answers well today may not tomorrow, and every answer costs
something. So the run is small, its price is bounded before each call, what
it must satisfy is decided by code, and what came of it is written down.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from answering import MOST_COST, SOURCES, answer, call_model, support
from pipeline_types import (
    KINDS,
    Answer,
    Completion,
    GoldenQuery,
    Hit,
    ModelSettings,
    Prompt,
    load_golden,
)
from reranking import Pipeline

# What a run may cost at most, in US dollars, and how far a sum of costs may
# be off because it is a sum of floats.
MOST_TOGETHER = 0.20
ROUNDING = 1e-9

# The variable that holds the key of the model's provider.
KEY_VARIABLE = "ANTHROPIC_API_KEY"
SECONDS = 60.0


class OverBudget(ValueError):
    """One more call could cost more than there is left."""


@dataclass(frozen=True)
class Verdict:
    """What a model made of one golden query.

    ``anchored`` says that the answer cites a chunk which holds the anchor;
    ``invalid`` are the numbers it cites that no source has; ``cost`` is in
    US dollars, 0 when no model was asked.
    """

    id: str
    kind: str
    text: str
    refused: bool
    anchored: bool
    invalid: tuple[int, ...]
    cost: float


@dataclass(frozen=True)
class LiveRun:
    """Verdicts on the queries that were asked, in order.

    ``spent`` is in US dollars; a call that failed counts as the most that
    it could cost. ``stopped`` says why the run ended early, or is ``""``.
    """

    model: str
    verdicts: tuple[Verdict, ...]
    spent: float
    stopped: str = ""

    def faults(self) -> list[str]:
        """Say what is wrong with the run, a line for each fault.

        In the order of the verdicts: ``ID: cites [N], which no source
        has`` for the first invalid number, or else ``ID: neither refuses
        nor cites a chunk with the anchor``. Then, if it was stopped,
        ``stopped after N of 3: WHY``, and if it cost more than
        ``MOST_TOGETHER``, ``cost $C, more than $M``.
        """
        # solution 09: look at each verdict, then at the whole
        found = []
        for one in self.verdicts:
            if one.invalid:
                found.append(
                    f"{one.id}: cites [{one.invalid[0]}], which no source has"
                )
            elif not one.refused and not one.anchored:
                found.append(
                    f"{one.id}: neither refuses nor cites a chunk with the"
                    " anchor"
                )
        if self.stopped:
            done = len(self.verdicts)
            found.append(f"stopped after {done} of 3: {self.stopped}")
        if self.spent > MOST_TOGETHER + ROUNDING:
            found.append(f"cost ${self.spent:.4f}, more than ${MOST_TOGETHER}")
        return found
        # end solution

    def data(self) -> dict[str, Any]:
        """Return what ``record_run`` of stage 8 is given."""
        return {**asdict(self), "faults": self.faults()}


class Purse:
    """Asks a model while the money lasts; stage 6's ``ask``.

    ``spent`` is what the calls so far have cost, in US dollars.
    """

    def __init__(
        self,
        client: Any,
        settings: ModelSettings | None = None,
        most: float = MOST_TOGETHER,
    ) -> None:
        self.client = client
        self.settings = settings
        self.most = most
        self.spent = 0.0

    def __call__(self, prompt: Prompt) -> Completion:
        """Ask once, by ``call_model``, and add the cost to ``spent``.

        Raises ``OverBudget``, and asks nothing, when ``spent`` and another
        ``MOST_COST`` are more than ``most`` (by more than ``ROUNDING``). A
        call that raises may have been paid for: it counts as ``MOST_COST``.
        """
        # solution 09: look into the purse, pay the worst, take change
        if self.spent + MOST_COST > self.most + ROUNDING:
            raise OverBudget(
                f"${self.spent:.4f} of ${self.most} are spent, and a call"
                f" may cost ${MOST_COST}"
            )
        before = self.spent
        self.spent = before + MOST_COST
        made = call_model(self.client, prompt, self.settings)
        self.spent = before + made.cost
        return made
        # end solution


def choose(
    pipeline: Pipeline, queries: Sequence[GoldenQuery], floor: float
) -> list[tuple[GoldenQuery, list[Hit]]]:
    """Return three queries with their hits, one for each of ``KINDS``.

    In the order of ``KINDS``; of each kind the first query that a model can
    answer: its anchor lies in one of the first ``SOURCES`` hits of
    ``pipeline.search``, and its support is not below ``floor``. Raises
    ``ValueError`` naming a kind that has none.
    """
    # solution 09: search kind by kind up to the first that can be answered
    found = []
    for kind in KINDS:
        for query in queries:
            if query.kind != kind:
                continue
            hits = pipeline.search(query.query)
            shown = any(query.relevant(hit.chunk) for hit in hits[:SOURCES])
            if shown and support(query.query, hits) >= floor:
                found.append((query, hits))
                break
        else:
            raise ValueError(f"no {kind} query can be answered from its hits")
    return found
    # end solution


def judge(query: GoldenQuery, got: Answer) -> Verdict:
    """Return the verdict on an answer, by code alone.

    What it cites is in ``got.faithfulness.sentences``; a number means the
    source in ``got.sources`` that has it.
    """
    # solution 09: look the cited numbers up among the sources
    cited = {
        number
        for sentence in got.faithfulness.sentences
        for number in sentence.citations
    }
    return Verdict(
        id=query.id,
        kind=query.kind,
        text=got.text,
        refused=got.refused,
        anchored=any(
            query.relevant(source.chunk)
            for source in got.sources
            if source.number in cited
        ),
        invalid=got.faithfulness.invalid,
        cost=got.completion.cost if got.completion else 0.0,
    )
    # end solution


def run_live(
    pipeline: Pipeline,
    client: Any,
    floor: float,
    settings: ModelSettings | None = None,
) -> LiveRun:
    """Choose three golden queries, have them answered, judge the answers.

    One purse pays for all. Whatever a call raises ends the run and nothing
    else: what was answered and paid for before is returned. ``stopped`` is
    then the message, if it is a plain ``ValueError`` or ``OverBudget``,
    which are ours; of any other class, be it made from these, it is the
    class's name alone: a provider's message may quote the prompt.
    """
    # solution 09: answer and judge one after another, stop at an error
    purse = Purse(client, settings)
    verdicts: list[Verdict] = []
    stopped = ""
    for query, hits in choose(pipeline, load_golden(), floor):
        try:
            got = answer(query.query, hits, purse, floor)
        except Exception as error:
            ours = type(error) in (ValueError, OverBudget)
            stopped = str(error) if ours else type(error).__name__
            break
        verdicts.append(judge(query, got))
    name = (settings or ModelSettings()).name
    return LiveRun(name, tuple(verdicts), purse.spent, stopped)
    # end solution


def client_from_environment() -> Any:
    """Return a client of the package ``anthropic``.

    Raises ``ValueError`` when there is no key in ``KEY_VARIABLE``.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise ValueError(f"{KEY_VARIABLE} is not set")
    # No retries: each would be paid for, and the purse counts one call.
    return importlib.import_module("anthropic").Anthropic(
        api_key=key, max_retries=0, timeout=SECONDS
    )
