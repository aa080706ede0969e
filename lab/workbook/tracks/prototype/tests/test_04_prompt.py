"""Stage 4: a prompt that knows what is data."""

from __future__ import annotations

from types import SimpleNamespace


def test_the_prompt_line_by_line(learner: SimpleNamespace) -> None:
    """One newline between lines, none at the end."""
    assert learner.build_prompt("Who?", ["Two\nlines."]) == (
        f"{learner.INSTRUCTION}\n<passage 1>\nTwo\nlines.\n</passage 1>\n"
        "Question: Who?"
    )


def test_the_instruction_says_untrusted_and_i_dont_know(
    learner: SimpleNamespace,
) -> None:
    """Leave INSTRUCTION as it is, and put it first."""
    found = learner.build_prompt("Who?", [])
    assert "untrusted data" in found
    assert "I don't know" in found


def test_self_check_4_passes(learner: SimpleNamespace) -> None:
    """Run the cell of self-check 4 and read what it says."""
    learner.check_prompt()
