"""The packages whose word lists and texts the model is made from.

Each is pinned by digest, and read as it was published: no package is
installed, nothing in one is run.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.errors import InvalidInput


@dataclass(frozen=True)
class Source:
    """One package file: how to get it, and on what terms."""

    name: str
    file: str
    get: str
    licence: str
    used_for: str
    sha256: str


SOURCES: Final = {
    source.name: source
    for source in (
        Source(
            "symspellpy",
            "symspellpy-6.10.1-py3-none-any.whl",
            "pip download --no-deps symspellpy==6.10.1",
            "MIT (its list: Google Books Ngram, CC BY 3.0, and SCOWL)",
            "English words with their frequency",
            "a653a6c125839a21ada87c3e044d690fc3b39872efbd7b7270db3de9471315e1",
        ),
        Source(
            "zxcvbn",
            "zxcvbn-4.5.0-py2.py3-none-any.whl",
            "pip download --no-deps zxcvbn==4.5.0",
            "MIT",
            "English words by rank in Wikipedia, names among them",
            "2b6eed621612ce6d65e6e4c7455b966acee87d0280e257956b1f06ccc66bd5ff",
        ),
        Source(
            "jieba",
            "jieba-0.42.1.tar.gz",
            "pip download --no-deps --no-binary :all: jieba==0.42.1",
            "MIT",
            "Chinese words with their frequency",
            "055ca12f62674fafed09427f176506079bc135638a14e23e25be909131928db2",
        ),
        Source(
            "wordnet",
            "wordnet-base_3.0-37_all.deb",
            "apt-get download wordnet-base=1:3.0-37",
            "WordNet 3.0 licence (permissive)",
            "English definitions and example sentences",
            "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752",
        ),
        Source(
            "help-en",
            "libreoffice-help-en-us_7.4.7-1+deb12u14_all.deb",
            "apt-get download libreoffice-help-en-us=4:7.4.7-1+deb12u14",
            "MPL-2.0",
            "English sentences",
            "8faa840285734d6cfe1ed25537b48f07e74bd6412e3917bf8e5f8a653f7b3712",
        ),
        Source(
            "help-zh",
            "libreoffice-help-zh-cn_7.4.7-1+deb12u14_all.deb",
            "apt-get download libreoffice-help-zh-cn=4:7.4.7-1+deb12u14",
            "MPL-2.0",
            "Chinese sentences",
            "db867cdece4c2f9c7eebe65e519c6cf386fdcf49d6e061db3dffec893b3e1dee",
        ),
    )
}


def read(name: str, folder: Path) -> bytes:
    """Return a package's bytes, found by digest whatever it is called.

    ``apt-get`` and ``pip`` spell file names in ways of their own. Raises
    ``InvalidInput`` saying how to get it.
    """
    source = SOURCES[name]
    for path in sorted(folder.iterdir()):
        if path.is_file():
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() == source.sha256:
                return data
    raise InvalidInput(
        f"{folder}: {source.file} is not here (SHA-256"
        f" {source.sha256}); get it with: {source.get}"
    )


def member(name: str, folder: Path, inside: str) -> str:
    """Return one file of a package, by the end of its path, as text."""
    for path, data in members(name, folder):
        if path.endswith(inside):
            return data.decode("utf-8-sig")
    raise InvalidInput(f"{name}: holds no {inside}")


def members(name: str, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file of a package with its path, sorted by path."""
    data = read(name, folder)
    if SOURCES[name].file.endswith(".whl"):
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            for path in sorted(wheel.namelist()):
                yield path, wheel.read(path)
        return
    if SOURCES[name].file.endswith(".deb"):
        data = _deb_data(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        inside = {m.name: m for m in archive.getmembers() if m.isfile()}
        for path in sorted(inside):
            file = archive.extractfile(inside[path])
            assert file is not None
            yield path, file.read()


def _deb_data(deb: bytes) -> bytes:
    """Return the data archive of a Debian package (an ``ar`` file)."""
    place = 8
    while place + 60 <= len(deb):
        header = deb[place : place + 60]
        size = int(header[48:58])
        place += 60
        if header[:9] == b"data.tar.":
            return deb[place : place + size]
        place += size + size % 2
    raise InvalidInput("a Debian package without data")
