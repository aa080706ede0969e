"""What wrong learners of stages 8 and 9 are told, word for word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.workbook import requirements
from lab.workbook.manifest import track
from lab.workbook.serverroom import ServerRoom
from tests.lab.learners import lines, reference, solved

pytestmark = [pytest.mark.slow, pytest.mark.server]

TRACK = track("pgvector-pipeline")

# Stage, file, what the learner has instead of what, and what they read.
WRONG = {
    "loads for nothing": (
        "08",
        "local_models.py",
        "        if not texts:\n            return []\n",
        "",
        """\
08 A model of your own machine: fails, 33 of 34 tests pass
  claim   nothing to embed loads nothing
  cause   the model was loaded for no texts
  where   tests/test_08_local_models.py:89
  next    Return [] before you look for the model.
""",
    ),
    "remembers a model that will not do": (
        "08",
        "local_models.py",
        "            loaded = self.load()\n",
        "            self.encoder = loaded = self.load()\n",
        """\
08 A model of your own machine: fails, 33 of 34 tests pass
  claim   a model of another dimension leaves the table empty
  cause   ValueError: the model gave a row of 3 numbers, not 2, or one that is
          no number
  where   local_models.py:138
  next    Compare the loaded model's dims with those promised, and raise.
""",
    ),
    "a question like any other text": (
        "08",
        "local_models.py",
        "query=query)",
        "query=False)",
        """\
08 A model of your own machine: fails, 33 of 34 tests pass
  claim   all texts go in one call and questions are said to be
  cause   got [(['oil', 'gas'], False), (['why', 'how'], False)], expected
          [(['oil', 'gas'], False), (['why', 'how'], True)]
  where   tests/test_08_local_models.py:123
  next    Pass `query` on: some models put other words before a question.
""",
    ),
    "any table will do": (
        "08",
        "local_models.py",
        "    if there := store.count():",
        "    if there := 0:",
        """\
08 A model of your own machine: fails, 33 of 34 tests pass
  claim   a table that holds chunks is not fresh
  cause   no ValueError was raised
  where   tests/test_08_local_models.py:304
  next    Two embedders of as many numbers: no dimension will tell you.
""",
    ),
    "the reranked order twice": (
        "08",
        "local_models.py",
        "    before = [replace(run, hits=run.fused) for run in runs]",
        "    before = runs",
        """\
08 A model of your own machine: fails, 30 of 34 tests pass
  claim   the live run keeps above the floor (recall-hybrid)
  cause   hybrid recall is 0.733, below 0.8
  where   tests/test_08_local_models.py:363
  next    `hybrid` is run.fused, `full` is run.hits; the same pool for both.
""",
    ),
    "shown is as good as cited": (
        "09",
        "live_answer.py",
        "            if source.number in cited\n",
        "",
        """\
09 Three questions to a real model: fails, 17 of 22 tests pass
  claim   an answer is anchored by a chunk that it cites
  cause   [1] alone is cited, and [2] holds the anchor
  where   tests/test_09_live_answer.py:234
  next    The number means a source; the source must hold the anchor.
""",
    ),
    "looks into the purse afterwards": (
        "09",
        "live_answer.py",
        "        if self.spent + MOST_COST > self.most + ROUNDING:",
        "        if self.spent > self.most + ROUNDING:",
        """\
09 Three questions to a real model: fails, 19 of 22 tests pass
  claim   a call that the rest would not pay is not made
  cause   no OverBudget was raised
  where   tests/test_09_live_answer.py:275
  next    0.16 are spent and a call may cost 0.05: that is more than 0.20.
""",
    ),
    "a failed call was free": (
        "09",
        "live_answer.py",
        "        self.spent = before + MOST_COST\n",
        "",
        """\
09 Three questions to a real model: fails, 19 of 22 tests pass
  claim   a call that fails counts as the dearest
  cause   got 0.0, expected 0.05 ± 5.0e-08
  where   tests/test_09_live_answer.py:296
  next    Nobody knows what it cost: assume MOST_COST.
""",
    ),
    "a purse for each question": (
        "09",
        "live_answer.py",
        "answer(query.query, hits, purse, floor)",
        "answer(query.query, hits, Purse(client, settings), floor)",
        """\
09 Three questions to a real model: fails, 18 of 22 tests pass
  claim   three right answers have no fault
  cause   got 0.0, expected 0.03 ± 3.0e-08
  where   tests/test_09_live_answer.py:310
  next    One call for each kind, one turn, no tools.
""",
    ),
    "a refusal is a failure": (
        "09",
        "live_answer.py",
        "            elif not one.refused and not one.anchored:",
        "            elif not one.anchored:",
        """\
09 Three questions to a real model: fails, 21 of 22 tests pass
  claim   a refusal is no fault
  cause   got ['c01: neither refuses nor cites a chunk with the anchor'],
          expected []
  where   tests/test_09_live_answer.py:319
  next    A model that does not see it in the sources should say so.
""",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_learner_reads_one_cause_and_one_next_action(
    name: str,
    tmp_path: Path,
    server_room: ServerRoom,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(requirements.KEY, raising=False)
    stage, file, old, new, expected = WRONG[name]
    lacking = requirements.missing(TRACK.stage(stage).requires)
    if lacking:
        pytest.skip(f"{lacking[0].name} is not here")
    text = reference(old, new, file, TRACK)
    result = solved(tmp_path, TRACK, stage, file, text, server_room)
    assert "\n".join(lines(result)) + "\n" == expected


# Behaves like the provider's package; what it answers is put in.
PACKAGE = """\
import re
from types import SimpleNamespace


class Anthropic:
    def __init__(self, *, api_key, max_retries, timeout):
        assert (api_key, max_retries) == ("not a key", 0)
        self.messages = self

    def create(self, *, model, max_tokens, system, messages):
        user = messages[0]["content"]
        {answers}
        return SimpleNamespace(
            content=[SimpleNamespace(type="text", text=text)],
            usage=SimpleNamespace(input_tokens=1200, output_tokens=60),
        )
"""


@pytest.mark.parametrize(
    ("answers", "outcome", "cause"),
    [
        ("text = 'The sources do not answer this question.'", "pass", ""),
        ("text = 'So it was. [7]'", "fail", "f01: cites [7], which no source"),
        ("raise OSError(user)", "fail", "stopped after 0 of 3: OSError"),
    ],
    ids=["refuses", "cites nothing that is there", "is away"],
)
def test_with_a_key_the_live_part_is_checked_and_recorded(
    answers: str,
    outcome: str,
    cause: str,
    tmp_path: Path,
    server_room: ServerRoom,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = tmp_path / "packages" / "anthropic"
    package.mkdir(parents=True)
    made = PACKAGE.replace("{answers}", answers)
    (package / "__init__.py").write_text(made, "utf-8")
    # Its own folder comes first: nothing here can reach a real model.
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv(requirements.KEY, "not a key")
    file = "live_answer.py"
    text = reference("", "", file, TRACK)
    result = solved(tmp_path, TRACK, "09", file, text, server_room)
    assert result.outcome == outcome
    assert result.cause.startswith(cause)
    (run,) = (tmp_path / TRACK.id / "runs").iterdir()
    assert re.fullmatch(r"live-\d{4}-\d\d-\d\d\.json", run.name)
    assert "not a key" not in run.read_text("utf-8")
