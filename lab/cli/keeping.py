"""Commands of the trusted side: sync, apply, status, verify, purge, rebuild."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lab import access, encoders, syncing
from lab.chunking import (
    BlockChunker,
    Chunker,
    SectionChunker,
    WindowChunker,
)
from lab.cli.commands import Commands, number
from lab.cli.console import Console, counted
from lab.cli.files import read_text
from lab.cli.opening import open_index, there
from lab.errors import InvalidInput
from lab.events import Outcome
from lab.index import DocumentStatus, Index, Status
from lab.model import check_id

CHUNKERS: Mapping[str, Callable[..., Chunker]] = {
    "window": WindowChunker,
    "section": SectionChunker,
    "block": BlockChunker,
}


def register(commands: Commands) -> None:
    """Add the commands of this group."""
    parser = commands.add(
        "sync",
        "bring a folder's files into the index, under its access rules",
        _sync,
        store=True,
        more="Markdown, JSON and text files are taken; access.toml says who"
        " may read them,\nand no rule means nobody. One folder for one"
        " tenant: what is not in the folder\nany more is deleted.",
    )
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--tenant", required=True, help="whose documents")
    parser.add_argument(
        "--access",
        metavar="FILE",
        help=f"the rules (default FOLDER/{access.NAME})",
    )
    parser.add_argument(
        "--allow-deletions",
        action="store_true",
        help="let more than a tenth of the documents go",
    )
    parser.add_argument(
        "--rebind",
        action="store_true",
        help="bind policies to groups made, or made anew, since",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would be done, and do nothing",
    )
    parser = commands.add(
        "apply",
        "carry out events, one JSON object a line",
        _apply,
        store=True,
        more="Each event is its own transaction; one that is refused stops"
        " no other.",
    )
    parser.add_argument(
        "events", metavar="EVENTS", help="a .jsonl file, or - for input"
    )
    parser = commands.add(
        "status",
        "show what the index holds, or one document's state",
        _status,
        store=True,
    )
    parser.add_argument("--tenant", help="only this tenant's documents")
    parser.add_argument("--doc", metavar="DOC_ID", help="one document")
    commands.add(
        "verify",
        "look for every disagreement in the index",
        _verify,
        store=True,
    )
    commands.add(
        "purge",
        "make deleted text disappear from the index's files",
        _purge,
        store=True,
    )
    parser = commands.add(
        "rebuild",
        "chunk and encode every document anew",
        _rebuild,
        store=True,
        more="What is not named stays as it is. Policies, revisions and"
        " citations survive.",
    )
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        help="none, counts, hashing, hashing:DIMS, shipped, e5, or a fetched"
        " model",
    )
    parser.add_argument(
        "--chunker",
        metavar="NAME",
        help="window, section or block, or NAME:SIZE:OVERLAP",
    )


def _sync(arguments: argparse.Namespace, console: Console) -> int:
    root = Path(arguments.folder)
    if not root.is_dir():
        raise InvalidInput(f"{root}: no such folder; nothing was changed")
    check_id(arguments.tenant, "tenant")
    inside = root / access.NAME
    place = inside if arguments.access is None else Path(arguments.access)
    rules = access.read(place)
    if inside.exists() and not place.samefile(inside):
        console.note(f"note: {inside} is not used, {place} is")
    with _to_sync(arguments) as index:
        done = syncing.sync(
            index,
            root,
            arguments.tenant,
            rules,
            allow_deletions=arguments.allow_deletions,
            rebind=arguments.rebind,
            dry_run=arguments.dry_run,
            progress=lambda n, total: console.progress(n, total, "file"),
        )
    console.data(done.to_data())
    if not console.json:
        _synced(done, console)
    return 3 if done.problems else 0


def _to_sync(arguments: argparse.Namespace) -> Index:
    """Open the index; a dry run makes none where there is none."""
    if arguments.dry_run and not there(arguments.db):
        return Index.open(":memory:")
    return open_index(arguments.db, make=True)


def _synced(done: syncing.Synced, console: Console) -> None:
    counts = dict(done.counts)
    policies = counts.pop("policies")
    told = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    would = "would be: " if done.dry_run else ""
    console.clear()
    console.say(f"{would}{told or 'no files'}")
    if policies:
        console.say(f"{counted(policies, 'document')} with another policy")
    for problem in done.problems:
        console.note(f"left as it was: {problem.path}: {problem.what}")
    if done.closed:
        console.note(
            f"note: {counted(done.closed, 'file')} matched by no rule with"
            " readers: nobody may read them"
        )
    for match in done.unused:
        console.note(f"note: no file matches the rule {match!r}")
    for name, documents in done.unbound.items():
        console.note(
            f"note: group:{name} opens nothing in"
            f" {counted(documents, 'document')}: make the group, then say"
            " --rebind"
        )


def _apply(arguments: argparse.Namespace, console: Console) -> int:
    lines = read_text(arguments.events).split("\n")
    outcomes: list[dict[str, Any]] = []
    with open_index(arguments.db, make=True) as index:
        for place, line in enumerate(lines, 1):
            console.progress(place, len(lines), "event")
            # One at a time, so that a long file shows how far it is.
            outcomes += [
                _numbered(outcome, place) for outcome in index.apply([line])
            ]
    counts = Counter(str(outcome["state"]) for outcome in outcomes)
    refused = [o for o in outcomes if o["state"] == "refused"]
    for outcome in refused:
        if not console.json:
            console.note(
                f"line {outcome['number']} ({outcome['op']}) refused:"
                f" {outcome['code']}: {outcome['message']}"
            )
    told = ", ".join(f"{counts[state]} {state}" for state in sorted(counts))
    console.say(told or "no events")
    console.data({"outcomes": outcomes})
    if not refused:
        return 0
    malformed = all(o["code"] == InvalidInput.code for o in refused)
    return 2 if malformed else 3


def _numbered(outcome: Outcome, line: int) -> dict[str, Any]:
    """Return an outcome that names its line of the file."""
    data = outcome.to_data()
    if outcome.message is not None:
        data["message"] = outcome.message.removeprefix("event 1: ")
    return {**data, "number": line}


def _status(arguments: argparse.Namespace, console: Console) -> int:
    with open_index(arguments.db) as index:
        status = index.status(arguments.tenant, arguments.doc)
    if isinstance(status, DocumentStatus):
        _document(status, console)
        return 0
    of = f" of {arguments.tenant}" if arguments.tenant else ""
    console.say(
        f"{arguments.db}: {counted(status.documents, 'document')}{of},"
        f" {counted(status.chunks, 'chunk')},"
        f" {counted(status.tombstones, 'tombstone')}"
    )
    console.say(f"encoder  {status.encoder or 'none (lexical only)'}")
    console.say(f"chunker  {status.chunker}")
    console.say(f"terms    {status.terms}")
    console.data(_overview(status))
    return 0


def _overview(status: Status) -> dict[str, object]:
    return {
        "documents": status.documents,
        "tombstones": status.tombstones,
        "chunks": status.chunks,
        "encoder": status.encoder or None,
        "chunker": status.chunker,
        "terms": status.terms,
    }


def _document(status: DocumentStatus, console: Console) -> None:
    policy = status.policy
    state = "live" if status.live else "deleted"
    console.say(
        f"{status.tenant}/{status.doc_id}: {state}, revision"
        f" {status.revision}, policy revision {status.policy_revision}"
    )
    if policy is not None:
        console.say(f"readers  {', '.join(policy.readers) or 'nobody'}")
        console.say(f"class    {policy.classification}")
        if policy.barrier:
            console.say(f"barrier  {policy.barrier}")
        console.say(f"sha256   {status.sha256}")
    console.data(
        {
            "tenant": status.tenant,
            "doc_id": status.doc_id,
            "live": status.live,
            "revision": status.revision,
            "policy_revision": status.policy_revision,
            "sha256": status.sha256 or None,
            "policy": None if policy is None else policy.to_data(),
        }
    )


def _verify(arguments: argparse.Namespace, console: Console) -> int:
    with open_index(arguments.db) as index:
        faults = index.verify()
        status = index.status()
    assert isinstance(status, Status)
    for fault in faults:
        console.say(f"{fault.where}: {fault.what}")
    console.data(
        {"faults": [{"where": f.where, "what": f.what} for f in faults]}
    )
    if faults:
        console.note(
            f"{counted(len(faults), 'fault')}; restore a backup, or put the"
            " documents again and `rebuild`"
        )
        return 1
    console.say(
        f"No fault in {counted(status.documents, 'document')},"
        f" {counted(status.chunks, 'chunk')}."
    )
    return 0


def _purge(arguments: argparse.Namespace, console: Console) -> int:
    with open_index(arguments.db) as index:
        beyond = index.purge()
    console.say(f"Deleted text is gone from {arguments.db}. Out of reach are:")
    for place in beyond:
        console.say(f"  {place}")
    console.data({"purged": arguments.db, "out_of_reach": beyond})
    return 0


def _rebuild(arguments: argparse.Namespace, console: Console) -> int:
    changes: dict[str, Any] = {}
    if arguments.encoder is not None:
        changes["encoder"] = encoders.named(arguments.encoder)
    if arguments.chunker is not None:
        changes["chunker"] = _chunker(arguments.chunker)
    with open_index(arguments.db, to_rebuild=True) as index:
        documents = index.rebuild(**changes)
        status = index.status()
    assert isinstance(status, Status)
    console.say(
        f"{counted(documents, 'document')},"
        f" {counted(status.chunks, 'chunk')} rebuilt:"
        f" encoder {status.encoder or 'none'}, chunker {status.chunker}"
    )
    console.data(_overview(status))
    return 0


def _chunker(text: str) -> Chunker:
    name, *sizes = text.split(":")
    made = CHUNKERS.get(name)
    if made is None or len(sizes) > 2:
        raise InvalidInput(
            f"--chunker: {text!a}; must be window, section or block, or"
            " NAME:SIZE:OVERLAP"
        )
    return made(*(_size(size, "--chunker") for size in sizes))


def _size(text: str, what: str) -> int:
    try:
        return number(text)
    except argparse.ArgumentTypeError as error:
        raise InvalidInput(f"{what}: {error}") from None
