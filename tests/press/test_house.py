"""The rules of the house that no single module can keep."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import lab
from book.press import digest

ROOT = Path(__file__).resolve().parents[2]
FILES = digest.tracked(ROOT)


def run(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def texts() -> dict[str, str]:
    found = {}
    for name in FILES:
        data = (ROOT / name).read_bytes()
        if b"\0" not in data:
            found[name] = data.decode("utf-8")
    return found


def test_the_code_is_formatted() -> None:
    run("ruff", "format", "--check", ".")


def test_the_code_is_clean() -> None:
    run("ruff", "check", ".")


@pytest.mark.slow
def test_the_types_hold() -> None:
    run("mypy")


def test_every_text_file_ends_its_lines_with_lf() -> None:
    assert [name for name, text in texts().items() if "\r" in text] == []


def test_the_manifest_lists_the_tracked_files() -> None:
    problems = digest.manifest_problems(ROOT, FILES)
    assert [str(problem) for problem in problems] == []


def test_book_package_and_lab_have_one_version() -> None:
    book = tomllib.loads((ROOT / "book/book.toml").read_text("utf-8"))
    assert book["book"]["version"] == digest.version(ROOT)
    assert lab.__version__ == digest.version(ROOT)


def test_the_readme_names_only_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    local = [target for target in targets if "://" not in target]
    assert local
    assert [name for name in local if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_example_in_the_readme_of_the_lab_runs(
    name: str, tmp_path: Path
) -> None:
    text = (ROOT / "lab" / name).read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ks1:acme/travel-policy@1[" in done.stdout


def test_only_ci_looks_beside_the_checkout() -> None:
    beside = "../" + "shared"
    naming = [name for name, text in texts().items() if beside in text]
    assert naming == [".ci/run"]


def test_hosted_ci_runs_the_same_script() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    assert "run: bash .ci/run\n" in workflow
    assert (
        subprocess.run(
            ["bash", "-n", str(ROOT / ".ci/run")], check=False
        ).returncode
        == 0
    )


def judged_workflow(path: Path) -> subprocess.CompletedProcess[str]:
    """What the published schema of GitHub's workflows says of a file."""
    pytest.importorskip("check_jsonschema")
    schema = ("--builtin-schema", "vendor.github-workflows")
    return subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *schema, str(path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_the_workflow_is_one_that_github_can_read(tmp_path: Path) -> None:
    file = ROOT / ".github/workflows/ci.yml"
    assert judged_workflow(file).returncode == 0
    wrong = tmp_path / "ci.yml"
    text = file.read_text("utf-8")
    wrong.write_text(text.replace("runs-on", "run-on", 1), "utf-8")
    judged = judged_workflow(wrong)
    assert judged.returncode == 1
    assert "run-on" in judged.stdout


def test_npm_packages_are_locked_without_an_address() -> None:
    text = (ROOT / "locks/node/package-lock.json").read_text("utf-8")
    assert '"integrity"' in text
    assert '"resolved"' not in text
