"""The second wall, attacked with SQL as the role that reads.

The attacker can run any statement as the reading role: what an injection
or a careless report would give. Where something gets through, a test says
so, so that the book can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lab.errors import NotFound, StoreUnavailable
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import Context, Document, Policy
from tests.lab.servers import Server
from tests.lab.support import contract, everything

pytestmark = pytest.mark.server

ALICE = Context("larkspur", "alice")
BOB = Context("larkspur", "bob")
DANA = Context("larkspur", "dana")
NAMESAKE = Context("quayside", "bob")

TABLES = ("documents", "chunks", "vectors", "features", "post")
PRIVATE = ("secrets", "principals", "inside", "groups", "members", "readers")
COLUMNS = {
    "documents": "tenant, doc_id, title, body",
    "chunks": "tenant, doc_id, number, text",
    "vectors": "tenant, doc_id, number, norm",
    "features": "tenant, doc_id, number, name",
    "post": "tenant, doc_id, number, term",
}
# Only dana may read it, and the word stands in it.
SECRET = "board-paper-q3"
WORD = "layoffs"


class Wall:
    """A filled store, and the way to attack it."""

    def __init__(self, server: Server, place: str) -> None:
        from lab.store.postgres import PostgresStore

        self.server = server
        self.place = place
        self.schema = place.rpartition("#")[2]
        with server.connect() as owner:
            rows = owner.execute(
                f"SELECT name, value FROM {self.schema}.secrets"
            )
            kept = dict(rows.fetchall())
        self.role = kept["reader"]
        self.key = bytes.fromhex(kept["signing-key"])
        self._password = kept["reader-password"]
        self.store = PostgresStore(server.dsn, self.schema)
        self.index = Index.over(self.store)

    def login(self) -> Any:
        """Connect as the reading role; statements share a transaction."""
        import psycopg

        return psycopg.connect(
            self.server.dsn, user=self.role, password=self._password
        )

    def claim(self, connection: Any, context: Context) -> str:
        """Make the claim that the store would make for this transaction."""
        from lab.store.signing import claim

        ((moment,),) = connection.execute(
            f"SELECT {self.schema}.moment()"
        ).fetchall()
        return claim(self.key, context, moment)

    def become(self, connection: Any, context: Context) -> str:
        """Establish a reader, as the store does; return the claim."""
        made = self.claim(connection, context)
        self.assert_claim(connection, made)
        return made

    @staticmethod
    def assert_claim(connection: Any, claim: str, local: bool = True) -> None:
        """Say who one is; whether it is believed is another matter."""
        connection.execute(
            "SELECT set_config('keeps_secrets.reader', %s, %s)",
            (claim, local),
        )

    def rows(self, connection: Any, table: str) -> list[Any]:
        """Return all that the connection can read of a table."""
        found: list[Any] = connection.execute(
            f"SELECT {COLUMNS[table]} FROM {self.schema}.{table} ORDER BY 1, 2"
        ).fetchall()
        return found

    def seen(self, connection: Any) -> set[tuple[str, str]]:
        """Return the documents that show in any table."""
        return {
            (row[0], row[1])
            for table in TABLES
            for row in self.rows(connection, table)
        }


@pytest.fixture(scope="module")
def fixture() -> Fixture:
    return load_fixture()


@pytest.fixture(scope="module")
def wall(postgres: Server, fixture: Fixture) -> Iterator[Wall]:
    with postgres.leases() as lease:
        wall = Wall(postgres, lease())
        populate(wall.index, fixture)
        yield wall
        wall.index.close()


@pytest.fixture
def attacker(wall: Wall) -> Iterator[Any]:
    with wall.login() as connection:
        yield connection
        connection.rollback()


def refused(connection: Any, statement: str, *errors: str) -> None:
    """Assert that a statement fails, by the name of its error."""
    import psycopg

    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement)
    connection.rollback()
    assert type(caught.value).__name__ in errors, caught.value


# --- who one is --------------------------------------------------------------


@contract("C-60")
def test_without_a_claim_every_table_is_empty(
    attacker: Any, wall: Wall
) -> None:
    for table in TABLES:
        assert wall.rows(attacker, table) == []
    ((count, longest),) = attacker.execute(
        f"SELECT count(*), max(length(body)) FROM {wall.schema}.documents"
    ).fetchall()
    assert (count, longest) == (0, None)


@contract("C-60")
def test_each_claim_shows_exactly_what_the_first_wall_shows(
    attacker: Any, wall: Wall, fixture: Fixture
) -> None:
    # Raw SQL has only the second wall before it, the index decides with
    # the first; they are one decision, and must not differ for anybody.
    for principal in fixture.principals:
        context = Context(principal.tenant, principal.principal)
        wall.become(attacker, context)
        readable = set()
        for document in fixture.documents:
            if document.tenant != context.tenant:
                continue
            try:
                wall.index.read(document.doc_id, context)
            except NotFound:
                continue
            readable.add((document.tenant, document.doc_id))
        assert wall.seen(attacker) == readable, context
        attacker.rollback()


@contract("C-60")
@pytest.mark.parametrize(
    "forge",
    [
        lambda made: made.replace("bob", "dana"),
        lambda made: made.replace("larkspur", "quayside"),
        lambda made: made[:-1] + ("0" if made[-1] != "0" else "1"),
        lambda made: made[:-64],
        lambda made: made[:-64] + "0" * 64,
        lambda made: made.upper(),
        lambda made: made + " ",
        lambda made: "larkspur dana " + made,
        lambda made: made.replace(" ", "  ", 1),
        lambda made: "larkspur dana",
        lambda made: "",
        lambda made: " ",
        lambda made: "  ",
    ],
)
def test_a_forged_claim_shows_nothing(
    attacker: Any, wall: Wall, forge: Callable[[str], str]
) -> None:
    wall.assert_claim(attacker, forge(wall.claim(attacker, BOB)))
    assert wall.seen(attacker) == set()


@contract("C-60")
def test_a_claim_is_worth_nothing_in_a_later_transaction(
    attacker: Any, wall: Wall
) -> None:
    made = wall.become(attacker, DANA)
    assert ("larkspur", SECRET) in wall.seen(attacker)
    # Kept for the session, not just the transaction, and used again.
    wall.assert_claim(attacker, made, local=False)
    attacker.commit()
    assert wall.seen(attacker) == set()
    attacker.rollback()
    wall.assert_claim(attacker, made)
    assert wall.seen(attacker) == set()
    # Two transactions in one message have one time in the log, and must
    # not have it here.
    attacker.rollback()
    made = wall.become(attacker, DANA)
    attacker.pgconn.exec_(
        b"COMMIT; BEGIN; SELECT set_config('keeps_secrets.reader', '"
        + made.encode()
        + b"', false)"
    )
    assert wall.seen(attacker) == set()


@contract("C-60")
def test_a_claim_is_worth_nothing_on_another_connection(
    attacker: Any, wall: Wall
) -> None:
    made = wall.become(attacker, DANA)
    with wall.login() as other:
        wall.assert_claim(other, made)
        assert wall.seen(other) == set()
    # What is seen of it tells nothing of the key.
    assert made.endswith(
        attacker.execute(
            "SELECT split_part(current_setting('keeps_secrets.reader'), ' ', 3)"
        ).fetchone()[0]
    )


@contract("C-60")
def test_within_anothers_transaction_only_their_rows_can_be_had(
    attacker: Any, wall: Wall
) -> None:
    # An injection runs as the reader whose request it came with. It has
    # that reader's rows, and that is what gets through.
    wall.become(attacker, BOB)
    before = wall.seen(attacker)
    assert ("larkspur", SECRET) not in before
    assert {tenant for tenant, _ in before} == {"larkspur"}
    attacker.execute("SAVEPOINT again")
    wall.assert_claim(attacker, f"larkspur dana {'0' * 64}")
    assert wall.seen(attacker) == set()
    attacker.execute("ROLLBACK TO again")
    assert wall.seen(attacker) == before


@contract("C-60")
def test_a_store_that_lost_its_key_shows_nothing(wall: Wall) -> None:
    with wall.server.connect() as owner:
        owner.execute(
            f"UPDATE {wall.schema}.secrets SET name = 'lost'"
            " WHERE name = 'signing-key'"
        )
        try:
            with wall.login() as attacker:
                wall.become(attacker, DANA)
                assert wall.seen(attacker) == set()
        finally:
            owner.execute(
                f"UPDATE {wall.schema}.secrets SET name = 'signing-key'"
                " WHERE name = 'lost'"
            )


# --- what the role may do ----------------------------------------------------


@contract("C-60")
@pytest.mark.parametrize(
    "statement",
    [
        *(f"SELECT count(*) FROM {{s}}.{table}" for table in PRIVATE),
        "SELECT * FROM {s}.documents",
        "SELECT * FROM {s}.vectors",
        *(f"SELECT ctid FROM {{s}}.{table}" for table in TABLES),
        *(f"SELECT xmin FROM {{s}}.{table}" for table in TABLES),
        *(f"SELECT count(*) FROM {{s}}.{table}_0" for table in TABLES),
        "SELECT classification FROM {s}.documents",
        "SELECT policy_revision FROM {s}.documents",
        "SELECT * FROM {s}.view_of('larkspur', 'dana')",
        "SELECT * FROM {s}.reader()",
        "SELECT {s}.hmac('\\x00', '\\x00')",
        "INSERT INTO {s}.post VALUES ('larkspur', 'x', 'y', 0, 1, 1)",
        "UPDATE {s}.documents SET live = true",
        "DELETE FROM {s}.chunks",
        "TRUNCATE {s}.post",
        "SELECT doc_id FROM {s}.documents FOR UPDATE",
        "CREATE TABLE {s}.mine(x int)",
        "CREATE FUNCTION {s}.reader(int) RETURNS int LANGUAGE sql"
        " AS 'SELECT 1'",
        "ALTER TABLE {s}.documents DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE {s}.documents OWNER TO CURRENT_USER",
        "DROP POLICY readable ON {s}.documents",
        "CREATE POLICY mine ON {s}.documents USING (true)",
        "GRANT SELECT ON {s}.secrets TO PUBLIC",
        "CREATE OR REPLACE FUNCTION {s}.moment() RETURNS text"
        " LANGUAGE sql AS 'SELECT 1::text'",
        "CREATE RULE r AS ON SELECT TO {s}.post DO INSTEAD NOTHING",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "ALTER ROLE CURRENT_USER BYPASSRLS",
        "CREATE ROLE mine",
        "COPY {s}.documents TO STDOUT",
        "COPY (SELECT body FROM {s}.documents) TO '/tmp/x'",
        "COPY (SELECT body FROM {s}.documents) TO PROGRAM 'cat'",
        "SELECT pg_read_file('postgresql.conf')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT * FROM pg_authid",
        "SELECT * FROM pg_statistic",
        "SELECT set_config('session_authorization', 'postgres', false)",
        "CREATE EXTENSION file_fdw",
        "CREATE EVENT TRIGGER e ON ddl_command_end"
        " EXECUTE FUNCTION {s}.moment()",
    ],
)
def test_the_role_may_not(attacker: Any, wall: Wall, statement: str) -> None:
    wall.become(attacker, BOB)
    refused(
        attacker,
        statement.replace("{s}", wall.schema),
        "InsufficientPrivilege",
        "UndefinedObject",
        "FeatureNotSupported",
        "InvalidParameterValue",
        "ReservedName",
    )


@contract("C-60")
@pytest.mark.parametrize("table", TABLES)
def test_switching_row_security_off_is_an_error_and_no_view(
    attacker: Any, wall: Wall, table: str
) -> None:
    wall.become(attacker, BOB)
    attacker.execute("SET LOCAL row_security = off")
    refused(
        attacker,
        f"SELECT {COLUMNS[table]} FROM {wall.schema}.{table}",
        "InsufficientPrivilege",
    )


@contract("C-60")
def test_other_ways_to_read_a_table_meet_the_same_wall(
    attacker: Any, wall: Wall
) -> None:
    wall.become(attacker, BOB)
    expected = {doc_id for _, doc_id in wall.seen(attacker)}
    documents = f"{wall.schema}.documents"
    for query in (
        f"SELECT doc_id FROM {documents} TABLESAMPLE BERNOULLI (100)",
        f"SELECT doc_id FROM {documents} WHERE true OR doc_id = ''",
        f"SELECT doc_id FROM {documents} UNION SELECT doc_id FROM {documents}",
        f"SELECT c.doc_id FROM {wall.schema}.chunks c"
        f" RIGHT JOIN {documents} USING (tenant, doc_id)",
        f"WITH d AS MATERIALIZED (SELECT doc_id FROM {documents})"
        " SELECT * FROM d",
        f"SELECT (SELECT e.doc_id FROM {documents} e"
        f" WHERE e.doc_id = d.doc_id) FROM {documents} d",
    ):
        rows = attacker.execute(query).fetchall()
        assert {row[0] for row in rows} == expected, query
    query = f"COPY (SELECT doc_id FROM {documents}) TO STDOUT"
    with attacker.cursor() as cursor, cursor.copy(query) as copy:
        copied = b"".join(copy)
    assert set(copied.decode().split()) == expected


# --- functions that talk -----------------------------------------------------


@contract("C-60")
def test_a_function_in_the_filter_is_not_shown_hidden_rows(
    attacker: Any, wall: Wall
) -> None:
    # It costs next to nothing, so a planner that asked no further would
    # call it before looking who is asking.
    heard: list[str] = []
    attacker.add_notice_handler(lambda d: heard.append(d.message_primary))
    attacker.execute(
        "CREATE FUNCTION pg_temp.tell(value text) RETURNS boolean"
        " LANGUAGE plpgsql COST 0.0000001 AS"
        " $$BEGIN RAISE NOTICE '%', value; RETURN false; END$$"
    )
    wall.become(attacker, BOB)
    expected = {row[1] for row in wall.rows(attacker, "documents")}
    for query in (
        "SELECT 1 FROM {s}.documents WHERE pg_temp.tell(doc_id)",
        "SELECT 1 FROM {s}.documents WHERE pg_temp.tell(doc_id)"
        " AND tenant = 'larkspur'",
        "SELECT 1 FROM {s}.documents d JOIN {s}.chunks c"
        " ON pg_temp.tell(d.doc_id)",
        "SELECT count(*) FILTER (WHERE pg_temp.tell(doc_id))"
        " FROM {s}.documents",
        "SELECT 1 FROM {s}.documents ORDER BY pg_temp.tell(doc_id)",
        "SELECT 1 FROM (SELECT * FROM {s}.post WHERE term = 'hotel') p"
        " WHERE pg_temp.tell(doc_id)",
    ):
        del heard[:]
        attacker.execute(query.replace("{s}", wall.schema)).fetchall()
        assert heard, query
        assert set(heard) <= expected, query


@contract("C-60")
def test_an_error_does_not_quote_a_hidden_value(
    attacker: Any, wall: Wall
) -> None:
    import psycopg

    for query in (
        f"SELECT 1 FROM {wall.schema}.documents WHERE body::int = 1",
        f"SELECT 1 FROM {wall.schema}.documents"
        " WHERE 1 / (length(body) - length(body)) = 0",
        f"SELECT 1 FROM {wall.schema}.post WHERE term::int = 1",
        f"SELECT 1 FROM {wall.schema}.chunks WHERE text::json IS NULL",
    ):
        # Nobody: there is no row that may be looked at, so no error.
        attacker.rollback()
        assert attacker.execute(query).fetchall() == []
        # Bob: an error, of a row of Bob's.
        wall.become(attacker, BOB)
        mine = " ".join(
            value
            for table in ("documents", "chunks", "post")
            for row in wall.rows(attacker, table)
            for value in row
            if isinstance(value, str)
        )
        with pytest.raises(psycopg.Error) as caught:
            attacker.execute(query)
        quoted = str(caught.value).split('"')
        if len(quoted) > 2:
            assert quoted[1].split("\n")[0] in mine


# --- what the catalog tells --------------------------------------------------


@contract("C-60")
def test_statistics_hold_no_value_of_a_hidden_row(
    attacker: Any, wall: Wall
) -> None:
    with wall.server.connect() as owner:
        for table in TABLES:
            owner.execute(f"ANALYZE {wall.schema}.{table}")
        told = owner.execute(
            "SELECT tablename, attname FROM pg_stats WHERE schemaname = %s"
            " AND (tablename, attname) IN (('post', 'term'),"
            " ('features', 'name'), ('documents', 'body'),"
            " ('documents', 'title'), ('chunks', 'text'))",
            (wall.schema,),
        ).fetchall()
    # Not even the owner finds samples of what is written in documents.
    assert told == []
    wall.become(attacker, BOB)
    assert attacker.execute(
        "SELECT count(*) FROM pg_stats WHERE schemaname = %s"
        " AND tablename <> 'settings'",
        (wall.schema,),
    ).fetchone() == (0,)


@contract("C-60")
def test_an_estimate_does_not_depend_on_a_hidden_word(
    attacker: Any, wall: Wall
) -> None:
    with wall.server.connect() as owner:
        owner.execute(f"ANALYZE {wall.schema}.post")
    wall.become(attacker, BOB)
    plans = [
        attacker.execute(
            f"EXPLAIN SELECT doc_id FROM {wall.schema}.post"
            f" WHERE tenant = 'larkspur' AND term = '{word}'"
        ).fetchall()
        for word in (WORD, "nowhere")
    ]
    assert str(plans[0]).replace(WORD, "") == str(plans[1]).replace(
        "nowhere", ""
    )


@contract("C-60")
def test_what_another_reader_asks_is_not_in_the_list_of_activity(
    attacker: Any, wall: Wall
) -> None:
    # All readers are one role, and a role sees its own sessions. Values
    # are never part of the statement, so that they do not show there.
    with wall.store.read() as snapshot:
        view = snapshot.readable(DANA)
        snapshot.postings(view, ["takeoverword"])
        shown = attacker.execute(
            "SELECT query FROM pg_stat_activity"
        ).fetchall()
    told = " ".join(query for (query,) in shown)
    assert f"{wall.schema}" in told
    for value in ("takeoverword", "dana", SECRET):
        assert value not in told


def test_what_gets_through_explain_counts_hidden_rows(
    attacker: Any, wall: Wall
) -> None:
    # Not a contract: a hole. Equality is leakproof, so an index looks for
    # the word before the wall stands, and the count of what the wall took
    # away is told. Rows and texts stay hidden, their number does not.
    wall.become(attacker, BOB)
    found = {}
    for word in (WORD, "nowhere"):
        plan = attacker.execute(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON)"
            f" SELECT doc_id FROM {wall.schema}.post"
            f" WHERE tenant = 'larkspur' AND term = '{word}'"
        ).fetchone()[0][0]["Plan"]
        found[word] = plan.get("Rows Removed by Filter", 0)
    ((readable,),) = attacker.execute(
        f"SELECT count(*) FROM {wall.schema}.post WHERE term = %s", (WORD,)
    ).fetchall()
    with wall.server.connect() as owner:
        ((everywhere,),) = owner.execute(
            f"SELECT count(*) FROM {wall.schema}.post"
            " WHERE tenant = 'larkspur' AND term = %s",
            (WORD,),
        ).fetchall()
    truth = everywhere - readable
    assert found == {WORD: truth, "nowhere": 0}
    assert truth > 0


def test_what_gets_through_the_size_of_the_whole(
    attacker: Any, wall: Wall
) -> None:
    with wall.server.connect() as owner:
        owner.execute(f"ANALYZE {wall.schema}.documents")
        ((everything,),) = owner.execute(
            f"SELECT count(*) FROM {wall.schema}.documents"
        ).fetchall()
    ((told,),) = attacker.execute(
        "SELECT sum(reltuples) FROM pg_class WHERE relispartition"
        " AND relkind = 'r' AND relnamespace = %s::regnamespace"
        " AND relname LIKE 'documents%%'",
        (wall.schema,),
    ).fetchall()
    assert told == everything


# --- pooled connections ------------------------------------------------------


@contract("C-60")
def test_a_pooled_connection_carries_nothing_to_the_next_reader(
    wall: Wall,
) -> None:
    import psycopg

    with wall.store.read() as snapshot:
        snapshot.readable(DANA)
        session = snapshot._reader
        session.execute(
            "DECLARE loot CURSOR WITH HOLD FOR"
            f" SELECT body FROM {wall.schema}.documents"
        )
        process = session.info.backend_pid
        # An injection may commit, and do what else it likes.
        session.execute("COMMIT; BEGIN READ WRITE")
        assert len(session.execute("FETCH 2 FROM loot").fetchall()) == 2
        for left_behind in (
            "SELECT set_config('keeps_secrets.reader',"
            " current_setting('keeps_secrets.reader'), false)",
            "SET SESSION search_path = pg_temp",
            "PREPARE again AS SELECT 1",
            "SELECT pg_advisory_lock(7)",
            "LISTEN gossip",
            # Types are looked up among temporary ones first: this one
            # would be handed every value that is cast to text.
            "CREATE DOMAIN pg_temp.text AS pg_catalog.text",
            "COMMIT",
        ):
            session.execute(left_behind)
    with wall.store.read() as snapshot:
        session = snapshot._reader
        assert session.info.backend_pid == process
        assert session.execute(
            "SELECT current_setting('search_path'),"
            " current_setting('keeps_secrets.reader', true)"
        ).fetchone() == ('"$user", public', "")
        for table in (
            "pg_cursors",
            "pg_prepared_statements",
            "pg_listening_channels()",
        ):
            assert session.execute(f"SELECT * FROM {table}").fetchall() == []
        assert session.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            " AND pid = pg_backend_pid()"
        ).fetchone() == (0,)
        assert session.execute(
            "SELECT to_regtype('pg_temp.text')"
        ).fetchone() == (None,)
        assert wall.seen(session) == set()
        view = snapshot.readable(BOB)
        assert snapshot.document(view, SECRET) is None
        with pytest.raises(psycopg.Error):
            session.execute("FETCH ALL FROM loot")


@contract("C-60")
def test_readers_in_turn_on_one_connection_get_their_own(wall: Wall) -> None:
    for _ in range(3):
        for context, readable in ((DANA, True), (BOB, False)):
            hits = wall.index.search(WORD, context, mode="lexical").hits
            assert (SECRET in {hit.doc_id for hit in hits}) == readable
    assert {h.tenant for h in wall.index.search("policy", NAMESAKE).hits} == {
        "quayside"
    }


# --- a role that could step around it ----------------------------------------


@contract("C-60")
@pytest.mark.parametrize(
    ("give", "take", "named"),
    [
        ("ALTER ROLE {r} SUPERUSER", "ALTER ROLE {r} NOSUPERUSER", "superuser"),
        ("ALTER ROLE {r} BYPASSRLS", "ALTER ROLE {r} NOBYPASSRLS", "BYPASSRLS"),
        (
            "ALTER ROLE {r} REPLICATION",
            "ALTER ROLE {r} NOREPLICATION",
            "REPLICATION",
        ),
        (
            "ALTER ROLE {r} CREATEROLE",
            "ALTER ROLE {r} NOCREATEROLE",
            "CREATEROLE",
        ),
        (
            "GRANT pg_read_all_data TO {r}",
            "REVOKE pg_read_all_data FROM {r}",
            "member of the role pg_read_all_data",
        ),
        (
            "ALTER TABLE {s}.post OWNER TO {r}",
            "ALTER TABLE {s}.post OWNER TO CURRENT_USER",
            "owns post",
        ),
        (
            "GRANT UPDATE (live) ON {s}.documents TO {r}",
            "REVOKE UPDATE (live) ON {s}.documents FROM {r}",
            "may UPDATE documents",
        ),
        (
            "GRANT SELECT ON {s}.documents TO {r}",
            "REVOKE SELECT ON {s}.documents FROM {r}",
            "may SELECT documents",
        ),
        (
            "GRANT SELECT (name) ON {s}.readers TO {r}",
            "REVOKE SELECT (name) ON {s}.readers FROM {r}",
            "reads readers, where row security is off",
        ),
        (
            "ALTER TABLE {s}.chunks DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE {s}.chunks ENABLE ROW LEVEL SECURITY",
            "reads chunks, where row security is off",
        ),
        (
            "GRANT CREATE ON SCHEMA {s} TO {r}",
            "REVOKE CREATE ON SCHEMA {s} FROM {r}",
            "may make things in the schema",
        ),
    ],
)
def test_a_role_that_row_security_would_not_hold_is_refused(
    postgres: Server, give: str, take: str, named: str
) -> None:
    with postgres.spoilt() as place, postgres.connect() as owner:
        schema = place.rpartition("#")[2]
        ((role,),) = owner.execute(
            f"SELECT value FROM {schema}.secrets WHERE name = 'reader'"
        ).fetchall()
        said = {"r": role, "s": schema}
        Index.open(place).close()
        owner.execute(give.format(**said))
        try:
            with pytest.raises(StoreUnavailable) as caught:
                Index.open(place)
        finally:
            owner.execute(take.format(**said))
        assert named in str(caught.value)
        assert role in str(caught.value)


@contract("C-60")
def test_each_wall_holds_alone(
    wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.store.postgres_snapshot import PostgresSnapshot

    words = ("policy", WORD, "heron", "差旅")
    before = [everything(wall.index, word, BOB) for word in words]
    alter = "ALTER TABLE {}.{} {} ROW LEVEL SECURITY"
    with wall.server.connect() as owner:
        for table in TABLES:
            owner.execute(alter.format(wall.schema, table, "DISABLE"))
        try:
            assert [everything(wall.index, w, BOB) for w in words] == before
        finally:
            for table in TABLES:
                owner.execute(alter.format(wall.schema, table, "ENABLE"))
        everybody = dict.fromkeys(
            (
                doc_id
                for (doc_id,) in owner.execute(
                    f"SELECT doc_id FROM {wall.schema}.documents"
                )
            ),
            (0, 0),
        )
    viewed = PostgresSnapshot._viewed

    def forgetful(snapshot: Any, context: Context, rows: Any) -> Any:
        view = viewed(snapshot, context, rows)
        # The statistics stay the view's; what is asked of is everybody's.
        snapshot._visible = everybody | snapshot._visible
        return view

    monkeypatch.setattr(PostgresSnapshot, "_viewed", forgetful)
    assert [everything(wall.index, word, BOB) for word in words] == before
    with pytest.raises(NotFound):
        wall.index.read(SECRET, BOB)


def test_the_wall_is_what_hides_here(wall: Wall) -> None:
    # With the wall taken down, the same statement shows everything: it is
    # the wall that the tests above have met.
    with wall.server.connect() as owner:
        owner.execute(
            f"ALTER TABLE {wall.schema}.documents DISABLE ROW LEVEL SECURITY"
        )
        try:
            with wall.login() as attacker:
                rows = wall.rows(attacker, "documents")
        finally:
            owner.execute(
                f"ALTER TABLE {wall.schema}.documents ENABLE ROW LEVEL SECURITY"
            )
    assert ("larkspur", SECRET) in {(row[0], row[1]) for row in rows}


def test_a_policy_change_is_seen_by_the_second_wall_at_once(
    wall: Wall,
) -> None:
    wall.index.upsert(
        Document("larkspur", "note", 1, "text", "note", Policy(("bob",)))
    )
    with wall.login() as attacker:
        wall.become(attacker, BOB)
        assert ("larkspur", "note") in wall.seen(attacker)
        wall.index.set_policy("larkspur", "note", Policy(("alice",)), 1)
        # Each statement of this transaction looks anew.
        assert ("larkspur", "note") not in wall.seen(attacker)
    wall.index.delete("larkspur", "note", 2)
