"""What a context costs, measured as it is sent, and what of it is stable.

Alice's question is put into one text with instructions, two tool schemas,
a policy, a memory and checked evidence, under smaller and smaller budgets.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from lab import canonical
from lab.answering.assembly import Assembled, assemble
from lab.answering.measures import token_bound
from lab.answering.passage import Passage
from lab.encoders.counts import TermCounts
from lab.errors import BudgetTooSmall
from lab.experiments import Emit, Refuted, Uses, _models
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.model import Context

KIND = "core"
PAGE = True
LIMITATIONS = (
    "No model and no model's tokenizer is asked: the bound is an upper bound,"
    " and how far a given tokenizer stays below it is not measured here.",
    "Whether a provider reuses its work on an equal prefix, and at what"
    " price, is the provider's affair.",
)

ALICE: Final = Context("larkspur", "alice")
QUESTION: Final = "GBP hotel limit, breakfast included"
OTHER: Final = "省会城市每晚上限多少元"
INSTRUCTIONS: Final = """\
Answer from the numbered passages and from nothing else. Cite each sentence
by the number of its passage. If they do not answer, say that you do not
know. Amounts are given in the currency of the passage."""
TOOLS: Final[Sequence[Mapping[str, Any]]] = (
    {
        "name": "search",
        "description": "Search what the reader may read.",
        "input_schema": {
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
        },
    },
    {
        "name": "check",
        "description": "Check a citation now.",
        "input_schema": {
            "type": "object",
            "properties": {"citation": {"type": "string"}},
            "required": ["citation"],
        },
    },
)
POLICY: Final = """\
Quote amounts exactly. Never advise on tax. Name the office a rule is for."""
MEMORY: Final = "The reader works in finance and asked about hotels before."
BUDGETS: Final = (2200, 2000, 1800, 1600, 1400, 1200, 900)


def uses() -> Uses:
    """Return what it runs on."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Measure texts, budgets and prefixes; return the numbers."""
    with Index.open(":memory:") as index:
        populate(index, load_fixture())
        evidence = {
            question: index.answer(
                index.search(question, ALICE).hits, ALICE, limit=6
            ).evidence
            for question in (QUESTION, OTHER)
        }
    claims: dict[str, Any] = {"measures": measured(emit, evidence)}
    emit("")
    claims["budgets"] = budgets(emit, evidence[QUESTION])
    emit("")
    claims["prefix"] = prefixes(emit, evidence)
    return claims


def measured(
    emit: Emit, evidence: Mapping[str, Sequence[Passage]]
) -> dict[str, Any]:
    """Compare a quarter of the characters with the bound."""
    digits = bytes(range(256)) * 2
    texts = {
        "English": evidence[QUESTION][0].text,
        "Chinese": evidence[OTHER][0].text,
        "base64": base64.b64encode(digits).decode("ascii"),
        "emoji": "👩‍🔧" * 40,
    }
    emit("text      characters   a quarter of them   upper bound")
    rows = {}
    for name, text in texts.items():
        rows[name] = {
            "characters": len(text),
            "quarter": len(text) // 4,
            "bound": token_bound(text),
        }
        row = rows[name]
        emit(
            f"{name:<10}{row['characters']:>10}{row['quarter']:>20}"
            f"{row['bound']:>14}"
        )
    return rows


def assembled(
    budget: int,
    evidence: Sequence[Passage],
    question: str = QUESTION,
    tools: Sequence[Mapping[str, Any]] = TOOLS,
) -> Assembled:
    """Return the context of this experiment."""
    return assemble(
        budget, INSTRUCTIONS, tools, POLICY, MEMORY, question, evidence
    )


def budgets(emit: Emit, evidence: Sequence[Passage]) -> dict[str, Any]:
    """Assemble under each budget; ``Refuted`` when one is exceeded."""
    whole = assembled(100_000, evidence)
    texts = sum(token_bound(piece.text) for piece in evidence)
    others = [INSTRUCTIONS, POLICY, MEMORY, QUESTION]
    others += [canonical.dumps(dict(tool)) for tool in TOOLS]
    parts = texts + sum(token_bound(text) for text in others)
    emit(f"{len(evidence)} passages and the other texts, added up: {parts}")
    emit(f"the same, rendered and measured:            {whole.tokens}")
    emit("")
    emit("budget   tokens   passages in   dropped")
    rows = {}
    for budget in BUDGETS:
        try:
            made = assembled(budget, evidence)
        except BudgetTooSmall:
            rows[f"b{budget}"] = {"budget": budget, "fits": False}
            emit(f"{budget:>6}   refused: what must stay does not fit")
            continue
        if token_bound(made.text) > budget or QUESTION not in made.text:
            raise Refuted("the budget holds and the question stays")
        rows[f"b{budget}"] = {
            "budget": budget,
            "fits": True,
            "tokens": made.tokens,
            "included": len(made.included),
            "dropped": len(made.dropped),
        }
        emit(
            f"{budget:>6}{made.tokens:>9}{len(made.included):>14}"
            f"{len(made.dropped):>10}"
        )
    return {
        "passages": len(evidence),
        "added_up": parts,
        "rendered": whole.tokens,
        "rows": rows,
    }


def prefixes(
    emit: Emit, evidence: Mapping[str, Sequence[Passage]]
) -> dict[str, Any]:
    """Measure how many bytes two contexts share at the front."""
    budget = 4000
    first = assembled(budget, evidence[QUESTION])
    again = assembled(budget, evidence[OTHER], OTHER)
    turned = [dict(reversed(list(tool.items()))) for tool in TOOLS]
    keys = assembled(budget, evidence[OTHER], OTHER, turned)
    order = assembled(budget, evidence[OTHER], OTHER, TOOLS[::-1])
    monday = f"Monday 09:00\n{first.text}"
    tuesday = f"Tuesday 10:30\n{again.text}"
    rows = {
        "another question": shared(first.text, again.text),
        "tools with their keys turned": shared(first.text, keys.text),
        "the two tools in another order": shared(first.text, order.text),
        "the time put before it all": shared(monday, tuesday),
    }
    if rows["another question"] < first.stable_prefix_tokens - 1:
        raise Refuted("the stable prefix is shared, byte for byte")
    if rows["tools with their keys turned"] != rows["another question"]:
        raise Refuted("equal tools give equal bytes")
    emit(f"stable prefix: {first.stable_prefix_tokens} of {first.tokens}")
    emit("shared at the front, in bytes, with the first context:")
    for name, count in rows.items():
        emit(f"  {name:<34}{count:>6}")
    return {
        "stable": first.stable_prefix_tokens,
        "tokens": first.tokens,
        "share": round(first.stable_prefix_share, 3),
        "question": rows["another question"],
        "keys": rows["tools with their keys turned"],
        "order": rows["the two tools in another order"],
        "clock": rows["the time put before it all"],
    }


def shared(one: str, other: str) -> int:
    """Return how many bytes two texts share at the front."""
    pairs = zip(one.encode(), other.encode(), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
