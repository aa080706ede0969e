"""Stage 8: models of this machine, loaded late, measured in a fresh table."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from local_models import (
    CROSS_ENCODER,
    MODELS_VARIABLE,
    TABLE,
    LocalEmbedder,
    LocalFigures,
    aggregate,
    load_cross_encoder,
    local_embedder,
    local_reranker,
    measure_local,
    record_run,
)
from pipeline_types import Chunk, Hit, Scores
from reranking import Bm25Reranker, cosine
from store import ChunkStore, DimensionMismatch, float32, index_chunks

HERE = Path(__file__).parent
FIGURES = json.loads((HERE / "figures.json").read_text("utf-8"))["local"]
MEASURES = ("recall", "mrr", "ndcg")
DAY = date(2026, 3, 1)


class Model:
    """Behaves like an encoder; counts how often it is loaded and called."""

    def __init__(self, *rows: Sequence[float], dims: int = 2) -> None:
        self.rows = rows
        self.dims = dims
        self.loaded = 0
        self.asked: list[tuple[list[str], bool]] = []

    def load(self) -> Model:
        """Return itself, loaded."""
        self.loaded += 1
        return self

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Sequence[float]]:
        """Return the rows it was made with, whatever the texts."""
        self.asked.append((list(texts), query))
        return list(self.rows)


class Lengths:
    """An encoder of five numbers: the lengths of five stretches of text."""

    dims = 5

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[list[float]]:
        """Return the number of letters e, a, o, t, s of each text."""
        return [[float(text.count(one)) for one in "eaots"] for text in texts]


def chunk(name: str, text: str = "") -> Chunk:
    """Return a chunk of this id."""
    return Chunk(name, "memo", 0, "", text, 0, len(text))


def hits(*texts: str) -> list[Hit]:
    """Return hits with these texts; ids are their places."""
    return [
        Hit(chunk(str(place), text), 1.0, place + 1)
        for place, text in enumerate(texts)
    ]


def test_nothing_to_embed_loads_nothing() -> None:
    """Return [] before you look for the model."""
    model = Model()
    made = LocalEmbedder(model.load, 2)
    assert made.embed([]) == []
    assert model.loaded == 0, "the model was loaded for no texts"


def test_a_model_is_loaded_once_and_late() -> None:
    """Keep what load returned; load at the first texts."""
    model = Model([1.0, 0.0])
    made = LocalEmbedder(model.load, 2)
    made.embed(["oil"])
    made.embed(["gas"])
    assert model.loaded == 1


def test_a_model_that_could_not_be_loaded_is_tried_again() -> None:
    """Remember the model when there is one, and not that you tried."""
    model = Model([1.0, 0.0])
    failures = [OSError("not there yet")]

    def load() -> Model:
        if failures:
            raise failures.pop()
        return model.load()

    made = LocalEmbedder(load, 2)
    with pytest.raises(OSError, match="not there"):
        made.embed(["oil"])
    assert made.embed(["oil"]) == [(1.0, 0.0)]


def test_all_texts_go_in_one_call_and_questions_are_said_to_be() -> None:
    """Pass `query` on: some models put other words before a question."""
    model = Model([1.0, 0.0], [0.0, 1.0])
    made = LocalEmbedder(model.load, 2)
    made.embed(["oil", "gas"])
    made.embed(("why", "how"), query=True)
    assert model.asked == [(["oil", "gas"], False), (["why", "how"], True)]


def test_vectors_have_length_one_and_zeros_stay() -> None:
    """Divide by the length, not by zero; then round by float32."""
    made = LocalEmbedder(Model([3.0, 4.0], [0.0, 0.0]).load, 2)
    assert made.embed(["a", "?"]) == [float32((0.6, 0.8)), (0.0, 0.0)]


@pytest.mark.parametrize(
    "rows",
    [[], [[1.0, 0.0]] * 2, [[1.0]], [[1.0, math.nan]], [[math.inf, 0.0]]],
    ids=["none", "two", "short", "nan", "inf"],
)
def test_rows_that_are_nonsense_are_refused(rows: list[list[float]]) -> None:
    """One row of `dims` finite numbers for each text, or ValueError."""
    made = LocalEmbedder(Model(*rows).load, 2)
    with pytest.raises(ValueError, match="model gave"):
        made.embed(["oil"])


def test_a_model_of_another_dimension_leaves_the_table_empty(
    connection: Any, schema: str
) -> None:
    """Compare the loaded model's dims with those promised, and raise."""
    made = LocalEmbedder(Model([1.0, 0.0, 0.0], dims=3).load, 2)
    with pytest.raises(DimensionMismatch, match=r"3 .*2"):
        made.embed(["oil"])
    store = ChunkStore(connection, schema, 2, "narrow")
    store.create()
    with pytest.raises(DimensionMismatch):
        index_chunks(store, made, [chunk("memo#000", "oil")])
    assert store.count() == 0


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of models, named by the variable, and empty."""
    folder = tmp_path / "models"
    monkeypatch.setenv(MODELS_VARIABLE, str(folder))
    return folder


def test_a_model_is_known_before_it_is_loaded(models: Path) -> None:
    """Take dims from the spec; only embed may call OnnxEncoder."""
    from lab.errors import EncoderError

    # It makes 512 numbers, and its files are not here.
    absent = local_embedder("bge-small-zh-v1.5")
    assert absent.dims == 512
    with pytest.raises(EncoderError, match="fetch-model bge-small-zh"):
        absent.embed(["oil"])
    assert not models.exists()
    made = local_embedder("shipped")
    assert made.dims == 256
    assert made.encoder is None, "the model was loaded when it was named"
    assert len(made.embed(["oil"])[0]) == 256
    assert made.encoder is not None


def test_the_shipped_model_knows_words_that_share_no_letters() -> None:
    """Put local_embedder's vectors beside each other: meaning, not spelling."""
    made = local_embedder()
    boat, vessel, theatre = made.embed(["boat", "vessel", "theatre"])
    assert cosine(boat, vessel) > cosine(boat, theatre) + 0.1
    assert math.isclose(math.hypot(*boat), 1, abs_tol=1e-6)
    assert set(made.embed(["?!"])[0]) == {0.0}


@pytest.fixture
def tiny(models: Path, tmp_path: Path) -> Path:
    """Put a cross-encoder of four words where models are; return where.

    hotel weighs 1, night 2, cost 4; in the second text ten times that.
    """
    from lab import fetching

    data = json.loads((HERE / "tiny_model.json").read_text("utf-8"))
    source = tmp_path / "source"
    source.mkdir()
    (source / "model.onnx").write_bytes(base64.b64decode(data["model"]))
    words = json.dumps(data["tokenizer"], ensure_ascii=False)
    (source / "tokenizer.json").write_text(words, "utf-8")
    return fetching.fetch(CROSS_ENCODER, source).folder


def test_a_cross_encoder_reads_the_query_first_then_the_text(
    tiny: Path,
) -> None:
    """graph.tokens(query, text): 1 for hotel, 60 for night and cost."""
    score = load_cross_encoder()
    assert tiny.is_dir()
    pairs = [("hotel", "night cost"), ("night cost", "hotel"), ("", "")]
    assert list(score(pairs)) == [61.0, 16.0, 0.0]


def test_a_cross_encoder_puts_hits_in_its_order(tiny: Path) -> None:
    """local_reranker is stage 4's; equal scores keep their order."""
    assert load_cross_encoder()([("hotel", "oil")]) == [1.0]
    reranker = local_reranker()
    found = reranker.rerank("hotel", hits("hotel", "cost", "oil", "gas"))
    assert tiny.is_dir()
    assert [hit.chunk.chunk_id for hit in found] == ["1", "0", "2", "3"]
    assert [hit.score for hit in found] == [41.0, 11.0, 1.0, 1.0]


def test_a_model_that_is_not_there_is_said_where_it_should_be(
    models: Path,
) -> None:
    """Look in the folder that the variable names; let the error through."""
    from lab.errors import EncoderError

    with pytest.raises(EncoderError, match=r"fetch-model cross-encoder"):
        load_cross_encoder()
    assert not models.exists()


def test_a_model_that_says_two_things_of_a_pair_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One number for a pair, or ValueError saying how many there were."""
    import numpy as np

    from lab.encoders import onnx

    class Torn:
        def __init__(self, spec: Any) -> None:
            self.spec = spec

        def tokens(self, text: str, second: str) -> str:
            return text + second

        def run(self, tokens: str) -> Any:
            return np.array([0.5, 0.5])

    monkeypatch.setattr(onnx, "Graph", Torn)
    with pytest.raises(ValueError, match="2 numbers"):
        load_cross_encoder()([("hotel", "night")])


def test_an_encoder_is_no_cross_encoder() -> None:
    """Look at spec.role before you make a Graph."""
    with pytest.raises(ValueError, match="shipped: is a model of role encoder"):
        load_cross_encoder("shipped")


@pytest.fixture(scope="module")
def wide(connection: Any, schema: str) -> Any:
    """Return what measures a model of five numbers, once, and its table."""
    name = f"{schema}_five"
    found: list[LocalFigures] = []

    def measure() -> tuple[LocalFigures, ChunkStore]:
        if not found:
            embedder, reranker = LocalEmbedder(Lengths, 5), Bm25Reranker()
            made = measure_local(connection, name, embedder, reranker)
            found.append(made)
        return found[0], ChunkStore(connection, name, 5, TABLE)

    yield measure
    connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


def test_the_table_is_as_wide_as_the_model(wide: Any) -> None:
    """256 is the hash's and the shipped model's; ask the embedder."""
    figures, store = wide()
    assert store.dims_there() == 5
    assert store.count() > 100
    assert figures.full.queries == figures.hybrid.queries == 60


def test_a_table_that_holds_chunks_is_not_fresh(wide: Any) -> None:
    """Two embedders of as many numbers: no dimension will tell you."""
    _, store = wide()
    loaded = []

    def load() -> Lengths:
        loaded.append("once")
        return Lengths()

    embedder = LocalEmbedder(load, 5)
    with pytest.raises(ValueError, match=r"holds \d+ chunks already"):
        measure_local(store.connection, store.schema, embedder, Bm25Reranker())
    assert not loaded, "the model was loaded, with nothing to do"


def figures(value: float = 0.5) -> LocalFigures:
    """Return figures that are all alike."""
    scores = Scores(60, 10, value, value, value, value)
    return LocalFigures(scores, scores, value)


def test_a_run_is_recorded_under_its_day_and_its_part(tmp_path: Path) -> None:
    """runs/live-2026-03-01.json, one key for each part."""
    path = record_run(tmp_path, DAY, "local-models", {"a": 1})
    assert path == tmp_path / "runs" / "live-2026-03-01.json"
    record_run(tmp_path, DAY, "live-answer", {"b": "灯"})
    record_run(tmp_path, DAY, "local-models", {"a": 2})
    assert json.loads(path.read_text("utf-8")) == {
        "local-models": {"a": 2},
        "live-answer": {"b": "灯"},
    }
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("text", ["", "[1]", '{"a": '])
def test_a_record_that_cannot_be_read_is_left_alone(
    tmp_path: Path, text: str
) -> None:
    """Raise ValueError naming the file; it may be all that is left."""
    path = tmp_path / "runs" / "live-2026-03-01.json"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"live-2026-03-01\.json"):
        record_run(tmp_path, DAY, "local-models", {"a": 1})
    assert path.read_text("utf-8") == text


@pytest.fixture(scope="module")
def live(connection: Any, schema: str) -> Any:
    """Return what measures the shipped model, once, in a fresh table."""
    found: list[LocalFigures] = []

    def measure() -> LocalFigures:
        if not found:
            embedder, reranker = local_embedder(), Bm25Reranker()
            found.append(measure_local(connection, schema, embedder, reranker))
        return found[0]

    return measure


@pytest.mark.parametrize("order", ["hybrid", "full"])
@pytest.mark.parametrize("measure", MEASURES)
def test_the_live_run_keeps_above_the_floor(
    live: Any, order: str, measure: str
) -> None:
    """`hybrid` is run.fused, `full` is run.hits; the same pool for both."""
    got = getattr(getattr(live(), order), measure)
    floor = FIGURES["floors"][order][measure]
    assert got >= floor, f"{order} {measure} is {got:.3f}, below {floor}"


def test_the_live_run_finds_what_the_hash_did_not(live: Any) -> None:
    """The pool's bound and the fused recall are above those of stage 5."""
    hashed = json.loads((HERE / "figures.json").read_text("utf-8"))
    got = live()
    assert got.pool >= FIGURES["floors"]["pool"]
    assert got.hybrid.recall > hashed["sides"]["hybrid"]


def test_a_reranker_that_counts_words_gives_part_of_it_back(
    live: Any,
) -> None:
    """`full` is another order than `hybrid`: of this pool, a worse one."""
    got = live()
    assert got.full.recall < got.hybrid.recall <= got.pool


def test_the_live_run_is_recorded_with_what_was_not_run(
    live: Any, run_folder: Path
) -> None:
    """Your workspace keeps it in runs/; the cross-encoder was not run."""
    data = aggregate("shipped", "bm25", live())
    today = datetime.now(UTC).date()
    path = record_run(run_folder, today, "local-models", data)
    kept = json.loads(path.read_text("utf-8"))["local-models"]
    assert kept == data
    assert kept["full"]["queries"] == 60
    assert kept["not_run"] == ["cross-encoder: none was named"]
    other = aggregate("shipped", CROSS_ENCODER, figures())
    assert other["not_run"] == []


def test_a_cross_encoder_is_no_encoder() -> None:
    """It has no dimensions: look at spec.role before you promise any."""
    with pytest.raises(ValueError, match="model of role cross-encoder"):
        local_embedder(CROSS_ENCODER)
