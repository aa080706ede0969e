"""The notebook of the track prototype, run as a reader runs it."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from lab.workbook.manifest import track

TRACK = track("prototype")

pytestmark = pytest.mark.slow


def opened(
    folder: Path,
) -> tuple[nbformat.NotebookNode, nbclient.NotebookClient]:
    book = nbformat.read(folder / "retrieval_prototype.ipynb", as_version=4)
    nbformat.validate(book)
    client = nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", allow_errors=False
    )
    return book, client


def printed(book: nbformat.NotebookNode) -> str:
    return "".join(
        output.text
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream"
    )


def test_the_solution_passes_its_five_self_checks() -> None:
    book, client = opened(TRACK.reference)
    client.execute()
    told = printed(book)
    assert re.findall(r"Self-check (\d) passed", told) == list("12345")


def test_the_starter_stops_kindly_at_its_first_self_check() -> None:
    book, client = opened(TRACK.starter)
    with pytest.raises(CellExecutionError):
        client.execute()
    (error,) = [
        output
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "error"
    ]
    assert error.traceback == [
        "Self-check 1 does not pass yet. Stage 01: cut the text into"
        " overlapping chunks of words"
    ]
    assert "passed" not in printed(book)
