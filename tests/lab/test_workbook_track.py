"""The four proofs of a track, and that its invariants can fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lab
from lab.errors import InvalidInput
from lab.workbook import manifest, markers, requirements
from lab.workbook.checking import check, check_in_order
from lab.workbook.generate import differences, everything
from lab.workbook.manifest import track, track_ids
from tests.lab.learners import (
    MODULE,
    TRACK,
    begun,
    checked,
    parameter,
    reference,
    write,
)

ROOT = Path(lab.__file__).parent.parent
EVERY = [parameter(track(name)) for name in track_ids()]
PYTEST = (sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider")


# Markers


SOURCE = """\
def half(n):
    # solution 01: divide by two
    return n // 2
    # end solution


print(half(4))
"""


def test_starter_and_solution_come_from_one_source() -> None:
    pieces = markers.parse(SOURCE, "half.py", {"01"})
    assert markers.solution(pieces) == (
        "def half(n):\n    return n // 2\n\n\nprint(half(4))\n"
    )
    assert markers.starter(pieces) == (
        'def half(n):\n    raise NotImplementedError("Stage 01: divide by two")'
        "\n\n\nprint(half(4))\n"
    )


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("# end solution\n", 1, "ends no solution"),
        ("# solution 01: a\nx = 1\n", 1, "without its end"),
        ("# solution 01: a\n# solution 01: b\n", 2, "inside the one of line 1"),
        ("# solution 01: a\n\n# end solution\n", 1, "empty"),
        ("x\n# solution 02: a\nx = 1\n# end solution\n", 2, "no stage 02"),
        ("# solution 01: a\nx = 1\n  # end solution\n", 3, "indented"),
        ("# Solution 01: a\n", 1, "not understood"),
        ("#solution 1\n", 1, "not understood"),
        ("# end  solution\n", 1, "not understood"),
        ('# solution 01: "a"\n', 1, "not understood"),
    ],
)
def test_a_stray_or_unbalanced_marker_is_an_error(
    text: str, line: int, what: str
) -> None:
    with pytest.raises(markers.MarkerError, match=f"^a.py:{line}: .*{what}"):
        markers.parse(text, "a.py", {"01"})


TABLE = """\
| query | kind |
|---|---|
<!-- solution 01: a row for every miss -->
| f01 | ranking |
<!-- end solution -->
"""


def test_in_markdown_a_comment_stands_for_the_solution() -> None:
    pieces = markers.parse(TABLE, "table.md", {"01"})
    head = "| query | kind |\n|---|---|\n"
    assert markers.starter(pieces) == (
        head + "<!-- Stage 01: a row for every miss -->\n"
    )
    assert markers.solution(pieces) == head + "| f01 | ranking |\n"
    with pytest.raises(markers.MarkerError, match=r"^a.md:1: .*understood"):
        markers.parse("<!-- solution 1: x -->\n", "a.md", {"01"})
    # A heading of one sign is no marker there.
    assert markers.parse("# Solution\n", "a.md", {"01"}) == ["# Solution", ""]


# Manifests


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('id = "01-documents"', 'id = "02-documents"', "does not begin"),
        ("expected = 13", "expected = true", "expected must be a int"),
        ("expected = 13", "expcted = 13", "expected must be"),
        ("after = 9", "after = 9\nbefore = 1", "unknown key 'before'"),
        ("requires = [", "requires = [7, ", "requires"),
        ('tests = ["test_01', 'tests = ["../test_01', "tests"),
        ("title.zh = ", "title.de = ", "zh must be"),
    ],
)
def test_a_faulty_manifest_is_refused_by_key(
    old: str, new: str, what: str
) -> None:
    text = (TRACK.folder / "track.toml").read_text("utf-8")
    assert manifest.read(text, "track.toml") == TRACK
    with pytest.raises(InvalidInput, match=what):
        manifest.read(text.replace(old, new, 1), "track.toml")


def test_a_stage_is_found_by_id_and_by_number() -> None:
    assert TRACK.stage("5") is TRACK.stage("05") is TRACK.stage("05-bm25")
    with pytest.raises(InvalidInput, match="did you mean 05-bm25"):
        TRACK.stage("05-bm52")


# The proofs


def test_regenerating_leaves_the_tree_as_it_is() -> None:
    assert differences(everything()) == []


def test_an_edited_starter_is_noticed(tmp_path: Path) -> None:
    made = everything()
    path = next(iter(made))
    assert differences({**made, path: made[path] + "\n"}) == [
        f"{path.relative_to(ROOT).as_posix()}: not what its source makes"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_test_of_a_starter_fails_naming_its_own_stage(
    name: str, tmp_path: Path
) -> None:
    one = track(name)
    workspace = begun(tmp_path, one)
    for result in check_in_order(workspace, go_on=True):
        if requirements.missing(result.stage.requires):
            assert result.outcome == "cannot"
            continue
        assert (result.outcome, result.passed) == ("fail", 0)
        log = result.log.read_text("utf-8")
        raised = re.findall(
            r"^E +NotImplementedError: (Stage \d\d):", log, re.M
        )
        assert raised == [f"Stage {result.stage.number}"] * result.total


@pytest.mark.parametrize("name", EVERY)
def test_the_reference_passes_with_no_skip(name: str) -> None:
    one = track(name)
    stages = [
        stage
        for stage in one.stages
        if not requirements.missing(stage.requires)
    ]
    files = [one.tests / test for stage in stages for test in stage.tests]
    done = subprocess.run(
        [
            *PYTEST,
            *("-c", "lab/workbook/pytest.ini"),
            *(str(file.relative_to(ROOT)) for file in files),
        ],
        cwd=ROOT,
        env={**os.environ, "LAB_MODULE": "solution", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    total = sum(stage.expected for stage in stages)
    assert re.search(rf"^{total} passed in", done.stdout, re.M), done.stdout


@pytest.mark.parametrize("name", track_ids())
def test_every_stage_asks_for_tests_that_are_there(name: str) -> None:
    one = track(name)
    named = [test for stage in one.stages for test in stage.whole.tests]
    there = sorted(path.name for path in one.tests.glob("test_*.py"))
    assert sorted(named) == there


@pytest.mark.slow
def test_the_suite_of_the_repository_collects_no_test_of_a_track() -> None:
    done = subprocess.run(
        [*PYTEST, "--collect-only", "--ignore=tests/press"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert "tests/lab/test_workbook_track.py::" in done.stdout
    assert "lab/workbook/" not in done.stdout


# Invariants: what a test must reject, and the test that does


MUTANTS = {
    "another tenant's chunk is neither returned nor counted": (
        "08",
        "candidates = {one.chunk_id for ranking in rankings for one in"
        " ranking}",
        "candidates = {(other, one.chunk_id)"
        " for other in self.dense.namespaces()"
        " for index in (self.lexical, self.dense)"
        " for one in index.search(other, query, self.candidate_limit)}",
        "another_tenant_is_neither_returned_nor_counted",
    ),
    "visibility is a conjunction": (
        "04",
        "        and (chunk.barrier is None",
        "        or (chunk.barrier is None",
        "visibility_is_a_conjunction",
    ),
    "the filter is observable": (
        "08",
        "                    invisible += 1\n",
        "                    pass\n",
        "the_filter_is_observable",
    ),
    "idf is never negative": (
        "05",
        "return max(0.0, math.log(ratio + 1))",
        "return math.log(ratio)",
        "idf_is_never_negative",
    ),
    "occurrences saturate": (
        "05",
        "/ (counts[token] + self.k1 * stretch)",
        "/ (1 + self.k1 * stretch)",
        "occurrences_saturate",
    ),
    "agreement beats one first place": (
        "07",
        "math.fsum(parts)",
        "max(parts)",
        "agreement_beats_one_first_place",
    ),
    "order independence": (
        "07",
        "math.fsum(parts)",
        "sum(parts)",
        "the_order_of_the_rankings_makes_no_difference",
    ),
    "negative similarity exists": (
        "03",
        "sign = 1 if digest[4] % 2 == 0 else -1",
        "sign = 1",
        "negative_similarity_exists",
    ),
    "nothing relevant is an empty result": (
        "08",
        "            results = rerank(query, fused, self.min_score)\n",
        "            results = rerank(query, fused, self.min_score) or [\n"
        "                Scored(one.chunk_id, 0.0)\n"
        "                for key, one in self.chunks.items()\n"
        "                if key[0] == space and visible(one, caller)\n"
        "            ]\n",
        "nothing_relevant_is_an_empty_result",
    ),
    "the budget is never exceeded": (
        "10",
        "        tokens = estimate_tokens(text)\n",
        "        tokens = estimate_tokens(retrieved + parts.question)\n",
        "the_budget_is_never_exceeded",
    ),
    "included and dropped partition the input": (
        "10",
        "for chunk in chunks[count:]",
        "for chunk in chunks[count + 1:]",
        "included_and_dropped_partition_the_chunks",
    ),
    "identical inputs give identical outputs": (
        "08",
        "        results = reciprocal_rank_fusion(allowed)\n",
        "        results = reciprocal_rank_fusion(allowed)\n"
        "        results.sort(key=lambda one: hash(one.chunk_id))\n"
        "        self.reranking = False\n",
        "identical_inputs_give_identical_outputs",
    ),
}


def test_there_are_twelve_invariants() -> None:
    assert len(MUTANTS) == 12
    written = "".join(
        path.read_text("utf-8") for path in TRACK.tests.glob("test_*.py")
    )
    assert len(re.findall(r"def test_invariant_", written)) == 12
    for _, _, _, test in MUTANTS.values():
        assert f"def test_invariant_{test}(" in written


@pytest.mark.slow
@pytest.mark.parametrize("invariant", MUTANTS)
def test_a_reference_that_breaks_an_invariant_is_rejected(
    invariant: str, tmp_path: Path
) -> None:
    stage, old, new, test = MUTANTS[invariant]
    result = checked(tmp_path, stage, reference(old, new))
    assert result.outcome == "fail"
    log = result.log.read_text("utf-8")
    assert re.search(rf"::test_invariant_{test} FAILED", log)


def test_the_reference_itself_is_not_rejected(tmp_path: Path) -> None:
    workspace = begun(tmp_path)
    write(workspace, reference())
    assert check(workspace, TRACK.stage("8")).outcome == "pass"
    assert MODULE in TRACK.files
