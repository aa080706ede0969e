"""Laws of sentences, over every text hypothesis can think of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lab.answering.code import code_spans
from lab.answering.sentences import sentence_spans

TEXT = st.text(
    alphabet=st.one_of(
        st.sampled_from(list(".。!？…．`~\"'*”」)[]1 \n-#|>_aB文")),
        st.characters(exclude_categories=("Cs",)),
    ),
    max_size=120,
)


@given(TEXT)
def test_every_letter_and_digit_lies_in_exactly_one_sentence(text):
    held = [0] * len(text)
    for start, end in sentence_spans(text):
        for at in range(start, end):
            held[at] += 1
    assert all(n <= 1 for n in held)
    for at, character in enumerate(text):
        if character.isalnum():
            assert held[at] == 1, (at, character)


@given(TEXT)
def test_spans_rise_and_carry_no_outer_blanks(text):
    last = 0
    for start, end in sentence_spans(text):
        assert last <= start < end
        assert text[start:end] == text[start:end].strip()
        last = end


@given(TEXT)
def test_no_sentence_ends_inside_code(text):
    inner = code_spans(text)
    for _, end in sentence_spans(text):
        for low, high in inner:
            # A trimmed line feed leaves the end inside its block of code.
            assert not low < end < high or not text[end:high].strip()
