"""The shipped model: its pieces, its graph, its training, what it finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import encoders
from lab.encoders import specs
from lab.encoders.counts import TermCounts
from lab.encoders.shipped_pieces import PieceTokenizer, folded
from lab.errors import EncoderError
from lab.index import Index
from tests.lab.support import ALICE, document, found

WORDS = "hotel\nhot\nel\nnight\ncafe\n酒店\n酒\n店\n上限\n12\n1\n2\nlodging\n"
#        0      1    2   3      4     5     6   7   8     9   10 11 12


def pieces() -> PieceTokenizer:
    return PieceTokenizer(WORDS, "pieces.txt")


def needs_runtime() -> None:
    for module in ("numpy", "onnxruntime", "tokenizers"):
        pytest.importorskip(module)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hotel NIGHT", [0, 3]),
        ("ｈｏｔｅｌ", [0]),  # full width
        ("Café café", [4, 4]),
        ("hotels", [0]),  # the s is in no piece
        ("hotelnight", [0, 3]),
        ("lodgingel", [12]),  # pieces of two letters are sounds
        ("酒店上限", [5, 8]),
        ("店酒店", [7, 5]),
        ("酒吧", [6]),  # 吧 is in no piece
        ("1212", [9, 9]),
        ("123", [9]),
        ("hotel酒店12", [0, 5, 9]),
        ("", []),
        ("?! Ω \U0001f3e8", []),
    ],
)
def test_text_is_cut_into_the_longest_pieces_from_the_left(
    text: str, ids: list[int]
) -> None:
    assert pieces().ids(text) == ids


def test_a_vocabulary_with_a_line_twice_is_refused() -> None:
    with pytest.raises(EncoderError, match="line 3"):
        PieceTokenizer("a\nb\na\n", "x")
    with pytest.raises(EncoderError, match="line 2"):
        PieceTokenizer("a\n\nb\n", "x")


def test_folding_ends_where_folding_starts() -> None:
    for text in ("İstanbul", "ﬁne", "Ａ１", "e\u0301", "한글", "ǅ"):
        assert folded(folded(text)) == folded(text)


def test_the_shipped_files_are_the_ones_named_and_small() -> None:
    spec = specs.shipped()
    files = specs.read_verified(spec, specs.SHIPPED_FOLDER)
    assert spec.name == specs.SHIPPED
    assert spec.model.size is not None
    assert spec.model.size <= 8_000_000
    assert {name: len(data) for name, data in files.items()} == {
        file.name: file.size for file in spec.files
    }
    # It reads every chunk a chunker makes, and then some.
    assert spec.max_tokens >= 4096


def test_every_piece_of_the_vocabulary_is_cut_as_itself() -> None:
    spec = specs.shipped()
    text = (specs.SHIPPED_FOLDER / spec.tokenizer.name).read_text("utf-8")
    tokenizer = PieceTokenizer(text, "pieces")
    for number, piece in enumerate(text.split()):
        assert tokenizer.ids(piece) == [number]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "a night in a hotel, how much may I spend",
            "# Travel\n\nThe lodging limit for Britain is 210 pounds.",
            "# Balances\n\nCalibrate with two standard weights.",
        ),
        (
            "出差住宿能花多少钱",
            "# 差旅\n\n酒店每晚的上限是六百元。",
            "# 天平\n\n使用前应预热三十分钟。",
        ),
        (
            "how much may a hotel cost",
            "# 差旅\n\n住宿费每晚不得超过六百元。",
            "# 天平\n\n使用前应预热三十分钟。",
        ),
        (
            "病假期间的工资",
            "# Absence\n\nSick leave is paid from the first day.",
            "# Balances\n\nCalibrate with two standard weights.",
        ),
    ],
)
def test_it_finds_what_shares_no_term(
    question: str, answer: str, other: str
) -> None:
    needs_runtime()
    for encoder, finds in (
        (TermCounts(), False),
        (encoders.named("shipped"), True),
    ):
        with Index.open(":memory:", encoder=encoder) as index:
            index.upsert(document("a-other", other))
            index.upsert(document("b-answer", answer))
            hits = found(index.search(question, ALICE, mode="vector"))
            assert (hits[:1] == ["b-answer"]) is finds


def test_a_text_without_a_known_piece_has_no_direction() -> None:
    needs_runtime()
    with Index.open(":memory:", encoder=encoders.named("shipped")) as index:
        index.upsert(document("greek", "# Ω\n\nλόγος"))
        index.upsert(document("hotel", "# Hotel\n\na hotel"))
        assert index.verify() == []
        assert index.search("ψυχή", ALICE, mode="vector").hits == ()
        assert "greek" not in found(
            index.search("hotel", ALICE, mode="vector", limit=10)
        )


def test_an_index_built_with_it_opens_again_by_itself(tmp_path: Path) -> None:
    needs_runtime()
    path = tmp_path / "store.db"
    with Index.open(path, encoder=encoders.named("shipped")) as index:
        index.upsert(document())
    with Index.open(path) as index:
        assert found(index.search("inn", ALICE, mode="vector"))


def test_the_graph_adds_the_rows_up_as_arithmetic_does() -> None:
    needs_runtime()
    onnx = pytest.importorskip("onnx")
    np = pytest.importorskip("numpy")
    spec = specs.shipped()
    files = specs.read_verified(spec, specs.SHIPPED_FOLDER)
    graph = onnx.load_model_from_string(files[spec.model.name]).graph
    held = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    tokenizer = PieceTokenizer(files[spec.tokenizer.name].decode(), "x")
    encoder = encoders.named("shipped")
    assert encoder is not None
    for text in ("hotel limit", "酒店每晚的上限", "the " * 300):
        ids = tokenizer.ids(text)
        rows = held["rows"][ids].astype("float64") * held["scales"][ids]
        total = rows.sum(axis=0)
        wanted = total / np.linalg.norm(total)
        assert np.allclose(encoder.encode([text])[0], wanted, atol=1e-5)


# Its training. The pinned packages are not here; the arithmetic is.


def test_the_sparse_products_are_the_dense_ones() -> None:
    np = pytest.importorskip("numpy")
    fit = pytest.importorskip("lab.training.fit")
    made = np.random.default_rng(1)
    rows = [[0, 0, 2], [3], [2, 1, 3, 3]]
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    dense = np.zeros((3, 5))
    for n, row in enumerate(rows):
        for column in row:
            dense[n, column] += weights[column]
    dense /= dense.sum(axis=1, keepdims=True)
    counts = fit.Counts(rows, weights, 5)
    table, other = made.normal(size=(5, 3)), made.normal(size=(3, 2))
    assert np.allclose(counts.times(table), dense @ table)
    assert np.allclose(counts.transposed_times(other), dense.T @ other)


def test_a_pieces_correction_is_ridge_regression() -> None:
    np = pytest.importorskip("numpy")
    fit = pytest.importorskip("lab.training.fit")
    made = np.random.default_rng(2)
    rows = [list(made.integers(0, 6, size=4)) for _ in range(30)]
    weights = made.uniform(0.2, 1, size=6)
    counts = fit.Counts(rows, weights, 6)
    dense = counts.times(np.eye(6))
    rest = made.normal(size=(30, 3))
    wanted = np.linalg.solve(dense.T @ dense + 0.5 * np.eye(6), dense.T @ rest)
    assert np.allclose(fit._corrections(counts, rest, 0.5, 30), wanted)


def test_a_piece_that_no_text_holds_is_not_corrected() -> None:
    np = pytest.importorskip("numpy")
    fit = pytest.importorskip("lab.training.fit")
    counts = fit.Counts([[0], [1]], np.ones(3), 3)
    found = fit._corrections(counts, np.ones((2, 2)), 0.5, 10)
    assert np.allclose(found[2], 0)
    assert not np.allclose(found[:2], 0)


def test_a_language_loses_its_mean_and_numbers_the_mean_of_both() -> None:
    np = pytest.importorskip("numpy")
    fit = pytest.importorskip("lab.training.fit")
    rows = np.array([[1.0, 0], [3, 0], [0, 4], [0, 8], [5, 5]])
    language = np.array([0, 0, 1, 1, 2])
    assert fit.centred(rows, language).tolist() == [
        [-1, 0],
        [1, 0],
        [0, -2],
        [0, 2],
        [4, 2],
    ]


def test_the_axes_do_not_depend_on_the_sign_a_library_returns() -> None:
    np = pytest.importorskip("numpy")
    fit = pytest.importorskip("lab.training.fit")
    table = np.random.default_rng(3).normal(size=(50, 6))
    kept = fit.axes(table, fit.Settings(dims=4, whiten=0))
    assert np.allclose(kept.T @ kept, np.eye(4))
    largest = np.abs(kept).argmax(axis=0)
    assert (kept[largest, np.arange(4)] > 0).all()


def test_writing_a_model_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    needs_runtime()
    np = pytest.importorskip("numpy")
    pytest.importorskip("onnx")
    from lab.encoders.onnx import OnnxEncoder
    from lab.training import __main__ as training

    words = WORDS.split()
    table = np.random.default_rng(4).normal(size=(len(words), 8))
    for name in ("a", "b"):
        spec = training.write(words, table, tmp_path / name)
    for name in ("static.onnx", "pieces.txt", "model.json"):
        one, other = ((tmp_path / d / name).read_bytes() for d in "ab")
        assert one == other
    data = json.loads((tmp_path / "a/model.json").read_text("utf-8"))
    assert specs.from_data(data, "x") == spec
    (row,) = OnnxEncoder(spec, tmp_path / "a").encode(["Hotel 酒店"])
    wanted = table[0] + table[5]
    wanted /= np.linalg.norm(wanted)
    # int8 rows: within one part in 127 of the largest value.
    assert np.allclose(row, wanted, atol=0.02)


def test_a_zero_sum_is_no_division_by_zero(tmp_path: Path) -> None:
    needs_runtime()
    np = pytest.importorskip("numpy")
    pytest.importorskip("onnx")
    from lab.encoders.onnx import OnnxEncoder
    from lab.training import __main__ as training

    table = np.zeros((len(WORDS.split()), 8))
    spec = training.write(WORDS.split(), table, tmp_path)
    (row,) = OnnxEncoder(spec, tmp_path).encode(["hotel"])
    assert row.tolist() == [0.0] * 8


def test_a_damaged_file_says_where_to_get_it_again(tmp_path: Path) -> None:
    for file in specs.shipped().files:
        (tmp_path / file.name).write_bytes(b"damaged")
    with pytest.raises(EncoderError, match="from the lab's ZIP again"):
        specs.read_verified(specs.shipped(), tmp_path)
