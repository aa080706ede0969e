"""Which model, exactly: every file by size and SHA-256, every setting.

Two models of one name are two models. A spec therefore names its files by
digest, and its own digest, over files and settings together, is what an
index remembers. Three kinds of spec are here: of the model that ships with
the lab, of models whose digests were published and are pinned below, and
templates, whose digests are written down from the files a user already
has. A template's first use is trusted; every later one is held against it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lab import canonical
from lab.errors import EncoderError, InvalidInput

# Written beside files whose template was filled in from them.
RECORDED: Final = "model.json"
POOLINGS: Final = ("cls", "mean", "none")
ROLES: Final = ("encoder", "cross-encoder")
SHIPPED_FOLDER: Final = Path(__file__).resolve().parents[1] / "models/shipped"


@dataclass(frozen=True)
class ModelFile:
    """One file of a model.

    ``size`` in bytes and ``sha256`` are ``None`` in a template only.
    ``origin`` is the file's path in the repository it is fetched from.
    """

    name: str
    size: int | None = None
    sha256: str | None = None
    origin: str | None = None


@dataclass(frozen=True)
class ModelSpec:
    """An ONNX text model with its tokenizer, and how both are used.

    ``pooling`` makes one row of a graph's output: ``cls`` its first token,
    ``mean`` the mean over tokens, ``none`` where the graph pools itself.
    ``max_tokens`` counts special tokens too. ``tokenizer`` is a Hugging
    Face ``tokenizer.json``, or a ``.txt`` list of our own pieces. The
    prefixes go before a query and a passage. ``repository`` and
    ``revision`` say where the files come from, ``licence`` on what terms.
    A ``cross-encoder`` reads query and passage together and has neither
    pooling nor dimensions.
    """

    name: str
    role: str
    model: ModelFile
    tokenizer: ModelFile
    licence: str
    dims: int = 0
    max_tokens: int = 512
    pooling: str = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    minimum_score: float = 0.0
    repository: str | None = None
    revision: str | None = None

    @property
    def files(self) -> tuple[ModelFile, ModelFile]:
        """Return the files, the model first."""
        return self.model, self.tokenizer

    @property
    def pinned(self) -> bool:
        """Return whether every file has its digest."""
        return all(file.sha256 is not None for file in self.files)

    def to_data(self) -> dict[str, Any]:
        """Return the spec as JSON-ready data."""
        return {
            "name": self.name,
            "role": self.role,
            "model": _file_data(self.model),
            "tokenizer": _file_data(self.tokenizer),
            "licence": self.licence,
            "dims": self.dims,
            "max_tokens": self.max_tokens,
            "pooling": self.pooling,
            "query_prefix": self.query_prefix,
            "passage_prefix": self.passage_prefix,
            "minimum_score": repr(self.minimum_score),
            "repository": self.repository,
            "revision": self.revision,
        }

    @property
    def fingerprint(self) -> str:
        """Return the name with 16 hex digits over files and settings.

        Where the files came from and what they may be used for is not
        part of it: the same bytes are the same model.
        """
        data = self.to_data()
        for word in ("licence", "repository", "revision"):
            del data[word]
        for word in ("model", "tokenizer"):
            del data[word]["origin"]
        return f"onnx/1({self.name})+{canonical.digest(data)[:16]}"


def _file_data(file: ModelFile) -> dict[str, Any]:
    return {
        "name": file.name,
        "size": file.size,
        "sha256": file.sha256,
        "origin": file.origin,
    }


def from_data(data: Any, place: str) -> ModelSpec:
    """Return a spec from plain data; ``InvalidInput`` names what is wrong."""
    wanted = set(_EMPTY.to_data())
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{place}: must be an object")
    for key in sorted(wanted ^ set(data)):
        problem = "missing" if key in wanted else "unknown key"
        raise InvalidInput(f"{place}: {key}: {problem}")
    for key in (
        "name",
        "role",
        "licence",
        "pooling",
        "query_prefix",
        "passage_prefix",
    ):
        if not isinstance(data[key], str):
            raise InvalidInput(f"{place}: {key}: must be a string")
    for key in ("dims", "max_tokens"):
        if type(data[key]) is not int or data[key] < 0:
            raise InvalidInput(f"{place}: {key}: must be a whole number")
    try:
        score = float(data["minimum_score"])
    except (TypeError, ValueError):
        raise InvalidInput(f"{place}: minimum_score: no number") from None
    spec = ModelSpec(
        **{
            **data,
            "model": _file(data["model"], f"{place}: model"),
            "tokenizer": _file(data["tokenizer"], f"{place}: tokenizer"),
            "minimum_score": score,
        }
    )
    return checked(spec, place)


def checked(spec: ModelSpec, place: str) -> ModelSpec:
    """Return a spec whose settings can be used, else ``InvalidInput``."""
    if spec.role not in ROLES:
        raise InvalidInput(f"{place}: role: must be one of {', '.join(ROLES)}")
    if spec.pooling not in POOLINGS:
        raise InvalidInput(
            f"{place}: pooling: must be one of {', '.join(POOLINGS)}"
        )
    if spec.role == "encoder" and not 1 <= spec.dims <= 65536:
        raise InvalidInput(f"{place}: dims: must lie from 1 to 65536")
    if not 2 <= spec.max_tokens <= 2**20:
        raise InvalidInput(f"{place}: max_tokens: must lie from 2 to 2**20")
    if not -1 <= spec.minimum_score <= 1:
        raise InvalidInput(f"{place}: minimum_score: must lie in [-1, 1]")
    return spec


def _file(data: Any, place: str) -> ModelFile:
    if not isinstance(data, Mapping) or set(data) != {
        "name",
        "size",
        "sha256",
        "origin",
    }:
        raise InvalidInput(f"{place}: must have name, size, sha256, origin")
    name, size, sha256 = data["name"], data["size"], data["sha256"]
    # A file beside the others: never a path out of the model's folder.
    if (
        not isinstance(name, str)
        or Path(name).name != name
        or "\\" in name
        or name in ("", ".", "..", RECORDED)
    ):
        raise InvalidInput(f"{place}: name: must be a plain file name")
    if size is not None and (type(size) is not int or size < 0):
        raise InvalidInput(f"{place}: size: must be a number of bytes")
    if sha256 is not None and (
        not isinstance(sha256, str)
        or len(sha256) != 64
        or set(sha256) - set("0123456789abcdef")
    ):
        raise InvalidInput(f"{place}: sha256: must be 64 hex digits")
    return ModelFile(name, size, sha256, data["origin"])


def models_folder() -> Path:
    """Return where fetched models live: one folder each, by name.

    ``KEEPS_SECRETS_MODELS``, else a folder in the user's cache.
    """
    named = os.environ.get("KEEPS_SECRETS_MODELS")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "keeps-secrets" / "models"


def folder_of(spec: ModelSpec) -> Path:
    """Return the folder that should hold a spec's files."""
    if spec.name == SHIPPED:
        return SHIPPED_FOLDER
    return models_folder() / spec.name


def read_verified(spec: ModelSpec, folder: Path) -> dict[str, bytes]:
    """Return the bytes of a spec's files, each held against its digest.

    What is returned is what was checked: nobody can change a file between
    the check and its use. Raises ``EncoderError``.
    """
    found: dict[str, bytes] = {}
    for file in spec.files:
        path = folder / file.name
        if file.sha256 is None:
            raise EncoderError(
                f"{spec.name}: no digest is recorded for {file.name}; put"
                f" the files there with: fetch-model {spec.name} --from FOLDER"
            )
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EncoderError(
                f"{path}: cannot be read ({error.strerror}); {_remedy(spec)}"
            ) from None
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise EncoderError(
                f"{path}: is not the file that {spec.name} names (SHA-256"
                f" {file.sha256[:16]}…); {_remedy(spec)}"
            )
        found[file.name] = data
    return found


def _remedy(spec: ModelSpec) -> str:
    if spec.name == SHIPPED:
        return "take the file from the lab's ZIP again"
    return f"get the model with: fetch-model {spec.name}"


def recorded(template: ModelSpec, folder: Path) -> ModelSpec:
    """Return a template filled in with the digests of files in a folder."""

    def seen(file: ModelFile) -> ModelFile:
        try:
            data = (folder / file.name).read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"{folder / file.name}: cannot be read ({error.strerror})"
            ) from None
        digest = hashlib.sha256(data).hexdigest()
        if file.sha256 is not None and digest != file.sha256:
            raise InvalidInput(
                f"{folder / file.name}: SHA-256 is {digest}, {template.name}"
                f" names {file.sha256}"
            )
        return replace(file, size=len(data), sha256=digest)

    return replace(
        template,
        model=seen(template.model),
        tokenizer=seen(template.tokenizer),
    )


def known(name: str) -> ModelSpec:
    """Return a spec by name, with recorded digests where there are any.

    Raises ``InvalidInput`` naming the known ones.
    """
    if name == SHIPPED:
        return shipped()
    if name not in CATALOGUE:
        raise InvalidInput(
            f"model {name!a}: unknown; known are"
            f" {', '.join([SHIPPED, *CATALOGUE])}"
        )
    spec = CATALOGUE[name]
    path = models_folder() / name / RECORDED
    if spec.pinned or not path.exists():
        return spec
    found = from_data(
        canonical.loads(path.read_text("utf-8"), str(path)), str(path)
    )
    if replace(found, model=spec.model, tokenizer=spec.tokenizer) != spec:
        raise InvalidInput(
            f"{path}: was recorded for other settings of {name}; remove it"
            f" and run: fetch-model {name} --from FOLDER"
        )
    return found


def shipped() -> ModelSpec:
    """Return the spec of the model that ships with the lab."""
    path = SHIPPED_FOLDER / RECORDED
    return from_data(
        canonical.loads(path.read_text("utf-8"), str(path)), str(path)
    )


SHIPPED: Final = "shipped"

_EMPTY: Final = ModelSpec(
    "", "encoder", ModelFile(""), ModelFile(""), licence=""
)

BGE_SMALL_ZH: Final = ModelSpec(
    name="bge-small-zh-v1.5",
    role="encoder",
    model=ModelFile(
        "model_quantized.onnx",
        24_010_842,
        "15b717c382bcb518ba457b93ea6850ede7f4f1cd8937454aa06972366cd19bcc",
        "onnx/model_quantized.onnx",
    ),
    tokenizer=ModelFile(
        "tokenizer.json",
        439_125,
        "48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26",
        "tokenizer.json",
    ),
    licence="MIT",
    dims=512,
    max_tokens=512,
    pooling="cls",
    query_prefix="为这个句子生成表示以用于检索相关文章：",
    # Not measured: no machine of ours has had these weights.
    minimum_score=0.3,
    repository="Xenova/bge-small-zh-v1.5",
    revision="75c43b069aac4d136ba6bc1122f995fedcfd2781",
)

BGE_SMALL_EN: Final = ModelSpec(
    name="bge-small-en-v1.5",
    role="encoder",
    model=ModelFile("model.onnx"),
    tokenizer=ModelFile("tokenizer.json"),
    licence="MIT",
    dims=384,
    max_tokens=512,
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    minimum_score=0.3,
)

E5_SMALL: Final = ModelSpec(
    name="multilingual-e5-small",
    role="encoder",
    model=ModelFile("model.onnx"),
    tokenizer=ModelFile("tokenizer.json"),
    licence="MIT",
    dims=384,
    max_tokens=512,
    pooling="mean",
    query_prefix="query: ",
    passage_prefix="passage: ",
    minimum_score=0.7,
)

CROSS_ENCODER: Final = ModelSpec(
    name="cross-encoder",
    role="cross-encoder",
    model=ModelFile("model.onnx"),
    tokenizer=ModelFile("tokenizer.json"),
    licence="whatever the files you have are under",
    max_tokens=512,
    pooling="none",
)

CATALOGUE: Final[Mapping[str, ModelSpec]] = {
    spec.name: spec
    for spec in (BGE_SMALL_ZH, BGE_SMALL_EN, E5_SMALL, CROSS_ENCODER)
}
