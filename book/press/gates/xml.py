"""Whatever calls itself XML is XML.

Content documents, drawings and the package of both e-books, and the XML
that lies about in the site. A page may look right in a browser, which
mends it, and fail in a reading system, which must not.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged
from book.press.problems import Problem

_SUFFIXES = (".xhtml", ".xml", ".svg", ".opf", ".ncx")


def run(staging: Path, _context: BuildContext) -> GateResult:
    """Parse every document and report the first fault of each."""
    findings = []
    documents = 0
    for name, content in _documents(staging):
        documents += 1
        findings += _faults(name, content)
    return judged(findings, f"{documents} documents")


def _documents(staging: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(staging.rglob("*")):
        name = path.relative_to(staging).as_posix()
        if path.suffix == ".epub":
            with zipfile.ZipFile(path) as book:
                for member in book.namelist():
                    if member.endswith(_SUFFIXES):
                        yield f"{name}!{member}", book.read(member)
        elif path.suffix in _SUFFIXES and path.is_file():
            yield name, path.read_bytes()


def _faults(name: str, content: bytes) -> list[Problem]:
    parser = expat.ParserCreate()
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        said = expat.ErrorString(error.code)
        return [Problem(name, error.lineno, f"is not XML: {said}")]
    return []


GATE = Gate("XHTML is XML", run, order=10)
