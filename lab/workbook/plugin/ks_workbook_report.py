"""A pytest plugin that writes down what happened, line by line.

It stands alone in its folder and imports nothing of the lab: the folder is
all of ours that a learner's process has on its path. Each line of the file
that ``KS_WORKBOOK_REPORT`` names is one event, so that a process which is
ended in the middle leaves what it did so far.
"""

from __future__ import annotations

import json
import os
import traceback
from typing import Any, TextIO

import pytest

VARIABLE = "KS_WORKBOOK_REPORT"
LONGEST = 4000


class Reporter:
    """Writes events; ``root`` is the workspace, whose frames are kept."""

    def __init__(self, file: TextIO, root: str) -> None:
        self._file = file
        self._root = os.path.realpath(root) + os.sep

    def _write(self, **event: Any) -> None:
        # Lone surrogates are legal in a message and not in UTF-8.
        self._file.write(json.dumps(event, ensure_ascii=True) + "\n")
        self._file.flush()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say which tests there are, and what each asks for."""
        for item in session.items:
            doc = getattr(getattr(item, "obj", None), "__doc__", None) or ""
            self._write(event="test", id=item.nodeid, doc=doc.strip())

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say which test is about to run."""
        self._write(event="begin", id=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say how a phase of a test ended."""
        reason = ""
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2])
        self._write(
            event="phase",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            reason=reason[:LONGEST],
        )

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: Any
    ) -> None:
        """Say what was raised, and where in the workspace."""
        error = call.excinfo.value
        # What stopped the import of a test file is the cause of another.
        while error.__cause__ is not None and isinstance(
            error, pytest.Collector.CollectError
        ):
            error = error.__cause__
        frames = [
            (os.path.realpath(frame.filename), frame.lineno or 0, frame.name)
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith("<")
        ]
        if isinstance(error, SyntaxError) and error.filename:
            frames.append(
                (os.path.realpath(error.filename), error.lineno or 0, "")
            )
        self._write(
            event="raised",
            id=node.nodeid,
            type=type(error).__name__,
            message=_message(error)[:LONGEST],
            frames=[
                [path[len(self._root) :].replace(os.sep, "/"), line, name]
                for path, line, name in frames[-200:]
                if path.startswith(self._root)
            ],
        )

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Say that the run came to its end."""
        self._write(event="end", exit=int(exitstatus))


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "invalid syntax"
    try:
        return str(error)
    except Exception as inner:
        return f"its message cannot be read ({type(inner).__name__})"


def pytest_configure(config: pytest.Config) -> None:
    """Open the report, when one is asked for."""
    name = os.environ.get(VARIABLE)
    if name:
        file = open(name, "a", encoding="utf-8")  # noqa: SIM115, PTH123
        config.add_cleanup(file.close)
        reporter = Reporter(file, str(config.rootpath))
        config.pluginmanager.register(reporter, "ks-workbook-reporter")
