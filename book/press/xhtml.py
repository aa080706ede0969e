"""Markup that reads the same as XML and as HTML.

EPUB wants XML, browsers read HTML, and both must show the same blocks. What
is written here is both at once: void elements close themselves, every other
element has an end tag, and namespaces stand only on ``<svg>`` and
``<math>``, where HTML allows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from lxml import etree

_FOREIGN: Final = {
    "svg": "http://www.w3.org/2000/svg",
    "math": "http://www.w3.org/1998/Math/MathML",
}
_VOID: Final = frozenset(
    ["area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"]
)
_ATTRIBUTE_SPACES: Final = {
    "http://www.w3.org/XML/1998/namespace": "xml:",
    "http://www.idpf.org/2007/ops": "epub:",
    # SVG 2 reads plain href; HTML has no xlink prefix to declare.
    "http://www.w3.org/1999/xlink": "",
}


def local_name(element: etree._Element) -> str:
    """The name without its namespace; ``""`` for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def text_of(element: etree._Element) -> str:
    """All the text in an element, as it stands."""
    return "".join(str(piece) for piece in element.itertext())


def is_chrome(element: etree._Element) -> bool:
    """Whether the element is no content: a number, a button, a back-link."""
    return element.get("data-chrome") is not None


def classes(element: etree._Element) -> list[str]:
    """The element's classes, in order."""
    return (element.get("class") or "").split()


def tex_of(math: etree._Element) -> str:
    """The TeX of a formula; ``ValueError`` when it carries none."""
    for element in math.iter("{*}annotation"):
        if element.text:
            return str(element.text)
    raise ValueError("a formula has no TeX annotation")


def _attributes(element: etree._Element) -> dict[str, str]:
    return {str(key): str(value) for key, value in element.attrib.items()}


def escape(text: str) -> str:
    """Text as it may stand between tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_attribute(text: str) -> str:
    """Text as it may stand between double quotes."""
    escaped = escape(text).replace('"', "&quot;")
    # A parser turns a raw line end or TAB in an attribute into a space.
    return (
        escaped.replace("\t", "&#9;")
        .replace("\n", "&#10;")
        .replace("\r", "&#13;")
    )


def serialise(element: etree._Element) -> str:
    """The element and all that is in it, comments left out; no tail.

    Raises ``ValueError`` for a ``<pre>`` that begins with a line end, which
    HTML would swallow and XML would keep.
    """
    return "".join(_pieces(element, foreign=False))


def _pieces(element: etree._Element, foreign: bool) -> Iterator[str]:
    name = local_name(element)
    attributes = [
        f' {_attribute_name(key)}="{escape_attribute(value)}"'
        for key, value in _attributes(element).items()
    ]
    if name in _FOREIGN and not foreign:
        attributes.insert(0, f' xmlns="{_FOREIGN[name]}"')
        foreign = True
    opening = f"<{name}{''.join(attributes)}"
    text = element.text or ""
    if name == "pre" and text.startswith("\n"):
        raise ValueError("a <pre> begins with a line end")
    if not text and not len(element) and (foreign or name in _VOID):
        yield f"{opening}/>"
        return
    yield f"{opening}>{escape(text)}"
    for child in element:
        if isinstance(child.tag, str):
            yield from _pieces(child, foreign)
        yield escape(child.tail or "")
    yield f"</{name}>"


def _attribute_name(key: str) -> str:
    if not key.startswith("{"):
        return key
    space, _, name = key[1:].partition("}")
    try:
        return _ATTRIBUTE_SPACES[space] + name
    except KeyError:
        raise ValueError(f"attribute {name} is in namespace {space}") from None


def without(root: etree._Element, names: Iterable[str]) -> None:
    """Take out every element with one of these names, in any namespace.

    The text behind each stays where it is. The root itself is kept.
    """
    for name in names:
        for element in list(root.iter(f"{{*}}{name}")):
            parent = element.getparent()
            if parent is None:
                continue
            before = element.getprevious()
            tail = element.tail or ""
            if before is not None:
                before.tail = (before.tail or "") + tail
            else:
                parent.text = (parent.text or "") + tail
            parent.remove(element)


# Punctuation that ends or joins, and so may not begin a line.
_STOPS: Final = re.compile(r"[.,;:!?)\]}’”…%。，、；：！？）】》」』]+")


def keep_with_stop(root: etree._Element) -> None:
    """Let no line begin with the punctuation that follows a formula.

    A formula is an object to the line breaker, which breaks on both sides:
    both go into a ``<span class="keep">``, which is not to be broken.
    """
    for math in list(root.iter("{*}math")):
        stop = _STOPS.match(math.tail or "")
        if stop is None or math.getparent() is None:
            continue
        rest = (math.tail or "")[stop.end() :]
        box = etree.Element("span", {"class": "keep"})
        math.addprevious(box)
        box.append(math)
        math.tail = stop[0]
        box.tail = rest


def mark_lines(root: etree._Element) -> None:
    """Put every line of code into a ``<span class="l">`` of its own.

    A line that is a box of its own can wrap with a hanging indent. The text
    is unchanged: the line end stays, as the last character of its line.
    """
    for pre in list(root.iter("{*}pre")):
        code = pre.find("{*}code")
        if code is not None:
            _mark_code(code)


def _mark_code(code: etree._Element) -> None:
    lines: list[etree._Element] = []
    line: etree._Element | None = None
    # Elements of the source, each with its copy in the line being made.
    opened: list[tuple[etree._Element, etree._Element]] = []
    for stack, text in list(_runs(code, ())):
        for piece in re.findall(r"[^\n]*\n|[^\n]+", text):
            if line is None:
                line = etree.Element(str(code.tag).replace("code", "span"))
                line.set("class", "l")
                lines.append(line)
                opened = []
            common = 0
            for (source, _), wanted in zip(opened, stack, strict=False):
                if source is not wanted:
                    break
                common += 1
            del opened[common:]
            for source in stack[common:]:
                parent = opened[-1][1] if opened else line
                made = etree.SubElement(parent, source.tag, _attributes(source))
                opened.append((source, made))
            _append_text(opened[-1][1] if opened else line, piece)
            if piece.endswith("\n"):
                line = None
    for child in list(code):
        code.remove(child)
    code.text = None
    code.extend(lines)


def _runs(
    element: etree._Element, stack: tuple[etree._Element, ...]
) -> Iterator[tuple[tuple[etree._Element, ...], str]]:
    """Every run of text with the elements it stands in, outermost first."""
    yield stack, element.text or ""
    for child in element:
        yield from _runs(child, (*stack, child))
        yield stack, child.tail or ""


def _append_text(element: etree._Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
