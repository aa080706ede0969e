"""What gets through row security: SQL as the reading role, with one's own
claim.

Rows and texts of other people stay where they are. How many there are does
not: the server counts what its filter took away, and tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses, _models
from lab.experiments._servers import served
from lab.experiments.leak import BOB, WORDS
from lab.fixture import load_fixture, populate
from lab.index import Index

KIND = "server"
PAGE = False
LIMITATIONS = (
    "One version of one server, attacked in the ways that were thought of.",
    "That counts get through is shown for words one has a guess at; other"
    " plans may tell other numbers.",
)

SCHEMA: Final = "ks_wall"

# What is tried, and the error that PostgreSQL must answer with.
REFUSED: Final = (
    (
        "read who may read what",
        "SELECT * FROM {s}.readers",
        "InsufficientPrivilege",
    ),
    (
        "read the signing key",
        "SELECT * FROM {s}.secrets",
        "InsufficientPrivilege",
    ),
    (
        "ask for Dana's view by name",
        "SELECT * FROM {s}.view_of('larkspur', 'dana')",
        "InsufficientPrivilege",
    ),
    (
        "read a partition beside its table",
        "SELECT doc_id FROM {s}.documents_0",
        "InsufficientPrivilege",
    ),
    (
        "look for gaps between rows (ctid)",
        "SELECT ctid FROM {s}.post",
        "InsufficientPrivilege",
    ),
    (
        "switch row security off",
        "SET LOCAL row_security = off; SELECT doc_id FROM {s}.documents",
        "InsufficientPrivilege",
    ),
    (
        "read the planner's samples",
        "SELECT * FROM pg_statistic",
        "InsufficientPrivilege",
    ),
    ("become the owner", "SET ROLE postgres", "InsufficientPrivilege"),
)


def uses() -> Uses:
    """Return what the store was filled with."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Attack the wall as Bob; return what was refused and what was told.

    ``Refuted`` when a row, a text or a privilege gets through that should
    not, or when the count that should does not.
    """
    with served() as dsn:
        from lab.store.postgres import PostgresStore

        with Index.over(PostgresStore(dsn, SCHEMA)) as index:
            populate(index, load_fixture())
        with _owner(dsn) as owner:
            truth = {
                word: owner.execute(
                    f"SELECT count(*) FROM {SCHEMA}.post"
                    " WHERE tenant = %s AND term = %s",
                    (BOB.tenant, word),
                ).fetchall()[0][0]
                for word in WORDS
            }
            kept: dict[str, str] = dict(
                owner.execute(f"SELECT name, value FROM {SCHEMA}.secrets")
            )
        with _bob(dsn, kept) as session:
            refused = _refusals(session, emit)
            told = _tell(session)
            noticed = _listen(session)
    rows = {
        word: {**told[word], "truth": truth[word] - told[word]["selected"]}
        for word in WORDS
    }
    emit("")
    emit("a function in the filter, that repeats each row it is asked about:")
    emit(f"  it was shown {noticed['shown']} rows, {noticed['hidden']} hidden")
    emit("")
    emit("chunks with a word: as SELECT counts them, as EXPLAIN ANALYZE says")
    emit("that its filter took away, and hidden in truth")
    for word, row in rows.items():
        emit(
            f"  {word:<16}{row['selected']:>6}{row['removed']:>8}"
            f"{row['truth']:>8}"
        )
    _judge(refused, noticed, rows)
    return {
        "refused": refused,
        "words": rows,
        "tried": len(rows),
        "right": sum(r["removed"] == r["truth"] for r in rows.values()),
        "hidden_words": sum(r["truth"] > 0 for r in rows.values()),
        "function": noticed,
    }


def _refusals(session: Any, emit: Emit) -> dict[str, str]:
    """Try what must be refused; return the errors."""
    import psycopg

    emit("as Bob, with Bob's own claim, in SQL")
    answers = {}
    for what, statement, _ in REFUSED:
        answer = "DONE"
        session.execute("SAVEPOINT before")
        try:
            session.execute(statement.replace("{s}", SCHEMA)).fetchall()
        except psycopg.Error as error:
            answer = type(error).__name__
        session.execute("ROLLBACK TO before")
        answers[what] = answer
        emit(f"  {what:<36}{answer}")
    return answers


def _tell(session: Any) -> dict[str, dict[str, int]]:
    """Return how many rows SELECT and EXPLAIN ANALYZE count for words."""
    session.execute("SET LOCAL enable_seqscan = off")
    counted = {}
    for word in WORDS:
        query = (
            f"SELECT doc_id FROM {SCHEMA}.post"
            f" WHERE tenant = '{BOB.tenant}' AND term = '{word}'"
        )
        rows = session.execute(query).fetchall()
        ((plan,),) = session.execute(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF,"
            f" FORMAT JSON) {query}"
        ).fetchall()
        removed = plan[0]["Plan"].get("Rows Removed by Filter", 0)
        counted[word] = {"selected": len(rows), "removed": removed}
    return counted


def _listen(session: Any) -> dict[str, int]:
    """Put a talkative function into the filter; count what it was shown."""
    heard: list[str] = []
    session.add_notice_handler(
        lambda diagnostic: heard.append(diagnostic.message_primary)
    )
    # It costs next to nothing, so that a planner which asked no further
    # would call it first.
    session.execute(
        "CREATE FUNCTION pg_temp.tell(value text) RETURNS boolean"
        " LANGUAGE plpgsql COST 0.0000001 AS"
        " $$BEGIN RAISE NOTICE '%', value; RETURN true; END$$"
    )
    rows = session.execute(
        f"SELECT doc_id FROM {SCHEMA}.documents WHERE pg_temp.tell(doc_id)"
    ).fetchall()
    mine = {doc_id for (doc_id,) in rows}
    return {"shown": len(heard), "hidden": len(set(heard) - mine)}


def _owner(dsn: str) -> Any:
    import psycopg

    return psycopg.connect(dsn)


@contextmanager
def _bob(dsn: str, kept: Mapping[str, str]) -> Iterator[Any]:
    """Log in as the reading role, with Bob's claim for one transaction."""
    import psycopg

    from lab.store.signing import claim

    with psycopg.connect(
        dsn, user=kept["reader"], password=kept["reader-password"]
    ) as session:
        ((moment,),) = session.execute(f"SELECT {SCHEMA}.moment()").fetchall()
        made = claim(bytes.fromhex(kept["signing-key"]), BOB, moment)
        session.execute(
            "SELECT set_config('keeps_secrets.reader', %s, true)", (made,)
        )
        yield session
        session.rollback()


def _judge(
    refused: Mapping[str, str],
    noticed: Mapping[str, int],
    rows: Mapping[str, Mapping[str, int]],
) -> None:
    """Raise ``Refuted`` where the wall is other than we say."""
    for what, _, error in REFUSED:
        if refused[what] != error:
            raise Refuted(f"the reading role may not {what}")
    if noticed["hidden"] or not noticed["shown"]:
        raise Refuted("a function in the filter is shown readable rows only")
    if any(row["removed"] != row["truth"] for row in rows.values()):
        raise Refuted("EXPLAIN ANALYZE counts the hidden rows of a word")
