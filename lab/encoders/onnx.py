"""Any local ONNX text model, run one text at a time.

The files are read once, held against their digests, and the very bytes
that were checked are what ONNX Runtime gets; a graph whose weights lie in
a second file is therefore refused. One text per call, never padded: a
quantised graph may scale by what else is in the batch, and then the same
text would get another vector beside other texts.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lab.encoders import specs
from lab.encoders.shipped_pieces import PieceTokenizer
from lab.encoders.specs import ModelSpec
from lab.errors import EncoderError, InvalidInput

# What a graph may ask for, by name; see ``Graph``.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": "int64", "tensor(int32)": "int32"}


@dataclass(frozen=True)
class Truncated:
    """A text that did not fit: its digest, its tokens, those kept."""

    sha256: str
    tokens: int
    kept: int
    model: str

    def __str__(self) -> str:
        return (
            f"{self.model} reads {self.kept} tokens and a text has"
            f" {self.tokens}: its end was not encoded; use smaller chunks"
        )


class TruncationWarning(UserWarning):
    """A text was longer than a model reads."""


Notice = Callable[[Truncated], None]


def warn(truncated: Truncated) -> None:
    """Say so as a Python warning: what is done unless told otherwise."""
    warnings.warn(str(truncated), TruncationWarning, stacklevel=2)


def extra(module: str, name: str = "onnx") -> Any:
    """Return an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EncoderError(
            f"{module} is not installed ({error}); install it with:"
            f" pip install 'keeps-secrets[{name}]'"
        ) from None


@dataclass(frozen=True)
class Tokens:
    """What a graph reads of one text, and how long the text was.

    ``types`` are 0, and 1 for a second text. ``total`` counts the tokens
    before the cut.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    total: int


class Tokenizer(Protocol):
    """Cuts a text, or two, into at most as many tokens as are read."""

    def tokens(self, text: str, second: str | None, most: int) -> Tokens:
        """Return ids and types; the second text is cut, never the first."""
        ...


class _Pieces:
    """Our own vocabulary: no special tokens, and one text only."""

    def __init__(self, data: bytes, what: str) -> None:
        self._pieces = PieceTokenizer(_text(data, what), what)

    def tokens(self, text: str, second: str | None, most: int) -> Tokens:
        if second is not None:
            raise EncoderError("a list of pieces cannot join two texts")
        ids = self._pieces.ids(text)
        kept = tuple(ids[:most])
        return Tokens(kept, (0,) * len(kept), len(ids))


class _HuggingFace:
    """A ``tokenizer.json``, through the ``tokenizers`` package."""

    def __init__(self, data: bytes, what: str, most: int) -> None:
        module = extra("tokenizers")
        text = _text(data, what)
        try:
            self._whole = module.Tokenizer.from_str(text)
            self._cut = module.Tokenizer.from_str(text)
        except Exception as error:
            raise EncoderError(f"{what}: is no tokenizer ({error})") from None
        # A file may bring padding and truncation of its own.
        for tokenizer in (self._whole, self._cut):
            tokenizer.no_padding()
            tokenizer.no_truncation()
        self._single = module.Tokenizer.from_str(text)
        self._single.no_padding()
        self._single.enable_truncation(most)
        self._cut.enable_truncation(most, strategy="only_second")

    def tokens(self, text: str, second: str | None, most: int) -> Tokens:
        total = len(self._whole.encode(text, second).ids)
        cut = self._single if second is None else self._cut
        try:
            found = cut.encode(text, second)
        except Exception as error:
            raise EncoderError(f"text cannot be tokenized: {error}") from None
        return Tokens(tuple(found.ids), tuple(found.type_ids), total)


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise EncoderError(f"{what}: is not UTF-8") from None


class Graph:
    """A verified graph with its tokenizer, ready to run on one text.

    CPU, one thread. Only inputs that the graph declares are passed.
    Raises ``EncoderError`` for files that are not the spec's, a missing
    package, or a graph that cannot be loaded or asks for other inputs.
    """

    def __init__(self, spec: ModelSpec, folder: Path | None = None) -> None:
        folder = specs.folder_of(spec) if folder is None else folder
        files = specs.read_verified(spec, folder)
        self.spec = spec
        runtime = extra("onnxruntime")
        self._np = extra("numpy")
        what = str(folder / spec.tokenizer.name)
        data = files[spec.tokenizer.name]
        self._tokenizer: Tokenizer
        if spec.tokenizer.name.endswith(".txt"):
            self._tokenizer = _Pieces(data, what)
        else:
            self._tokenizer = _HuggingFace(data, what, spec.max_tokens)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(
                files[spec.model.name],
                options,
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:
            raise EncoderError(
                f"{folder / spec.model.name}: cannot be loaded ({error})"
            ) from None
        self._inputs: dict[str, str] = {}
        for wanted in self._session.get_inputs():
            if wanted.name not in INPUTS or wanted.type not in _TYPES:
                raise EncoderError(
                    f"{spec.name}: the graph asks for {wanted.name}"
                    f" {wanted.type}; only {', '.join(INPUTS)} can be given"
                )
            self._inputs[wanted.name] = _TYPES[wanted.type]
        self._output = self._session.get_outputs()[0].name

    def tokens(self, text: str, second: str | None = None) -> Tokens:
        """Return what the graph would read of a text."""
        return self._tokenizer.tokens(text, second, self.spec.max_tokens)

    def run(self, tokens: Tokens) -> Any:
        """Return the graph's first output for one text, batch row 0."""
        np = self._np
        values = {
            "input_ids": tokens.ids,
            "attention_mask": (1,) * len(tokens.ids),
            "token_type_ids": tokens.types,
        }
        feed = {
            name: np.array([values[name]], dtype=kind)
            for name, kind in self._inputs.items()
        }
        try:
            out = self._session.run([self._output], feed)[0]
        except Exception as error:
            raise EncoderError(f"{self.spec.name}: failed: {error}") from None
        if not hasattr(out, "shape") or len(out.shape) < 1 or len(out) != 1:
            raise EncoderError(f"{self.spec.name}: must return one row a text")
        return out[0]


class OnnxEncoder:
    """Dense encoder from an ONNX graph; one text a call, rows normalised.

    ``spec`` names files and settings, ``folder`` is where the files are
    (default: where ``fetch-model`` puts them). ``notice`` is told of every
    text that was cut. Raises ``EncoderError`` when files or outputs are
    not what the spec says, and before any of that when a package is
    missing. A text without a token, or whose row is zero, gets a zero row.
    """

    def __init__(
        self,
        spec: ModelSpec,
        folder: Path | None = None,
        *,
        notice: Notice = warn,
    ) -> None:
        if spec.role != "encoder":
            raise InvalidInput(f"{spec.name}: is a {spec.role}, no encoder")
        specs.checked(spec, spec.name)
        self._spec = spec
        self._graph = Graph(spec, folder)
        self._notice = notice
        self.dims: int | None = spec.dims
        self.minimum_score = spec.minimum_score

    @property
    def fingerprint(self) -> str:
        """Name and digest of files and settings."""
        return self._spec.fingerprint

    def spec(self) -> Mapping[str, Any]:
        """Return what ``from_spec`` needs to make it again."""
        if self._spec.name == specs.SHIPPED:
            return {"kind": "shipped"}
        return {"kind": "onnx", "model": self._spec.to_data()}

    def encode(self, texts: Sequence[str], *, query: bool = False) -> list[Any]:
        """Return one float32 row per text, L2-normalised or all zero."""
        prefix = self._spec.query_prefix if query else self._spec.passage_prefix
        return [self._row(prefix + text) for text in texts]

    def _row(self, text: str) -> Any:
        np = self._graph._np
        tokens = self._graph.tokens(text)
        if tokens.total > len(tokens.ids):
            digest = hashlib.sha256(text.encode()).hexdigest()
            self._notice(
                Truncated(
                    digest, tokens.total, len(tokens.ids), self._spec.name
                )
            )
        if not tokens.ids:
            return np.zeros(self._spec.dims, dtype=np.float32)
        row = self._pooled(self._graph.run(tokens))
        length = math.sqrt(float(row @ row))
        if not math.isfinite(length):
            raise EncoderError(
                f"{self._spec.name}: returned a value that is not finite"
            )
        if length == 0:
            return np.zeros(self._spec.dims, dtype=np.float32)
        return (row / length).astype(np.float32)

    def _pooled(self, out: Any) -> Any:
        """Return one float64 row from what the graph gave."""
        pooling = self._spec.pooling
        rank = 1 if pooling == "none" else 2
        if len(out.shape) != rank or out.shape[-1] != self._spec.dims:
            raise EncoderError(
                f"{self._spec.name}: returned shape {(1, *out.shape)};"
                f" pooling {pooling} needs"
                f" {'(1, ' + '' if rank == 1 else '(1, tokens, '}"
                f"{self._spec.dims})"
            )
        wide = out.astype("float64")
        if pooling == "cls":
            return wide[0]
        return wide.mean(axis=0) if pooling == "mean" else wide
