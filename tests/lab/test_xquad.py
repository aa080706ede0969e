"""XQuAD as we use it: small stand-ins for the data, one run on the real."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lab.encoders.hashing import SignedHashing
from lab.evaluation import public, xquad
from lab.evaluation.xquad import Remembering
from lab.experiments import Unavailable


def article(title: str, *passages: tuple[str, list[str]]) -> dict[str, Any]:
    return {
        "title": title,
        "paragraphs": [
            {
                "context": text,
                "qas": [
                    {"id": f"{title}{n}{k}", "question": q, "answers": []}
                    for k, q in enumerate(questions)
                ],
            }
            for n, (text, questions) in enumerate(passages)
        ],
    }


SMALL = {
    "version": "1.1",
    "data": [
        article(
            "The_Moon",
            ("The moon is grey and far.", ["How far is the moon?"]),
            ("Tides follow it.", ["What do tides follow?", "zzz"]),
        ),
        article("Tea", ("Tea is grown on hills.", ["Where is tea grown?"])),
    ],
}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three passages in place of 240, pinned by their own digest."""
    folder = tmp_path / "xquad"
    folder.mkdir()
    data = json.dumps(SMALL).encode()
    (folder / "xquad.en.json").write_bytes(data)
    pinned = replace(
        public.XQUAD,
        files={"xquad.en.json": hashlib.sha256(data).hexdigest()},
    )
    monkeypatch.setattr(xquad, "XQUAD", pinned)
    monkeypatch.setenv(public.VARIABLE, str(tmp_path))
    xquad.collection.cache_clear()
    yield folder
    xquad.collection.cache_clear()


def test_each_question_has_the_passage_it_was_written_for(
    small: Path,
) -> None:
    found = xquad.collection("en")
    assert [p.title for p in found.passages] == ["The Moon", "The Moon", "Tea"]
    assert [q.doc_id for q in found.questions] == [
        "p000",
        "p001",
        "p001",
        "p002",
    ]


def test_the_measures_of_a_run_are_those_of_its_ranks(small: Path) -> None:
    with xquad.opened(None, "en") as index:
        run = xquad.run(index, "en", mode="lexical")
    # "zzz" finds nothing and counts as zero; the others come first.
    assert run.values("recall_at_1") == [1, 1, 0, 1]
    assert run.means()["mrr_at_10"].value == Fraction(3, 4)
    claims = xquad.to_claims(run)
    assert (claims["mrr_at_10"], claims["n"]) == (0.75, 4)
    assert xquad.difference(run, run, "mrr_at_10").value == 0


def test_a_passage_that_is_not_one_chunk_stops_it(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xquad, "CHUNKER", type(xquad.CHUNKER)(16, 0))
    with pytest.raises(ValueError, match="chunks, not 1"):
        xquad.opened(None, "en")


def test_titles_stand_above_passages_only_when_asked(small: Path) -> None:
    for titled, title in ((False, "Untitled"), (True, "Tea")):
        with xquad.opened(None, "en", titled=titled) as index:
            hit = index.search("hills", xquad.READER).hits[0]
            assert hit.title == title


def test_remembering_encodes_a_text_once_and_changes_no_row() -> None:
    calls: list[tuple[str, ...]] = []

    class Counting(SignedHashing):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> Any:
            calls.append(tuple(texts))
            return super().encode(texts, query=query)

    plain = SignedHashing()
    remembering = Remembering(Counting())
    for texts in (["a", "b", "a"], ["b", "c"]):
        assert remembering.encode(texts) == plain.encode(texts)
    assert calls == [("a", "b"), ("c",)]
    remembering.encode(["a"], query=True)
    assert calls[-1] == ("a",)


def test_data_that_is_not_there_or_not_the_same_is_not_used(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small / "xquad.en.json"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(Unavailable, match="is not the pinned file"):
        xquad.collection("en")
    path.unlink()
    with pytest.raises(Unavailable, match="No such file"):
        xquad.collection("en")
    monkeypatch.delenv(public.VARIABLE)
    with pytest.raises(Unavailable, match="CC BY-SA"):
        xquad.collection("en")


@pytest.mark.data
def test_the_real_collection_is_parallel() -> None:
    xquad.collection.cache_clear()
    english, chinese = xquad.collection("en"), xquad.collection("zh")
    for found in (english, chinese):
        assert (len(found.passages), len(found.questions)) == (240, 1190)
        assert max(len(p.text) for p in found.passages) <= 4096
    assert [(q.id, q.doc_id) for q in english.questions] == [
        (q.id, q.doc_id) for q in chinese.questions
    ]
