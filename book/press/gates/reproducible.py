"""A second build, elsewhere and at another time, gives the same bytes.

The source is copied to a folder of another name and length, its files dated
long ago. There a process of its own builds it again: in another time zone,
with other hashes and a clock that is years ahead. Whatever of that shows in
an output is a difference. The PDF and release.json are no part of it.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from book.press import publish
from book.press.context import BuildContext
from book.press.digest import Source, manifest, tracked
from book.press.gates import Gate, GateResult, judged
from book.press.problems import Problem

# How far ahead the second build's clock is, and the date of its files.
AHEAD = 1234 * 24 * 3600 + 4321
LONG_AGO = 946_684_800  # 2000-01-01T00:00:00Z


def run(staging: Path, context: BuildContext) -> GateResult:
    """Build again and compare every file whose bytes are promised."""
    with tempfile.TemporaryDirectory(prefix="again-") as folder:
        root = Path(folder) / "a folder" / "of another name and length"
        home = Path(folder) / "made"
        files = tracked(context.root)
        copy_tree(context.root, files, root)
        # The copy has no git; what its files are, it learns from this.
        (root / "MANIFEST").write_text(manifest(files), "utf-8")
        home.mkdir()
        failure = _build(root, home, files, context)
        if failure:
            problem = Problem("the second build", 0, failure)
            return judged([problem])
        findings = list(differences(staging, home))
        return judged(findings, f"{len(publish.summed(home))} files")


def copy_tree(root: Path, files: Sequence[str], target: Path) -> None:
    """The named files under ``target``, dated long ago."""
    for name in files:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, path)
        shutil.copymode(root / name, path)
        os.utime(path, (LONG_AGO, LONG_AGO))


def _build(
    root: Path, home: Path, files: Sequence[str], context: BuildContext
) -> str:
    """Run the second build; ``""``, or why it failed."""
    facts = {
        "files": list(files),
        "digest": context.source_digest,
        "epoch": context.source_date_epoch,
        "version": context.version,
        "dirty": context.dirty,
        "home": str(home),
    }
    environment = {
        **os.environ,
        "TZ": "Pacific/Chatham",
        "PYTHONHASHSEED": "4242",
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("SOURCE_DATE_EPOCH", None)
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(facts),
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return f"failed with {done.returncode}: {' '.join(said[-3:])}"


def differences(first: Path, second: Path) -> Iterator[Problem]:
    """Files that one build has and the other has not, or has otherwise."""
    ours = {path.relative_to(first) for path in publish.summed(first)}
    theirs = {path.relative_to(second) for path in publish.summed(second)}
    for path in sorted(ours | theirs):
        name = path.as_posix()
        if path not in theirs:
            yield Problem(name, 0, "is not in the second build")
        elif path not in ours:
            yield Problem(name, 0, "is in the second build only")
        else:
            a = (first / path).read_bytes()
            b = (second / path).read_bytes()
            if a != b:
                yield from _difference(name, a, b)


def _difference(name: str, a: bytes, b: bytes) -> Iterator[Problem]:
    """Where two versions of a file part, inside an archive if it is one."""
    if name.endswith((".zip", ".epub")):
        with contextlib.suppress(zipfile.BadZipFile):
            inside = list(_in_archive(name, a, b))
            again = Problem(name, 0, "differs in how it is packed")
            yield from inside or [again]
            return
    if name.endswith(".gz"):
        yield Problem(name, 0, "differs in the second build")
        return
    for number, (old, new) in enumerate(
        zip(a.splitlines(), b.splitlines(), strict=False), 1
    ):
        if old != new:
            place = next(
                (
                    i
                    for i, (x, y) in enumerate(zip(old, new, strict=False))
                    if x != y
                ),
                min(len(old), len(new)),
            )
            shown = [
                line[max(0, place - 20) : place + 20].decode("utf-8", "replace")
                for line in (old, new)
            ]
            message = f"differs in the second build: {shown[0]!r}, {shown[1]!r}"
            yield Problem(name, number, message)
            return
    yield Problem(name, 0, "has another length in the second build")


def _in_archive(name: str, a: bytes, b: bytes) -> Iterator[Problem]:
    with (
        zipfile.ZipFile(io.BytesIO(a)) as first,
        zipfile.ZipFile(io.BytesIO(b)) as second,
    ):
        ours, theirs = first.namelist(), second.namelist()
        for member in sorted({*ours, *theirs}):
            inner = f"{name}!{member}"
            if member not in theirs:
                yield Problem(inner, 0, "is not in the second build")
            elif member not in ours:
                yield Problem(inner, 0, "is in the second build only")
            elif first.read(member) != second.read(member):
                pair = first.read(member), second.read(member)
                yield from _difference(inner, *pair)


def _set_clock_ahead() -> None:
    """Let this process live in a later year, as far as Python asks."""
    real_time, real_gm, real_local = time.time, time.gmtime, time.localtime
    time.time = lambda: real_time() + AHEAD
    time.time_ns = lambda: int(time.time() * 1e9)
    time.gmtime = lambda seconds=None: real_gm(
        time.time() if seconds is None else seconds
    )
    time.localtime = lambda seconds=None: real_local(
        time.time() if seconds is None else seconds
    )
    real_strftime = time.strftime
    time.strftime = lambda form, when=None: real_strftime(
        form, time.localtime() if when is None else when
    )

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Later:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Later:
            return cls.now(datetime.UTC).replace(tzinfo=None)

    datetime.datetime = Later  # type: ignore[misc]


def _main() -> int:
    """The second build: facts on standard input, outputs in their home."""
    facts = json.load(sys.stdin)
    _set_clock_ahead()
    from book.press.console import Console
    from book.press.driver import make

    source = Source(
        root=Path.cwd(),
        files=tuple(facts["files"]),
        digest=facts["digest"],
        epoch=facts["epoch"],
        commit="",
        dirty=facts["dirty"],
        version=facts["version"],
    )
    make(source, Path(facts["home"]), Console())
    return 0


GATE = Gate("reproducible", run, order=90)

if __name__ == "__main__":
    sys.exit(_main())
