"""dist/ is whole and old, or whole and new, and never in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from book.press import publish
from book.press.digest import Source
from book.press.gates import GateResult, Status


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "book.html").write_text("old", "utf-8")
    (folder / "left-over.html").write_text("old", "utf-8")
    return folder


def new_build(root: Path, home: Path) -> None:
    (home / "site").mkdir()
    (home / "site" / "index.html").write_text("new", "utf-8")
    (home / "book.html").write_text("new", "utf-8")


def source(root: Path, *, dirty: bool = False) -> Source:
    return Source(root, (), "d" * 64, 1767225600, "c" * 40, dirty, "1.0.0")


def test_the_new_build_takes_the_place_of_the_old(dist: Path) -> None:
    root = dist.parent
    with publish.staging(root) as home:
        new_build(root, home)
        publish.publish(root, home, dist)
    assert (dist / "book.html").read_text("utf-8") == "new"
    assert not (dist / "left-over.html").exists()
    assert list(publish.workshop(root).iterdir()) == []


def test_a_failed_build_leaves_the_old_dist_untouched(dist: Path) -> None:
    root = dist.parent
    with pytest.raises(ValueError, match="half way"):
        with publish.staging(root) as home:
            new_build(root, home)
            raise ValueError("half way")
    assert (dist / "book.html").read_text("utf-8") == "old"
    assert list(publish.workshop(root).iterdir()) == []


def test_a_failed_rename_brings_the_old_dist_back(
    dist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = dist.parent
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.name.startswith("build-"):
            raise OSError("disk full")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="disk full"):
        with publish.staging(root) as home:
            new_build(root, home)
            publish.publish(root, home, dist)
    assert (dist / "book.html").read_text("utf-8") == "old"


def test_a_publication_cut_off_half_way_is_undone(dist: Path) -> None:
    root = dist.parent
    publish.workshop(root).mkdir()
    dist.rename(publish.workshop(root) / "previous")
    publish.recover(root, dist)
    assert (dist / "book.html").read_text("utf-8") == "old"


def test_a_publication_cut_off_at_the_end_is_finished(dist: Path) -> None:
    root = dist.parent
    previous = publish.workshop(root) / "previous"
    previous.mkdir(parents=True)
    publish.recover(root, dist)
    assert not previous.exists()
    assert (dist / "book.html").exists()


def test_sums_cover_every_file_but_the_two_that_cannot_repeat(
    dist: Path,
) -> None:
    (dist / "keeps-secrets-en.pdf").write_bytes(b"%PDF")
    (dist / "release.json").write_text("{}", "utf-8")
    publish.write_sums(dist)
    text = (dist / "SHA256SUMS").read_text("utf-8")
    # SHA-256 of the three bytes "old".
    digest = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"
    assert text == f"{digest}  book.html\n{digest}  left-over.html\n"
    assert publish.check_sums(dist) == []


def test_a_changed_missing_or_added_file_is_named(dist: Path) -> None:
    publish.write_sums(dist)
    (dist / "book.html").write_text("tampered", "utf-8")
    (dist / "left-over.html").unlink()
    (dist / "extra.html").write_text("", "utf-8")
    assert publish.check_sums(dist) == [
        "book.html was changed",
        "extra.html is not listed",
        "left-over.html is missing",
    ]


PASSED = GateResult(Status.PASS, "12 pages", name="links", seconds=1.25)
NOT_RUN = GateResult(Status.NOT_RUN, "no Chromium", name="axe")


@pytest.mark.parametrize(
    ("results", "dirty", "verified"),
    [
        ((PASSED,), False, True),
        ((PASSED, NOT_RUN), False, False),
        ((PASSED,), True, False),
        ((), False, False),
    ],
)
def test_only_a_clean_tree_with_every_gate_passed_is_verified(
    dist: Path,
    results: tuple[GateResult, ...],
    dirty: bool,
    verified: bool,
) -> None:
    publish.write_release(dist, source(dist.parent, dirty=dirty), results)
    facts = json.loads((dist / "release.json").read_text("utf-8"))
    assert facts["verified"] is verified
    assert facts["dirty"] is dirty
    assert facts["commit"] == "c" * 40
    assert facts["source"]["sha256"] == "d" * 64
    assert [gate["status"] for gate in facts["gates"]] == [
        result.status.value for result in results
    ]
    assert [a["name"] for a in facts["artefacts"]] == [
        "book.html",
        "left-over.html",
    ]
