"""A learner's folder: begun from a starter, never overwritten."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.errors import InvalidInput, LabError, NotFound
from lab.workbook import notebook
from lab.workbook.manifest import HOME, Stage, Track
from lab.workbook.progress import Keeper

FOLDER: Final = ".workbook"
CONFIGURATION: Final = HOME / "pytest.ini"


class AlreadyThere(LabError):
    """There is a workspace already; it is left as it is."""

    code = "already_there"


@dataclass(frozen=True)
class Workspace:
    """One track in one folder; ``root`` holds a folder for each track."""

    track: Track
    root: Path

    @property
    def folder(self) -> Path:
        """Where the learner's files are."""
        return self.root / self.track.id

    @property
    def own(self) -> Path:
        """The runner's files: progress, logs, what was put aside."""
        return self.folder / FOLDER

    @property
    def keeper(self) -> Keeper:
        """What reads and writes the progress."""
        return Keeper(self.own)

    @property
    def started(self) -> bool:
        """Say whether there is one."""
        return self.own.is_dir()

    def log(self, stage: str) -> Path:
        """Return where the log of a stage's last check is."""
        return self.own / "log" / f"{stage}.txt"

    def demand(self) -> None:
        """Raise ``NotFound`` unless the workspace was started."""
        if not self.started:
            raise NotFound(
                f"{self.folder}: no workspace here; begin with"
                f" `start {self.track.id}`"
            )

    def tested(self, stage: Stage) -> tuple[Path, ...]:
        """Return the files that a check of a stage is about.

        Of a track's two forms it is the one that differs from its starter,
        if both do, the one saved last; if none does, the first.
        """
        files = tuple(self.folder / name for name in stage.files)
        there = [file for file in files if file.is_file()]
        if not self.track.either or not there:
            return files
        edited = [file for file in there if self._edited(file)]
        latest = max(edited or there, key=lambda file: file.stat().st_mtime_ns)
        return (latest if edited else there[0],)

    def _edited(self, file: Path) -> bool:
        """Say whether a form's code differs from its starter's."""
        mine = file.read_text("utf-8", "replace")
        starter = (self.track.starter / file.name).read_text("utf-8")
        if file.suffix == ".ipynb":
            # Opening and running a notebook writes to it too.
            try:
                return notebook.code(mine) != notebook.code(starter)
            except ValueError:
                return True
        return mine != starter

    def start(self, *, force: bool = False) -> Path | None:
        """Make the workspace; return where an older one was put.

        One that is there is refused with ``AlreadyThere``, or with
        ``force`` moved aside whole. A place inside the lab's own package
        is ``InvalidInput``.
        """
        if self.folder.resolve().is_relative_to(HOME.parent.resolve()):
            raise InvalidInput(
                f"{self.folder}: inside the lab itself; name a folder of"
                " yours with --workspace"
            )
        aside = None
        if self.folder.exists():
            if not force:
                raise AlreadyThere(
                    f"{self.folder}: there is something already; go on with"
                    f" `check {self.track.id}`, or `start {self.track.id}"
                    " --force`, which keeps a copy and begins anew"
                )
            aside = self._free(self.root, f"{self.track.id}.backup-{{:04}}")
            self.folder.rename(aside)
        self.folder.mkdir(parents=True)
        for name in self.track.files:
            shutil.copyfile(self.track.starter / name, self.folder / name)
        self.own.mkdir()
        self.restore()
        return aside

    def given(self) -> dict[Path, Path]:
        """Return the files that are the track's, by their place here."""
        found = {
            self.folder / name: self.track.starter / name
            for name in self.track.given
        }
        found |= {
            self.folder / "tests" / path.name: path
            for path in sorted(self.track.tests.glob("*"))
            if path.suffix in (".py", ".json")
        }
        found |= {
            self.folder / path.relative_to(self.track.folder): path
            for folder in self.track.data
            for path in sorted((self.track.folder / folder).rglob("*"))
            if path.is_file()
        }
        return found | {self.folder / "pytest.ini": CONFIGURATION}

    def restore(self) -> list[Path]:
        """Put back what is the track's; return what had been changed.

        A changed file is kept among the runner's own files first.
        """
        changed = []
        for here, original in self.given().items():
            data = original.read_bytes()
            if here.is_file():
                mine = here.read_bytes()
                # An editor's or git's line ends are no change.
                if mine.replace(b"\r\n", b"\n") == data:
                    continue
                changed.append(here)
                self._keep(here)
            here.parent.mkdir(parents=True, exist_ok=True)
            here.write_bytes(data)
        return changed

    def _keep(self, file: Path) -> None:
        name = file.relative_to(self.folder).as_posix().replace("/", "-")
        folder = self.own / "kept"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, self._free(folder, f"{{:04}}-{name}"))

    @staticmethod
    def _free(folder: Path, name: str) -> Path:
        """Return a path with the first number that is not taken."""
        number = 1
        while (path := folder / name.format(number)).exists():
            number += 1
        return path

    def forget_bytecode(self) -> None:
        """Delete compiled files: an edit within a second may not show."""
        for folder in self.folder.rglob("__pycache__"):
            if not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
