"""What is recorded of models: it reproduces, and it meets its bar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab import cli, evidence, experiments
from lab.encoders import specs
from lab.errors import NotFound


def claims(name: str) -> dict[str, Any]:
    try:
        return dict(evidence.read(name).data["claims"])
    except NotFound:
        pytest.skip(f"{name} is not recorded")


def needs(*modules: str) -> None:
    for module in modules:
        pytest.importorskip(module)


def test_the_record_is_of_the_model_that_ships() -> None:
    data = evidence.read("model-fixture").data
    spec = specs.shipped()
    assert data["encoder"] == spec.fingerprint
    assert data["claims"]["file"]["sha256"] == spec.model.sha256


def test_evaluate_with_the_shipped_model_reproduces_the_record(
    tmp_path: Path,
) -> None:
    needs("onnxruntime", "tokenizers", "numpy")
    target = tmp_path / "measures.json"
    words = ["evaluate", "--encoder", "shipped", "--output", str(target)]
    assert cli.main(words) == 0
    found = json.loads(target.read_text("utf-8"))["measures"]
    recorded = claims("model-fixture")["reports"]["default"]
    overall = found.pop("overall")
    assert round(overall["mrr@10"]["value"], 3) == round(
        recorded["mrr_at_10"], 3
    )
    for kind, means in found.items():
        for name in ("recall@10", "mrr@10"):
            wanted = recorded["by_kind"][kind][name.replace("@", "_at_")]
            assert round(means[name]["value"], 3) == round(wanted, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model-fixture", "model-defaults"])
def test_what_the_shipped_model_does_on_the_fixture_reproduces(
    name: str,
) -> None:
    needs("onnxruntime", "tokenizers", "numpy")
    assert evidence.check(experiments.load(name)) == []


def test_the_model_helps_where_terms_cannot() -> None:
    found = claims("model-fixture")["reports"]
    for kind in ("paraphrase", "cross-language"):
        model = found["shipped_hybrid"]["by_kind"][kind]
        terms = found["counts_hybrid"]["by_kind"][kind]
        assert model["intervals"]["mrr_at_10"]["low"] > terms["mrr_at_10"]
    meanings = claims("model-fixture")["meanings"]
    assert meanings["shipped"]["right"] == meanings["shipped"]["of"]
    assert meanings["counts"]["right"] == 0


def test_the_model_is_at_least_the_prototype_on_public_questions() -> None:
    found = claims("xquad-shipped")
    for direction, least in (
        ("en_zh", 0.78),
        ("zh_en", 0.83),
        ("en_en", 0.93),
        ("zh_zh", 0.96),
    ):
        assert found[direction]["shipped"]["recall_at_10"] >= least


def test_our_bm25_is_the_outside_one_within_a_language() -> None:
    found = claims("xquad-lexical")
    for direction in ("en_en", "zh_zh"):
        assert all(abs(v) <= 0.005 for v in found[direction]["apart"].values())


def test_what_others_may_read_changed_no_search() -> None:
    found = claims("xquad-unseen")
    assert found["same"] == found["searches"] > 0
    assert len(set(found["right_first"])) == 1


def test_the_title_rule_does_no_harm_and_the_one_before_did() -> None:
    found = claims("xquad-rerank")
    assert found["title"]["minus_none"]["low"] >= 0
    assert found["any_title_term"]["minus_none"]["high"] < 0


def test_the_weighed_votes_are_those_of_the_index_when_equal() -> None:
    weighed = claims("fusion-weights")
    searched = claims("xquad-shipped")
    assert len(weighed) == 4
    for direction, found in weighed.items():
        for way, run in (
            ("equal", "hybrid"),
            ("shipped", "shipped"),
            ("lexical", "lexical"),
        ):
            ours = found["ways"][way]
            assert ours == {k: searched[direction][run][k] for k in ours}
