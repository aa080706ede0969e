"""A small maker of drawings: boxes, arrows and labels that fit.

Colours for print stand in attributes, so a drawing is complete by itself;
classes let a page recolour it: ``paper``, ``ink``, ``muted``, ``accent``
and ``warn`` are fills, the same with ``-line`` strokes. A label is measured
before it is drawn, with widths no common font exceeds, and a drawing whose
labels do not fit is not made.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from book.press.xhtml import escape

COLOURS: Final = {
    "paper": "#fdfcf9",
    "ink": "#1c1b1a",
    "muted": "#5c5953",
    "accent": "#96401c",
    "warn": "#a3122a",
}
FONT: Final = (
    "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC',"
    " 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)
MONO: Final = (
    "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans CJK SC',"
    " monospace"
)
SIZE: Final = 15.0
LINE: Final = 1.35

# Widths in ems, each the larger of DejaVu Sans's and Verdana's.
_ADVANCES: Final = {
    0.30: "'ijl",
    0.36: " ,./:;\\|",
    0.40: "ft",
    0.46: "!()-[]IJr",
    0.50: '"*_`',
    0.55: "?csz",
    0.60: "FLkvxy",
    0.65: "$0123456789EPSTYabdeghnopqu{}",
    0.70: "ABCKRVXZ",
    0.75: "NU",
    0.80: "&DGHOQ",
    0.85: "#+<=>^w~",
    0.90: "M",
    1.08: "%@Wm",
}
_ADVANCE: Final = {
    character: width
    for width, characters in _ADVANCES.items()
    for character in characters
}
# Whatever else is not a full-width character: arrows, dashes, accents.
_OTHER: Final = 1.05
_MONO: Final = 0.62
_BOLD: Final = 1.12


class DoesNotFit(ValueError):
    """A label is wider or taller than the room it was given."""


def text_width(text: str, size: float = SIZE, *, mono: bool = False) -> float:
    """An upper bound of a text's width in user units."""
    ems = 0.0
    for character in text:
        if unicodedata.combining(character):
            continue
        if unicodedata.east_asian_width(character) in "WF":
            ems += 1.0
        elif mono:
            ems += _MONO
        else:
            ems += _ADVANCE.get(character, _OTHER)
    return ems * size


@dataclass(frozen=True)
class Box:
    """A box that was drawn, with the points arrows start from."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> tuple[float, float]:
        """The middle of the left side."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> tuple[float, float]:
        """The middle of the right side."""
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> tuple[float, float]:
        """The middle of the upper side."""
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> tuple[float, float]:
        """The middle of the lower side."""
        return self.x + self.width / 2, self.y + self.height


@dataclass
class Drawing:
    """A drawing being made, ``width`` by ``height`` user units.

    ``title`` names it, ``description`` says what it shows to whoever
    cannot see it. A unit is a CSS pixel where the page has room.
    """

    width: float
    height: float
    title: str
    description: str
    _parts: list[str] = field(default_factory=list)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: Sequence[str] = (),
        *,
        colour: str = "ink",
        size: float = SIZE,
        bold_first: bool = False,
        mono: bool = False,
        dashed: bool = False,
        thick: float = 1.5,
    ) -> Box:
        """A box with centred lines of text, outlined in a colour."""
        self._inside(x, y, width, height, "box")
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<rect class="paper {colour}-line" x="{_n(x)}" y="{_n(y)}"'
            f' width="{_n(width)}" height="{_n(height)}" rx="5"'
            f' fill="{COLOURS["paper"]}" stroke="{COLOURS[colour]}"'
            f' stroke-width="{_n(thick)}"{dash}/>'
        )
        tall = len(lines) * size * LINE
        if tall > height - 6:
            raise DoesNotFit(
                f"{self.title}: {len(lines)} lines in a box {_n(height)} high:"
                f" {lines[0]!r}"
            )
        start = y + (height - tall) / 2 + size * (LINE / 2 + 0.35)
        for number, line in enumerate(lines):
            self.label(
                x + width / 2,
                start + number * size * LINE,
                line,
                room=width - 12,
                size=size,
                bold=bold_first and number == 0,
                mono=mono,
            )
        return Box(x, y, width, height)

    def label(
        self,
        x: float,
        y: float,
        text: str,
        *,
        room: float,
        anchor: str = "middle",
        size: float = SIZE,
        colour: str = "ink",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """A line of text, its baseline at ``y``, at most ``room`` wide."""
        wide = text_width(text, size, mono=mono) * (_BOLD if bold else 1)
        if wide > room:
            raise DoesNotFit(
                f"{self.title}: {text!r} needs {wide:.0f}, has {room:.0f}"
            )
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
        self._inside(left, y - size, wide, size * 1.3, repr(text))
        weight = ' font-weight="650"' if bold else ""
        family = f' font-family="{MONO}"' if mono else ""
        self._parts.append(
            f'<text class="{colour}" x="{_n(x)}" y="{_n(y)}"'
            f' font-size="{_n(size)}" text-anchor="{anchor}"'
            f' fill="{COLOURS[colour]}"{weight}{family}>{escape(text)}</text>'
        )

    def line(
        self,
        points: Sequence[tuple[float, float]],
        *,
        colour: str = "ink",
        dashed: bool = False,
        thick: float = 1.5,
    ) -> None:
        """A line through points."""
        for x, y in points:
            self._inside(x, y, 0, 0, "line")
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._parts.append(
            f'<polyline class="{colour}-line" points="{path}" fill="none"'
            f' stroke="{COLOURS[colour]}" stroke-width="{_n(thick)}"{dash}/>'
        )

    def arrow(
        self,
        points: Sequence[tuple[float, float]],
        *,
        colour: str = "ink",
        dashed: bool = False,
        thick: float = 1.5,
    ) -> None:
        """A line through points with a head at the last of them."""
        (x0, y0), (x1, y1) = points[-2], points[-1]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        if length < 10:
            raise DoesNotFit(f"{self.title}: an arrow {length:.0f} long")
        self._inside(x1, y1, 0, 0, "arrow")
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        bx, by = x1 - 9 * ux, y1 - 9 * uy
        self.line(
            [*points[:-1], (bx, by)], colour=colour, dashed=dashed, thick=thick
        )
        corners = [
            (x1, y1),
            (bx - 4.5 * uy, by + 4.5 * ux),
            (bx + 4.5 * uy, by - 4.5 * ux),
        ]
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in corners)
        self._parts.append(
            f'<polygon class="{colour}" points="{path}"'
            f' fill="{COLOURS[colour]}"/>'
        )

    def svg(self) -> str:
        """The finished drawing: one ``<svg>``, the same every time.

        It has no ids, so nothing collides where several share a page.
        """
        size = f"{_n(self.width)} {_n(self.height)}"
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" role="img"'
            f' width="{_n(self.width)}" height="{_n(self.height)}"'
            f' viewBox="0 0 {size}" font-family="{FONT}">'
            f"<title>{escape(self.title)}</title>"
            f"<desc>{escape(self.description)}</desc>"
            f'<rect class="paper" width="{_n(self.width)}"'
            f' height="{_n(self.height)}" fill="{COLOURS["paper"]}"/>'
            f"{''.join(self._parts)}</svg>"
        )

    def _inside(
        self, x: float, y: float, width: float, height: float, what: str
    ) -> None:
        inside = (
            x >= 0
            and y >= 0
            and x + width <= self.width
            and y + height <= self.height
        )
        if not inside:
            raise DoesNotFit(
                f"{self.title}: {what} leaves the drawing at {x:.0f},{y:.0f}"
            )


def _n(number: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
