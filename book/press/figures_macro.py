"""The macro that draws a figure by the code in ``book/figures``."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from book.press.faults import MacroError, nearest
from book.press.macros import Call, Captioned
from book.press.xhtml import escape

_SVG = "{http://www.w3.org/2000/svg}"


def figure(
    call: Call, name: str, *, caption: str, alt: str = "", label: str = ""
) -> Captioned:
    """The drawing, inline, with ids of its own.

    ``alt`` takes the place of the drawing's description.
    """
    folder = call.library.root / "book" / "figures"
    path = folder / f"{name}.py"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or not path.is_file():
        there = [one.stem for one in folder.glob("[a-z]*.py")]
        raise MacroError(f"there is no figure {name!r}", nearest(name, there))
    try:
        drawn = _draw(path)(call.lang)
    except Exception as error:
        message = f"book/figures/{path.name}: {type(error).__name__}: {error}"
        raise MacroError(message) from None
    prefix = f"{call.page.slug}-{name.replace('_', '-')}-"
    return Captioned(
        "figure", finished(drawn, alt, prefix, name), caption, label
    )


def finished(svg: str, alt: str, prefix: str, name: str) -> str:
    """A drawing fit for the page: described, ids prefixed, one line.

    Raises ``MacroError`` when it is not one ``<svg>`` with a title and a
    description, or draws on anything outside itself.
    """
    svg = svg[svg.find("<svg") :].strip()
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise MacroError(f"{name} is not valid SVG: {error}") from None
    if root.tag != f"{_SVG}svg" or root.get("role") != "img":
        raise MacroError(f'{name} is not an <svg role="img">')
    if not (root.findtext(f"{_SVG}title") or "").strip():
        raise MacroError(f"{name} has no <title>")
    if not alt and not (root.findtext(f"{_SVG}desc") or "").strip():
        raise MacroError(f"{name} has no <desc>", "describe it, or give alt")
    if re.search(r'(?:href|src)="(?!#)|@import|<script|<image', svg):
        raise MacroError(f"{name} draws on something outside itself")
    if alt:
        description = escape(alt)
        if "<desc" in svg:
            svg = re.sub(
                r"(<desc[^>]*>).*?(</desc>)",
                lambda found: found[1] + description + found[2],
                svg,
                count=1,
                flags=re.DOTALL,
            )
        else:
            svg = svg.replace(
                "</title>", f"</title><desc>{description}</desc>", 1
            )
    svg = re.sub(r'\sid="([^"]+)"', rf' id="{prefix}\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', svg)

    def listed(match: re.Match[str]) -> str:
        ids = " ".join(prefix + one for one in match[2].split())
        return f'{match[1]}="{ids}"'

    return re.sub(r'(aria-(?:labelledby|describedby))="([^"]+)"', listed, svg)


def _draw(path: Path) -> Callable[[str], str]:
    """The figure's ``draw``, from its own file and no other."""
    spec = importlib.util.spec_from_file_location(f"_figure_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise MacroError(f"book/figures/{path.name} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while it is being made.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    draw: Callable[[str], str] = module.draw
    return draw
