"""The source tree: which files are the source, their digest and date."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from book.press.problems import Problem, Problems

# Recording a delivery must rebuild nothing, so these two are no source:
# one is written by a release, the other lists names that are there anyway.
NOT_SOURCE = frozenset({"DELIVERY.md", "MANIFEST"})

# The date of a tree that says none: 2026-01-01T00:00:00Z.
UNDATED = 1767225600


@dataclass(frozen=True)
class Source:
    """The tree that is built.

    ``files`` are the tracked files that exist, relative to ``root``, with
    forward slashes, sorted. ``digest`` is SHA-256 over their names and
    bytes, without ``NOT_SOURCE``. ``epoch`` is the date of the last commit
    that touched the source, in Unix seconds. ``commit`` is empty without
    git. ``dirty`` says that the tree differs from that commit; without git
    nobody can tell, and it is False.
    """

    root: Path
    files: tuple[str, ...]
    digest: str
    epoch: int
    commit: str
    dirty: bool
    version: str


def _git(root: Path, *words: str) -> str | None:
    """What git says, or None when it cannot."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_DIR")}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=env,
            check=False,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def has_git(root: Path) -> bool:
    """Whether ``root`` is the top of a git checkout that git can read.

    An archive unpacked inside some other checkout is not.
    """
    if not (root / ".git").exists() or shutil.which("git") is None:
        return False
    if _git(root, "rev-parse", "--is-inside-work-tree") is None:
        raise Problems(
            [
                Problem(
                    ".git",
                    0,
                    "git cannot read this checkout",
                    "see what `git status` says here",
                )
            ]
        )
    return True


def tracked(root: Path) -> tuple[str, ...]:
    """The tracked files that exist, from git or else from MANIFEST."""
    if has_git(root):
        listed = (_git(root, "ls-files", "-z") or "").split("\0")
        return tuple(sorted(n for n in listed if n and (root / n).is_file()))
    manifest = root / "MANIFEST"
    if not manifest.is_file():
        raise Problems(
            [
                Problem(
                    "MANIFEST",
                    0,
                    "this tree has neither git nor a MANIFEST",
                    "use a checkout or a complete source archive",
                )
            ]
        )
    names = manifest.read_text("utf-8").splitlines()
    missing = [n for n in names if not (root / n).is_file()]
    if missing:
        raise Problems(
            Problem(n, 0, "named in MANIFEST and not here") for n in missing
        )
    return tuple(sorted([*names, "MANIFEST"]))


def manifest(files: tuple[str, ...]) -> str:
    """The text of MANIFEST for these files."""
    return "".join(f"{name}\n" for name in files if name != "MANIFEST")


def manifest_problems(root: Path, files: tuple[str, ...]) -> list[Problem]:
    """Where MANIFEST and the tracked files disagree."""
    path = root / "MANIFEST"
    listed = set(path.read_text("utf-8").splitlines() if path.exists() else ())
    real = set(files) - {"MANIFEST"}
    hint = "write it again with: python3 -m book.press.digest"
    missing = [
        Problem("MANIFEST", 0, f"does not list {name}", hint)
        for name in sorted(real - listed)
    ]
    extra = [
        Problem("MANIFEST", 0, f"lists {name}, which is not tracked", hint)
        for name in sorted(listed - real)
    ]
    return missing + extra


def refresh_manifest(root: Path) -> bool:
    """Write MANIFEST anew in a checkout; whether anything changed."""
    if not has_git(root):
        return False
    path = root / "MANIFEST"
    text = manifest(tracked(root))
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.write_text(text, "utf-8", newline="\n")
    return True


def tree_digest(root: Path, files: tuple[str, ...]) -> str:
    """SHA-256 over name and content of each file that is source."""
    digest = hashlib.sha256()
    for name in files:
        if name in NOT_SOURCE:
            continue
        content = hashlib.sha256((root / name).read_bytes()).hexdigest()
        digest.update(f"{content}  {name}\n".encode())
    return digest.hexdigest()


def version(root: Path) -> str:
    """The project's version, from pyproject.toml."""
    data = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    return str(data["project"]["version"])


def read_source(root: Path) -> Source:
    """Look at the tree as it is now.

    Raises ``Problems`` when the list of files cannot be had.
    """
    files = tracked(root)
    commit, epoch, dirty = "", UNDATED, False
    if has_git(root):
        commit = (_git(root, "rev-parse", "HEAD") or "").strip()
        spec = [f":(exclude){name}" for name in sorted(NOT_SOURCE)]
        date = _git(root, "log", "-1", "--format=%ct", "--", ".", *spec)
        epoch = int(date) if date and date.strip() else UNDATED
        dirty = bool((_git(root, "status", "--porcelain") or "").strip())
    return Source(
        root=root,
        files=files,
        digest=tree_digest(root, files),
        epoch=epoch,
        commit=commit,
        dirty=dirty,
        version=version(root),
    )


if __name__ == "__main__":
    refresh_manifest(Path(__file__).resolve().parents[2])
