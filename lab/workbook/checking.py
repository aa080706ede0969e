"""Checking a stage: run its tests afresh, judge by what they reported."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from lab.errors import StoreUnavailable
from lab.workbook import process, requirements
from lab.workbook.manifest import HOME, Stage
from lab.workbook.serverroom import ServerRoom
from lab.workbook.workspace import CONFIGURATION, Workspace

_PLUGIN: Final = "ks_workbook_report"
_NOT_RAISED: Final = re.compile(r"DID NOT RAISE (?:<class ')?([\w.]+)")


@dataclass(frozen=True)
class Raised:
    """What a test raised: ``frames`` are (file, line, function)."""

    type: str
    message: str
    frames: tuple[tuple[str, int, str], ...]


@dataclass
class Report:
    """The events of one run, by test id, in the order they came.

    ``running`` is the test that had begun and not ended.
    """

    tests: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    raised: dict[str, Raised] = field(default_factory=dict)
    running: str = ""
    ended: bool = False

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(one == "passed" for one in self.outcomes.values())


@dataclass(frozen=True)
class Result:
    """What came of a check.

    ``outcome`` is ``pass``, ``fail``, ``cannot`` (what the stage requires
    is not here) or ``error`` (the check itself did not work). Of ``total``
    tests ``passed`` did. ``claim`` is what the first failing test says,
    ``cause`` the one thing that went wrong, ``where`` its place, ``next``
    the one thing to do. ``files`` are those that were tested, ``log`` the
    whole story.
    """

    stage: Stage
    outcome: str
    passed: int
    total: int
    files: tuple[Path, ...]
    log: Path
    claim: str = ""
    cause: str = ""
    where: str = ""
    next: str = ""


def check(
    workspace: Workspace,
    stage: Stage,
    *,
    timeout: float | None = None,
    stop: threading.Event | None = None,
    room: ServerRoom | None = None,
) -> Result:
    """Check one stage and remember the outcome.

    ``timeout`` in seconds takes the place of the stage's own; setting
    ``stop`` ends the check. A server comes from ``room``, or from one that
    is opened for this check.
    """
    workspace.demand()
    if room is None:
        with ServerRoom() as own:
            return check(workspace, stage, timeout=timeout, stop=stop, room=own)
    result = _check(workspace, stage, timeout or stage.timeout, stop, room)
    progress, _ = workspace.keeper.load()
    workspace.keeper.save(
        progress.having(stage.id, outcome=result.outcome, where=result.where)
    )
    return result


def check_in_order(
    workspace: Workspace,
    *,
    go_on: bool = False,
    timeout: float | None = None,
    told: Callable[[Result], None] = lambda result: None,
) -> Iterator[Result]:
    """Check every stage, in order, up to the first that fails.

    A stage that cannot be checked stops nothing, and is not done. With
    ``go_on`` a failure does not stop either.
    """
    with ServerRoom() as room:
        for stage in workspace.track.stages:
            result = check(workspace, stage, timeout=timeout, room=room)
            told(result)
            yield result
            if result.outcome in ("fail", "error") and not go_on:
                return


def _check(
    workspace: Workspace,
    stage: Stage,
    timeout: float,
    stop: threading.Event | None,
    room: ServerRoom,
) -> Result:
    absent = requirements.missing(stage.live.requires) if stage.live else []
    if stage.live and absent:
        offline = replace(stage, live=None)
        result = _check(workspace, offline, timeout, stop, room)
        if result.outcome != "pass":
            return result
        return replace(
            result,
            outcome="cannot",
            cause=f"its {result.total} offline tests pass; what is live"
            f" needs {', '.join(one.name for one in absent)}",
            next=absent[0].command,
        )
    stage = stage.whole
    log = workspace.log(stage.id)
    files = workspace.tested(stage)
    bare = Result(stage, "error", 0, stage.expected, files, log)
    lacking = requirements.missing(stage.requires)
    if lacking:
        return replace(
            bare,
            outcome="cannot",
            cause=f"it needs {', '.join(one.name for one in lacking)}",
            next=lacking[0].command,
        )
    for file in files:
        if not file.is_file():
            starter = workspace.track.starter / file.name
            return replace(
                bare,
                outcome="fail",
                cause=f"{file.name} is not there",
                next=f"put it back; its starter is {starter}",
            )
    try:
        more = room.variables(stage.requires)
    except StoreUnavailable as error:
        return replace(
            bare,
            outcome="cannot",
            cause=str(error),
            next=f"name a server of your own in {requirements.DSN}",
        )
    workspace.forget_bytecode()
    report, ended = _run(workspace, bare, timeout, stop, more)
    return _judged(bare, report, ended, timeout)


def _run(
    workspace: Workspace,
    bare: Result,
    timeout: float,
    stop: threading.Event | None,
    more: Mapping[str, str],
) -> tuple[Report, process.Ended]:
    stage, log = bare.stage, bare.log
    log.parent.mkdir(parents=True, exist_ok=True)
    events = log.with_suffix(".events")
    events.unlink(missing_ok=True)
    arguments = [
        *("-m", "pytest", "-vv", "-p", _PLUGIN, "-p", "no:cacheprovider"),
        *("-c", str(CONFIGURATION), f"--rootdir={workspace.folder}"),
        f"--confcutdir={workspace.folder}",
        *(f"tests/{name}" for name in stage.tests),
    ]
    head = [f"checked {stage.id} of {workspace.track.id}"]
    for file in bare.files:
        head.append(f"tested  {file}")
        head.append(f"sha256  {sha256(file.read_bytes()).hexdigest()}")
    # A path that is no Unicode is a path all the same.
    story = "\n".join([*head, "", ""]).encode("utf-8", "surrogateescape")
    log.write_bytes(story)
    environment = process.variables(
        [HOME / "plugin"],
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        KS_WORKBOOK_REPORT=str(events),
        KS_WORKBOOK_FILE=bare.files[0].name,
        # What loads a local model; it need not be installed.
        KS_WORKBOOK_LAB=str(HOME.parent.parent),
        **more,
    )
    ended = process.run(
        arguments, workspace.folder, environment, log, timeout, stop
    )
    report = _read(events)
    events.unlink(missing_ok=True)
    return report, ended


def _read(events: Path) -> Report:
    report = Report()
    try:
        lines = events.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return report
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            # The process was ended in the middle of a line.
            break
        _take(report, event)
    return report


def _take(report: Report, event: dict[str, Any]) -> None:
    name = event.get("id", "")
    match event["event"]:
        case "test":
            report.tests[name] = event["doc"]
        case "begin":
            report.running = name
        case "phase":
            bad = event["outcome"] != "passed"
            if bad or (event["when"] == "call" and name not in report.outcomes):
                report.outcomes[name] = event["outcome"]
            if event["reason"]:
                report.reasons[name] = event["reason"]
            if event["when"] == "teardown":
                report.running = ""
        case "raised":
            frames = tuple((f[0], f[1], f[2]) for f in event["frames"])
            report.raised.setdefault(
                name, Raised(event["type"], event["message"], frames)
            )
        case "end":
            report.ended = True


def _judged(
    bare: Result, report: Report, ended: process.Ended, timeout: float
) -> Result:
    """Return the result, from the reports alone."""
    stage = bare.stage
    bare = replace(bare, passed=report.passed)
    if ended.why == "stop":
        again = "check again"
        return replace(bare, cause="the check was stopped", next=again)
    if ended.why and report.running:
        what = f"it did not finish in {timeout:g} seconds"
        if ended.why == "output":
            what = "it printed without end"
        return replace(
            bare,
            outcome="fail",
            claim=claim(report.running),
            cause=f"{what}, and was stopped; a loop that never ends?",
            where=report.running.partition("::")[0],
            next=report.tests.get(report.running, ""),
        )
    unreadable = [name for name in report.raised if name not in report.tests]
    if unreadable:
        return _unreadable(bare, report.raised[unreadable[0]])
    if not report.ended:
        during = f" during {report.running}" if report.running else ""
        reason = f"Python ended{during} with exit code {ended.code}"
        if ended.why:
            reason = f"Python was stopped after {timeout:g} seconds"
        return replace(
            bare,
            cause=f"{reason}, before the tests did",
            next="read the end of the log; your code may call exit",
        )
    failed = [n for n, one in report.outcomes.items() if one == "failed"]
    if failed:
        return _failed(bare, failed[0], report)
    if len(report.tests) != stage.expected:
        return replace(
            bare,
            cause=f"{len(report.tests)} tests ran, {stage.expected} should",
            next="unpack or install the lab again",
        )
    skipped = [n for n, one in report.outcomes.items() if one == "skipped"]
    if skipped:
        return replace(
            bare,
            outcome="cannot",
            claim=claim(skipped[0]),
            cause=report.reasons.get(skipped[0], "a test was skipped"),
            next="provide what it names, and check again",
        )
    if report.passed != stage.expected:
        return replace(
            bare,
            cause=f"{report.passed} of {stage.expected} tests reported",
            next="read the end of the log",
        )
    return replace(bare, outcome="pass")


def _failed(bare: Result, name: str, report: Report) -> Result:
    raised = report.raised.get(name, Raised("", "no reason was given", ()))
    own = [one for one in raised.frames if not _is_given(one[0])]
    given = [one for one in raised.frames if _is_given(one[0])]
    place = (own or given or [("", 0, "")])[-1]
    where = f"{place[0]}:{place[1]}" if place[0] else name
    advice = report.tests.get(name, "")
    if raised.type == "NotImplementedError":
        # Prose has no frame: a test has found it missing.
        what = f"write `{place[2]}`: {advice}" if own else advice
        return replace(
            bare,
            outcome="fail",
            claim=claim(name),
            cause=f"not written yet: {raised.message}",
            where=where if own else bare.files[0].name,
            next=what,
        )
    if raised.type in ("SyntaxError", "IndentationError", "TabError"):
        advice = f"mend {where}, and check again"
    if raised.type == "AssertionError" and given:
        # What was wrong is known to the test; where, only to the learner.
        where = f"{given[-1][0]}:{given[-1][1]}"
    return replace(
        bare,
        outcome="fail",
        claim=claim(name),
        cause=cause(raised),
        where=where,
        next=advice,
    )


def _unreadable(bare: Result, raised: Raised) -> Result:
    """The learner's file could not be imported."""
    own = [one for one in raised.frames if not _is_given(one[0])]
    file = bare.files[0].name
    where = f"{own[-1][0]}:{own[-1][1]}" if own else file
    advice = f"mend {where}, and check again"
    if raised.type == "ImportError":
        advice = f"put the name back into {file}; the tests import it"
    if "codec can't decode" in raised.message:
        advice = f"save {file} as UTF-8, and check again"
    return replace(
        bare,
        outcome="fail",
        claim=f"{file} can be imported",
        cause=cause(raised),
        where=where,
        next=advice,
    )


def _is_given(path: str) -> bool:
    return path.startswith("tests/")


def claim(test: str) -> str:
    """Return what a test claims, in words, from its name.

    >>> claim("tests/test_05_bm25.py::test_ties_go_by_id[memo]")
    'ties go by id (memo)'
    """
    name = test.rpartition("::")[2]
    name, bracket, case = name.partition("[")
    words = name.removeprefix("test_").replace("_", " ")
    words = words.replace("invariant ", "invariant: ")
    return f"{words} ({case[:-1]})" if bracket else words


def cause(raised: Raised) -> str:
    """Return one sentence for what a test raised."""
    message = raised.message.strip()
    first = message.split("\n")[0]
    if raised.type == "AssertionError":
        if not first.startswith("assert "):
            return first
        held = first.removeprefix("assert ")
        for sign in (" == ", " is "):
            compared = held.split(sign)
            if len(compared) == 2:
                return f"got {compared[0]}, expected {compared[1]}"
        return f"this does not hold: {held}"
    if missed := _NOT_RAISED.match(first):
        return f"no {missed[1]} was raised"
    if raised.type == "ImportError":
        # Python adds the path of the file, which is told already.
        first = first.partition(" (")[0]
    return f"{raised.type}: {first}" if first else raised.type
