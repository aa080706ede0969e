"""``python -m lab.workbook``: the runner's commands."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TextIO

from lab.errors import InvalidInput, LabError, NotFound
from lab.workbook import checking, doctor, hints
from lab.workbook.manifest import (
    LANGUAGES,
    Stage,
    Track,
    track,
    track_ids,
)
from lab.workbook.serving import PORT, Server
from lab.workbook.telling import Voice
from lab.workbook.workspace import Workspace

VARIABLE: Final = "KEEPS_SECRETS_WORKBOOK"
# Debian knows no "python", Windows no "python3".
PROGRAM: Final = f"python{'3' * (os.name != 'nt')} -m lab.workbook"
CODES: Final = {"pass": 0, "fail": 1, "cannot": 3, "error": 4}
EPILOG: Final = (
    "exit codes: 0 done or passed, 1 a check failed, 2 the input is"
    " malformed, 3 refused or cannot be checked here, 4 the check itself"
    f" did not work. Workspaces are in ~/keeps-secrets-workbook, or where"
    f" --workspace or {VARIABLE} says."
)

Run = Callable[[argparse.Namespace, Voice], int]


def main(
    argv: Sequence[str] | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run one command; return its exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as ended:
        return int(ended.code or 0)
    voice = Voice(out or sys.stdout, arguments.lang)
    trouble = Voice(err or sys.stderr, arguments.lang)
    try:
        code: int = arguments.run(arguments, voice)
        voice.out.flush()
        return code
    except LabError as error:
        trouble.say(f"error: {error}")
        return error.exit_code
    except BrokenPipeError:
        # Whoever read us has enough; what is buffered has no reader.
        os.dup2(os.open(os.devnull, os.O_WRONLY), voice.out.fileno())
        return 1
    except OSError as error:
        trouble.say(f"error: {error}")
        return 3
    except KeyboardInterrupt:
        trouble.say("error: stopped; what was passed before stays passed")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Learn by making it pass.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    words = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )

    def add(name: str, help: str, run: Run) -> argparse.ArgumentParser:
        made = words.add_parser(
            name,
            help=help,
            description=f"{help[0].upper()}{help[1:]}.",
            allow_abbrev=False,
        )
        made.set_defaults(run=run)
        made.add_argument(
            "--workspace", metavar="DIR", help="where workspaces are"
        )
        made.add_argument(
            "--lang",
            choices=LANGUAGES,
            default="",
            help="language of titles and hints",
        )
        return made

    add("list", "list tracks, stages and what is done", _list)
    made = add("start", "make a workspace from a track's starter", _start)
    made.add_argument("track", metavar="TRACK")
    made.add_argument(
        "--force",
        action="store_true",
        help="keep a copy of the one that is there, and begin anew",
    )
    made = add("check", "run the tests, up to the first failure", _check)
    _track(made)
    made.add_argument("--stage", metavar="S", help="only this stage")
    made.add_argument(
        "--all", action="store_true", help="go on after a failure"
    )
    made.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help="how long one stage may take",
    )
    made = add("hint", "show the next hint for a stage", _hint)
    _track(made)
    made.add_argument("--stage", metavar="S", help="the first not passed")
    made.add_argument(
        "--nudge",
        metavar="MODEL",
        help="also ask a language model, which sees the test's output and"
        " your changes (needs ANTHROPIC_API_KEY)",
    )
    made = add("reset", "forget results; files are left alone", _reset)
    _track(made)
    made.add_argument("--all", action="store_true", help="of every track")
    made.add_argument(
        "--undo", action="store_true", help="take the last reset back"
    )
    made = add("solution", "show the reference for a passed stage", _solution)
    _track(made)
    made.add_argument("--stage", metavar="S", required=True)
    made = add("serve", "exercise pages with buttons, on this machine", _serve)
    made.add_argument(
        "--port",
        type=_port,
        default=PORT,
        help=f"port on this machine (default {PORT}; 0 takes a free one)",
    )
    add("doctor", "look whether everything is in its place", _doctor)
    return parser


def _track(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "track", metavar="TRACK", nargs="?", help="the one you started"
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError(f"{text!a}: from 1 to 3600 seconds")
    return value


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!a}: from 0 to 65535")
    return int(text)


def home(arguments: argparse.Namespace) -> Path:
    """Return the folder that holds the workspaces, absolute."""
    named = arguments.workspace or os.environ.get(VARIABLE)
    path = Path(named) if named else Path.home() / "keeps-secrets-workbook"
    return Path(os.path.normpath(path.expanduser().absolute()))


def again(arguments: argparse.Namespace, words: str) -> str:
    """Return a command to type, with the workspace if one was named."""
    if arguments.workspace:
        words += f" --workspace {_quoted(arguments.workspace)}"
    return f"{PROGRAM} {words}"


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _chosen(arguments: argparse.Namespace) -> Workspace:
    """Return the workspace meant: the one named, stood in, or started."""
    root = home(arguments)
    if arguments.track:
        workspace = Workspace(track(arguments.track), root)
        workspace.demand()
        return workspace
    started = [one for one in _workspaces(root) if one.started]
    here = Path.cwd()
    inside = [one for one in started if here.is_relative_to(one.folder)]
    found = inside or started
    if len(found) == 1:
        return found[0]
    names = ", ".join(one.track.id for one in started)
    if not started:
        raise NotFound(
            f"{root}: nothing was started; begin with `start TRACK`, where"
            f" TRACK is one of {', '.join(track_ids())}"
        )
    raise InvalidInput(f"say which track: {names}")


def _workspaces(root: Path) -> list[Workspace]:
    return [Workspace(track(name), root) for name in track_ids()]


def _list(arguments: argparse.Namespace, voice: Voice) -> int:
    for workspace in _workspaces(home(arguments)):
        one = workspace.track
        place = str(workspace.folder) if workspace.started else "not started"
        voice.say(f"{one.id}: {voice.title(one.title)} ({place})")
        progress, note = workspace.keeper.load()
        if note:
            voice.say(f"note: {note}")
        for stage in one.stages:
            mark = voice.mark(progress.record(stage.id).outcome)
            voice.say(f"  {mark:<2} {stage.id:<20} {voice.title(stage.title)}")
    return 0


def _start(arguments: argparse.Namespace, voice: Voice) -> int:
    workspace = Workspace(track(arguments.track), home(arguments))
    aside = workspace.start(force=arguments.force)
    one = workspace.track
    if aside:
        voice.say(f"What was there is kept as {aside}")
    voice.say(f"{voice.title(one.title)}: {workspace.folder}")
    voice.say(f"  write   {(' or ' if one.either else ', ').join(one.files)}")
    voice.say(f"  given   {', '.join([*one.given, *one.data, 'tests'])}")
    voice.say(f"  read    {_reading(one.stages[0])}")
    voice.say(f"  next    {again(arguments, f'check {one.id}')}")
    voice.say(f"  stuck?  {again(arguments, f'hint {one.id}')}")
    return 0


def _reading(stage: Stage) -> str:
    return f"chapter {', '.join(map(str, stage.read))}" if stage.read else "-"


def _check(arguments: argparse.Namespace, voice: Voice) -> int:
    workspace = _chosen(arguments)
    one = workspace.track
    if arguments.stage and arguments.all:
        raise InvalidInput("--stage checks one stage, --all every one: say one")
    _say_restored(workspace, voice)
    stage = one.stage(arguments.stage or "1")
    for file in workspace.tested(stage):
        voice.say(f"Testing {file}")
    if arguments.stage:
        result = checking.check(workspace, stage, timeout=arguments.timeout)
        voice.result(result)
        return CODES[result.outcome]
    results = list(
        checking.check_in_order(
            workspace,
            go_on=arguments.all,
            timeout=arguments.timeout,
            told=voice.result,
        )
    )
    outcomes = [result.outcome for result in results]
    passed = outcomes.count("pass")
    if passed == len(one.stages):
        voice.say(f"All {passed} stages pass.")
    elif arguments.all or outcomes[-1] not in ("fail", "error"):
        voice.say(f"{passed} of {len(one.stages)} stages pass.")
    return max(CODES[outcome] for outcome in outcomes)


def _say_restored(workspace: Workspace, voice: Voice) -> None:
    _, note = workspace.keeper.load()
    if note:
        voice.say(f"note: {note}")
    for file in workspace.restore():
        voice.say(
            f"note: {file.name} is given; yours is kept in"
            f" {workspace.own / 'kept'}, and the track's own is back"
        )


def _stage(workspace: Workspace, name: str | None) -> Stage:
    """Return the stage named, or the first that has not passed."""
    one: Track = workspace.track
    if name:
        return one.stage(name)
    progress, _ = workspace.keeper.load()
    for stage in one.stages:
        if not progress.passed(stage.id):
            return stage
    raise NotFound(f"{one.id}: every stage has passed; name one with --stage")


def _hint(arguments: argparse.Namespace, voice: Voice) -> int:
    workspace = _chosen(arguments)
    stage = _stage(workspace, arguments.stage)
    number, words = hints.rung(workspace, stage)
    voice.say(
        f"{stage.number} {voice.title(stage.title)}: hint {number} of"
        f" {len(stage.hints)}"
    )
    voice.paragraph(voice.title(words))
    progress, _ = workspace.keeper.load()
    where = progress.record(stage.id).where
    if where:
        voice.say(f"  where   {where}")
    if arguments.nudge:
        voice.paragraph(hints.nudge(workspace, stage, arguments.nudge))
    return 0


def _reset(arguments: argparse.Namespace, voice: Voice) -> int:
    if arguments.all and arguments.track:
        raise InvalidInput("--all is every track: leave the name out")
    if arguments.all:
        found = [one for one in _workspaces(home(arguments)) if one.started]
    else:
        found = [_chosen(arguments)]
    for workspace in found:
        name = workspace.track.id
        if arguments.undo:
            used = workspace.keeper.undo()
            voice.say(f"{name}: the results of {used.name} are back")
            continue
        aside = workspace.keeper.reset()
        if aside is None:
            voice.say(f"{name}: there were no results")
            continue
        voice.say(f"{name}: results forgotten; they are kept as {aside}")
        voice.say(f"  undo    {again(arguments, f'reset {name} --undo')}")
    return 0


def _solution(arguments: argparse.Namespace, voice: Voice) -> int:
    workspace = _chosen(arguments)
    stage = workspace.track.stage(arguments.stage)
    progress, _ = workspace.keeper.load()
    if not progress.passed(stage.id):
        raise NotFound(
            f"{stage.id}: its solution is shown once it has passed; a hint"
            f" comes from `hint --stage {stage.number}`"
        )
    for line in hints.solution(workspace, stage).split("\n"):
        voice.say(line)
    return 0


def _serve(arguments: argparse.Namespace, voice: Voice) -> int:
    # A shell that starts us in the background has us ignore Ctrl-C; whoever
    # sends it all the same means it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with (
        Server(home(arguments), arguments.port) as server,
        contextlib.suppress(KeyboardInterrupt),
    ):
        voice.say(f"Open {server.gate.link}")
        voice.say("The link lets one browser in, once. Stop with Ctrl-C.")
        voice.out.flush()
        server.serve_forever()
    return 0


def _doctor(arguments: argparse.Namespace, voice: Voice) -> int:
    code = 0
    for found in doctor.examine(home(arguments)):
        if found.good is None:
            voice.say(f"{voice.mark(''):<2} {found.what}")
            continue
        mark = voice.mark("pass" if found.good else "fail")
        voice.say(f"{mark:<2} {found.what}")
        if not found.good:
            code = 1
            voice.say(f"     next  {found.next}")
    return code
