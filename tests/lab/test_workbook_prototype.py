"""The track prototype, as a script and as a notebook."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.workbook import generate, notebook
from lab.workbook.checking import check
from lab.workbook.manifest import track
from tests.lab.learners import begun, lines, write

TRACK = track("prototype")
SCRIPT = "retrieval_prototype.py"
NOTEBOOK = "retrieval_prototype.ipynb"


def executed(file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", "-X", "utf8", str(file)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def edited(old: str, new: str) -> str:
    """Return the reference as a script with one piece replaced."""
    text = generate.solution(TRACK)[SCRIPT]
    assert text.count(old) == 1, old
    return text.replace(old, new)


def test_the_starter_stops_kindly_at_its_first_self_check() -> None:
    done = executed(TRACK.starter / SCRIPT)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "Self-check 1 does not pass yet. Stage 01: cut the text into"
        " overlapping chunks of words\n"
    )


def test_the_solution_passes_its_five_self_checks() -> None:
    done = executed(TRACK.reference / SCRIPT)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"Self-check (\d) passed", done.stdout) == list("12345")


def test_retrieval_and_reader_are_as_good_as_the_text_promises() -> None:
    told = executed(TRACK.reference / SCRIPT).stdout

    def figure(pattern: str) -> float:
        (found,) = re.findall(pattern + r" (\d\.\d{3})", told)
        return float(found)

    one = figure("documents: recall@1")
    three = figure(r"documents: .*recall@3")
    assert three >= one
    assert three >= 0.875
    assert figure("without context") == 0
    assert figure("with context") >= 0.75


def test_there_are_eight_documents_one_hostile_and_eight_questions() -> None:
    defined: dict[str, list[str]] = {}
    code = generate.solution(TRACK)[SCRIPT].split("class NotYet")[0]
    exec(code, defined)
    documents, questions = defined["DOCUMENTS"], defined["QUESTIONS"]
    assert (len(documents), len(questions)) == (8, 8)
    assert sum("ignore all previous" in one.lower() for one in documents) == 1
    for question, gold in questions:
        holding = [one for one in documents if gold in one]
        assert len(holding) == 1, gold
        assert gold not in question


def test_the_notebook_is_the_script_in_cells() -> None:
    for folder in (TRACK.starter, TRACK.reference):
        script = (folder / SCRIPT).read_text("utf-8")
        text = (folder / NOTEBOOK).read_text("utf-8")
        code = [
            cell.text for cell in notebook.cells(script) if cell.kind == "code"
        ]
        assert notebook.code(text) == "\n\n".join(code)
        prose = [
            "".join(cell["source"])
            for cell in json.loads(text)["cells"]
            if cell["cell_type"] == "markdown"
        ]
        assert prose[0].startswith("# A retrieval prototype\n\nFive small")


@pytest.mark.parametrize("script", ["x = 1\n# %%\n", "# %% [markdown]\nx\n"])
def test_a_script_that_is_not_in_cells_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match=r"cell|comment"):
        notebook.cells(script)


def test_the_form_that_was_edited_is_the_one_that_is_checked(
    tmp_path: Path,
) -> None:
    workspace = begun(tmp_path, TRACK)
    stage = TRACK.stage("1")
    assert check(workspace, stage).files == (workspace.folder / SCRIPT,)
    # Running a notebook writes to it; that is not an edit.
    data = json.loads((workspace.folder / NOTEBOOK).read_text("utf-8"))
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
    write(workspace, json.dumps(data), NOTEBOOK)
    assert check(workspace, stage).files == (workspace.folder / SCRIPT,)
    write(workspace, generate.solution(TRACK)[NOTEBOOK], NOTEBOOK)
    result = check(workspace, stage)
    assert result.files == (workspace.folder / NOTEBOOK,)
    assert result.outcome == "pass"


def test_a_failure_in_a_notebook_names_cell_and_line(tmp_path: Path) -> None:
    workspace = begun(tmp_path, TRACK)
    text = edited("words = text.split()", "words = text.spilt()")
    write(workspace, notebook.from_script(text), NOTEBOOK)
    assert lines(check(workspace, TRACK.stage("1"))) == [
        "01 Chunks of words: fails, 0 of 4 tests pass",
        "  claim   chunks start every size minus overlap words",
        "  cause   AttributeError: 'str' object has no attribute 'spilt'",
        "  where   retrieval_prototype.ipynb cell 4:3",
        "  next    Step by size - overlap; the words of a chunk are joined by"
        " a space.",
    ]


def test_magics_and_experiments_of_the_learner_are_no_obstacle(
    tmp_path: Path,
) -> None:
    workspace = begun(tmp_path, TRACK)
    text = (
        edited("# %%\nimport math", "# %%\n%time 1\nimport math")
        + "\n\n# %%\n!ls\nraise RuntimeError\nmine = chunk_text(1, 2, 3)\n"
    )
    write(workspace, notebook.from_script(text), NOTEBOOK)
    assert check(workspace, TRACK.stage("1")).outcome == "pass"


WRONG = {
    "a tail of overlap": (
        "1",
        "        if start + size >= len(words):\n            break\n",
        "",
        """\
01 Chunks of words: fails, 1 of 4 tests pass
  claim   chunks start every size minus overlap words
  cause   got ['1 2 3 4', '3 4 5 6', '5 6 7 8', '7 8'], expected ['1 2 3 4',
          '3 4 5 6', '5 6 7 8']
  where   tests/test_01_chunks.py:13
  next    Step by size - overlap; the words of a chunk are joined by a space.
""",
    ),
    "the dot product for the cosine": (
        "2",
        "return product / lengths if lengths else 0.0",
        "return product",
        """\
02 TF-IDF and cosine: fails, 4 of 6 tests pass
  claim   long texts do not win by length
  cause   got [0, 1], expected [1, 0]
  where   tests/test_02_index.py:37
  next    Divide the product by both lengths: that is the cosine.
""",
    ),
    "every gold text counts": (
        "3",
        "gold.casefold() in text.casefold() for text",
        "gold in text for text",
        """\
03 Recall at k: fails, 0 of 2 tests pass
  claim   a hit is a gold string in one of the first k
  cause   got 0.0, expected 0.25
  where   tests/test_03_recall.py:15
  next    Look at texts[:k] only; case-fold both sides.
""",
    ),
    "passages from 0": (
        "4",
        "enumerate(passages, 1)",
        "enumerate(passages)",
        None,
    ),
    "only one spelling": (
        "5",
        'plain = " ".join(passage.casefold().split())',
        "plain = passage.lower()",
        None,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_learner_reads_one_cause_and_one_next_action(
    name: str, tmp_path: Path
) -> None:
    stage, old, new, expected = WRONG[name]
    workspace = begun(tmp_path, TRACK)
    write(workspace, edited(old, new), SCRIPT)
    result = check(workspace, TRACK.stage(stage))
    assert result.outcome == "fail"
    if expected:
        assert "\n".join(lines(result)) + "\n" == expected
    # The script itself says so too, and kindly.
    done = executed(workspace.folder / SCRIPT)
    assert f"Self-check {stage} does not pass yet." in done.stderr
    assert "Traceback" not in done.stderr
