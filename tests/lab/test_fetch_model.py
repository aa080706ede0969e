"""Fetching a model: pinned, verified, resumed; served here, on 127.0.0.1."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lab import cli, fetching
from lab.encoders import specs
from lab.encoders.specs import ModelFile, ModelSpec
from lab.errors import EncoderError, InvalidInput

GRAPH = bytes(range(256)) * 1000
WORDS = b'{"words": []}'
PATH = "/our/tiny/resolve/0123abcd/onnx/model.onnx"


def spec(graph: bytes = GRAPH, words: bytes = WORDS) -> ModelSpec:
    return ModelSpec(
        name="tiny",
        role="encoder",
        model=ModelFile(
            "model.onnx",
            len(graph),
            hashlib.sha256(graph).hexdigest(),
            "onnx/model.onnx",
        ),
        tokenizer=ModelFile(
            "tokenizer.json",
            len(words),
            hashlib.sha256(words).hexdigest(),
            "tokenizer.json",
        ),
        licence="CC0-1.0",
        dims=4,
        repository="our/tiny",
        revision="0123abcd",
    )


def template() -> ModelSpec:
    """The same model with no digest known."""
    pinned = spec()
    return replace(
        pinned,
        model=ModelFile("model.onnx"),
        tokenizer=ModelFile("tokenizer.json"),
        repository=None,
        revision=None,
    )


@dataclass
class Hub:
    """A file server that can break off and can refuse to resume."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    most: int | None = None
    resumes: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@pytest.fixture
def hub() -> Iterator[Hub]:
    state = Hub(
        files={
            PATH: GRAPH,
            "/our/tiny/resolve/0123abcd/tokenizer.json": WORDS,
        }
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append((self.path, wanted))
            if self.path not in state.files:
                self.send_error(404)
                return
            data = state.files[self.path]
            start = 0
            if wanted and state.resumes:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                self.send_response(206)
                self.send_header(
                    "Content-Range",
                    f"bytes {start}-{len(data) - 1}/{len(data)}",
                )
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            self.wfile.write(data[start:][: state.most])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty models folder, and a catalogue of one pinned model."""
    folder = tmp_path / "models"
    monkeypatch.setenv("KEEPS_SECRETS_MODELS", str(folder))
    monkeypatch.setattr(specs, "CATALOGUE", {"tiny": spec()})
    return folder


def inside(folder: Path) -> dict[str, bytes]:
    """Return every file in a model's folder, half ones too."""
    return {p.name: p.read_bytes() for p in (folder / "tiny").iterdir()}


WHOLE = {"model.onnx": GRAPH, "tokenizer.json": WORDS}


def test_a_pinned_revision_is_fetched_and_verified(
    hub: Hub, models: Path
) -> None:
    steps: list[tuple[str, int, int]] = []
    found = fetching.fetch(
        "tiny", hub=hub.url, progress=lambda *step: steps.append(step)
    )
    assert found.state == "fetched"
    assert inside(models) == WHOLE
    assert hub.asked[0] == (PATH, None)
    assert ("model.onnx", len(GRAPH), len(GRAPH)) in steps


def test_what_is_here_is_not_fetched_again(hub: Hub, models: Path) -> None:
    fetching.fetch("tiny", hub=hub.url)
    hub.asked.clear()
    assert fetching.fetch("tiny", hub=hub.url).state == "here"
    assert hub.asked == []


def test_a_wrong_digest_is_refused_and_nothing_is_replaced(
    hub: Hub, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetching.fetch("tiny", hub=hub.url)
    new = spec(graph=GRAPH[::-1])
    monkeypatch.setattr(specs, "CATALOGUE", {"tiny": new})
    for wrong in (GRAPH[:-1] + b"!", GRAPH):
        hub.files[PATH] = wrong
        with pytest.raises(EncoderError, match="nothing was replaced"):
            fetching.fetch("tiny", hub=hub.url)
        assert inside(models) == WHOLE
    hub.files[PATH] = GRAPH[::-1]
    assert fetching.fetch("tiny", hub=hub.url).state == "fetched"
    assert inside(models)["model.onnx"] == GRAPH[::-1]


def test_no_file_is_put_in_place_before_all_are_right(
    hub: Hub, models: Path
) -> None:
    hub.files["/our/tiny/resolve/0123abcd/tokenizer.json"] = b"{}"
    with pytest.raises(EncoderError):
        fetching.fetch("tiny", hub=hub.url)
    assert not set(inside(models)) & set(WHOLE)


def test_a_broken_download_is_continued_where_it_stopped(
    hub: Hub, models: Path
) -> None:
    hub.most = 100_000
    with pytest.raises(EncoderError, match="run the command again"):
        fetching.fetch("tiny", hub=hub.url)
    here = len(inside(models)[".model.onnx.part"])
    assert 0 < here <= 100_000
    hub.most = None
    fetching.fetch("tiny", hub=hub.url)
    assert (PATH, f"bytes={here}-") in hub.asked
    assert inside(models) == WHOLE


def test_a_server_that_cannot_continue_starts_again(
    hub: Hub, models: Path
) -> None:
    hub.most = 100_000
    with pytest.raises(EncoderError):
        fetching.fetch("tiny", hub=hub.url)
    hub.most, hub.resumes = None, False
    fetching.fetch("tiny", hub=hub.url)
    assert inside(models) == WHOLE


def test_a_damaged_half_file_is_thrown_away(hub: Hub, models: Path) -> None:
    part = models / "tiny" / ".model.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"?" * 1000)
    with pytest.raises(EncoderError, match="SHA-256"):
        fetching.fetch("tiny", hub=hub.url)
    fetching.fetch("tiny", hub=hub.url)
    assert inside(models) == WHOLE


def test_an_answer_longer_than_pinned_is_cut_off(
    hub: Hub, models: Path
) -> None:
    hub.files[PATH] = GRAPH + bytes(10**6)
    with pytest.raises(EncoderError, match="more than the 256000 bytes"):
        fetching.fetch("tiny", hub=hub.url)
    assert not inside(models)


def test_a_missing_file_and_a_missing_server_are_one_sentence(
    hub: Hub, models: Path
) -> None:
    del hub.files[PATH]
    with pytest.raises(EncoderError, match="the server says 404"):
        fetching.fetch("tiny", hub=hub.url)
    with pytest.raises(EncoderError, match="--from FOLDER"):
        fetching.fetch("tiny", hub="http://127.0.0.1:1")


@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_files_at_hand_are_taken_from_a_folder(
    models: Path, tmp_path: Path, place: str
) -> None:
    source = tmp_path / "have"
    (source / "onnx").mkdir(parents=True)
    (source / place).write_bytes(GRAPH)
    (source / "tokenizer.json").write_bytes(WORDS)
    assert fetching.fetch("tiny", source).state == "fetched"
    assert inside(models) == WHOLE


def test_wrong_files_at_hand_are_refused(models: Path, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(GRAPH[1:])
    (tmp_path / "tokenizer.json").write_bytes(WORDS)
    with pytest.raises(EncoderError, match="SHA-256"):
        fetching.fetch("tiny", tmp_path)
    (tmp_path / "model.onnx").unlink()
    with pytest.raises(InvalidInput, match="no such file"):
        fetching.fetch("tiny", tmp_path)


def test_the_first_use_of_a_template_is_trusted_and_later_ones_are_not(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specs, "CATALOGUE", {"tiny": template()})
    with pytest.raises(InvalidInput, match="first use is trusted"):
        fetching.fetch("tiny")
    source = tmp_path / "have"
    source.mkdir()
    (source / "model.onnx").write_bytes(GRAPH)
    (source / "tokenizer.json").write_bytes(WORDS)
    found = fetching.fetch("tiny", source)
    assert found.state == "recorded"
    known = specs.known("tiny")
    assert known.pinned
    assert known.model.sha256 == hashlib.sha256(GRAPH).hexdigest()
    # From now on other files under this name are refused, there and here.
    (source / "model.onnx").write_bytes(GRAPH[::-1])
    (models / "tiny" / "model.onnx").unlink()
    with pytest.raises(EncoderError, match="pinned"):
        fetching.fetch("tiny", source)
    (models / "tiny" / "model.onnx").write_bytes(GRAPH[::-1])
    with pytest.raises(EncoderError, match="is not the file"):
        specs.read_verified(known, models / "tiny")


def test_a_record_for_other_settings_is_not_used(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specs, "CATALOGUE", {"tiny": template()})
    (tmp_path / "model.onnx").write_bytes(GRAPH)
    (tmp_path / "tokenizer.json").write_bytes(WORDS)
    fetching.fetch("tiny", tmp_path)
    path = models / "tiny" / specs.RECORDED
    data = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**data, "pooling": "cls"}), "utf-8")
    with pytest.raises(InvalidInput, match="other settings"):
        specs.known("tiny")


def test_the_pinned_chinese_model_is_the_published_one() -> None:
    model = specs.CATALOGUE["bge-small-zh-v1.5"]
    assert model.pinned
    assert (model.model.size, model.tokenizer.size) == (24010842, 439125)
    assert (model.dims, model.pooling, model.max_tokens) == (512, "cls", 512)
    assert len(model.revision or "") == 40


def test_the_command_says_what_it_did(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.onnx").write_bytes(GRAPH)
    (tmp_path / "tokenizer.json").write_bytes(WORDS)
    words = ["fetch-model", "tiny", "--from", str(tmp_path), "--json"]
    assert cli.main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "fetched"
    assert told["files"]["tokenizer.json"] == hashlib.sha256(WORDS).hexdigest()
    assert cli.main(["fetch-model", "word2vec"]) == 2
    assert "known are shipped, tiny" in capsys.readouterr().err
