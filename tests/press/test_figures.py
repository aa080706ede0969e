"""Drawings: labels fit, nothing collides, and a reader is told the rest."""

from __future__ import annotations

import importlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from book.press.faults import MacroError
from book.press.figures_macro import finished
from book.press.svg import COLOURS, DoesNotFit, Drawing, text_width
from tests.press.project import FIRST, SLUG, Project, make_project

ROOT = Path(__file__).parents[2]
FIGURES = sorted(path.stem for path in (ROOT / "book/figures").glob("*.py"))

DRAW = """\
from __future__ import annotations
from dataclasses import dataclass
from book.press.svg import Drawing

@dataclass(frozen=True)
class Words:
    title: str

def draw(lang):
    d = Drawing(200, 60, {"en": "A box", "zh": "方框"}[lang], "One box.")
    d.box(5, 5, 190, 50, [{"en": "box", "zh": "框"}[lang]])
    return d.svg()
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path)
    made.write("book/figures/one_box.py", DRAW)
    return made


def test_a_label_that_does_not_fit_its_box_is_refused() -> None:
    drawing = Drawing(300, 100, "t", "d")
    # Ten Chinese characters of 15 units need 150, and the box has 138.
    drawing.box(0, 0, 162, 50, ["守" * 10])
    with pytest.raises(DoesNotFit, match="needs 150, has 138"):
        drawing.box(0, 0, 150, 50, ["守" * 10])
    with pytest.raises(DoesNotFit, match="3 lines in a box 50 high"):
        drawing.box(0, 0, 150, 50, ["a", "b", "c"])


def test_nothing_leaves_the_drawing() -> None:
    drawing = Drawing(100, 100, "t", "d")
    with pytest.raises(DoesNotFit, match="box leaves the drawing"):
        drawing.box(50, 0, 60, 20)
    with pytest.raises(DoesNotFit, match="leaves the drawing"):
        drawing.label(90, 50, "wide label", room=200)
    with pytest.raises(DoesNotFit, match="arrow leaves the drawing"):
        drawing.arrow([(0, 0), (101, 0)])


def test_widths_are_upper_bounds_for_common_fonts() -> None:
    """Every printable ASCII character, by the metrics of DejaVu Sans."""
    fonts = pytest.importorskip("matplotlib.font_manager")
    ft2font = pytest.importorskip("matplotlib.ft2font")
    font = ft2font.FT2Font(fonts.findfont("DejaVu Sans"))
    font.set_size(100, 72)
    for code in range(33, 127):
        glyph = font.load_char(code)
        wide = glyph.linearHoriAdvance / 65536
        assert text_width(chr(code), 100) >= wide, chr(code)


def test_a_figure_is_inlined_and_counts_as_its_title(project: Project) -> None:
    project.chapter('{{ figure("one_box", caption="It", label="f") }}\n')
    block = project.resolved().blocks[-1]
    assert (block.kind, block.text) == ("figure", "A box\nIt")
    assert "<desc>One box.</desc>" in block.html
    assert ">Figure 1.1</span> It" in block.html
    assert project.resolved("zh").blocks[-1].text == "方框\nIt"


def test_alt_takes_the_place_of_the_description(project: Project) -> None:
    project.chapter('{{ figure("one_box", caption="It", alt="A < B") }}\n')
    html = project.last()
    assert "<desc>A &lt; B</desc>" in html
    assert "One box" not in html


def test_a_figure_that_is_not_there_or_breaks_is_named(
    project: Project,
) -> None:
    project.write("book/figures/broken.py", "def draw(lang): 1 / 0\n")
    project.chapter(
        '{{ figure("one_bx", caption="") }}\n\n'
        '{{ figure("broken", caption="") }}\n',
        "字。\n\n字。\n",
    )
    file = f"book/en/{SLUG}.md"
    faults = [fault for fault in project.faults() if fault.startswith(file)]
    assert faults == [
        f"{file}:{FIRST}: figure: there is no figure 'one_bx'; did you mean"
        " `one_box`?",
        f"{file}:{FIRST + 2}: figure: book/figures/broken.py:"
        " ZeroDivisionError: division by zero",
    ]


def test_ids_inside_a_figure_are_prefixed_wherever_they_are_used() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img"'
        ' aria-labelledby="t d"><title id="t">T</title><desc id="d">D</desc>'
        '<g clip-path="url(#c)"><clipPath id="c"/><use href="#c"/></g></svg>'
    )
    assert finished(svg, "", "p-", "x") == (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img"'
        ' aria-labelledby="p-t p-d"><title id="p-t">T</title>'
        '<desc id="p-d">D</desc><g clip-path="url(#p-c)">'
        '<clipPath id="p-c"/><use href="#p-c"/></g></svg>'
    )


@pytest.mark.parametrize(
    ("svg", "message"),
    [
        ("<svg", "not valid SVG"),
        ('<svg xmlns="http://www.w3.org/2000/svg"/>', "is not an <svg role"),
        (
            '<svg xmlns="http://www.w3.org/2000/svg" role="img"/>',
            "has no <title>",
        ),
        (
            '<svg xmlns="http://www.w3.org/2000/svg" role="img">'
            "<title>t</title></svg>",
            "has no <desc>",
        ),
        (
            '<svg xmlns="http://www.w3.org/2000/svg" role="img">'
            '<title>t</title><desc>d</desc><image href="https://x"/></svg>',
            "outside itself",
        ),
    ],
)
def test_a_figure_unfit_for_the_page_is_refused(svg: str, message: str) -> None:
    with pytest.raises(MacroError, match=message):
        finished(svg, "", "p-", "x")


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_of_the_book_draws_the_same_twice_in_each_language(
    name: str,
) -> None:
    draw = importlib.import_module(f"book.figures.{name}").draw
    titles = set()
    for lang in ("en", "zh"):
        svg = draw(lang)
        assert svg == draw(lang)
        finished(svg, "", "p-", name)
        titles.add(ElementTree.fromstring(svg)[0].text)
    assert len(titles) == 2


@pytest.mark.parametrize("sheet", ["site/assets/book.css", "offline/style.css"])
def test_a_page_recolours_every_colour_of_a_drawing(sheet: str) -> None:
    rules = (ROOT / "site_templates" / sheet).read_text("utf-8")
    for colour in COLOURS:
        assert f"svg .{colour} {{" in rules or f"svg .{colour}, " in rules
        # Nothing is drawn with a line in the colour of the paper.
        assert f"svg .{colour}-line {{" in rules or colour == "paper"
