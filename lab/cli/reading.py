"""Commands of a reader: search, ask, check, read."""

from __future__ import annotations

import argparse
import time

from lab.cli.commands import Commands, number
from lab.cli.console import Console, counted, quoted, safe, squeeze, wrap
from lab.cli.opening import open_index
from lab.exact import UNIT
from lab.model import MODES, Context, Hit, Results


def register(commands: Commands) -> None:
    """Add the commands of this group."""
    parser = commands.add(
        "search", "find what you may read", _search, reader=True
    )
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument(
        "--explain", action="store_true", help="show how each score adds up"
    )
    _searching(parser, 5)
    parser = commands.add(
        "ask", "answer with checked quotations", _ask, reader=True
    )
    parser.add_argument("query", metavar="QUESTION")
    _searching(parser, 2)
    parser = commands.add(
        "check",
        "see whether a citation holds for you now",
        _check,
        reader=True,
        more="Exit code 0 when it holds, 3 when it is unavailable.",
    )
    parser.add_argument("citation", metavar="CITATION", help="ks1:…")
    parser = commands.add("read", "print a whole document", _read, reader=True)
    parser.add_argument("doc_id", metavar="DOC_ID")


def _searching(parser: argparse.ArgumentParser, limit: int) -> None:
    parser.add_argument(
        "--limit",
        type=number,
        default=limit,
        metavar="N",
        help=f"at most so many (default {limit})",
    )
    parser.add_argument(
        "--mode",
        default="hybrid",
        help=f"{', '.join(MODES)} (default hybrid)",
    )
    parser.add_argument(
        "--no-rerank",
        dest="rerank",
        action="store_false",
        help="keep the fused order",
    )
    parser.add_argument(
        "--max-age",
        type=number,
        metavar="SECONDS",
        help="leave out documents not updated since",
    )
    parser.add_argument(
        "--now",
        type=number,
        metavar="UNIX_SECONDS",
        help="the time --max-age counts from (default: the clock)",
    )


def _context(arguments: argparse.Namespace) -> Context:
    # Whoever runs the command line is trusted to say who they are; a
    # service makes the Context from a verified identity.
    return Context(arguments.tenant, arguments.principal)


def _find(arguments: argparse.Namespace, limit: int) -> Results:
    now = arguments.now
    if now is None and arguments.max_age is not None:
        now = int(time.time())
    with open_index(arguments.db) as index:
        return index.search(
            arguments.query,
            _context(arguments),
            limit=limit,
            mode=arguments.mode,
            rerank=arguments.rerank,
            max_age=arguments.max_age,
            now=now,
        )


def _search(arguments: argparse.Namespace, console: Console) -> int:
    results = _find(arguments, arguments.limit)
    console.data(results.to_data())
    for hit in results.hits:
        for line in _shown(hit):
            console.say(line)
        if arguments.explain:
            for line in _explained(hit):
                console.say(line)
        console.say()
    told = "Nothing found that you may read"
    if results.hits:
        candidates = counted(results.considered, "candidate")
        told = f"{len(results.hits)} of {candidates}"
    old = f" ({results.stale} too old)" if results.stale else ""
    console.say(f"{told}{old}.")
    if "vector" in results.degraded:
        console.note("without the vector channel: this index has no encoder")
    return 0


def _shown(hit: Hit) -> list[str]:
    path = hit.heading_path
    if path[:1] != (hit.title,):
        path = (hit.title, *path)
    lines = wrap(f"{hit.rank}. {' › '.join(path)}", "", 1)
    if hit.origin:
        lines.append(f"   {squeeze(hit.origin)}")
    return [*lines, *wrap(hit.text, "   ", 3), f"   {hit.citation}"]


def _explained(hit: Hit) -> list[str]:
    lines = [f"   fused {hit.fused / UNIT:.6f}"]
    for name, channel in sorted(hit.channels.items()):
        lines.append(
            f"   {name}: rank {channel.rank}, score {channel.score / UNIT:.6f}"
        )
        lines += [
            f"     {term.term}: {term.score / UNIT:.6f}"
            f" (tf {term.tf}, df {term.df}, idf {term.idf / UNIT:.6f})"
            for term in channel.terms
        ]
    lines += [f"   {name}: {n}" for name, n in sorted(hit.features.items())]
    return lines


def _ask(arguments: argparse.Namespace, console: Console) -> int:
    # More hits than quotations: some may overlap.
    results = _find(arguments, 20)
    with open_index(arguments.db) as index:
        answer = index.answer(
            results.hits, _context(arguments), limit=arguments.limit
        )
    console.data(answer.to_data())
    if not answer.evidence:
        console.say(answer.text)
    for place, item in enumerate(answer.evidence):
        if place:
            console.say()
        for line in quoted(item.text):
            console.say(line)
        console.say(f"  {squeeze(item.title)}")
        console.say(f"  {item.citation}")
    return 0


def _check(arguments: argparse.Namespace, console: Console) -> int:
    with open_index(arguments.db) as index:
        checked = index.check(arguments.citation, _context(arguments))
    console.data(checked.to_data())
    if checked.quote is None:
        console.say("unavailable")
        return 3
    console.say(f"valid: {squeeze(checked.title or '')}")
    for line in quoted(checked.quote):
        console.say(line)
    return 0


def _read(arguments: argparse.Namespace, console: Console) -> int:
    with open_index(arguments.db) as index:
        reading = index.read(arguments.doc_id, _context(arguments))
    console.data(reading.to_data())
    body = reading.body if not console.out.isatty() else safe(reading.body)
    console.say(body.removesuffix("\n"))
    return 0
