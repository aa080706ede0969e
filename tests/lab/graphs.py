"""Tiny ONNX graphs and tokenizers that the tests make themselves."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from lab.encoders.specs import ModelFile, ModelSpec

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "hotel", "night", "cost", "酒店")
DIMS = 4


def tokenizer() -> bytes:
    """A tokenizer.json: words by blank, [CLS] … [SEP], type 1 for a pair."""
    special = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    pair = [
        *special,
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
    ]
    return json.dumps(
        {
            "version": "1.0",
            # As some published files do; it must not take effect.
            "truncation": {
                "max_length": 3,
                "strategy": "LongestFirst",
                "stride": 0,
                "direction": "Right",
            },
            "padding": {
                "strategy": {"Fixed": 9},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            },
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": special,
                "pair": pair,
                "special_tokens": {
                    name: {"id": name, "ids": [number], "tokens": [name]}
                    for number, name in enumerate(WORDS[:4])
                },
            },
            "decoder": None,
            "model": {
                "type": "WordLevel",
                "vocab": {word: n for n, word in enumerate(WORDS)},
                "unk_token": "[UNK]",
            },
        }
    ).encode()


def table() -> Any:
    """One row a word: row n is ``(n, n squared, 1, -n)``."""
    return np.array(
        [[n, n * n, 1, -n] for n in range(len(WORDS))], dtype=np.float32
    )


def graph(
    rows: Any,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    *,
    pooled: bool = False,
    kind: int = TensorProto.INT64,
    extra: tuple[Any, ...] = (),
    output: str = "gathered",
) -> bytes:
    """A graph that looks up rows; ``pooled`` sums them over tokens."""
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["gathered"])]
    constants = [numpy_helper.from_array(rows, "rows")]
    if pooled:
        constants.append(
            numpy_helper.from_array(np.array([1], dtype=np.int64), "axes")
        )
        nodes.append(
            helper.make_node(
                "ReduceSum", ["gathered", "axes"], ["sum"], keepdims=0
            )
        )
        output = "sum"
    made = helper.make_graph(
        [*nodes, *extra],
        "tiny",
        [
            helper.make_tensor_value_info(name, kind, ["batch", "tokens"])
            for name in inputs
        ],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        constants,
    )
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    data: bytes = model.SerializeToString()
    return data


def model_file(name: str, data: bytes) -> ModelFile:
    """Return the spec of a file with this content."""
    return ModelFile(name, len(data), hashlib.sha256(data).hexdigest())


def model(
    folder: Path, graph: bytes, words: bytes | None = None, **settings: Any
) -> ModelSpec:
    """Write a model into a folder; return its spec."""
    words = tokenizer() if words is None else words
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(graph)
    (folder / "tokenizer.json").write_bytes(words)
    return ModelSpec(
        **{
            "name": "tiny",
            "role": "encoder",
            "model": model_file("model.onnx", graph),
            "tokenizer": model_file("tokenizer.json", words),
            "licence": "CC0-1.0",
            "dims": DIMS,
            "max_tokens": 8,
            **settings,
        }
    )
