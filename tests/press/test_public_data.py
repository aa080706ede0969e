"""Public data is what is pinned, or is not there."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from tests import public_data
from tests.public_data import DataSet, FetchError, Pinned


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def dataset(tmp_path: Path) -> DataSet:
    """One file of a repository on this machine; a later commit changes it."""
    repository = tmp_path / "repository"
    (repository / "docs").mkdir(parents=True)
    file = repository / "docs" / "a.md"
    file.write_text("pinned\n")
    git(repository, "init", "-q")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "one")
    commit = git(repository, "rev-parse", "HEAD")
    file.write_text("changed later\n")
    git(repository, "commit", "-q", "-a", "-m", "two")
    pinned = Pinned(sha256("pinned\n"), "en/a.md", "docs/a.md")
    return DataSet("docs", str(repository), commit, "CC0", (pinned,))


def test_a_set_is_fetched_at_its_commit_and_only_once(
    dataset: DataSet, tmp_path: Path
) -> None:
    home = tmp_path / "data"
    assert public_data.fetch(dataset, home) is True
    assert (home / "docs" / "en" / "a.md").read_text() == "pinned\n"
    assert [path.name for path in home.iterdir()] == ["docs"]
    assert public_data.fetch(dataset, home) is False


def test_a_file_with_another_digest_is_not_kept(
    dataset: DataSet, tmp_path: Path
) -> None:
    (file,) = dataset.files
    other = Pinned(sha256("other\n"), file.path, file.origin)
    wrong = DataSet("docs", dataset.repository, dataset.commit, "", (other,))
    with pytest.raises(FetchError, match="not the file that is pinned"):
        public_data.fetch(wrong, tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_what_a_person_changed_is_not_overwritten(
    dataset: DataSet, tmp_path: Path
) -> None:
    home = tmp_path / "data"
    public_data.fetch(dataset, home)
    (home / "docs" / "en" / "a.md").write_text("mine\n")
    with pytest.raises(FetchError, match="move it away"):
        public_data.fetch(dataset, home)
    assert (home / "docs" / "en" / "a.md").read_text() == "mine\n"


def test_a_missing_repository_is_one_sentence(tmp_path: Path) -> None:
    gone = DataSet("x", str(tmp_path / "gone"), "0" * 40, "", ())
    (tmp_path / "data" / "x").mkdir(parents=True)
    assert public_data.fetch(gone, tmp_path / "data") is False
    pinned = Pinned("0" * 64, "a", "a")
    gone = DataSet("y", str(tmp_path / "gone"), "0" * 40, "", (pinned,))
    with pytest.raises(FetchError, match="git fetch failed"):
        public_data.fetch(gone, tmp_path / "data")


def test_an_example_of_the_specification_is_markdown_and_html() -> None:
    fence = "`" * 32
    text = f"# Tabs\n\n{fence} example\na→b\n.\n<p>a→b</p>\n{fence}\n"
    assert public_data.spec_json(text).decode() == (
        '[\n {\n  "example": 1,\n  "section": "Tabs",\n  "start_line": 3,\n'
        '  "end_line": 7,\n  "extensions": [],\n  "markdown": "a\\tb\\n",\n'
        '  "html": "<p>a\\tb</p>\\n"\n }\n]\n'
    )


@pytest.mark.data
def test_the_data_on_this_machine_is_what_is_pinned(data: Path) -> None:
    sets = public_data.read_list(public_data.LIST.read_text("utf-8"))
    assert len(sets) == 7
    for dataset in sets:
        assert public_data.faults(dataset, data / dataset.name) == []


@pytest.mark.data
def test_the_examples_are_derived_from_the_specification(data: Path) -> None:
    folder = data / public_data.SPEC
    text = (folder / "spec.txt").read_text("utf-8")
    derived = (folder / "spec.json").read_bytes()
    assert public_data.spec_json(text) == derived
