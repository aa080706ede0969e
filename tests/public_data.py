"""Fetch the public data some tests read: ``python3 -m tests.public_data DIR``.

Each set comes from its repository at a pinned commit, and is put in place
only when every file has the SHA-256 listed in public_data.toml. What is
already there and right is not fetched again. Needs git and a network.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("public_data.toml")
SPEC = "commonmark_spec"


class FetchError(Exception):
    """A set could not be had as it is pinned; one clear sentence."""


@dataclass(frozen=True)
class Pinned:
    """One file: its digest, its path here, its path in the repository."""

    sha256: str
    path: str
    origin: str


@dataclass(frozen=True)
class DataSet:
    """One set of files from one commit of one repository."""

    name: str
    repository: str
    commit: str
    licence: str
    files: tuple[Pinned, ...]


def read_list(text: str) -> tuple[DataSet, ...]:
    """Parse public_data.toml."""
    return tuple(
        DataSet(
            name=entry["name"],
            repository=entry["repository"],
            commit=entry["commit"],
            licence=entry["licence"],
            files=tuple(map(_pinned, entry["files"].splitlines())),
        )
        for entry in tomllib.loads(text)["set"]
    )


def _pinned(line: str) -> Pinned:
    digest, path, *origin = line.split("  ")
    return Pinned(digest, path, origin[0] if origin else path)


def faults(dataset: DataSet, folder: Path) -> list[str]:
    """The files of a set that are missing in ``folder`` or differ."""
    return [
        file.path
        for file in dataset.files
        if not (folder / file.path).is_file()
        or _sha256((folder / file.path).read_bytes()) != file.sha256
    ]


def fetch(dataset: DataSet, home: Path) -> bool:
    """Put a set into ``home``; False when it was there already."""
    target = home / dataset.name
    if not faults(dataset, target) and (
        dataset.name != SPEC or (target / "spec.json").is_file()
    ):
        return False
    if target.exists():
        raise FetchError(
            f"{target} is there and is not what is pinned; move it away"
        )
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".fetching-") as work:
        clone = Path(work) / "clone"
        _git(clone, "init", "--quiet", str(clone))
        _git(clone, "fetch", "--quiet", "--depth=1", dataset.repository,
             dataset.commit)  # fmt: skip
        made = Path(work) / dataset.name
        for file in dataset.files:
            data = _git(clone, "cat-file", "blob",
                        f"{dataset.commit}:{file.origin}")  # fmt: skip
            if _sha256(data) != file.sha256:
                raise FetchError(
                    f"{dataset.name}/{file.path} is not the file that is "
                    "pinned; nothing was kept"
                )
            path = made / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if dataset.name == SPEC:
            text = (made / "spec.txt").read_text("utf-8")
            (made / "spec.json").write_bytes(spec_json(text))
        made.rename(target)
    return True


def spec_json(text: str) -> bytes:
    """The examples of the CommonMark specification, as JSON."""
    examples: list[dict[str, object]] = []
    section = ""
    fence = "`" * 32
    lines = text.splitlines(keepends=True)
    start = 0
    for number, line in enumerate(lines, 1):
        heading = re.match(r"#+ (.*)", line)
        if line.startswith(f"{fence} example"):
            start = number
        elif start and line.rstrip() == fence:
            source, _, html = (
                "".join(lines[start : number - 1])
                .replace("→", "\t")
                .partition("\n.\n")
            )
            if lines[start] == ".\n":  # an example of nothing at all
                source, html = "", source.removeprefix(".\n") + html
            examples.append(
                {
                    "example": len(examples) + 1,
                    "section": section,
                    "start_line": start,
                    "end_line": number,
                    "extensions": [],
                    "markdown": f"{source}\n" if source else "",
                    "html": html,
                }
            )
            start = 0
        elif heading and not start:
            section = heading[1].strip()
    text = json.dumps(examples, ensure_ascii=False, indent=1)
    return f"{text}\n".encode()


def _git(folder: Path, *words: str) -> bytes:
    where = [] if words[0] == "init" else ["-C", str(folder)]
    done = subprocess.run(
        ["git", *where, *words], capture_output=True, check=False
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise FetchError(f"git {words[0]} failed: {' / '.join(last[-2:])}")
    return done.stdout


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(argv: Sequence[str]) -> int:
    """Fetch every set into the folder that is named."""
    if len(argv) != 1:
        print("usage: python3 -m tests.public_data FOLDER", file=sys.stderr)
        return 2
    try:
        for dataset in read_list(LIST.read_text("utf-8")):
            fetched = fetch(dataset, Path(argv[0]))
            state = "fetched" if fetched else "was there"
            print(f"{dataset.name}: {state} ({dataset.licence})", flush=True)
    except FetchError as error:
        print(f"public data: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
