"""Does the lab keep its promises on this machine? A minute's answer.

Not a replacement for the tests: the quick contracts, on a throwaway index
in a real file, with nothing but the lab itself.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from lab import evidence, experiments
from lab.errors import LabError, NotFound, StaleRevision
from lab.evaluation.access import may_read
from lab.experiments import Refuted
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import MODES, Context, Document, Policy

BOB: Final = Context("larkspur", "bob")
WEI: Final = Context("larkspur", "wei")
QUESTION: Final = "travel: hotel limit a night"
MARK: Final = "zxqvsecretterm"


@dataclass(frozen=True)
class Check:
    """One promise, and what became of it; ``fault`` is empty when kept."""

    promise: str
    fault: str


@dataclass(frozen=True)
class _Place:
    """The fixture, and a file that holds it."""

    fixture: Fixture
    path: Path


def run() -> list[Check]:
    """Make a throwaway index and check every promise, even after a fault."""
    with tempfile.TemporaryDirectory(prefix="keeps-secrets-") as folder:
        checks = [_check(p, test) for p, test in _ENVIRONMENT]
        if any(check.fault for check in checks):
            return checks
        place = _Place(load_fixture(), Path(folder) / "selftest.db")
        with Index.open(place.path) as index:
            populate(index, place.fixture)
        return checks + [
            _check(promise, partial(test, place)) for promise, test in _PROMISES
        ]


def _check(promise: str, test: Callable[[], None]) -> Check:
    try:
        test()
    except (Refuted, LabError) as error:
        return Check(promise, str(error))
    except Exception as error:
        return Check(promise, f"{type(error).__name__}: {error}")
    return Check(promise, "")


def _must(true: bool, otherwise: str) -> None:
    if not true:
        raise Refuted(otherwise)


def _python() -> None:
    version = sys.version.split()[0]
    _must(sys.version_info >= (3, 11), f"this is Python {version}")


def _sqlite() -> None:
    with Index.open(":memory:"):
        pass


def _fixture() -> None:
    load_fixture()


def _bytes(place: _Place) -> None:
    differences = evidence.check(experiments.load("demo"))
    _must(not differences, "; ".join(str(d) for d in differences[:3]))


def _views(place: _Place) -> None:
    with Index.open(place.path) as whole, Index.open(":memory:") as part:
        mine = tuple(
            document
            for document in place.fixture.documents
            if document.tenant == BOB.tenant
            and may_read(place.fixture, BOB, document.doc_id)
        )
        populate(
            part,
            Fixture(
                place.fixture.digest,
                place.fixture.as_of,
                mine,
                place.fixture.principals,
                place.fixture.groups,
                (),
            ),
        )
        for query in place.fixture.queries[::5]:
            for mode in MODES:
                one, other = (
                    index.search(query.query, BOB, mode=mode).to_json()
                    for index in (whole, part)
                )
                _must(one == other, f"{query.query!r} ({mode}) differs")


def _revoked(place: _Place) -> None:
    with Index.open(place.path) as one, Index.open(place.path) as other:
        hits = other.search(QUESTION, BOB).hits
        _must(bool(hits), "Bob finds the travel policy at first")
        group = one.directory.get_group("larkspur", "engineering")
        _must(group is not None, "the fixture has a group engineering")
        assert group is not None
        revision = one.directory.set_group(
            "larkspur", "engineering", ["wei"], group.revision
        )
        answer = other.answer(
            [hit for hit in hits if hit.doc_id == "travel-policy"], BOB
        )
        _must(answer.state == "abstain", "old hits still serve")
        kept = other.search(QUESTION, WEI).hits
        _must(bool(kept), "Wei lost her access too")
        one.directory.set_group(
            "larkspur", "engineering", group.members, revision
        )


def _deleted(place: _Place) -> None:
    with Index.open(place.path) as index:
        note = Document(
            "larkspur", "selftest", 1, "text", MARK, Policy(("bob",))
        )
        index.upsert(note)
        hits = index.search(MARK, BOB).hits
        _must(bool(hits), "a new document is found")
        index.delete("larkspur", "selftest", 2)
        _must(not index.search(MARK, BOB).hits, "a deleted one is found")
        state = index.check(hits[0].citation, BOB).state
        _must(state == "unavailable", "its citation still opens")
        try:
            index.upsert(note)
        except StaleRevision:
            pass
        else:
            raise Refuted("a late event brought it back")
        try:
            index.read("selftest", BOB)
        except NotFound:
            return
        raise Refuted("it can still be read")


def _purged(place: _Place) -> None:
    with Index.open(place.path) as index:
        index.purge()
    for path in place.path.parent.glob("selftest.db*"):
        _must(MARK.encode() not in path.read_bytes(), f"{path.name} holds it")


def _verified(place: _Place) -> None:
    with Index.open(place.path) as index:
        faults = index.verify()
        _must(not faults, "; ".join(f"{f.where}: {f.what}" for f in faults))
    damaged = place.path.with_name("damaged.db")
    shutil.copy(place.path, damaged)
    db = sqlite3.connect(damaged)
    db.execute("UPDATE chunks SET text = text || 'x' WHERE id = 1")
    db.commit()
    db.close()
    with Index.open(damaged) as index:
        _must(bool(index.verify()), "planted damage was not found")


_ENVIRONMENT: Final = (
    ("Python is 3.11 or newer", _python),
    ("SQLite has full-text search (FTS5)", _sqlite),
    ("the fixture is what its manifest says", _fixture),
)
_PROMISES: Final = (
    ("the demo gives the recorded bytes on this machine too", _bytes),
    ("equal views give equal bytes", _views),
    ("a revocation reaches hits in hand, through another handle", _revoked),
    ("a deletion holds against a late event", _deleted),
    ("a purge takes deleted text out of the files", _purged),
    ("verify is content with the index, and finds planted damage", _verified),
)
