"""The content map: editions from blocks, outputs from artefacts only."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from book.press import contentmap, readback
from book.press.context import BuildContext
from book.press.problems import Problems
from book.press.readback import Read
from tests.press.sample import sample_editions

OUTPUTS = [
    f"{name}/{lang}"
    for name in ("epub", "html", "md", "site")
    for lang in ("en", "zh")
]


def read(lang: str) -> dict[str, list[Read]]:
    """What a faultless output would hold."""
    return {
        chapter.slug: [
            Read(block.id, block.kind, block.text, 1)
            for block in chapter.blocks
        ]
        for chapter in sample_editions()[lang].chapters
    }


def context(root: Path) -> BuildContext:
    return BuildContext(root, "s" * 64, 0, "1.0.0", False)


def test_the_map_lists_every_block_of_every_edition() -> None:
    blocks = contentmap.blocks_of(sample_editions())
    made = contentmap.content_map(blocks, {}, "abc")
    assert list(made) == ["schema", "source", "editions", "outputs"]
    first = made["editions"]["en"][0]
    assert first["slug"] == "00-preface"
    assert first["blocks"][0] == {
        "id": "00-preface-0001",
        "kind": "heading",
        "sha256": hashlib.sha256(b"Preface").hexdigest(),
    }
    assert [len(c["blocks"]) for c in made["editions"]["zh"]] == [2, 19, 3]


def test_what_is_written_comes_from_the_artefacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = {name: read(name[-2:]) for name in OUTPUTS}
    monkeypatch.setattr(readback, "read_outputs", lambda _: outputs)
    contentmap.write(sample_editions(), tmp_path, context(tmp_path))
    made = json.loads((tmp_path / contentmap.NAME).read_text("utf-8"))
    assert made["source"] == "s" * 64
    assert sorted(made["outputs"]) == OUTPUTS
    listed = made["editions"]["zh"][1]["blocks"]
    assert made["outputs"]["site/zh"]["05-lexical-baseline"] == [
        [block["id"], block["sha256"]] for block in listed
    ]


def test_a_block_missing_from_one_output_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = {name: read(name[-2:]) for name in OUTPUTS}
    del outputs["epub/zh"]["05-lexical-baseline"][7]
    monkeypatch.setattr(readback, "read_outputs", lambda _: outputs)
    with pytest.raises(Problems) as caught:
        contentmap.write(sample_editions(), tmp_path, context(tmp_path))
    (problem,) = caught.value.problems
    assert "05-lexical-baseline-0008" in problem.message
    assert not (tmp_path / contentmap.NAME).exists()


def test_an_output_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problems, match="cannot be read"):
        contentmap.write(sample_editions(), tmp_path, context(tmp_path))


def test_a_map_that_lists_something_else_than_the_outputs_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = {name: read(name[-2:]) for name in OUTPUTS}
    monkeypatch.setattr(readback, "read_outputs", lambda _: outputs)
    contentmap.write(sample_editions(), tmp_path, context(tmp_path))
    assert contentmap.disagreements(tmp_path) == ([], 8 * 24)
    path = tmp_path / contentmap.NAME
    made = json.loads(path.read_text("utf-8"))
    del made["outputs"]["md/en"]["00-preface"]
    path.write_text(json.dumps(made))
    (problem,), _ = contentmap.disagreements(tmp_path)
    assert problem.message == "does not list what the outputs hold"
