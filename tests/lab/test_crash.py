"""Processes that die, disks that fill, readers in other processes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.index import Index
from lab.model import Policy
from lab.store.opening import is_dsn
from tests.lab import crash_child
from tests.lab.crash_child import DOOMED, SECRET
from tests.lab.support import (
    ALICE,
    BOB,
    contract,
    document,
    everything,
    found,
)

ROOT = Path(__file__).parents[2]
WORKS = sorted(crash_child.WORKS)
ROUNDS = 6


def fill(index: Index) -> None:
    """Make the store that every child starts from."""
    index.directory.set("larkspur", "alice", "internal")
    crash_child.upsert(index, 1)
    for n in range(DOOMED):
        index.upsert(document(f"doomed-{n}", f"# Doomed {n}\n\nhotel {n}"))
    index.upsert(document("gone", f"# {SECRET}\n\n{SECRET} hotel"))
    index.delete("larkspur", "gone", 2)


def seen(index: Index) -> list[str]:
    """Return all that two readers can see."""
    return [everything(index, "hotel 3", who) for who in (ALICE, BOB)]


def after(work: str, numbers: list[int]) -> list[str]:
    """Return what is seen in a store where this work was done, undisturbed.

    ``numbers`` are the numbers done, from the second on.
    """
    with Index.open(":memory:") as index:
        fill(index)
        for number in numbers:
            crash_child.WORKS[work](index, number)
        return seen(index)


def child(work: str, path: str | Path, number: int, **env: str) -> Any:
    """Start the process that is to die."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.lab.crash_child",
            work,
            path,
            str(number),
        ],
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def acknowledged(process: Any, before: int) -> int:
    """Return the last number that a dead child said was done."""
    out, err = process.communicate()
    assert process.returncode != 1, err
    lines = out.split()
    return max([before, *(int(line) for line in lines if line.isdigit())])


def old_or_new(work: str, path: str | Path, done: int) -> int:
    """Check a store whose writer died; return the number it is at."""
    with Index.open(path) as index:
        # A server may still be at what the dead process had sent.
        with index._store.write():
            pass
        assert index.verify() == []
        is_seen = seen(index)
    for number in (done, done + 1):
        if is_seen == after(work, list(range(2, number + 1))):
            return number
    raise AssertionError(f"neither {done} nor {done + 1}")


@contract("C-32")
@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS)
def test_a_process_killed_at_any_moment_leaves_old_or_new(
    lasting_place: Callable[[], str], work: str
) -> None:
    path = lasting_place()
    with Index.open(path) as index:
        fill(index)
    delays = random.Random(work)
    done = 1
    for _ in range(ROUNDS // 2 if is_dsn(path) else ROUNDS):
        process = child(work, path, done)
        assert process.stdout.readline() == "go\n"
        time.sleep(delays.uniform(0.0, 0.15))
        process.kill()
        done = old_or_new(work, path, acknowledged(process, done))
    with Index.open(path) as index:
        for n in range(2):
            crash_child.WORKS[work](index, done + 1 + n)
        assert index.verify() == []


@contract("C-32")
@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS)
def test_a_process_killed_between_any_two_statements_leaves_old_or_new(
    lasting_place: Callable[[], str], work: str
) -> None:
    path = lasting_place()
    with Index.open(path) as index:
        fill(index)
    done, deaths = 1, 0
    # Every early statement, then ever wider steps, until it survives.
    statement, step = 8, 1
    while True:
        process = child(work, path, done, STOP_AT=str(statement))
        now = acknowledged(process, done)
        if process.returncode == 0:
            assert now == done + 1
            break
        deaths += 1
        done = old_or_new(work, path, done)
        statement += step
        step += 1 + step // 2
    assert deaths >= 3


@contract("C-32")
@pytest.mark.slow
def test_a_process_killed_while_it_makes_a_store_leaves_one_that_opens(
    tmp_path: Path,
) -> None:
    statement, deaths, whole = 1, 0, False
    while not whole:
        path = tmp_path / f"store-{statement}.db"
        process = child("make", path, 0, STOP_AT=str(statement))
        whole = acknowledged(process, 0) == 1
        deaths += not whole
        with Index.open(path) as index:
            assert index.verify() == []
            held = found(index.search("rev1", ALICE))
            assert held == ["a"] or not (held or whole)
            crash_child.upsert(index, 2)
            assert found(index.search("rev2", ALICE)) == ["a"]
        statement += 1 + statement // 3
    assert deaths > 8


@contract("C-32", "C-37")
def test_a_purge_that_was_killed_can_be_done_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        fill(index)
    for statement in (9, 11, 13):
        process = child("purge", path, 1, STOP_AT=str(statement))
        process.communicate()
    with Index.open(path) as index:
        index.purge()
        for file in tmp_path.iterdir():
            assert SECRET.encode() not in file.read_bytes(), file.name
        assert index.verify() == []


# --- another process reads -------------------------------------------------

READER = """
import json, sys
from lab.errors import NotFound
from lab.index import Index
from tests.lab.support import ALICE, found
index = Index.open(sys.argv[1])
hits = index.search('hotel', ALICE, limit=9).hits
held = [hit.to_data() for hit in hits]
print('ready', flush=True)
for line in sys.stdin:
    if line.startswith('again'):
        hits = index.search('hotel', ALICE, limit=9).hits
        held = [hit.to_data() for hit in hits]
    try:
        read = index.read('a', ALICE).doc_id
    except NotFound:
        read = None
    print(json.dumps({
        'found': found(index.search('hotel', ALICE)),
        'answer': index.answer(held, ALICE).state,
        'checks': sorted({index.check(h['citation'], ALICE).state
                          for h in held}),
        'read': read,
    }), flush=True)
"""


@contextmanager
def reader(path: str | Path) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Start a process that stays, and ask it again and again."""
    process = subprocess.Popen(
        [sys.executable, "-c", READER, path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"

    def ask(what: str = "look") -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(what + "\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    try:
        yield ask
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def by_policy(index: Index) -> Callable[[], object]:
    index.upsert(document("a", "# hotel", readers=("alice",)))
    return lambda: index.set_policy("larkspur", "a", Policy(("bob",)), 1)


def by_membership(index: Index) -> Callable[[], object]:
    index.directory.set_group("larkspur", "finance", ["alice"])
    index.upsert(document("a", "# hotel", readers=("group:finance",)))
    return lambda: index.directory.set_group("larkspur", "finance", [], 1)


def by_inner_membership(index: Index) -> Callable[[], object]:
    index.directory.set_group("larkspur", "inner", ["alice"])
    index.directory.set_group("larkspur", "outer", ["group:inner"])
    index.upsert(document("a", "# hotel", readers=("group:outer",)))
    return lambda: index.directory.set_group("larkspur", "inner", ["bob"], 1)


def by_group_deletion(index: Index) -> Callable[[], object]:
    index.directory.set_group("larkspur", "finance", ["alice"])
    index.upsert(document("a", "# hotel", readers=("group:finance",)))
    return lambda: index.directory.delete_group("larkspur", "finance", 1)


def by_clearance(index: Index) -> Callable[[], object]:
    index.directory.set("larkspur", "alice", "confidential")
    index.upsert(document("a", "# hotel", classification="confidential"))
    return lambda: index.directory.set("larkspur", "alice", "public", (), 1)


def by_barrier(index: Index) -> Callable[[], object]:
    index.directory.set("larkspur", "alice", "internal", ["heron"])
    index.upsert(document("a", "# hotel", barrier="heron"))
    return lambda: index.directory.set("larkspur", "alice", "internal", (), 1)


def by_deletion(index: Index) -> Callable[[], object]:
    index.upsert(document("a", "# hotel"))
    return lambda: index.delete("larkspur", "a", 2)


@contract("C-17")
@pytest.mark.parametrize(
    "way",
    [
        *(by_policy, by_membership, by_inner_membership, by_group_deletion),
        *(by_clearance, by_barrier, by_deletion),
    ],
)
def test_a_process_that_was_reading_is_denied_on_its_next_call(
    lasting_place: Callable[[], str],
    way: Callable[[Index], Callable[[], object]],
) -> None:
    path = lasting_place()
    with Index.open(path) as index:
        revoke = way(index)
        with reader(path) as ask:
            for _ in range(2):
                assert ask() == {
                    "found": ["a"],
                    "answer": "extractive",
                    "checks": ["valid"],
                    "read": "a",
                }
            revoke()
            for _ in range(2):
                assert ask() == {
                    "found": [],
                    "answer": "abstain",
                    "checks": ["unavailable"],
                    "read": None,
                }


@contract("C-18")
def test_a_process_that_was_reading_keeps_what_nobody_took(
    lasting_place: Callable[[], str],
) -> None:
    path = lasting_place()
    with Index.open(path) as index:
        index.directory.set_group("larkspur", "finance", ["alice", "bob"])
        index.upsert(document("a", "# hotel", readers=("group:finance",)))
        with reader(path) as ask:
            before = ask()
            index.directory.set_group("larkspur", "finance", ["alice"], 1)
            index.upsert(document("b", "# hotel hotel", readers=("bob",)))
            index.set_policy(
                "larkspur", "a", Policy(("alice", "wei"), "public"), 1
            )
            assert ask() == before


# --- full disks ------------------------------------------------------------

FULL = """
import resource, signal, sys
from pathlib import Path
from lab.encoders.hashing import SignedHashing
from lab.errors import StoreUnavailable
from lab.index import Index
from tests.lab.support import ALICE, document, everything
work, path = sys.argv[1], Path(sys.argv[2])
index = Index.open(path)
before = everything(index, 'hotel', ALICE)
# No file may grow: what a full disk does, without filling one.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = max(file.stat().st_size for file in path.parent.iterdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
text = '# Big' + chr(10) * 2 + (chr(10) * 2).join(
    f'hotel {n}' for n in range(9999))
try:
    if work == 'upsert':
        index.upsert(document('a', text, revision=2))
    elif work == 'create':
        index.upsert(document('b', text))
    elif work == 'rebuild':
        index.rebuild(SignedHashing(4096))
    else:
        index.purge()
except StoreUnavailable as error:
    print(error)
else:
    sys.exit('there was room')
assert everything(index, 'hotel', ALICE) == before
assert index.verify() == []
"""


@contract("C-32")
@pytest.mark.parametrize("work", ["upsert", "create", "rebuild", "purge"])
def test_a_disk_that_fills_up_leaves_the_old_state_serving(
    tmp_path: Path, work: str
) -> None:
    pytest.importorskip("resource")
    folder = tmp_path / "store"
    folder.mkdir()
    path = folder / "store.db"
    with Index.open(path) as index:
        for n in range(9):
            index.upsert(document(f"d{n}", f"# hotel {n}\n\n" + "hotel " * 99))
        index.upsert(document("a", "# hotel\n\nold"))
        before = everything(index, "hotel", ALICE)
    done = subprocess.run(
        [sys.executable, "-c", FULL, work, path],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "nothing was changed" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    with Index.open(path) as index:
        assert index.verify() == []
        assert everything(index, "hotel", ALICE) == before
        index.upsert(document("a", "# hotel\n\nroom again", revision=2))


# --- read-only -------------------------------------------------------------


@contract("C-32")
def test_a_store_that_may_only_be_read_refuses_every_change_and_serves(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        fill(index)
        before = seen(index)
    code = (
        "import os, sys\n"
        "from lab.errors import StoreUnavailable\n"
        "from lab.index import Index\n"
        "from lab.model import Policy\n"
        "import lab.store.sqlite, lab.store.agreement\n"
        "from tests.lab.support import document\n"
        "from tests.lab.test_crash import seen\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "i = Index.open(sys.argv[1])\n"
        "d = i.directory\n"
        "works = [\n"
        "    lambda: i.upsert(document('new')),\n"
        "    lambda: i.set_policy('larkspur', 'a', Policy(()), 1),\n"
        "    lambda: i.delete('larkspur', 'a', 9),\n"
        "    lambda: d.set('larkspur', 'alice', 'public', (), 1),\n"
        "    lambda: d.set_group('larkspur', 'g', ['bob']),\n"
        "    lambda: i.rebuild(),\n"
        "    lambda: i.purge(),\n"
        "]\n"
        "refused = 0\n"
        "for work in works:\n"
        "    try:\n        work()\n"
        "    except StoreUnavailable as e:\n"
        "        refused += 'may only be read' in str(e)\n"
        "print(refused, len(works), *seen(i), sep='|', end='')\n"
    )
    if not hasattr(os, "geteuid"):
        pytest.skip("no permission bits here")
    if os.geteuid() == 0:
        # The child will be somebody else, and must still reach the file.
        temporary = Path(tempfile.gettempdir())
        for parent in (tmp_path, *tmp_path.parents):
            if parent != temporary and parent.is_relative_to(temporary):
                parent.chmod(0o711)
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, path],
            cwd=ROOT,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )
    finally:
        tmp_path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "|".join(("7", "7", *before))
