"""``python -m lab.workbook.generate``: make starters and solutions.

``--check`` writes nothing and ends with exit code 1 when a file is not
what its source makes of it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from lab.errors import InvalidInput
from lab.workbook import markers, notebook
from lab.workbook.manifest import HOME, Track, track, track_ids


def pieces(track: Track, name: str) -> list[str | markers.Region]:
    """Return the source of one of a track's files, in pieces."""
    file = source(track, name)
    place = f"tracks/{track.id}/source/{file.name}"
    return markers.parse(file.read_text("utf-8"), place, track.numbers())


def source(track: Track, name: str) -> Path:
    """Return the source of a track's file; a notebook's is a script."""
    path = track.folder / "source" / name
    return path.with_suffix(".py") if path.suffix == ".ipynb" else path


def starter(track: Track, solved: Collection[str] = ()) -> dict[str, str]:
    """Return a starter's files; the stages in ``solved`` are filled in."""
    made = {name: _starter(track, name, solved) for name in track.files}
    return made | _given(track)


def solution(track: Track) -> dict[str, str]:
    """Return the files of a track's reference."""
    return starter(track, track.numbers())


def _starter(track: Track, name: str, solved: Collection[str]) -> str:
    text = markers.starter(pieces(track, name), solved)
    return notebook.from_script(text) if name.endswith(".ipynb") else text


def _given(track: Track) -> dict[str, str]:
    made = {}
    for name in track.given:
        parsed = pieces(track, name)
        if any(isinstance(piece, markers.Region) for piece in parsed):
            raise InvalidInput(f"{track.id}: {name} is given, yet has markers")
        made[name] = markers.solution(parsed)
    return made


def everything() -> dict[Path, str]:
    """Return every generated file of every track, by its path."""
    made: dict[Path, str] = {}
    for name in track_ids():
        one = track(name)
        for folder, files in (
            (one.starter, starter(one)),
            (one.reference, solution(one)),
        ):
            made |= {folder / file: text for file, text in files.items()}
    return made


def differences(made: Mapping[Path, str]) -> list[str]:
    """Name every generated file that is missing, different or stray."""
    found = []
    for path, text in made.items():
        if not path.is_file():
            found.append(f"{_short(path)}: missing")
        elif path.read_bytes() != text.encode("utf-8"):
            found.append(f"{_short(path)}: not what its source makes")
    for top in ("starters", "solutions"):
        for path in sorted((HOME / top).rglob("*")):
            made_by_python = "__pycache__" in path.parts
            if path.is_file() and path not in made and not made_by_python:
                found.append(f"{_short(path)}: no source makes this")
    return found


def write(made: Mapping[Path, str]) -> None:
    """Replace what was generated before."""
    for top in ("starters", "solutions"):
        shutil.rmtree(HOME / top, ignore_errors=True)
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def _short(path: Path) -> str:
    return path.relative_to(HOME.parent.parent).as_posix()


def main(argv: Sequence[str]) -> int:
    """Write or, with ``--check``, compare; return an exit code."""
    try:
        made = everything()
    except (InvalidInput, markers.MarkerError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if list(argv) == ["--check"]:
        found = differences(made)
        for line in found:
            print(line)
        return 1 if found else 0
    if argv:
        print(f"error: {argv[0]!a}: only --check is known", file=sys.stderr)
        return 2
    write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
