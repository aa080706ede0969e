"""A build ends with a whole new dist/, or with the old one and a reason."""

from __future__ import annotations

import argparse
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from book.press import contentmap, digest, driver, labzip, publish
from book.press.blocks import Edition
from book.press.console import Console, count
from book.press.context import BuildContext
from book.press.gates import (
    Gate,
    GateResult,
    contentmaps,
    failed,
    not_run,
    passed,
)
from book.press.problems import Problem, Problems
from tests.press.printed import complete_editions, context

ROOT = Path(__file__).resolve().parents[2]
LOOSE = argparse.Namespace(strict=False)
STRICT = argparse.Namespace(strict=True)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small tree with an old dist/, whose outputs are one file."""
    root = tmp_path / "tree"
    (root / "dist").mkdir(parents=True)
    (root / "dist" / "book.html").write_text("old", "utf-8")
    (root / "pyproject.toml").write_text('[project]\nversion = "9"\n')
    (root / "MANIFEST").write_text("pyproject.toml\n", "utf-8")

    def make(
        source: digest.Source,
        home: Path,
        console: Console,
        kept: Path | None = None,
    ) -> tuple[dict[str, Edition], BuildContext]:
        (home / "book.html").write_text("new", "utf-8")
        labzip.write(home / labzip.NAME, ())
        publish.write_sums(home)
        return {}, context(source.root)

    monkeypatch.setattr(driver, "make", make)
    monkeypatch.setattr(driver.pdf, "render", lambda *_: None)
    gates_are(monkeypatch, passed)
    return root


def gates_are(
    monkeypatch: pytest.MonkeyPatch, *runs: Callable[[], GateResult]
) -> None:
    """Replace the gates by some whose results are known."""
    gates = tuple(
        Gate(f"gate {n}", lambda _folder, _context, run=run: run())
        for n, run in enumerate(runs)
    )
    monkeypatch.setattr(driver, "all_gates", lambda: gates)


def book(root: Path) -> str:
    return (root / "dist" / "book.html").read_text("utf-8")


def facts(root: Path) -> dict[str, object]:
    text = (root / "dist" / "release.json").read_text("utf-8")
    return dict(json.loads(text))


def test_a_whole_build_replaces_dist(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert driver.build(LOOSE, tree) == 0
    assert book(tree) == "new"
    assert facts(tree)["verified"] is True
    assert publish.check_sums(tree / "dist") == []
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("BUILT dist/ in ")
    assert last.endswith("2 artefacts and the site; gates: 1 PASS")


def test_a_failed_gate_leaves_dist_as_it_was(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fault = Problem("site/en/a.html", 3, "leads nowhere")
    gates_are(monkeypatch, passed, lambda: failed([fault]))
    assert driver.build(LOOSE, tree) == 1
    assert book(tree) == "old"
    said = capsys.readouterr()
    assert "site/en/a.html:3: leads nowhere" in said.out
    assert said.err.endswith("FAILED: 1 problem; dist/ is as it was\n")


def test_a_gate_not_run_builds_unverified_and_strict_refuses(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates_are(monkeypatch, passed, lambda: not_run("no Node", "get Node"))
    assert driver.build(STRICT, tree) == 1
    assert book(tree) == "old"
    assert driver.build(LOOSE, tree) == 0
    assert book(tree) == "new"
    assert facts(tree)["verified"] is False


def test_problems_are_all_listed(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def faulty(*_: object) -> BuildContext:
        raise Problems(
            [Problem("book/zh/b.md", 9, "x"), Problem("book/en/a.md", 1, "y")]
        )

    monkeypatch.setattr(driver, "make", faulty)
    assert driver.build(LOOSE, tree) == 1
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "  book/en/a.md:1: y",
        "  book/zh/b.md:9: x",
        "FAILED: 2 problems; dist/ is as it was",
    ]
    assert book(tree) == "old"


def test_a_source_that_changes_meanwhile_is_not_published(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def meddling() -> GateResult:
        (tree / "pyproject.toml").write_text('[project]\nversion = "10"\n')
        return passed()

    gates_are(monkeypatch, meddling)
    assert driver.build(LOOSE, tree) == 1
    assert "changed while it was being built" in capsys.readouterr().err
    assert book(tree) == "old"


def test_verify_writes_what_the_gates_say_now(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates_are(monkeypatch, lambda: not_run("no Node", "get Node"))
    driver.build(LOOSE, tree)
    assert facts(tree)["verified"] is False
    gates_are(monkeypatch, passed)
    assert driver.verify(LOOSE, tree) == 0
    assert facts(tree)["verified"] is True


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("book.html", "book.html was changed"),
        ("release.json", "dist/: is not there"),
        ("../pyproject.toml", "made from another source"),
    ],
)
def test_verify_refuses_a_dist_that_is_not_what_was_built(
    tree: Path,
    capsys: pytest.CaptureFixture[str],
    damage: str,
    said: str,
) -> None:
    driver.build(LOOSE, tree)
    path = tree / "dist" / damage
    if damage == "release.json":
        path.unlink()
    else:
        path.write_text('[project]\nversion = "11"\n', "utf-8")
    assert driver.verify(LOOSE, tree) == 1
    message = capsys.readouterr().err
    assert said in message
    assert "python3 build.py" in message


def test_counts_are_said_as_people_say_them() -> None:
    assert count(1, "problem") == "1 problem"
    assert count(0, "problem") == "0 problems"


# Every renderer, on the sample book


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All outputs of the sample book."""
    home = tmp_path_factory.mktemp("staged")
    editions = complete_editions()
    for name in driver.RENDERERS:
        driver.renderer(name)(editions, home, context(ROOT))
    contentmap.write(editions, home, context(ROOT))
    return home


def test_the_map_lists_the_same_blocks_for_every_output(staged: Path) -> None:
    data = json.loads((staged / contentmap.NAME).read_text("utf-8"))
    assert data["source"] == "0123456789abcdef" * 4
    assert set(data["outputs"]) == {
        f"{output}/{lang}"
        for output in ("site", "epub", "html", "md")
        for lang in ("en", "zh")
    }
    for lang, chapters in data["editions"].items():
        wanted = {
            chapter["slug"]: [
                [block["id"], block["sha256"]] for block in chapter["blocks"]
            ]
            for chapter in chapters
        }
        assert sum(map(len, wanted.values())) > 50
        for output in ("site", "epub", "html", "md"):
            assert data["outputs"][f"{output}/{lang}"] == wanted


def test_the_gate_passes_what_was_built(staged: Path) -> None:
    result = contentmaps.run(staged, context(ROOT))
    assert result.findings == ()


@pytest.mark.parametrize("output", ["site", "epub", "html", "md"])
def test_the_gate_catches_one_changed_word_in_any_output(
    staged: Path, tmp_path: Path, output: str
) -> None:
    home = tmp_path / "copy"
    home.mkdir()
    for path in staged.rglob("*"):
        target = home / path.relative_to(staged)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    change_a_word(home, output)
    result = contentmaps.run(home, context(ROOT))
    assert any(f"{output}/en" in str(found) for found in result.findings)


def change_a_word(home: Path, output: str) -> None:
    """``not a heading``, a paragraph of the sample, loses its ``not``."""
    before, after = "not a heading", "now a heading"
    if output == "epub":
        path = home / "keeps-secrets-en.epub"
        with zipfile.ZipFile(path) as archive:
            parts = {n: archive.read(n) for n in archive.namelist()}
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in parts.items():
                changed = data.replace(before.encode(), after.encode())
                if not name.endswith(".xhtml"):
                    changed = data
                archive.writestr(name, changed)
        return
    paths = {
        "site": home / "site" / "en" / "06-hard-cases.html",
        "html": home / "keeps-secrets-en.html",
        "md": home / "keeps-secrets-en.md",
    }
    text = paths[output].read_text("utf-8")
    assert before in text
    paths[output].write_text(text.replace(before, after), "utf-8")
