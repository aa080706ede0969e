"""What the checks of a generated answer let through, and what they stop.

No model is asked. A client that says what it is told plays the model, so
that each way of answering can be put before the checks once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from lab.answering.generation import Generation, Model, generate
from lab.answering.passage import Passage
from lab.answering.prompting import REFUSAL
from lab.encoders.counts import TermCounts
from lab.errors import BudgetTooSmall
from lab.experiments import Emit, Refuted, Uses, _models
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.model import Context

KIND = "core"
PAGE = True
LIMITATIONS = (
    "No language model was called: the drafts are ours, and say nothing of"
    " how often a model writes which.",
    "Prices are examples, not any provider's.",
)

ALICE: Final = Context("larkspur", "alice")
QUESTION: Final = "GBP hotel limit, breakfast included"
# Three units of money for a million tokens in, fifteen out.
MODEL: Final = Model("scripted", 3_000_000, 15_000_000, max_output_tokens=200)


@dataclass(frozen=True)
class Block:
    """A piece of a message."""

    text: str
    type: str = "text"


@dataclass(frozen=True)
class Usage:
    """What a call was counted as."""

    input_tokens: int = 400
    output_tokens: int = 40


@dataclass(frozen=True)
class Reply:
    """A message as a provider's client returns it."""

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage = Usage()


class Scripted:
    """A client that says what it was given, and counts its calls."""

    def __init__(self, text: str, stop_reason: str = "end_turn") -> None:
        self._reply = Reply((Block(text),), stop_reason)
        self.calls = 0

    @property
    def messages(self) -> Scripted:
        """Return what messages are sent through: itself."""
        return self

    def create(self, **request: Any) -> Reply:
        """Return the one reply, whatever is asked."""
        self.calls += 1
        return self._reply


@dataclass(frozen=True)
class Draft:
    """Something a model might write, and why it is tried."""

    kind: str
    text: str
    stop_reason: str = "end_turn"


# Passage 1 is an old note (110 GBP), passage 2 the policy (180 GBP).
LIMIT: Final = "The hotel limit in the United Kingdom is 180 GBP a night"
DRAFTS: Final = (
    Draft("every sentence cites", f"{LIMIT} [2]."),
    Draft("one does not", f"{LIMIT} [2]. Breakfast is extra."),
    Draft("a line without a stop", f"Breakfast is extra\n{LIMIT} [2]."),
    Draft("a number too high", f"{LIMIT} [7]."),
    Draft("zero", f"{LIMIT} [0]."),
    Draft("the marker is code", f"{LIMIT} `[2]`."),
    Draft("the refusal sentence", REFUSAL["en"]),
    Draft("a refusal and more", f"{REFUSAL['en']} But try 180."),
    Draft("cut off", f"{LIMIT} [2]. And", "max_tokens"),
    Draft(
        "an address of its own",
        f"{LIMIT} [2] ![](https://example.net/?180).",
    ),
    Draft("nothing", " "),
    Draft("the wrong source", f"{LIMIT} [1]."),
    Draft("the wrong figure", f"{LIMIT.replace('180', '750')} [2]."),
    Draft("the stale source", f"{LIMIT.replace('180', '110')} [1]."),
    Draft("invented, and cited", "Business class needs no approval [2]."),
    Draft("no blank after a stop", f"Breakfast is extra.{LIMIT} [2]."),
    Draft("an address, one slash", f"{LIMIT} [2] [see](http:/a.example/?180)."),
)
# Shown, and should not be: what a check of form cannot see, and two
# spellings that slip through it.
WRONG: Final = (
    "the wrong source",
    "the wrong figure",
    "the stale source",
    "invented, and cited",
    "no blank after a stop",
    "an address, one slash",
)


def uses() -> Uses:
    """Return what it runs on."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Put each draft before the checks, then the cost before the call."""
    with Index.open(":memory:") as index:
        populate(index, load_fixture())
        hits = index.search(QUESTION, ALICE).hits
        evidence = index.answer(hits, ALICE).evidence
    for number, piece in enumerate(evidence, start=1):
        emit(f"passage {number}: {piece.doc_id}")
    emit("")
    emit("the draft               shown   why                words held")
    rows = {}
    for number, draft in enumerate(DRAFTS, start=1):
        client = Scripted(draft.text, draft.stop_reason)
        made = generate(QUESTION, evidence, MODEL, client=client)
        rows[f"d{number}"] = _row(draft, made)
        emit(_line(draft, made))
    judge(rows)
    emit("")
    claims: dict[str, Any] = {
        "drafts": rows,
        "tried": len(rows),
        "shown": sum(row["shown"] for row in rows.values()),
        "shown_wrong": sum(
            row["shown"] for row in rows.values() if row["kind"] in WRONG
        ),
    }
    claims["cost"] = costs(emit, evidence)
    return claims


def judge(rows: dict[str, dict[str, Any]]) -> None:
    """Raise ``Refuted`` when what is shown does not cite throughout."""
    for row in rows.values():
        should = row["kind"] == "every sentence cites" or row["kind"] in WRONG
        if row["shown"] != should:
            raise Refuted("a text is shown when, and only when, it cites")


def costs(emit: Emit, evidence: tuple[Passage, ...]) -> dict[str, Any]:
    """Ask under two ceilings; ``Refuted`` if the lower one is crossed."""
    client = Scripted(f"{LIMIT} [2].")
    made = generate(QUESTION, evidence, MODEL, client=client)
    low = Model("scripted", 3_000_000, 15_000_000, 200, ceiling=5_000)
    unasked = Scripted(f"{LIMIT} [2].")
    try:
        generate(QUESTION, evidence, low, client=unasked)
    except BudgetTooSmall as error:
        message = str(error)
    else:
        raise Refuted("a call above the ceiling is not made")
    emit("in millionths of a unit of money")
    emit(f"  bound before the call    {made.cost_bound}")
    emit(f"  cost read from the reply {made.cost}")
    emit(f"  under a ceiling of {low.ceiling}: {unasked.calls} calls")
    emit(f"  {message.split(';')[0]}")
    # Nothing to answer from: nobody is asked either.
    nobody = Scripted("The limit is 180 [1].")
    empty = generate(QUESTION, (), MODEL, client=nobody)
    emit(f"  without evidence: {nobody.calls} calls, {empty.text!r}")
    return {
        "bound": made.cost_bound,
        "cost": made.cost,
        "ceiling": low.ceiling,
        "calls_above": unasked.calls,
        "calls_without_evidence": nobody.calls,
    }


def _row(draft: Draft, made: Generation) -> dict[str, Any]:
    share = made.grounding.coverage if made.grounding else None
    return {
        "kind": draft.kind,
        "shown": made.generated,
        "state": made.state,
        "reason": made.reason,
        "words_held": None if share is None else round(share, 3),
    }


def _line(draft: Draft, made: Generation) -> str:
    held = "-"
    if made.grounding and made.grounding.verdicts:
        verdicts = made.grounding.verdicts
        good = sum(v.supported for v in verdicts)
        held = f"{good} of {len(verdicts)}"
    shown = "shown" if made.generated else "no"
    return f"{draft.kind:<24}{shown:<8}{made.reason:<19}{held}"
