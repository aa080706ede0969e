"""The sequence of a build.

Manuscript, lab ZIP, renderers, read-back, gates, publication: each step is
a module of its own, and data flows one way.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from book.press import contentmap, labzip, lengths, pdf, publish
from book.press.blocks import Edition
from book.press.console import Console, count
from book.press.context import BuildContext
from book.press.digest import Source, read_source, refresh_manifest
from book.press.gates import GateResult, Status
from book.press.gates.remembered import remembering
from book.press.gates.report import all_gates, run_gates, summary, table
from book.press.links import LinkError
from book.press.problems import Problem, Problems
from book.press.resolve import load_editions

# In this order: the site's landing page tells the size and the digest of
# what the others made.
RENDERERS = ("fulltext", "offline", "epub", "site")

# Chapters resolved before; a strict build resolves them all.
CHAPTERS = Path(".cache") / "chapters.pickle"

Renderer = Callable[[Mapping[str, Edition], Path, BuildContext], None]


def build(args: argparse.Namespace, root: Path) -> int:
    """Build everything into dist/, or leave dist/ as it is.

    Returns 0 when dist/ was replaced and 1 when it was not.
    """
    console = Console()
    started = time.monotonic()
    dist = root / "dist"
    try:
        publish.recover(root, dist)
        if not args.strict and refresh_manifest(root):
            console.write("MANIFEST was out of date and is written anew")
        source = read_source(root)
        with publish.staging(root) as home:
            kept = None if args.strict else root / CHAPTERS
            editions, context = make(source, home, console, kept)
            if editions:
                console.write(lengths.table(editions))
            with console.step("PDF"):
                pdf.render(editions, home, context)
            results = judge(
                home,
                context,
                console,
                strict=args.strict,
                remember=not args.strict,
            )
            if read_source(root).digest != source.digest:
                message = "the source changed while it was being built"
                problem = Problem(".", 0, message, "run the command again")
                raise Problems([problem])
            publish.write_release(home, source, results)
            publish.publish(root, home, dist)
    except Problems as error:
        console.problems(error)
        found = count(len(error.problems), "problem")
        print(f"FAILED: {found}; dist/ is as it was", file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    made = count(len(publish.artefacts(dist)), "artefact")
    print(
        f"BUILT dist/ in {seconds:.0f} s: {made} and the site; "
        f"gates: {summary(results)}{remark(source, results)}"
    )
    return 0


def make(
    source: Source, home: Path, console: Console, kept: Path | None = None
) -> tuple[Mapping[str, Edition], BuildContext]:
    """Make every output in ``home``, compare it with the manuscript.

    Everything whose bytes are promised: the same source gives the same.
    release.json, which tells about one run, and the PDF, which carries the
    mark of a browser, are made by ``build``. ``kept`` is a file of chapters
    resolved before. Returns what was printed and what it was printed with.
    Raises ``Problems``.
    """
    root = source.root
    context = BuildContext(
        root=root,
        source_digest=source.digest,
        source_date_epoch=source.epoch,
        version=source.version,
        dirty=source.dirty,
        progress=console.detail,
    )
    with console.step("manuscript"):
        editions = load_editions(root, kept)
    with console.step("lab ZIP"):
        members = labzip.members(root, source.files)
        made = labzip.write(home / labzip.NAME, members)
        context = replace(context, lab_zip=made)
    for name in RENDERERS:
        with console.step(name):
            try:
                renderer(name)(editions, home, context)
            except LinkError as error:
                problem = Problem(name, 0, str(error))
                raise Problems([problem]) from error
    with console.step("content map, read back from every output"):
        contentmap.write(editions, home, context)
    publish.write_sums(home)
    return editions, context


def renderer(name: str) -> Renderer:
    """The ``render`` function of one output."""
    render: Renderer = importlib.import_module(f"book.press.{name}").render
    return render


def judge(
    folder: Path,
    context: BuildContext,
    console: Console,
    *,
    strict: bool,
    remember: bool = False,
) -> tuple[GateResult, ...]:
    """Run the gates and print their table; ``Problems`` when one fails.

    With ``remember``, a gate of the laboratory that has passed on the same
    laboratory is not run again.
    """
    gates = all_gates()
    if remember:
        gates = remembering(gates, context.root)
    with console.step("gates"):
        results = run_gates(gates, folder, context, strict=strict)
    console.write(table(results))
    failed = [r for r in results if r.status is Status.FAIL]
    if failed:
        raise Problems(
            Problem(
                f"gate {result.name}",
                0,
                f"FAIL, {count(len(result.findings), 'finding')} above",
            )
            for result in failed
        )
    return results


def remark(source: Source, results: Sequence[GateResult]) -> str:
    """What keeps a build from being a release, when something does."""
    reasons = []
    if not publish.verified(results):
        reasons.append("not every gate ran")
    if source.dirty:
        reasons.append("the tree differs from its commit")
    return f" (unverified: {', '.join(reasons)})" if reasons else ""


def verify(args: argparse.Namespace, root: Path) -> int:
    """Judge dist/ as it is and write the results into its release.json.

    Returns 0 when no gate failed.
    """
    console = Console()
    dist = root / "dist"
    try:
        publish.recover(root, dist)
        source = read_source(root)
        context = context_of_dist(source, dist, console)
        results = judge(dist, context, console, strict=args.strict)
        publish.write_release(dist, source, results)
    except Problems as error:
        console.problems(error)
        print("FAILED", file=sys.stderr)
        return 1
    print(f"VERIFIED: {summary(results)}{remark(source, results)}")
    return 0


def context_of_dist(
    source: Source, dist: Path, console: Console
) -> BuildContext:
    """The context dist/ was built in.

    Raises ``Problems`` when dist/ is missing, was changed after it was
    built, or was made from another source than the one here.
    """
    release = dist / publish.RELEASE
    again = "build it with: python3 build.py"
    if not release.is_file():
        raise Problems([Problem("dist/", 0, "is not there", again)])
    facts = json.loads(release.read_text("utf-8"))
    if facts["source"]["sha256"] != source.digest:
        message = "was made from another source than this tree"
        raise Problems([Problem("dist/", 0, message, again)])
    wrong = publish.check_sums(dist)
    if wrong:
        raise Problems(Problem("dist/", 0, text, again) for text in wrong)
    path = dist / labzip.NAME
    return BuildContext(
        root=source.root,
        source_digest=source.digest,
        source_date_epoch=source.epoch,
        version=source.version,
        dirty=source.dirty,
        lab_zip=labzip.describe(path),
        progress=console.detail,
    )
