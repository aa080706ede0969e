"""What a learner has passed, kept so that nothing is ever lost.

One file, written whole or not at all, keyed by stage id. A reset puts it
aside and can be undone; a file that cannot be read is put aside too, and
whoever asked is told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lab import canonical, evidence
from lab.errors import InvalidInput, NotFound

FORMAT: Final = 1
OUTCOMES: Final = ("pass", "fail", "cannot", "error")
_NAME: Final = "progress.json"


@dataclass(frozen=True)
class Record:
    """What is known of one stage.

    ``outcome`` is of the last check, ``""`` before any; ``where`` is the
    place of its failure; ``rungs`` counts the hints that were asked for.
    """

    outcome: str = ""
    where: str = ""
    rungs: int = 0


@dataclass(frozen=True)
class Progress:
    """Records by stage id."""

    stages: Mapping[str, Record] = field(default_factory=dict)

    def record(self, stage: str) -> Record:
        """Return what is known of a stage."""
        return self.stages.get(stage, Record())

    def passed(self, stage: str) -> bool:
        """Say whether the last check of a stage passed."""
        return self.record(stage).outcome == "pass"

    def having(self, stage: str, **changes: Any) -> Progress:
        """Return a copy in which a stage's record is changed."""
        changed = replace(self.record(stage), **changes)
        return Progress({**self.stages, stage: changed})


class Keeper:
    """Reads and writes the progress of one workspace.

    ``folder`` is the workspace's own folder for the runner's files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def file(self) -> Path:
        """Where the progress is."""
        return self.folder / _NAME

    def load(self) -> tuple[Progress, str]:
        """Return the progress, and what had to be done to read it.

        The second is ``""``, or a sentence for the learner: an unreadable
        file is renamed, never overwritten.
        """
        try:
            return _parse(self.file.read_bytes()), ""
        except FileNotFoundError:
            return Progress(), ""
        except (InvalidInput, OSError) as error:
            aside = self._free("progress.unreadable")
            self.file.replace(aside)
            return Progress(), (
                f"the progress file could not be read ({error}); it is kept"
                f" as {aside}, and the results start anew"
            )

    def save(self, progress: Progress) -> None:
        """Write the progress, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        stages = {
            name: {"outcome": r.outcome, "where": r.where, "rungs": r.rungs}
            for name, r in progress.stages.items()
        }
        data = {"format": FORMAT, "stages": stages}
        text = json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False)
        evidence.write(self.file, text + "\n")

    def reset(self) -> Path | None:
        """Put the progress aside; return where, or ``None`` for nothing."""
        if not self.file.exists():
            return None
        aside = self._free("progress.backup")
        self.file.replace(aside)
        return aside

    def undo(self) -> Path:
        """Take the latest backup back; what was there becomes a backup.

        Returns the backup that was used. Raises ``NotFound`` when there is
        none.
        """
        backups = sorted(self.folder.glob("progress.backup-*.json"))
        if not backups:
            raise NotFound(
                f"{self.folder}: no reset to undo; nothing was changed"
            )
        latest = backups[-1]
        between = self.file.with_suffix(".undoing")
        if self.file.exists():
            self.file.replace(between)
        latest.replace(self.file)
        if between.exists():
            between.replace(latest)
        return latest

    def _free(self, stem: str) -> Path:
        """Return a numbered name that is not taken."""
        number = 1
        while (path := self.folder / f"{stem}-{number:04}.json").exists():
            number += 1
        return path


def _parse(data: bytes) -> Progress:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("it is not UTF-8") from None
    value = canonical.loads(text, "it")
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise InvalidInput(f"it is not of format {FORMAT}")
    stages = value.get("stages")
    if not isinstance(stages, dict):
        raise InvalidInput("its stages are missing")
    found = {}
    for name, entry in stages.items():
        record = Record(**entry) if _is_record(entry) else None
        if record is None:
            raise InvalidInput(f"its stage {name!a} is no record")
        found[name] = record
    return Progress(found)


def _is_record(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == {"outcome", "where", "rungs"}
        and entry["outcome"] in ("", *OUTCOMES)
        and isinstance(entry["where"], str)
        and type(entry["rungs"]) is int
        and entry["rungs"] >= 0
    )
