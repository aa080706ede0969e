"""From staging to dist/: whole, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from book.press.digest import Source
from book.press.gates import GateResult, Status

SUMS = "SHA256SUMS"
RELEASE = "release.json"
SCHEMA = "keeps-secrets/release/1"

# Packages whose version can change what a build prints.
TOOLS = (
    "ebooklib", "epubcheck", "jieba", "jinja2", "latex2mathml", "lxml",
    "markdown-it-py", "matplotlib", "mkdocs", "mkdocs-material",
    "mkdocs-static-i18n", "pygments",
)  # fmt: skip


def workshop(root: Path) -> Path:
    """The folder, on the same disk as dist/, where builds are made."""
    return root / ".staging"


@contextlib.contextmanager
def staging(root: Path) -> Iterator[Path]:
    """A new empty folder; what is still in it at the end is thrown away."""
    shop = workshop(root)
    shop.mkdir(exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="build-", dir=shop))
    home.chmod(0o755)  # becomes dist/, which a web server must read
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _previous(root: Path) -> Path:
    return workshop(root) / "previous"


def recover(root: Path, dist: Path) -> None:
    """Undo a publication that was cut off between its two renames."""
    previous = _previous(root)
    if previous.exists():
        if dist.exists():
            shutil.rmtree(previous)
        else:
            previous.rename(dist)


def publish(root: Path, made: Path, dist: Path) -> None:
    """Put ``made`` in the place of ``dist``.

    Two renames on one disk: at every moment there is a whole old or a
    whole new dist, in its place or under a name ``recover`` knows.
    """
    recover(root, dist)
    previous = _previous(root)
    if dist.exists():
        dist.rename(previous)
    try:
        made.rename(dist)
    except BaseException:
        recover(root, dist)
        raise
    if previous.exists():
        shutil.rmtree(previous)


def sha256(path: Path) -> str:
    """SHA-256 of a file in lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def summed(folder: Path) -> list[Path]:
    """The files whose bytes are promised, sorted by path.

    release.json tells about one run, and a PDF carries the mark of the
    browser that printed it: neither can be the same twice.
    """
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.name not in {SUMS, RELEASE}
        and path.suffix != ".pdf"
    )


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS in the form ``sha256sum -c`` reads."""
    lines = [
        f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n"
        for path in summed(folder)
    ]
    (folder / SUMS).write_text("".join(lines), "utf-8", newline="\n")


def check_sums(folder: Path) -> list[str]:
    """What in ``folder`` is missing, changed or not listed."""
    listed = {}
    for line in (folder / SUMS).read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    wrong = []
    for path in summed(folder):
        name = path.relative_to(folder).as_posix()
        if name not in listed:
            wrong.append(f"{name} is not listed")
        elif listed.pop(name) != sha256(path):
            wrong.append(f"{name} was changed")
    return wrong + [f"{name} is missing" for name in listed]


def artefacts(folder: Path) -> list[Path]:
    """The files a reader downloads: those at the top of ``folder``."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and path.name not in {SUMS, RELEASE}
    )


def verified(results: Sequence[GateResult]) -> bool:
    """Whether every gate ran and passed."""
    return bool(results) and all(r.status is Status.PASS for r in results)


def tool_versions(names: Iterable[str] = TOOLS) -> dict[str, str]:
    """Installed versions, by name; what is not installed is left out."""
    found = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def release_facts(
    folder: Path, source: Source, results: Sequence[GateResult]
) -> dict[str, object]:
    """What release.json says."""
    return {
        "schema": SCHEMA,
        "version": source.version,
        "commit": source.commit,
        "dirty": source.dirty,
        "source": {"sha256": source.digest, "date": source.epoch},
        "verified": verified(results) and not source.dirty,
        "artefacts": [
            {
                "name": path.name,
                "size": path.stat().st_size,
                "sha256": sha256(path),
            }
            for path in artefacts(folder)
        ],
        "gates": [
            {
                "name": result.name,
                "status": result.status.value,
                "reason": result.reason,
                "seconds": round(result.seconds, 1),
                "findings": [str(found) for found in result.findings],
            }
            for result in results
        ],
        "environment": {
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "tools": tool_versions(),
        },
    }


def write_release(
    folder: Path, source: Source, results: Sequence[GateResult]
) -> None:
    """Write release.json."""
    facts = release_facts(folder, source, results)
    text = json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)
    (folder / RELEASE).write_text(text + "\n", "utf-8", newline="\n")
