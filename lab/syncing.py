"""Bringing a folder of files into an index, again and again.

One folder holds the files of one tenant. A file's document is named by its
path, its revision grows when its content changes, and who may read it is
said by the folder's access rules, now. Everything that could open more than
it should is done in the safe order: documents go and policies close before
content changes.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lab import access
from lab.access import Access
from lab.errors import InvalidInput, LabError
from lab.index import Index
from lab.model import Document, Policy, check_id
from lab.store import Reader, Record
from lab.text import project

FORMATS: Final[Mapping[str, str]] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "text",
}
SLUG: Final = 60
DIGEST: Final = 12

# Removing more than one document in so many asks for a second word.
CAUTION: Final = 10

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Problem:
    """A file that was left as it was, and why."""

    path: str
    what: str


@dataclass(frozen=True)
class File:
    """A file to index; ``path`` is relative, in NFC, with slashes."""

    path: str
    place: Path
    format: str

    @property
    def doc_id(self) -> str:
        """Return the id of the file's document."""
        return doc_id(self.path)


@dataclass(frozen=True)
class Scan:
    """What a folder holds.

    ``present`` are paths that are there and cannot be indexed now, and
    ``blind`` folders whose content could not be seen: what is known of
    either is no deletion.
    """

    files: tuple[File, ...]
    present: frozenset[str]
    blind: tuple[str, ...]
    problems: tuple[Problem, ...]

    def may_hold(self, path: str) -> bool:
        """Say whether ``path`` may still be there, seen or not."""
        return path in self.present or any(
            path.startswith(f"{folder}/") for folder in self.blind
        )


@dataclass(frozen=True)
class Synced:
    """What a sync did, or with ``dry_run`` would do.

    ``counts`` has ``added``, ``changed``, ``restored``, ``removed``,
    ``unchanged`` and ``policies`` (documents whose policy changed).
    ``closed`` files match no rule, so nobody may read them. ``unbound``
    names groups that documents name and that do not open them.
    """

    dry_run: bool
    counts: Mapping[str, int]
    closed: int
    unused: tuple[str, ...]
    unbound: Mapping[str, int]
    problems: tuple[Problem, ...]

    def to_data(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "dry_run": self.dry_run,
            **self.counts,
            "closed": self.closed,
            "unused_rules": list(self.unused),
            "unbound_groups": dict(self.unbound),
            "problems": [
                {"path": problem.path, "what": problem.what}
                for problem in self.problems
            ],
        }


def doc_id(path: str) -> str:
    """Return the document id of a relative path.

    At most 60 plain characters of it, the last ones, whole words first,
    for people; and 12 hexadecimal digits of its SHA-256, which tell apart
    what the slug does not.
    """
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", path).strip("-")
    if len(slug) > SLUG:
        # One character more shows whether the cut falls between words.
        cut = slug[-SLUG - 1 :]
        slug = cut.partition("-")[2] or cut[1:]
    digest = hashlib.sha256(path.encode("utf-8")).hexdigest()[:DIGEST]
    return f"{slug or 'file'}-{digest}"


def scan(root: Path) -> Scan:
    """Look at every file below ``root``; links are not followed.

    A link could lead out of the folder, to files that its rules were not
    written for. Names that start with a dot are passed over. Raises
    ``InvalidInput`` when there is no such folder, or a second
    ``access.toml`` further down that would wrongly seem to count.
    """
    if not root.is_dir():
        raise InvalidInput(f"{root}: no such folder; nothing was changed")
    files: dict[str, File] = {}
    present: set[str] = set()
    blind: list[str] = []
    problems: list[Problem] = []
    pending = [("", root)]
    while pending:
        above, folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not above:
                raise InvalidInput(
                    f"{root}: cannot be read ({error.strerror}); nothing was"
                    " changed"
                ) from None
            blind.append(above)
            problems.append(Problem(above, f"folder: {error.strerror}"))
            continue
        for entry in found:
            path = _join(above, entry.name)
            kind = FORMATS.get(Path(entry.name).suffix.lower())
            if entry.name.startswith("."):
                continue
            if entry.name == access.NAME and above:
                raise InvalidInput(
                    f"{root / path}: only one file of rules counts; move"
                    f" these into {root / access.NAME}"
                )
            what = _oddity(entry, path, files)
            if what is not None:
                if kind is not None or _leads_to_folder(entry):
                    present.add(path)
                    blind.append(path)
                    problems.append(Problem(path, what))
            elif _is_folder(entry):
                pending.append((path, Path(entry.path)))
            elif kind is not None and entry.is_file(follow_symlinks=False):
                files[path] = File(path, Path(entry.path), kind)
    return Scan(
        tuple(files[path] for path in sorted(files)),
        frozenset(present),
        tuple(blind),
        tuple(sorted(problems, key=lambda problem: problem.path)),
    )


def _join(above: str, name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    return f"{above}/{name}" if above else name


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _oddity(
    entry: os.DirEntry[str], path: str, files: Mapping[str, File]
) -> str | None:
    """Return why an entry cannot be a document, ``None`` when it may."""
    if entry.is_symlink():
        return "a symbolic link, which is not followed"
    try:
        entry.name.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if path in files:
        return "its name differs from another's in Unicode form only"
    return None


def sync(
    index: Index,
    root: Path,
    tenant: str,
    rules: Access,
    *,
    allow_deletions: bool = False,
    rebind: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Synced:
    """Make the index hold what the folder holds, under the rules of now.

    Raises ``InvalidInput``, with nothing changed, when the folder is not
    there or more than a tenth of its documents would go without
    ``allow_deletions``. A file that cannot be read is reported, keeps its
    old content and gets its policy. ``rebind`` sets policies again whose
    groups have been made, or made anew, since.
    """
    check_id(tenant, "tenant")
    seen = scan(root)
    held = _held(index, tenant)
    paths = {file.path for file in seen.files}
    gone = [
        record
        for path, record in sorted(held.items())
        if path not in paths and not seen.may_hold(path)
    ]
    if len(gone) * CAUTION > len(held) and not allow_deletions:
        raise InvalidInput(
            f"{root}: {len(gone)} of {len(held)} documents are not there any"
            f" more ({gone[0].origin!r} first); nothing was changed. If"
            " that is meant, say --allow-deletions"
        )
    work = _Work(index, tenant, rules, rebind, dry_run)
    for record in gone:
        work.remove(record)
    # What is there and cannot be indexed keeps its content, not its policy.
    for path, record in sorted(held.items()):
        if path not in paths and seen.may_hold(path):
            work.govern(path, record)
    for number, file in enumerate(seen.files, 1):
        work.put(file)
        if progress is not None:
            progress(number, len(seen.files))
    return Synced(
        dry_run,
        {name: work.counts[name] for name in _COUNTS},
        work.closed,
        tuple(
            rule.match
            for rule in rules.rules
            if not any(rule.matches(path) for path in paths)
        ),
        dict(sorted(work.unbound.items())),
        (*seen.problems, *work.problems),
    )


_COUNTS: Final = (
    "added",
    "changed",
    "restored",
    "removed",
    "unchanged",
    "policies",
)


def _held(index: Index, tenant: str) -> dict[str, Record]:
    """Return the tenant's live documents that came from files, by path.

    A document whose id is not the one its origin gives came from elsewhere
    and is none of a sync's business.
    """
    with index.snapshot() as snapshot:
        return {
            record.origin: record
            for record in snapshot.records(tenant)
            if record.live
            and record.origin is not None
            and record.doc_id == doc_id(record.origin)
        }


@dataclass
class _Work:
    """One run: what it does to each document, and what it counts."""

    index: Index
    tenant: str
    rules: Access
    rebind: bool
    dry_run: bool
    counts: Counter[str] = field(default_factory=Counter)
    unbound: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    closed: int = 0

    def remove(self, record: Record) -> None:
        """Leave a tombstone where a file was."""
        self._try(
            record.origin or record.doc_id,
            lambda: self.index.delete(
                self.tenant, record.doc_id, record.revision + 1
            ),
            "removed",
        )

    def govern(self, path: str, record: Record) -> None:
        """Set a document's policy where the rules say something else."""
        policy = self.rules.policy(path)
        if self._policy_stands(record, policy):
            return
        self._try(
            path,
            lambda: self._set(record.doc_id, policy, record.policy_revision),
            "policies",
        )

    def put(self, file: File) -> None:
        """Bring one file in: content, revision, policy."""
        policy = self.rules.policy(file.path)
        self.closed += not policy.readers
        record = self._record(file.doc_id)
        live = record is not None and record.live
        try:
            source, seconds = _source(file)
            digest = project(file.format, source).sha256
            document = Document(
                self.tenant,
                file.doc_id,
                1 if record is None else record.revision + 1,
                file.format,
                source,
                # Counts only where the document is new or restored.
                policy,
                seconds,
                file.path,
            )
        except (OSError, InvalidInput) as error:
            self.problems.append(Problem(file.path, _reason(error)))
            if record is not None and live:
                self.govern(file.path, record)
            return
        if record is None or not live:
            self._note_unknown(policy)
            restored = record is not None
            self._try(
                file.path,
                lambda: self.index.upsert(document, restore=restored),
                "restored" if restored else "added",
            )
        elif record.sha256 == digest:
            self.counts["unchanged"] += 1
            self.govern(file.path, record)
        elif self._policy_stands(record, policy):
            self._try(file.path, lambda: self.index.upsert(document), "changed")
        else:
            self._try(
                file.path,
                lambda: self._replace(document, record, policy),
                "changed",
                "policies",
            )

    def _replace(
        self, document: Document, record: Record, policy: Policy
    ) -> None:
        """Change content and policy with neither seen under the other.

        New text must not be read by the old readers, nor old text by new
        ones; between the two, nobody reads.
        """
        revision = self._set(
            record.doc_id, access.NOBODY, record.policy_revision
        )
        try:
            self.index.upsert(document)
        finally:
            self._set(record.doc_id, policy, revision)

    def _set(self, name: str, policy: Policy, expected: int) -> int:
        return self.index.set_policy(self.tenant, name, policy, expected)

    def _record(self, name: str) -> Record | None:
        with self.index.snapshot() as snapshot:
            return snapshot.record(self.tenant, name)

    def _policy_stands(self, record: Record, policy: Policy) -> bool:
        """Say whether a stored policy is what the rules say, and binds."""
        with self.index.snapshot() as snapshot:
            readers = snapshot.readers(self.tenant, record.doc_id)
            groups = {
                reader.name: snapshot.group(self.tenant, reader.name)
                for reader in readers
                if reader.kind == "group"
            }
        stored = Policy(
            tuple(_name(reader) for reader in readers),
            record.classification,
            record.barrier,
        )
        if stored != policy:
            self._note_unknown(policy)
            return False
        stands = True
        for reader in readers:
            group = groups.get(reader.name)
            if reader.kind != "group":
                continue
            live = group is not None and group.live
            if group is not None and live:
                if group.incarnation == reader.incarnation:
                    continue
                if self.rebind:
                    stands = False
                    continue
            self.unbound[reader.name] += 1
        return stands

    def _note_unknown(self, policy: Policy) -> None:
        """Count the groups of a policy that open nothing, being unknown."""
        for name in policy.readers:
            if not name.startswith("group:"):
                continue
            plain = name.removeprefix("group:")
            if self.index.directory.get_group(self.tenant, plain) is None:
                self.unbound[plain] += 1

    def _try(self, path: str, act: Callable[[], object], *counted: str) -> None:
        """Do one thing to one document; what is refused is a problem."""
        try:
            if not self.dry_run:
                act()
        except LabError as error:
            if error.code == "store_unavailable":
                raise
            self.problems.append(Problem(path, str(error)))
        else:
            self.counts.update(counted)


def _name(reader: Reader) -> str:
    return f"group:{reader.name}" if reader.kind == "group" else reader.name


def _source(file: File) -> tuple[str, int]:
    """Return a file's text and when it was last changed (Unix seconds)."""
    data = file.place.read_bytes()
    seconds = int(file.place.stat().st_mtime)
    try:
        return data.decode("utf-8"), seconds
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror})"
    return str(error)
