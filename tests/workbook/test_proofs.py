"""Stage by stage: what is solved is green, and what comes next is red."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.workbook import generate, requirements
from lab.workbook.checking import check
from lab.workbook.manifest import track, track_ids
from lab.workbook.serverroom import ServerRoom
from tests.lab.learners import begun, parameter, write


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "solved"),
    [
        parameter(track(name), count)
        for name in track_ids()
        for count in range(1, len(track(name).stages) + 1)
    ],
)
def test_with_stages_up_to_k_solved_k_is_green_and_the_next_is_red(
    name: str,
    solved: int,
    tmp_path: Path,
    server_room: ServerRoom,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No proof is paid for.
    monkeypatch.delenv(requirements.KEY, raising=False)
    one = track(name)
    workspace = begun(tmp_path, one)
    for file, text in generate.starter(one, one.numbers()[:solved]).items():
        write(workspace, text, file)
    last = one.stages[solved - 1]
    result = check(workspace, last, room=server_room)
    lacking = requirements.missing(last.whole.requires)
    assert result.outcome == ("cannot" if lacking else "pass"), result.cause
    if solved < len(one.stages):
        following = one.stages[solved]
        result = check(workspace, following, room=server_room)
        if requirements.missing(following.requires):
            assert result.outcome == "cannot"
            return
        assert (result.outcome, result.passed) == ("fail", 0)
        number = following.number
        assert result.cause.startswith(f"not written yet: Stage {number}:")
