"""Getting a model's files: pinned, verified, resumed, replaced whole.

A file is only ever put in its place when its digest is the pinned one, and
no file is put there before all of them are. What was half fetched waits
beside it under another name and is continued next time.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.encoders import specs
from lab.encoders.specs import ModelFile, ModelSpec
from lab.errors import EncoderError, InvalidInput

HUB: Final = "https://huggingface.co"
BLOCK: Final = 1 << 16
SECONDS: Final = 30

# Told a file's name, the bytes that are here, and how many there will be.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fetched:
    """A model whose files are in their place.

    ``state`` is ``here`` when nothing had to be done, else ``fetched`` or,
    for a template filled in from the files, ``recorded``.
    """

    spec: ModelSpec
    folder: Path
    state: str


def fetch(
    name: str,
    source: Path | None = None,
    *,
    hub: str = HUB,
    progress: Progress | None = None,
) -> Fetched:
    """Put a model's files where encoders look for them.

    They come from the folder ``source``, or else from ``hub`` at the
    spec's revision. A template has no digests yet: it needs ``source``,
    and its digests are recorded from there, trusting this once. Raises
    ``InvalidInput`` for a name or folder that will not do and
    ``EncoderError`` when what came is not what was pinned or does not
    come; whatever was in place before stays.
    """
    spec = specs.known(name)
    if name == specs.SHIPPED:
        specs.read_verified(spec, specs.SHIPPED_FOLDER)
        return Fetched(spec, specs.SHIPPED_FOLDER, "here")
    folder = specs.folder_of(spec)
    state = "fetched"
    if not spec.pinned:
        if source is None:
            raise InvalidInput(
                f"{name}: no digests are pinned for this model; name a"
                " folder with its files: --from FOLDER (its first use is"
                " trusted, later ones are held against it)"
            )
        spec = specs.recorded(spec, source)
        state = "recorded"
    missing = [file for file in spec.files if not _right(file, folder)]
    if not missing and state == "fetched":
        return Fetched(spec, folder, "here")
    folder.mkdir(parents=True, exist_ok=True)
    staged: list[tuple[Path, Path]] = []
    for file in missing:
        part = folder / f".{file.name}.part"
        if source is None:
            _download(spec, file, part, hub, progress)
        else:
            _copy(spec, file, source, part)
        staged.append((part, folder / file.name))
    for part, target in staged:
        part.replace(target)
    if state == "recorded":
        _record(spec, folder)
    return Fetched(spec, folder, state)


def _right(file: ModelFile, folder: Path) -> bool:
    return _digest(folder / file.name) == file.sha256


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _copy(spec: ModelSpec, file: ModelFile, source: Path, part: Path) -> None:
    """Copy a file from a folder, laid out flat or as in its repository."""
    places = [source / file.name]
    if file.origin is not None:
        places.append(source / file.origin)
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise InvalidInput(f"{places[0]}: there is no such file")
    try:
        shutil.copyfile(found, part)
    except OSError as error:
        raise InvalidInput(
            f"{found}: cannot be copied ({error.strerror})"
        ) from None
    _verify(spec, file, part, str(found))


def _verify(spec: ModelSpec, file: ModelFile, part: Path, what: str) -> None:
    digest = _digest(part)
    if digest != file.sha256:
        part.unlink(missing_ok=True)
        raise EncoderError(
            f"{what}: SHA-256 is {digest}, and {spec.name} is pinned to"
            f" {file.sha256}; nothing was replaced"
        )


def _download(
    spec: ModelSpec,
    file: ModelFile,
    part: Path,
    hub: str,
    progress: Progress | None,
) -> None:
    url = f"{hub}/{spec.repository}/resolve/{spec.revision}/{file.origin}"
    assert file.size is not None
    if part.exists() and part.stat().st_size > file.size:
        part.unlink()
    here = part.stat().st_size if part.exists() else 0
    if here < file.size:
        try:
            _continue(url, file, part, here, progress)
        except (OSError, http.client.HTTPException) as error:
            raise EncoderError(
                f"{url}: not fetched ({_why(error)}); run the command again"
                " to continue, or give files you have with --from FOLDER"
            ) from None
    _verify(spec, file, part, url)


def _continue(
    url: str,
    file: ModelFile,
    part: Path,
    here: int,
    progress: Progress | None,
) -> None:
    """Fetch the rest of a file, or all of it where only that is offered."""
    assert file.size is not None
    request = urllib.request.Request(url)
    if here:
        request.add_header("Range", f"bytes={here}-")
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        if not _continues(answer, here):
            here = 0
        with part.open("ab" if here else "wb") as out:
            while block := answer.read(BLOCK):
                here += len(block)
                if here > file.size:
                    # An endless answer must not fill the disk.
                    out.close()
                    part.unlink()
                    raise OSError(f"more than the {file.size} bytes pinned")
                out.write(block)
                if progress is not None:
                    progress(file.name, here, file.size)
    if here < file.size:
        raise OSError(f"{here} of {file.size} bytes came")


def _continues(answer: Any, here: int) -> bool:
    """Return whether an answer starts where the half file ends."""
    span = str(answer.headers.get("Content-Range", ""))
    return bool(answer.status == 206 and span.startswith(f"bytes {here}-"))


def _why(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__


def _record(spec: ModelSpec, folder: Path) -> None:
    """Write down the digests that hold from now on."""
    beside = folder / f".{specs.RECORDED}.{os.getpid()}"
    text = json.dumps(spec.to_data(), ensure_ascii=False, indent=1) + "\n"
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(folder / specs.RECORDED)
    finally:
        beside.unlink(missing_ok=True)
