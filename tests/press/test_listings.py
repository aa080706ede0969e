"""Listings: lines of the source, found by symbol."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.press.faults import MacroError
from book.press.highlighting import code_html, columns
from book.press.symbols import source_of
from tests.press.project import FIRST, SLUG, Project, make_project

SOURCE = '''\
import typing

LIMIT: int = 5


# Why it is
# made so.
@typing.final
class Index:
    """An index.

    Of words.
    """

    size = 0

    def search(self, query):
        """Find."""

        # The cut.
        found = """
left
"""
        # region: tail
        return found[:LIMIT]
        # endregion

    def bare(self):
        """Only words."""


if typing.TYPE_CHECKING:
    def fork(): ...
else:
    def fork(): ...


@typing.overload
def twice(a: int) -> int: ...
def twice(a):
    return a


async def later():
    def inner():
        return 1

    return inner
'''


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def cut(symbol: str = "", **options: object) -> str:
    return source_of(SOURCE, "x.py", symbol, **options)  # type: ignore[arg-type]


def test_a_constant_is_its_assignment() -> None:
    assert cut("LIMIT") == "LIMIT: int = 5"


def test_decorators_and_the_comment_above_belong_to_a_symbol() -> None:
    assert cut("Index").startswith(
        "# Why it is\n# made so.\n@typing.final\nclass Index:\n"
    )


def test_a_method_is_dedented_unless_a_string_would_change() -> None:
    assert cut("Index.bare") == 'def bare(self):\n    """Only words."""'
    # The text inside the string of `search` starts at column 0.
    assert cut("Index.search").startswith("    def search(self, query):")


def test_marks_of_regions_are_left_out_of_what_holds_them() -> None:
    assert "region" not in cut("Index")
    assert cut(region="tail") == "return found[:LIMIT]"


def test_a_docstring_is_elided_with_the_blank_line_after_it() -> None:
    shown = cut("Index", elide="docstring")
    assert "An index" not in shown
    assert "Find." not in shown
    assert "class Index:\n    size = 0" in shown
    assert "query):\n        # The cut." in shown
    assert shown.endswith("def bare(self):\n        ...")


def test_a_body_is_elided_but_signature_and_docstring_stay() -> None:
    assert cut("Index.search", elide="body") == (
        'def search(self, query):\n    """Find."""\n\n    ...'
    )


def test_both_may_be_elided() -> None:
    assert cut("Index.search", elide=["docstring", "body"]) == (
        "def search(self, query):\n    ..."
    )


def test_a_function_inside_a_function_is_found() -> None:
    assert cut("later.inner") == "def inner():\n    return 1"


def test_an_unknown_symbol_names_the_nearest() -> None:
    with pytest.raises(MacroError) as caught:
        cut("Index.serach")
    assert caught.value.message == "listing `x.py:Index.serach` not found"
    assert "did you mean `Index.search`" in caught.value.hint


@pytest.mark.parametrize("symbol", ["fork", "twice"])
def test_a_name_defined_more_than_once_is_refused(symbol: str) -> None:
    with pytest.raises(MacroError, match="defined more than once"):
        cut(symbol)


def test_a_region_must_be_there_once_and_be_closed() -> None:
    with pytest.raises(MacroError, match="region `tial` not found"):
        cut(region="tial")
    with pytest.raises(MacroError, match="no `# endregion`"):
        source_of("# region: a\nx = 1\n", "x.py", region="a")
    with pytest.raises(MacroError, match="stands twice"):
        source_of("# region: a\n# endregion\n# region: a\n", "x.py", region="a")


def test_an_empty_listing_is_refused() -> None:
    with pytest.raises(MacroError, match="is empty"):
        source_of("# region: a\n\n# endregion\n", "x.py", region="a")


def test_elision_is_of_a_known_kind_and_of_a_symbol() -> None:
    with pytest.raises(MacroError, match="cannot elide 'head'"):
        cut("Index", elide="head")
    with pytest.raises(MacroError, match="only a symbol"):
        cut(region="tail", elide="body")
    with pytest.raises(MacroError, match="nothing to elide"):
        cut("LIMIT", elide="body")


def test_colour_changes_no_character() -> None:
    code = 'a = "&\\t守"\n\n\tif a < 1:  # x\n        pass  '
    html = code_html(code + "\n", "python", frozenset({3}))
    import re
    from html import unescape

    assert unescape(re.sub(r"<[^>]+>", "", html)) == code
    assert '\n<span class="hll">\t' in html


def test_code_that_html_would_change_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with an empty line"):
        code_html("\n a", "text")


def test_wide_characters_take_two_columns() -> None:
    assert columns("守a") == 3
    assert columns("e\u0301") == 1


def test_a_listing_shows_the_source_of_its_symbol(project: Project) -> None:
    project.chapter('{{ listing("lab/index.py", "Index.search") }}\n')
    block = project.resolved().blocks[-1]
    assert block.kind == "listing"
    assert block.text == (
        "def search(self, query: str) -> list[str]:\n"
        '    """Find."""\n'
        "    found = [query]\n"
        "    return found[:LIMIT]"
    )
    assert 'href="ks-lab:lab/index.py"' in block.html


def test_changing_the_source_changes_the_listing(project: Project) -> None:
    project.chapter('{{ listing("lab/index.py", "LIMIT") }}\n')
    before = project.resolved().blocks[-1].sha256
    source = (project.root / "lab/index.py").read_text()
    project.write("lab/index.py", source.replace("LIMIT = 5", "LIMIT = 6"))
    after = project.resolved().blocks[-1]
    assert after.text == "LIMIT = 6"
    assert after.sha256 != before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('"lab/indx.py", "Index"', "no such file: lab/indx.py"),
        ('"../secret.py", "x"', "is not a path inside the project"),
        ('"/etc/passwd"', "is not a path inside the project"),
        ('"lab/index.py", "Index.serach"', "did you mean `Index.search`"),
        ('"lab/index.py", "twice"', "defined more than once"),
        ('"lab/index.py", "LIMIT", highlight=[2]', "has 1 lines"),
        ('"lab/index.py", "LIMIT", highlight=["x"]', "no line holds it"),
    ],
)
def test_a_wrong_listing_is_named_with_its_place(
    project: Project, call: str, message: str
) -> None:
    project.chapter(f"Text.\n\n{{{{ listing({call}) }}}}\n", "字。\n\n字。\n")
    fault = next(f for f in project.faults() if "listing" in f)
    assert fault.startswith(f"book/en/{SLUG}.md:{FIRST + 2}: listing: ")
    assert message in fault


def test_a_woven_line_over_80_columns_is_an_error(project: Project) -> None:
    project.write("lab/wide.py", f'A = "{"守" * 40}"\n')
    project.chapter('{{ listing("lab/wide.py", "A") }}\n')
    assert any("a line of 86 columns" in fault for fault in project.faults())
