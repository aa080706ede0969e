"""Gates over finished outputs: each sees its fault and says where it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from book.press.context import BuildContext
from book.press.gates import Gate, Status, contentmaps, reproducible, sizes, xml
from tests.press.printed import (
    context,
    damage,
    damage_epub,
    line_of,
    print_all,
)

ROOT = Path(__file__).resolve().parents[2]
FACTS = context(ROOT)
CHAPTER = "05-lexical-baseline"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("printed")
    print_all(folder)
    return folder


@pytest.fixture
def staging(printed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(printed, tmp_path / "staging"))


def findings(gate: Gate, staging: Path) -> list[str]:
    result = gate.run(staging, FACTS)
    failed = result.status is Status.FAIL
    assert failed == bool(result.findings)
    return [str(found) for found in result.findings]


@pytest.mark.parametrize("gate", [contentmaps.GATE, xml.GATE, sizes.GATE])
def test_whole_outputs_pass(gate: Gate, staging: Path) -> None:
    assert findings(gate, staging) == []


# --- content maps -----------------------------------------------------------


def _in_site(staging: Path) -> None:
    damage(
        staging / "site" / "zh" / f"{CHAPTER}.html",
        "<p>窗口不是证人。</p>",
        "<p>窗口是证人。</p>",
    )


def _in_epub(staging: Path) -> None:
    damage_epub(
        staging / "keeps-secrets-zh.epub",
        f"EPUB/{CHAPTER}.xhtml",
        "<p>窗口不是证人。</p>",
        "",
    )


def _in_offline(staging: Path) -> None:
    damage(
        staging / "keeps-secrets-zh.html",
        "<p>窗口不是证人。</p>",
        "<p>窗口不是证人。</p><p>真的。</p>",
    )


def _in_markdown(staging: Path) -> None:
    damage(
        staging / "keeps-secrets-zh.md", "> 窗口不是证人。", "> 窗口不是证人 。"
    )


@pytest.mark.parametrize(
    ("plant", "output", "place"),
    [
        (_in_site, "site/zh", f"site/zh/{CHAPTER}.html:"),
        (_in_epub, "epub/zh", "keeps-secrets-zh.epub:"),
        (_in_offline, "html/zh", "keeps-secrets-zh.html:"),
        (_in_markdown, "md/zh", "keeps-secrets-zh.md:"),
    ],
)
def test_one_changed_word_is_found_in_every_output(
    staging: Path, plant: Callable[[Path], None], output: str, place: str
) -> None:
    plant(staging)
    first, *others = findings(contentmaps.GATE, staging)
    assert first.startswith(place) or others[0].startswith(place)
    told = next(f for f in [first, *others] if f.startswith(place))
    assert (
        f"{output}: chapter {CHAPTER}: block {CHAPTER}-0014 (note) "
        "says something else" in told
    )


# --- XML --------------------------------------------------------------------


def test_a_page_that_is_no_xml_is_named_with_its_line(staging: Path) -> None:
    book = staging / "keeps-secrets-en.epub"
    member = f"EPUB/{CHAPTER}.xhtml"
    line = line_of(book, member, "<p>A window is not")
    damage_epub(book, member, "A window is not a witness.", "A window <br> is.")
    assert findings(xml.GATE, staging) == [
        f"{book.name}!{member}:{line}: is not XML: mismatched tag"
    ]


def test_two_hyphens_in_a_comment_are_found(staging: Path) -> None:
    path = staging / "site" / "sitemap.xml"
    path.write_text("<urlset>\n<!-- a -- b -->\n</urlset>", "utf-8")
    (found,) = findings(xml.GATE, staging)
    assert found.startswith("site/sitemap.xml:2: is not XML: ")


# --- sizes ------------------------------------------------------------------


def test_a_file_over_its_budget_is_named_with_both_sizes(
    staging: Path,
) -> None:
    path = staging / "keeps-secrets-en.html"
    path.write_bytes(b"x" * 4_000_001)
    assert findings(sizes.GATE, staging) == [
        "keeps-secrets-en.html: is 4,000,001 bytes, over its budget of "
        "4,000,000"
    ]


def test_a_page_of_the_site_has_the_budget_of_a_page(staging: Path) -> None:
    path = staging / "site" / "en" / "big.html"
    path.write_bytes(b"x" * 1_500_001)
    (found,) = findings(sizes.GATE, staging)
    assert found.startswith("site/en/big.html: ")


# --- reproducible -----------------------------------------------------------

# A press that prints two files; what it prints is the test's to choose.
DRIVER = """\
import datetime, os, time, zipfile
from pathlib import Path

def make(source, home, console):
    (home / "book.md").write_text("one\\n" + str({expression}) + "\\n")
    with zipfile.ZipFile(home / "lab.zip", "w") as packed:
        packed.writestr(
            zipfile.ZipInfo("README", (2020, 1, 1, 0, 0, 0)),
            "first\\n" + str({member}) + "\\n",
        )
"""


def small_tree(root: Path, expression: str, member: str) -> BuildContext:
    """A project with the real press, whose driver is replaced."""
    press = root / "book" / "press"
    shutil.copytree(
        ROOT / "book" / "press",
        press,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (root / "book" / "__init__.py").touch()
    text = DRIVER.replace("{expression}", expression)
    (press / "driver.py").write_text(text.replace("{member}", member), "utf-8")
    names = [
        path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    ]
    (root / "MANIFEST").write_text("\n".join(names) + "\n", "utf-8")
    return context(root)


def built_twice(
    tmp_path: Path, expression: str, member: str = "1"
) -> list[str]:
    root = tmp_path / "tree"
    facts = small_tree(root, expression, member)
    staging = tmp_path / "staging"
    staging.mkdir()
    code = (root / "book" / "press" / "driver.py").read_text("utf-8")
    space: dict[str, object] = {"__file__": str(root / "book/press/driver.py")}
    exec(compile(code, "driver.py", "exec"), space)
    make = space["make"]
    assert callable(make)
    make(None, staging, None)
    result = reproducible.run(staging, facts)
    return [str(found) for found in result.findings]


def test_a_steady_press_passes(tmp_path: Path) -> None:
    assert built_twice(tmp_path, "'守得住'") == []


@pytest.mark.parametrize(
    "expression",
    [
        "time.time()",
        "time.strftime('%Y')",
        "datetime.date.fromtimestamp(time.time()).year",
        "datetime.datetime.now(datetime.UTC)",
        "Path(__file__).parents[2]",
        "sorted(map(str, range(9)), key=hash)",
        "os.path.getmtime(__file__)",
        "time.localtime(0).tm_hour",
    ],
)
def test_what_depends_on_time_place_or_chance_is_found(
    tmp_path: Path, expression: str
) -> None:
    (found,) = built_twice(tmp_path, expression)
    assert found.startswith("book.md:2: differs in the second build: ")


def test_a_difference_inside_an_archive_names_the_member_and_line(
    tmp_path: Path,
) -> None:
    (found,) = built_twice(tmp_path, "1", "time.time()")
    assert found.startswith("lab.zip!README:2: differs in the second build: ")


def test_a_second_build_that_fails_is_a_finding(tmp_path: Path) -> None:
    expression = "1 if 'tree' in __file__ else 1/0"
    (found,) = built_twice(tmp_path, expression)
    assert found.startswith("the second build: failed with 1: ")
    assert "ZeroDivisionError" in found


def test_missing_and_extra_files_are_found(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder, names in ((first, "xy"), (second, "yz")):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("same", "utf-8")
    assert [str(p) for p in reproducible.differences(first, second)] == [
        "x: is not in the second build",
        "z: is in the second build only",
    ]
