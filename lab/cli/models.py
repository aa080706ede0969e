"""The command that puts a model's files in their place."""

from __future__ import annotations

import argparse
from pathlib import Path

from lab import fetching
from lab.cli.commands import Commands
from lab.cli.console import Console
from lab.encoders import specs


def register(commands: Commands) -> None:
    """Add the commands of this group."""
    parser = commands.add(
        "fetch-model",
        "fetch a pinned model, or take its files from a folder",
        _fetch,
        more="Models are kept in one folder each below"
        " KEEPS_SECRETS_MODELS, or else below\nyour cache. A file whose"
        " digest is not the pinned one is refused. For a model\nwithout"
        " pinned digests, --from records those of the files it is given:"
        " this\nfirst use is trusted, every later one is held against it.",
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        help=", ".join([specs.SHIPPED, *specs.CATALOGUE]),
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FOLDER",
        help="take the files from there instead of fetching them",
    )


def _fetch(arguments: argparse.Namespace, console: Console) -> int:
    source = None if arguments.source is None else Path(arguments.source)

    def progress(name: str, here: int, total: int) -> None:
        console.progress(here, total, f"{name}: bytes")

    found = fetching.fetch(arguments.name, source, progress=progress)
    told = {
        "here": "is here, every digest right",
        "fetched": "fetched, every digest right",
        "recorded": "taken on trust; from now on these digests hold",
    }[found.state]
    console.say(f"{arguments.name}: {told}")
    console.say(f"  {found.folder}")
    for file in found.spec.files:
        console.say(f"  {file.sha256}  {file.name}")
    console.data(
        {
            "name": arguments.name,
            "state": found.state,
            "folder": str(found.folder),
            "fingerprint": found.spec.fingerprint,
            "files": {file.name: file.sha256 for file in found.spec.files},
        }
    )
    return 0
