"""Appendix E: the shipped files, byte for byte, and the rest by digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from book.press import appendices
from book.press.appendix_core import is_core
from book.press.blocks import Chapter, code_text
from tests.press.project import FIRST, SLUG, Project, make_project

MEMBERS = (
    "lab/README.md lab/README.zh.md LICENSE LICENSE-DATA pyproject.toml"
    " tests/__init__.py tests/conftest.py"
).split()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path)
    plan = (tmp_path / "book/book.toml").read_text()
    made.write(
        "book/book.toml", plan.replace('"d-ledger", ', '"d-ledger", "e-core", ')
    )
    for name in MEMBERS:
        made.write(name, f"# {name}\n")
    made.write("lab/wide_property.py", "x = 1\n")
    manifest(made)
    return made


def manifest(project: Project) -> None:
    """List every file, as a source archive without git does."""
    names = sorted(
        path.relative_to(project.root).as_posix()
        for path in project.root.rglob("*")
        if path.is_file() and path.name != "MANIFEST"
    )
    project.write("MANIFEST", "".join(f"{name}\n" for name in names))


def core(project: Project, lang: str = "en") -> Chapter:
    loaded = project.load()
    assert loaded.problems == ()
    return loaded.editions[lang].chapter("e-core")


def test_a_core_module_is_printed_whole(project: Project) -> None:
    source = (project.root / "lab/index.py").read_text()
    for lang in ("en", "zh"):
        (listing,) = [
            block
            for block in core(project, lang).blocks
            if block.kind == "listing"
        ]
        assert code_text(listing.html) == source.rstrip("\n")
        assert hashlib.sha256(source.encode()).hexdigest() in listing.text


def test_every_other_file_is_listed_with_its_digest(project: Project) -> None:
    text = "\n".join(block.text for block in core(project).blocks)
    data = (project.root / "lab/contracts.toml").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    assert f"lab/contracts.toml\t{len(data)}\t{digest}" in text
    assert "tests/lab/test_leak.py\t" in text
    assert "sources.json" not in text


def test_a_link_to_a_file_that_does_not_ship_is_an_error(
    project: Project,
) -> None:
    project.write("tests/lab/test_law_property.py", "def test_law(): pass\n")
    manifest(project)
    project.chapter('{{ test("tests/lab/test_law_property.py") }}\n')
    assert (
        f"book/en/{SLUG}.md:{FIRST}: a link to"
        " tests/lab/test_law_property.py, which e-core does not list"
    ) in project.faults()


@pytest.mark.parametrize(
    ("name", "core"),
    [
        ("lab/index.py", True),
        ("lab/store/sqlite.py", True),
        ("lab/encoders/__init__.py", True),
        ("lab/experiments/leak.py", False),
        ("lab/contracts.toml", False),
        ("tests/lab/test_text.py", False),
    ],
)
def test_the_core_is_where_the_chapters_find_their_code(
    name: str, core: bool
) -> None:
    assert is_core(name) is core


def test_a_test_that_does_not_ship_is_named_and_not_linked() -> None:
    home = "tests/lab/test_wide_property.py::test_all"
    assert appendices._test(home) == f"<code>{home}</code>"
    shipped = appendices._test("tests/lab/test_a.py::test_all")
    assert 'href="ks-lab:tests/lab/test_a.py"' in shipped
