"""A release is clean, whole, and tells what it did not run."""

from __future__ import annotations

import argparse
import json
import subprocess
import threading
from pathlib import Path

import pytest

from book.press import digest, release, testing
from book.press.context import BuildContext
from book.press.gates import (
    Gate,
    GateResult,
    Status,
    failed,
    judged,
    not_run,
    passed,
    run_gate,
)
from book.press.gates.report import all_gates, run_gates, summary, table
from book.press.problems import Problem, Problems


@pytest.fixture
def context(tmp_path: Path) -> BuildContext:
    return BuildContext(tmp_path, "d" * 64, 1767225600, "1.0.0", False)


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A committed tree with a right MANIFEST."""
    root = tmp_path / "tree"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nversion = "9.1"\n')
    (root / "a.txt").write_text("a\n")
    (root / "MANIFEST").write_text("a.txt\npyproject.toml\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "small")
    return root


# The source


def test_a_clean_tree_may_be_released(tree: Path) -> None:
    assert release.refuse(tree) == []
    source = digest.read_source(tree)
    assert source.version == "9.1"
    assert source.dirty is False
    assert source.commit == git(tree, "rev-parse", "HEAD").strip()
    assert source.files == ("MANIFEST", "a.txt", "pyproject.toml")


@pytest.mark.parametrize("name", ["a.txt", "untracked.txt"])
def test_a_dirty_tree_is_refused(tree: Path, name: str) -> None:
    (tree / name).write_text("other\n")
    (problem,) = release.refuse(tree)
    assert "differs from its commit" in problem.message


def test_a_manifest_that_misses_a_file_is_refused(tree: Path) -> None:
    (tree / "b.txt").write_text("b\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "more")
    (problem,) = release.refuse(tree)
    assert problem.message == "does not list b.txt"
    assert "python3 -m book.press.digest" in problem.hint


def test_the_manifest_is_written_anew_when_it_misses_a_file(
    tree: Path,
) -> None:
    assert digest.refresh_manifest(tree) is False
    (tree / "b.txt").write_text("b\n")
    git(tree, "add", ".")
    assert digest.refresh_manifest(tree) is True
    text = (tree / "MANIFEST").read_text("utf-8")
    assert text == "a.txt\nb.txt\npyproject.toml\n"


def test_a_tree_without_git_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1"\n')
    (tmp_path / "MANIFEST").write_text("pyproject.toml\n")
    (problem,) = release.refuse(tmp_path)
    assert "git checkout" in problem.message


def test_refusing_says_so_and_exits_with_1(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "a.txt").write_text("other\n")
    assert release.run(argparse.Namespace(), tree) == 1
    said = capsys.readouterr().err
    assert "git status" in said
    assert said.endswith("not released\n")


def test_an_archive_inside_another_checkout_is_not_that_checkout(
    tree: Path,
) -> None:
    inner = tree / "unpacked"
    inner.mkdir()
    (inner / "pyproject.toml").write_text('[project]\nversion = "2"\n')
    (inner / "MANIFEST").write_text("pyproject.toml\n")
    source = digest.read_source(inner)
    assert source.commit == ""
    assert source.files == ("MANIFEST", "pyproject.toml")


def test_the_date_is_of_the_last_commit_that_touched_the_source(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "1800000000 +0000")
    (tree / "a.txt").write_text("newer\n")
    git(tree, "commit", "-q", "-a", "-m", "newer")
    before = digest.read_source(tree)
    assert before.epoch == 1800000000
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "1900000000 +0000")
    (tree / "DELIVERY.md").write_text("delivered\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "record the delivery")
    after = digest.read_source(tree)
    assert (after.digest, after.epoch) == (before.digest, before.epoch)
    assert after.commit != before.commit


# The gates


def test_a_gate_that_breaks_has_failed(
    tmp_path: Path, context: BuildContext
) -> None:
    def broken(_staging: Path, _context: BuildContext) -> GateResult:
        raise KeyError("page")

    result = run_gate(Gate("links", broken), tmp_path, context)
    assert result.status is Status.FAIL
    assert "KeyError: 'page'" in str(result.findings[0])


def test_problems_raised_by_a_gate_are_its_findings(
    tmp_path: Path, context: BuildContext
) -> None:
    problem = Problem("site/en/a.html", 3, "leads nowhere")

    def raising(_staging: Path, _context: BuildContext) -> GateResult:
        raise Problems([problem])

    result = run_gate(Gate("links", raising), tmp_path, context)
    assert result.status is Status.FAIL
    assert result.findings == (problem,)


def test_not_run_names_the_command_and_strict_makes_it_a_failure(
    tmp_path: Path, context: BuildContext
) -> None:
    def absent(_staging: Path, _context: BuildContext) -> GateResult:
        return not_run("no Chromium", "apt-get install chromium")

    gates = [Gate("axe", absent)]
    (loose,) = run_gates(gates, tmp_path, context)
    assert loose.status is Status.NOT_RUN
    assert "apt-get install chromium" in table([loose])
    (strict,) = run_gates(gates, tmp_path, context, strict=True)
    assert strict.status is Status.FAIL
    assert "apt-get install chromium" in str(strict.findings[0])


def test_a_gate_that_works_apart_keeps_its_place_in_the_table(
    tmp_path: Path, context: BuildContext
) -> None:
    later = threading.Event()

    def waiting(_staging: Path, _context: BuildContext) -> GateResult:
        # Would wait in vain if the gate after it were not running too.
        return passed() if later.wait(10) else failed([Problem("a", 0, "b")])

    def setting(_staging: Path, _context: BuildContext) -> GateResult:
        later.set()
        return passed()

    gates = [Gate("slow", waiting, apart=True), Gate("quick", setting)]
    results = run_gates(gates, tmp_path, context)
    assert [(r.name, r.status) for r in results] == [
        ("slow", Status.PASS),
        ("quick", Status.PASS),
    ]


def test_judged_passes_only_without_findings() -> None:
    assert judged([], "3 pages").status is Status.PASS
    assert judged([Problem("a", 1, "b")]).status is Status.FAIL


def test_the_table_tells_every_gate_and_what_failed() -> None:
    found = [Problem("site/en/a.html", n, "leads nowhere") for n in range(25)]
    results = [
        GateResult(Status.PASS, "82 pages", name="XML", seconds=0.25),
        GateResult(Status.FAIL, "", tuple(found), 12.0, "links"),
    ]
    lines = table(results).splitlines()
    assert lines[1].split() == ["XML", "PASS", "0.2", "82", "pages"]
    assert lines[2].split() == ["links", "FAIL", "12.0"]
    assert "links: 25 found" in lines
    assert lines[-1].strip() == "… and 5 more"
    assert summary(results) == "1 PASS, 1 FAIL"


def test_the_gates_of_this_tree_have_names_of_their_own() -> None:
    names = [gate.name for gate in all_gates()]
    assert "lab ZIP, bare Python" in names
    assert len(names) == len(set(names))


def test_passed_and_failed_carry_their_reason() -> None:
    assert passed("2 books").reason == "2 books"
    assert failed([Problem("a", 0, "b")], "2 books").reason == "2 books"


# The record


REPORT = """<testsuites><testsuite>
<testcase classname="tests.lab.test_a" name="test_one">
<properties><property name="model" value="yes"/></properties></testcase>
<testcase classname="tests.lab.test_a" name="test_two">
<skipped message="no PostgreSQL"/></testcase>
<testcase classname="tests.lab.test_a" name="test_three">
<failure message="no"/></testcase>
<testcase classname="tests.lab.test_a" name="test_four">
<error message="no"/></testcase>
</testsuite></testsuites>"""


def test_a_skip_is_never_counted_as_a_pass(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_text(REPORT, "utf-8")
    outcome = testing.read_report(path, 1)
    assert outcome.passed == 1
    assert outcome.failed == 2
    skip = ("tests.lab.test_a::test_two", "no PostgreSQL")
    assert outcome.skipped == (skip,)
    assert outcome.models == ("tests.lab.test_a::test_one",)


FACTS = {
    "version": "9.1",
    "commit": "c" * 40,
    "source": {"sha256": "d" * 64, "date": 1767225600},
    "verified": True,
    "artefacts": [
        {"name": "keeps-secrets-en.md", "size": 12345, "sha256": "e" * 64}
    ],
    "gates": [
        {
            "name": "links",
            "status": "PASS",
            "reason": "82 pages",
            "seconds": 1.5,
            "findings": [],
        }
    ],
    "environment": {
        "python": "3.11.2",
        "system": "Linux x86_64",
        "tools": {"lxml": "6.1.3"},
    },
}


def test_the_delivery_tells_artefacts_tests_gates_and_evidence(
    tmp_path: Path,
) -> None:
    (tmp_path / "lab" / "data").mkdir(parents=True)
    (tmp_path / "lab" / "data" / "manifest.json").write_text("{}")
    (tmp_path / "lab" / "evidence").mkdir()
    evidence = {"encoder": {"fingerprint": "term-counts-1"}}
    (tmp_path / "lab" / "evidence" / "leak.json").write_text(
        json.dumps(evidence)
    )
    skip = ("tests.lab.test_a::test_two", "no PostgreSQL")
    model = "tests.lab.test_e5::test_meaning"
    outcome = testing.Outcome(0, 400, 0, (skip,), (model,))
    text = release.delivery(tmp_path, FACTS, outcome, "none: made by hand")
    assert "`" + "c" * 40 + "`" in text
    assert "| keeps-secrets-en.md | 12,345 | `" + "e" * 64 + "` |" in text
    assert "400 passed, 0 failed, 1 skipped. A skip is not a pass" in text
    assert "- `tests.lab.test_a::test_two`: no PostgreSQL" in text
    assert f"a published model; the others need none:\n\n- `{model}`" in text
    assert "| links | PASS | 82 pages | 1.5 |" in text
    assert "| leak | term-counts-1 | `" in text


def test_the_ci_run_is_named_when_there_is_one() -> None:
    variables = {
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "some/book",
        "GITHUB_RUN_ID": "42",
    }
    address = release.ci_address(variables)
    assert address == "https://github.com/some/book/actions/runs/42"
    assert release.ci_address({}) == "none: made by hand"


def test_a_test_of_a_model_says_so_in_the_report(tmp_path: Path) -> None:
    here = Path(__file__).resolve().parents[1]
    (tmp_path / "conftest.py").write_bytes((here / "conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  model: x\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n\n@pytest.mark.model\ndef test_model():\n"
        "    pass\n\n\ndef test_other():\n    pass\n"
    )
    report = tmp_path / "report.xml"
    command = testing.pytest_command([], fast=False, report=report)
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    outcome = testing.read_report(report, 0)
    assert (outcome.passed, outcome.models) == (2, ("test_it::test_model",))


@pytest.mark.parametrize("strict", [True, False])
def test_strict_fails_the_skip_of_a_test_that_needs_a_server(
    tmp_path: Path, strict: bool
) -> None:
    here = Path(__file__).resolve().parents[1]
    (tmp_path / "conftest.py").write_bytes((here / "conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  server: x\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n\n@pytest.mark.server\ndef test_server():\n"
        "    pytest.skip('no PostgreSQL')\n\n\ndef test_other():\n"
        "    pytest.skip('not on this system')\n"
    )
    report = tmp_path / "report.xml"
    command = testing.pytest_command([], fast=False, report=report)
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=testing.variables(strict=strict),
        capture_output=True,
        text=True,
        check=False,
    )
    outcome = testing.read_report(report, done.returncode)
    assert outcome.failed == (1 if strict else 0)
    assert len(outcome.skipped) == (1 if strict else 2)
    assert outcome.exit_code == (1 if strict else 0)
    if strict:
        assert "no PostgreSQL" in done.stdout


def test_the_fast_lane_leaves_out_browser_server_and_slow_tests() -> None:
    command = testing.pytest_command(["-x"], fast=True)
    assert command[3:] == [
        "-m",
        "not browser and not server and not slow",
        "-n",
        "auto",
        "--dist",
        "loadfile",
        "-x",
    ]
