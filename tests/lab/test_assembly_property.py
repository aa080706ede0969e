"""Laws of assembly, and its bound against real tokenizers."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.answering.assembly import assemble
from lab.answering.measures import token_bound
from lab.errors import BudgetTooSmall
from tests.lab.support import contract


@dataclass(frozen=True)
class Quote:
    citation: str
    text: str


ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
PIECES = st.lists(ANY, max_size=5).map(
    lambda texts: [Quote(str(n), text) for n, text in enumerate(texts)]
)


@contract("C-40")
@given(st.integers(1, 900), ANY, ANY, PIECES)
def test_the_budget_holds_and_included_and_dropped_part_the_evidence(
    budget, instructions, memory, pieces
):
    question = "How much?"
    try:
        made = assemble(budget, instructions, [], "", memory, question, pieces)
    except BudgetTooSmall:
        alone = assemble(10**6, instructions, [], "", memory, question, [])
        assert alone.tokens > budget
        return
    assert token_bound(made.text) == made.tokens <= budget
    assert made.included + made.dropped == tuple(p.citation for p in pieces)
    assert question in made.text
    if made.dropped:
        count = len(made.included) + 1
        more = assemble(
            10**6, instructions, [], "", memory, question, pieces[:count]
        )
        # Marks differ, lengths do not: one more piece would not have fitted.
        assert more.tokens > budget


tokenizers = pytest.importorskip("tokenizers")
WORST = tokenizers.Tokenizer(
    tokenizers.models.BPE(
        vocab={
            c: n
            for n, c in enumerate(
                sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
            )
        },
        merges=[],
    )
)
WORST.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)


@pytest.mark.parametrize("form", [None, "NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("lower", [False, True])
def test_no_byte_level_tokenizer_exceeds_the_bound(form, lower):
    steps = []
    if form:
        steps.append(getattr(tokenizers.normalizers, form)())
    if lower:
        steps.append(tokenizers.normalizers.Lowercase())
    WORST.normalizer = tokenizers.normalizers.Sequence(steps)

    @given(ANY | st.sampled_from(["ﷺ" * 9, "각" * 9, "Ⱥİß", "👍🏽 限额"]))
    def check(text):
        assert len(WORST.encode(text).ids) <= token_bound(text)

    check()
