"""A cross-encoder of four known words, for the third track's tests.

``python -m tests.workbook.tiny_model`` writes it where they read it. A
token weighs what ``WEIGHTS`` says, and ten times that in the second text.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from lab.workbook.manifest import track
from tests.lab import graphs
from tests.lab.graphs import np, onnx

helper, TensorProto = onnx.helper, onnx.TensorProto
WEIGHTS = {"hotel": 1, "night": 2, "cost": 4, "酒店": 8}
FILE = track("pgvector-pipeline").tests / "tiny_model.json"


def cross_encoder() -> Any:
    """Return the model: a sum over tokens of weight * (1 + 9 * type)."""
    rows = [float(WEIGHTS.get(word, 0)) for word in graphs.WORDS]
    constants = {
        "rows": np.array(rows, dtype=np.float32),
        "nine": np.array(9, dtype=np.float32),
        "one": np.array(1, dtype=np.float32),
        "axes": np.array([1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["weights"]),
        helper.make_node(
            "Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT
        ),
        helper.make_node("Mul", ["types", "nine"], ["more"]),
        helper.make_node("Add", ["more", "one"], ["factors"]),
        helper.make_node("Mul", ["weights", "factors"], ["parts"]),
        helper.make_node("ReduceSum", ["parts", "axes"], ["score"]),
    ]
    made = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(
                name, TensorProto.INT64, ["batch", "tokens"]
            )
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, None)],
        [
            onnx.numpy_helper.from_array(value, n)
            for n, value in constants.items()
        ],
    )
    return helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


def text() -> str:
    """Return the file: the model in base64, and its tokenizer."""
    data = {
        "model": base64.b64encode(cross_encoder().SerializeToString()).decode(),
        "tokenizer": json.loads(graphs.tokenizer()),
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8", newline="\n")
