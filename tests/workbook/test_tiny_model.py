"""The model that the third track's tests read is the one that we make."""

from __future__ import annotations

import base64
import json

from tests.lab import graphs
from tests.workbook import tiny_model


def test_the_tiny_model_is_what_its_maker_makes() -> None:
    kept = json.loads(tiny_model.FILE.read_text("utf-8"))
    model = graphs.onnx.load_from_string(base64.b64decode(kept["model"]))
    # Compared as it is read: packages need not write the same bytes.
    assert model == tiny_model.cross_encoder()
    assert kept["tokenizer"] == json.loads(graphs.tokenizer())
