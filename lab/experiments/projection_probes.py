"""Small texts that tell one coordinate system, or one parser, from another."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from lab import markdown
from lab.errors import InvalidInput
from lab.experiments import Emit, Refuted, Uses
from lab.fixture import load_fixture
from lab.text import Projection, project, to_utf16

KIND = "core"
PAGE = True
LIMITATIONS = (
    "A handful of texts chosen because they tell two readings apart; not a"
    " sample of documents.",
    "The two tempting readings of headings are the shortest that work on easy"
    " pages, written here; no product's parser was run.",
)

# Composed, 𠮷 beyond the first 65,536 code points, lines ended by LF.
NOTE: Final = "Café 𠮷野: 210\nlunch 45\n"
QUOTE: Final = "210"

# A name, a Markdown text, and its headings by CommonMark's rules.
PAGES: Final = (
    ("comment in a fence", "# A\n```sh\n# stop it\n```\n# B", ["A", "B"]),
    ("a ``` within ~~~", "# A\n~~~\n```\n~~~\n# B", ["A", "B"]),
    ("front matter", "---\n# by hand\ntitle: A\n---\n# B", ["B"]),
    ("HTML comment", "<!--\n# draft\n-->\n# B", ["B"]),
    ("line separator", "a\u2028# b\n# C", ["C"]),
    ("underlined", "A\n===\ntext", ["A"]),
    ("ends in #", "## C# ##", ["C#"]),
)

SECTION: Final = '{"title":"A","sections":[{"heading":"B","text":%s}]}'
# What cannot be read, with its format.
REFUSED: Final = (
    ("text", "before\x00after"),
    ("text", "caf\ud800"),
    ("json", SECTION % '"c","text":"d"'),
    ("json", SECTION % "NaN"),
    ("json", SECTION % '"c","author":"d"'),
    ("json", SECTION % '"c\\ud800"'),
)


def uses() -> Uses:
    """Return the documents whose blocks are counted."""
    return Uses(
        fixture=load_fixture().digest,
        flags={"markdown": markdown.VERSION},
    )


def run(emit: Emit) -> dict[str, Any]:
    """Return what each probe showed; ``Refuted`` where it fails."""
    return {
        "savings": _savings(emit),
        "rulers": _rulers(emit),
        "headings": _headings(emit),
        "refused": _refused(emit),
        "fixture": _tiles(emit),
    }


def _savings(emit: Emit) -> list[dict[str, Any]]:
    saved = {
        "LF, composed": NOTE,
        "CRLF": NOTE.replace("\n", "\r\n"),
        "CR": NOTE.replace("\n", "\r"),
        "byte order mark": "\ufeff" + NOTE,
        "decomposed": unicodedata.normalize("NFD", NOTE),
    }
    emit("one note as saved    bytes  code points  projected  digest")
    rows = []
    for name, text in saved.items():
        projection = project("text", text)
        row = {
            "saved": name,
            "bytes": len(text.encode()),
            "points": len(text),
            "projected": len(projection.body),
            "digest": projection.sha256[:8],
        }
        emit(
            f"{name:<20} {row['bytes']:>5}  {row['points']:>11}"
            f"  {row['projected']:>9}  {row['digest']}"
        )
        if projection.body != NOTE:
            raise Refuted(f"{name}: the same text has the same projection")
        rows.append(row)
    emit("")
    return rows


def _rulers(emit: Emit) -> list[dict[str, Any]]:
    body = project("text", NOTE).body
    start = body.index(QUOTE)
    end = start + len(QUOTE)
    units = to_utf16(body, start, end)
    before = len(body[:start].encode())
    spans = {
        "code points": (start, end),
        "UTF-16 units": (units.start, units.end),
        "UTF-8 bytes": (before, before + len(QUOTE.encode())),
    }
    emit(f"where {QUOTE!r} stands, and what the lab would cut there")
    rows = []
    for unit, (first, last) in spans.items():
        cut = body[first:last]
        emit(f"{unit:<14} [{first}, {last})   {cut!r}")
        rows.append({"unit": unit, "start": first, "end": last, "cut": cut})
    if rows[0]["cut"] != QUOTE:
        raise Refuted("a span of code points is the quotation")
    emit("")
    return rows


def _line_by_line(text: str, *, fences: bool) -> list[str]:
    """Read headings the tempting way, or the way it is then mended."""
    found = []
    fenced = False
    for line in text.splitlines():
        if fences and line.startswith(("```", "~~~")):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            found.append(line.strip("# "))
    return found


def _headings(emit: Emit) -> dict[str, Any]:
    emit(
        f"{'a page with':<20} {'line by line':<16} {'fences mended':<16}"
        " the scanner"
    )
    rows = []
    for name, text, expected in PAGES:
        plain = _line_by_line(text, fences=False)
        mended = _line_by_line(text, fences=True)
        found = [h.text for h in markdown.headings(markdown.scan(text))]
        emit(
            f"{name:<20} {', '.join(plain) or '-':<16}"
            f" {', '.join(mended) or '-':<16} {', '.join(found)}"
        )
        if found != expected:
            raise Refuted(f"{name}: the headings are {expected}")
        rows.append(
            {"page": name, "plain": plain, "mended": mended, "found": found}
        )
    emit("")
    return {
        "pages": len(rows),
        "plain_right": sum(row["plain"] == row["found"] for row in rows),
        "mended_right": sum(row["mended"] == row["found"] for row in rows),
        "rows": rows,
    }


def _refused(emit: Emit) -> list[str]:
    emit("refused, each with its place")
    messages = []
    for format, source in REFUSED:
        try:
            project(format, source)
        except InvalidInput as error:
            messages.append(str(error))
            emit(f"  {error}")
        else:
            raise Refuted(f"{source!a} is refused")
    emit("")
    return messages


def _tiles(emit: Emit) -> dict[str, int]:
    """Put every document together again from its blocks."""
    documents = load_fixture().documents
    blocks = 0
    for document in documents:
        projection = project(document.format, document.source)
        blocks += _tile(projection)
    emit(
        f"{len(documents)} documents of the fixture: {blocks:,} blocks, which"
        " joined give each body back"
    )
    return {"documents": len(documents), "blocks": blocks}


def _tile(projection: Projection) -> int:
    body = projection.body
    found = markdown.scan(body)
    if "".join(body[block.start : block.end] for block in found) != body:
        raise Refuted("the blocks of a text, joined, are the text")
    return len(found)
