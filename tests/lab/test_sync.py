"""Sync: a folder and an index agree, and nothing opens on the way."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from lab import access, syncing
from lab.cli import main
from lab.errors import EncoderError, InvalidInput
from lab.index import DocumentStatus, Index
from lab.model import Context, Document, Policy
from lab.syncing import Synced, doc_id
from tests.lab.support import contract, see

ALICE = Context("acme", "alice")
BOB = Context("acme", "bob")

RULES = """
[[rule]]
match = "**"
readers = ["alice"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve files that alice may read, so that one may go."""
    root = tmp_path / "docs"
    root.mkdir()
    (root / "access.toml").write_text(RULES)
    for n in range(12):
        put(root, f"notes/{n}.md", f"# Note {n}\n\nnumber{n} text")
    return root


@pytest.fixture
def index(tmp_path: Path) -> Any:
    with Index.open(tmp_path / "index.db") as index:
        yield index


def put(root: Path, path: str, text: str | bytes) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    place.write_bytes(data)
    return place


def sync(index: Index, root: Path, **more: Any) -> Synced:
    rules = access.read(root / "access.toml")
    return syncing.sync(index, root, "acme", rules, **more)


def state(index: Index, path: str) -> DocumentStatus:
    found = index.status("acme", doc_id(path))
    assert isinstance(found, DocumentStatus)
    return found


def did(done: Synced) -> dict[str, int]:
    return {name: count for name, count in done.counts.items() if count}


# Files and documents.


def test_markdown_json_and_text_are_taken_and_nothing_else(
    index: Index, folder: Path
) -> None:
    put(folder, "a/guide.MD", "# Guide\n\nmarkdownword")
    put(
        folder,
        "a/form.json",
        '{"title": "Form", "sections":'
        ' [{"heading": "One", "text": "jsonword"}]}',
    )
    put(folder, "a/plain.txt", "Plain\ntextword")
    put(folder, "a/photo.png", b"\x89PNG\x00pixelword")
    put(folder, "a/page.html", "<p>htmlword")
    put(folder, ".git/hidden.md", "# Hidden\n\nhiddenword")
    assert did(sync(index, folder)) == {"added": 15}
    for word, path in (
        ("markdownword", "a/guide.MD"),
        ("jsonword", "a/form.json"),
        ("textword", "a/plain.txt"),
    ):
        assert see(index, word, ALICE) == [doc_id(path)]
    for word in ("pixelword", "htmlword", "hiddenword", "readers"):
        assert see(index, word, ALICE) == []


def test_a_document_is_named_by_its_path_and_keeps_it(
    index: Index, folder: Path
) -> None:
    long = "a folder/" * 20 + "差旅 policy (final).md"
    put(folder, long, "# Long\n\nlongword")
    sync(index, folder)
    for path in ("notes/3.md", long):
        name = doc_id(path)
        slug, _, digest = name.rpartition("-")
        assert digest == hashlib.sha256(path.encode()).hexdigest()[:12]
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,60}", slug)
        assert index.read(name, ALICE).origin == path
    assert doc_id("notes/3.md").startswith("notes-3-md-")
    slug = "a-folder-" * 5 + "policy-final-md"
    assert doc_id(long).startswith(f"{slug}-")
    assert doc_id("差旅.md").startswith("md-")
    assert doc_id("差旅/制度") != doc_id("制度/差旅")


@contract("C-30")
def test_a_second_sync_changes_no_byte(index: Index, folder: Path) -> None:
    sync(index, folder)
    path = Path(str(folder.parent / "index.db"))
    before = path.read_bytes(), path.with_name("index.db-wal").read_bytes()
    assert did(sync(index, folder)) == {"unchanged": 12}
    after = path.read_bytes(), path.with_name("index.db-wal").read_bytes()
    assert after == before


def test_an_edited_file_is_the_next_revision(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    put(folder, "notes/3.md", "# Note 3\n\neditedword")
    assert did(sync(index, folder)) == {"changed": 1, "unchanged": 11}
    assert state(index, "notes/3.md").revision == 2
    assert see(index, "editedword", ALICE) == [doc_id("notes/3.md")]
    assert see(index, "number3", ALICE) == []


def test_line_ends_and_a_new_date_are_no_change(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    place = put(folder, "notes/3.md", "# Note 3\r\n\r\nnumber3 text")
    os.utime(place, (1, 1))
    assert did(sync(index, folder)) == {"unchanged": 12}


def test_an_emptied_file_has_no_text_left(index: Index, folder: Path) -> None:
    sync(index, folder)
    put(folder, "notes/3.md", "")
    assert did(sync(index, folder)) == {"changed": 1, "unchanged": 11}
    assert see(index, "number3", ALICE) == []


def test_a_removed_file_is_deleted_and_only_it(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    (folder / "notes/3.md").unlink()
    assert did(sync(index, folder)) == {"removed": 1, "unchanged": 11}
    assert not state(index, "notes/3.md").live
    assert see(index, "number3", ALICE) == []
    assert see(index, "number4", ALICE) == [doc_id("notes/4.md")]


@contract("C-51")
def test_a_moved_file_obeys_the_rules_of_its_new_place(
    index: Index, folder: Path
) -> None:
    (folder / "access.toml").write_text(
        RULES + '[[rule]]\nmatch = "board/**"\nreaders = ["bob"]\n'
    )
    sync(index, folder)
    (folder / "board").mkdir()
    (folder / "notes/3.md").rename(folder / "board/3.md")
    assert did(sync(index, folder)) == {
        "added": 1,
        "removed": 1,
        "unchanged": 11,
    }
    assert see(index, "number3", ALICE) == []
    assert see(index, "number3", BOB) == [doc_id("board/3.md")]


@contract("C-35")
def test_a_returning_file_is_restored_under_the_rules_of_now(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    text = (folder / "notes/3.md").read_text()
    (folder / "notes/3.md").unlink()
    sync(index, folder)
    (folder / "access.toml").write_text(
        RULES + '[[rule]]\nmatch = "notes/3.md"\nreaders = ["bob"]\n'
    )
    put(folder, "notes/3.md", text)
    assert did(sync(index, folder)) == {"restored": 1, "unchanged": 11}
    assert state(index, "notes/3.md").revision == 3
    assert see(index, "number3", BOB) == [doc_id("notes/3.md")]
    assert see(index, "number3", ALICE) == []


# What is no deletion.


@contract("C-49")
def test_a_missing_folder_deletes_nothing(index: Index, folder: Path) -> None:
    rules = access.read(folder / "access.toml")
    sync(index, folder)
    away = folder.with_name("unmounted")
    folder.rename(away)
    for root in (folder, away / "access.toml"):
        with pytest.raises(InvalidInput, match="nothing was changed"):
            syncing.sync(index, root, "acme", rules, allow_deletions=True)
    assert see(index, "text", ALICE) == sorted(
        doc_id(f"notes/{n}.md") for n in range(12)
    )


def test_a_folder_without_rules_changes_nothing(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    (folder / "access.toml").unlink()
    with pytest.raises(InvalidInput, match="there is none"):
        sync(index, folder)
    assert len(see(index, "text", ALICE)) == 12


@contract("C-49")
def test_removing_more_than_a_tenth_asks_first(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    (folder / "notes/3.md").unlink()
    (folder / "notes/4.md").unlink()
    put(folder, "notes/5.md", "# Note 5\n\neditedword")
    with pytest.raises(InvalidInput, match=r"2 of 12.*--allow-deletions"):
        sync(index, folder)
    assert see(index, "number3", ALICE) == [doc_id("notes/3.md")]
    assert see(index, "editedword", ALICE) == []
    assert did(sync(index, folder, allow_deletions=True)) == {
        "removed": 2,
        "changed": 1,
        "unchanged": 9,
    }


def test_exactly_a_tenth_may_go(index: Index, folder: Path) -> None:
    for n in range(8):
        put(folder, f"more/{n}.md", f"# More {n}")
    sync(index, folder)
    (folder / "notes/3.md").unlink()
    (folder / "notes/4.md").unlink()
    assert did(sync(index, folder))["removed"] == 2


@contract("C-49")
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"# Note 3\n\n\xff\xfe", "not UTF-8 at byte 10"),
        (b"# Note 3\x00", "NUL"),
    ],
)
def test_a_file_of_bad_bytes_is_no_deletion(
    index: Index, folder: Path, content: bytes, what: str
) -> None:
    sync(index, folder)
    put(folder, "notes/3.md", content)
    done = sync(index, folder)
    assert did(done) == {"unchanged": 11}
    assert [p.path for p in done.problems] == ["notes/3.md"]
    assert what in done.problems[0].what
    assert see(index, "number3", ALICE) == [doc_id("notes/3.md")]
    assert state(index, "notes/3.md").revision == 1


def test_json_that_is_no_document_is_reported_with_its_place(
    index: Index, folder: Path
) -> None:
    put(folder, "package.json", '{"name": "x"}')
    done = sync(index, folder)
    assert [p.path for p in done.problems] == ["package.json"]
    assert "title: missing" in done.problems[0].what


@contract("C-49")
def test_a_file_that_may_not_be_opened_is_no_deletion(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(index, folder)
    true = Path.read_bytes

    def denied(self: Path) -> bytes:
        if self.name == "3.md":
            raise PermissionError(13, "Permission denied", str(self))
        return true(self)

    monkeypatch.setattr(Path, "read_bytes", denied)
    done = sync(index, folder)
    assert did(done) == {"unchanged": 11}
    assert done.problems[0].what == "cannot be read (Permission denied)"
    assert see(index, "number3", ALICE) == [doc_id("notes/3.md")]


@contract("C-49")
def test_a_folder_that_may_not_be_listed_is_no_deletion(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "open.md", "# Open")
    sync(index, folder)
    true = os.scandir

    def denied(path: Any) -> Any:
        if Path(path).name == "notes":
            raise PermissionError(13, "Permission denied", str(path))
        return true(path)

    monkeypatch.setattr(os, "scandir", denied)
    done = sync(index, folder, allow_deletions=True)
    assert did(done) == {"unchanged": 1}
    assert [p.path for p in done.problems] == ["notes"]
    assert len(see(index, "text", ALICE)) == 12


def test_an_unreadable_file_still_gets_its_policy(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    put(folder, "notes/3.md", b"\xff")
    (folder / "access.toml").write_text(RULES.replace("alice", "bob"))
    assert did(sync(index, folder)) == {"unchanged": 11, "policies": 12}
    assert see(index, "number3", ALICE) == []
    assert see(index, "number3", BOB) == [doc_id("notes/3.md")]


def test_a_file_hidden_by_a_link_still_gets_its_policy(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    (folder / "notes").rename(folder.parent / "moved")
    (folder / "notes").symlink_to(folder.parent / "moved")
    (folder / "access.toml").write_text(RULES.replace("alice", "bob"))
    assert did(sync(index, folder)) == {"policies": 12}
    assert see(index, "text", ALICE) == []


def test_documents_from_elsewhere_are_left_alone(
    index: Index, folder: Path
) -> None:
    for name, origin in (("by-hand", None), ("by-queue", "notes/99.md")):
        index.upsert(
            Document(
                "acme",
                name,
                1,
                "text",
                "elsewhere",
                Policy(("alice",)),
                origin=origin,
            )
        )
    index.upsert(
        Document(
            "other",
            doc_id("notes/99.md"),
            1,
            "text",
            "elsewhere",
            Policy(("*",)),
            origin="notes/99.md",
        )
    )
    assert did(sync(index, folder)) == {"added": 12}
    assert see(index, "elsewhere", ALICE) == ["by-hand", "by-queue"]
    assert see(index, "elsewhere", Context("other", "x")) != []


# Names.


@contract("C-49")
def test_links_are_not_followed_and_are_no_deletion(
    index: Index, folder: Path, tmp_path: Path
) -> None:
    sync(index, folder)
    secret = put(tmp_path, "outside/secret.md", "# Secret\n\nsecretword")
    (folder / "notes/3.md").unlink()
    (folder / "notes/3.md").symlink_to(secret)
    (folder / "linked").symlink_to(secret.parent, target_is_directory=True)
    (folder / "loop").symlink_to(folder / "loop")
    done = sync(index, folder)
    assert did(done) == {"unchanged": 11}
    assert [p.path for p in done.problems] == ["linked", "notes/3.md"]
    assert see(index, "secretword", ALICE) == []
    assert see(index, "number3", ALICE) == [doc_id("notes/3.md")]


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_name_that_is_not_utf8_is_reported(
    index: Index, folder: Path
) -> None:
    try:
        (Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md"))).write_text(
            "x"
        )
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    done = sync(index, folder)
    assert did(done) == {"added": 12}
    assert done.problems[0].what == "its name is not UTF-8"


def test_a_name_is_the_same_in_every_unicode_form(
    index: Index, folder: Path
) -> None:
    composed = unicodedata.normalize("NFC", "résumé.md")
    split = unicodedata.normalize("NFD", composed)
    put(folder, split, "# Résumé\n\nresumeword")
    (folder / "access.toml").write_text(
        f'{RULES}[[rule]]\nmatch = "{composed}"\nreaders = ["bob"]\n'
    )
    sync(index, folder)
    assert see(index, "resumeword", BOB) == [doc_id(composed)]
    put(folder, composed, "# Résumé\n\nother")
    if len(list(folder.glob("r*"))) == 2:
        done = sync(index, folder)
        assert "Unicode form" in done.problems[0].what


def test_odd_names_are_names(index: Index, folder: Path) -> None:
    for name in ("a b;c'd.md", "[x].md", "100%.md", "-rf.md", "new\nline.md"):
        put(folder, f"odd/{name}", f"# Odd\n\n{hash_word(name)}")
    assert did(sync(index, folder))["added"] == 17
    for name in ("a b;c'd.md", "[x].md", "100%.md", "-rf.md", "new\nline.md"):
        assert see(index, hash_word(name), ALICE) == [doc_id(f"odd/{name}")]


def hash_word(name: str) -> str:
    return "w" + hashlib.sha256(name.encode()).hexdigest()[:8]


# Who may read.


@contract("C-51")
def test_a_later_change_of_the_rules_changes_policies(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    (folder / "access.toml").write_text(
        RULES
        + '[[rule]]\nmatch = "notes/3.md"\nreaders = ["alice"]\n'
        + 'classification = "restricted"\nbarrier = "heron"\n'
    )
    assert did(sync(index, folder)) == {"unchanged": 12, "policies": 1}
    changed = state(index, "notes/3.md")
    assert changed.policy == Policy(("alice",), "restricted", "heron")
    assert changed.revision == 1
    assert changed.policy_revision == 2
    assert see(index, "number3", ALICE) == []
    assert see(index, "number4", ALICE) == [doc_id("notes/4.md")]


@contract("C-51")
def test_what_no_rule_matches_nobody_may_read(
    index: Index, folder: Path
) -> None:
    (folder / "access.toml").write_text(RULES.replace("**", "public/**"))
    done = sync(index, folder)
    assert did(done) == {"added": 12}
    assert done.closed == 12
    assert done.unused == ("public/**",)
    assert see(index, "text", ALICE) == []


@contract("C-51")
def test_new_text_is_never_seen_by_the_old_readers(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(index, folder)
    put(folder, "notes/3.md", "# Note 3\n\nsecretword")
    (folder / "access.toml").write_text(
        RULES + '[[rule]]\nmatch = "notes/3.md"\nreaders = ["bob"]\n'
    )
    seen = []
    for name in ("upsert", "set_policy"):
        true = getattr(Index, name)

        def spied(
            self: Index, *words: Any, true: Any = true, **more: Any
        ) -> Any:
            done = true(self, *words, **more)
            seen.append(
                (
                    see(self, "secretword", ALICE),
                    see(self, "number3", BOB),
                )
            )
            return done

        monkeypatch.setattr(Index, name, spied)
    sync(index, folder)
    assert seen == [([], []), ([], []), ([], [])]
    assert see(index, "secretword", BOB) == [doc_id("notes/3.md")]


def test_a_failed_change_leaves_old_text_under_the_new_policy(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(index, folder)
    put(folder, "notes/3.md", "# Note 3\n\nsecretword")
    (folder / "access.toml").write_text(RULES.replace("alice", "bob"))

    def broken(self: Index, *words: Any, **more: Any) -> None:
        raise EncoderError("no memory for the model")

    monkeypatch.setattr(Index, "upsert", broken)
    done = sync(index, folder)
    assert [p.what for p in done.problems] == ["no memory for the model"]
    assert see(index, "number3", ALICE) == []
    assert see(index, "number3", BOB) == [doc_id("notes/3.md")]


def test_a_group_made_later_opens_nothing_until_it_is_bound(
    index: Index, folder: Path
) -> None:
    (folder / "access.toml").write_text(RULES.replace("alice", "group:staff"))
    assert sync(index, folder).unbound == {"staff": 12}
    index.directory.set_group("acme", "staff", ["alice"])
    assert sync(index, folder).unbound == {"staff": 12}
    assert see(index, "text", ALICE) == []
    assert did(sync(index, folder, rebind=True)) == {
        "unchanged": 12,
        "policies": 12,
    }
    assert len(see(index, "text", ALICE)) == 12
    assert sync(index, folder, rebind=True).counts["policies"] == 0


def test_a_group_made_anew_is_not_let_in_by_a_sync(
    index: Index, folder: Path
) -> None:
    (folder / "access.toml").write_text(RULES.replace("alice", "group:staff"))
    index.directory.set_group("acme", "staff", ["alice"])
    assert sync(index, folder).unbound == {}
    index.directory.delete_group("acme", "staff", 1)
    index.directory.set_group("acme", "staff", ["bob"])
    done = sync(index, folder)
    assert did(done) == {"unchanged": 12}
    assert done.unbound == {"staff": 12}
    assert see(index, "text", BOB) == []


def test_somebody_elses_change_meanwhile_is_reported_and_kept(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(index, folder)
    put(folder, "notes/3.md", "# Note 3\n\neditedword")
    true = Index.upsert

    def late(self: Index, document: Document, restore: bool = False) -> Any:
        monkeypatch.setattr(Index, "upsert", true)
        self.delete("acme", document.doc_id, 7)
        return true(self, document, restore)

    monkeypatch.setattr(Index, "upsert", late)
    done = sync(index, folder)
    assert "was deleted at revision 7" in done.problems[0].what
    assert see(index, "editedword", ALICE) == []


def test_a_dry_run_says_the_same_and_does_nothing(
    index: Index, folder: Path
) -> None:
    assert did(sync(index, folder, dry_run=True)) == {"added": 12}
    assert see(index, "text", ALICE) == []
    sync(index, folder)
    (folder / "notes/3.md").unlink()
    put(folder, "notes/4.md", "# Note 4\n\neditedword")
    planned = sync(index, folder, dry_run=True)
    assert see(index, "number3", ALICE) == [doc_id("notes/3.md")]
    assert did(planned) == did(sync(index, folder))


# The rules themselves.


def rules(*pairs: tuple[str, str]) -> access.Access:
    return access.parse(
        "".join(
            f'[[rule]]\nmatch = "{match}"\nreaders = ["{reader}"]\n'
            for match, reader in pairs
        )
    )


@pytest.mark.parametrize(
    ("match", "yes", "no"),
    [
        ("**", ["a.md", "a/b/c.md"], []),
        ("*.md", ["a.md", ".md"], ["a/b.md", "a.txt"]),
        ("**/*.md", ["a.md", "a/b/c.md"], ["a.txt"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "ab/c", "b/a/c"]),
        ("a/", ["a/b", "a/b/c"], ["a"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["a/bz", "z"]),
        ("**/x/**", ["x/a", "b/x/a"], ["x", "b/x"]),
        ("**/**", ["a", "a/b"], []),
        ("a?c", ["abc", "a差c"], ["ac", "a/c", "abbc"]),
        ("a.c", ["a.c"], ["abc"]),
        ("[ab].md", ["[ab].md"], ["a.md"]),
        ("a+(b)$", ["a+(b)$"], ["aab"]),
        ("*", ["new\nline"], ["a/b"]),
        ("./a", ["a"], ["./a"]),
    ],
)
def test_a_glob_matches_whole_relative_paths(
    match: str, yes: list[str], no: list[str]
) -> None:
    rule = rules((match, "alice")).rules[0]
    assert [path for path in yes if not rule.matches(path)] == []
    assert [path for path in no if rule.matches(path)] == []


@pytest.mark.parametrize(
    ("path", "reader"),
    [
        ("readme.md", "everyone"),
        ("board/minutes.md", "board"),
        ("board/2026/minutes.md", "board"),
        ("board/2026/q3/paper.md", "q3"),
        ("board/2026/q3/for-alice.md", "alice"),
        ("board-2025/x.md", "partly"),
    ],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_the_nearest_rule_wins_wherever_it_stands(
    path: str, reader: str, backwards: bool
) -> None:
    pairs = [
        ("**", "everyone"),
        ("**/*.md", "everyone"),
        ("board/**", "board"),
        ("board/2026/q3/**", "q3"),
        ("board/2026/q3/for-alice.md", "alice"),
        ("board-*/**", "partly"),
    ]
    if backwards:
        pairs.reverse()
    assert rules(*pairs).policy(path).readers == (reader,)


def test_among_equals_the_later_rule_wins() -> None:
    pairs = (("a/**", "first"), ("**/b/**", "second"))
    assert rules(*pairs).policy("a/b/c").readers == ("second",)
    assert rules(*pairs[::-1]).policy("a/b/c").readers == ("first",)


@contract("C-51")
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[[rule]\n", "not TOML"),
        ('rule = "x"', "starts with"),
        ('[rules]\nmatch = "a"', "unknown key 'rules'"),
        ('[[rule]]\nreaders = ["a"]', "rule 1: lacks match"),
        ('[[rule]]\nmatch = "a"', "rule 1: lacks readers"),
        ('[[rule]]\nmatch = "a"\nreaders = "alice"', "must be a list"),
        ('[[rule]]\nmatch = "a"\nreaders = [1]', "rule 1: policy.readers"),
        ('[[rule]]\nmatch = "a"\nreaders = ["a b"]', "policy.readers"),
        ('[[rule]]\nmatch = "a"\nreaders = [["a"]]', "rule 1"),
        ('[[rule]]\nmatch = "a"\nreader = ["a"]', "unknown key 'reader'"),
        ('[[rule]]\nmatch = 3\nreaders = ["a"]', "must be a glob"),
        ('[[rule]]\nmatch = ""\nreaders = ["a"]', "must be a glob"),
        ('[[rule]]\nmatch = "/a"\nreaders = ["a"]', "leading /"),
        ("[[rule]]\nmatch = 'a\\b'\nreaders = ['a']", "by /"),
        ('[[rule]]\nmatch = "a/../b"\nreaders = ["a"]', "dotted part"),
        ('[[rule]]\nmatch = "a//b"\nreaders = ["a"]', "empty"),
        ('[[rule]]\nmatch = "a**"\nreaders = ["a"]', "between slashes"),
        (
            '[[rule]]\nmatch = "a"\nreaders = ["a"]\nclassification = "top"',
            "classification",
        ),
        ('[[rule]]\nmatch = "a"\nreaders = ["a"]\nbarrier = ""', "barrier"),
    ],
)
def test_a_malformed_rule_opens_nothing_and_is_named(
    text: str, what: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        access.parse(text, "access.toml")
    assert str(refused.value).startswith("access.toml")
    assert what in str(refused.value)


def test_a_malformed_rule_changes_nothing(index: Index, folder: Path) -> None:
    sync(index, folder)
    (folder / "access.toml").write_text('[[rule]]\nmatch = "**"\n')
    put(folder, "notes/3.md", "# Note 3\n\neditedword")
    with pytest.raises(InvalidInput, match="lacks readers"):
        sync(index, folder)
    assert see(index, "editedword", ALICE) == []


def test_rules_further_down_are_refused_and_not_passed_over(
    index: Index, folder: Path
) -> None:
    sync(index, folder)
    put(folder, "notes/deep/access.toml", "")
    with pytest.raises(InvalidInput, match="only one file of rules counts"):
        sync(index, folder)


# The command.


def test_the_command_tells_what_it_did(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sync", str(folder), "--tenant", "acme"]
    words += ["--db", str(tmp_path / "cli.db")]
    assert main([*words, "--dry-run"]) == 0
    assert capsys.readouterr().out == "would be: 12 added\n"
    assert not (tmp_path / "cli.db").exists()
    assert main(words) == 0
    assert capsys.readouterr().out == "12 added\n"
    put(folder, "notes/3.md", b"\xff")
    assert main(words) == 3
    printed = capsys.readouterr()
    assert printed.out == "11 unchanged\n"
    assert "left as it was: notes/3.md: not UTF-8" in printed.err
    (folder / "notes/5.md").unlink()
    (folder / "notes/6.md").unlink()
    assert main(words) == 2
    assert "--allow-deletions" in capsys.readouterr().err
    assert main([*words, "--allow-deletions", "--json"]) == 3
    assert '"removed":2' in capsys.readouterr().out


def test_the_command_takes_rules_from_where_it_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(RULES.replace("alice", "bob"))
    path = str(tmp_path / "cli.db")
    words = ["sync", str(folder), "--tenant", "acme", "--db", path]
    assert main([*words, "--access", str(mine)]) == 0
    assert "is not used" in capsys.readouterr().err
    with Index.open(path) as index:
        assert see(index, "text", ALICE) == []
        assert len(see(index, "text", BOB)) == 12


@pytest.mark.parametrize(
    "change", [["no-such-folder"], ["--access", "none.toml"]]
)
def test_the_command_refuses_before_it_makes_an_index(
    change: list[str],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = change if change[0][0] != "-" else [str(folder), *change]
    assert main(["sync", *words, "--tenant", "acme"]) == 2
    assert main(["sync", str(folder), "--tenant", "a/b"]) == 2
    assert capsys.readouterr().err
    assert not (tmp_path / "keeps-secrets.db").exists()


@pytest.mark.data
@pytest.mark.slow
def test_a_real_handbook_syncs_and_syncs_again(
    data: Path, index: Index
) -> None:
    root = data / "handbook_18f" / "en"
    everyone = access.parse('[[rule]]\nmatch = "**"\nreaders = ["*"]\n')
    done = syncing.sync(index, root, "acme", everyone)
    assert did(done) == {"added": len(list(root.rglob("*.md")))}
    assert done.problems == ()
    again = syncing.sync(index, root, "acme", everyone)
    assert did(again) == {"unchanged": done.counts["added"]}
    assert index.verify() == []
