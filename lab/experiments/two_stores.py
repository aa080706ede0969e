"""The fixture in two stores: the same bytes, and a wall inside one."""

from __future__ import annotations

from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses, _models
from lab.experiments._servers import served
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import MODES, Context

KIND = "server"
PAGE = False
LIMITATIONS = (
    "One small collection, one server and one client: agreement, not speed.",
    "The reading role is attacked in the ways that were thought of; the"
    " server's own faults are not looked for.",
)

BOB: Final = Context("larkspur", "bob")
DANA: Final = Context("larkspur", "dana")
SCHEMA: Final = "two_stores"


def uses() -> Uses:
    """Return what both stores were filled with."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return how the stores agree and what raw SQL can see.

    ``Refuted`` when a byte differs, or when the wall shows a row too many.
    ``Unavailable`` without an embedded server.
    """
    fixture = load_fixture()
    with served() as dsn, Index.open(":memory:") as small:
        from lab.store.postgres import PostgresStore

        populate(small, fixture)
        with Index.over(PostgresStore(dsn, SCHEMA)) as large:
            populate(large, fixture)
            asked, different = _compare(small, large, fixture)
        emit(f"{asked} searches and answers, asked of both stores")
        emit(f"{different} of them differ in any byte")
        emit("")
        seen = _attack(dsn)
    emit("documents that SELECT * shows to the reading role")
    for how, count in seen.items():
        emit(f"  {how:<44}{count}")
    if different:
        raise Refuted("the same view gives the same bytes in both stores")
    wrong = {
        how: count
        for how, count in seen.items()
        if count and not how.startswith("Bob's own")
    }
    if wrong or not seen["Bob's own claim"]:
        raise Refuted(f"a claim shows its reader's rows and no other: {seen}")
    return {"asked": asked, "different": different, "seen": seen}


def _compare(small: Index, large: Index, fixture: Fixture) -> tuple[int, int]:
    asked = different = 0
    for query in fixture.queries:
        context = Context(query.tenant, query.principal)
        for mode in MODES:
            one = small.search(query.query, context, mode=mode)
            two = large.search(query.query, context, mode=mode)
            # Each store judges the other's hits.
            here = small.answer(two.hits, context)
            there = large.answer(one.hits, context)
            asked += 2
            different += one.to_json() != two.to_json()
            different += here.to_json() != there.to_json()
    return asked, different


def _attack(dsn: str) -> dict[str, int]:
    """Count what a reading role sees that runs SQL of its own."""
    import psycopg

    from lab.store.signing import claim

    with psycopg.connect(dsn) as owner:
        kept: dict[str, str] = dict(
            owner.execute(f"SELECT name, value FROM {SCHEMA}.secrets")
        )
    key = bytes.fromhex(kept["signing-key"])
    seen: dict[str, int] = {}
    with psycopg.connect(
        dsn, user=kept["reader"], password=kept["reader-password"]
    ) as role:

        def moment() -> str:
            rows = role.execute(f"SELECT {SCHEMA}.moment()").fetchall()
            return str(rows[0][0])

        def look(how: str, said: str | None) -> None:
            if said is not None:
                role.execute(
                    "SELECT set_config('keeps_secrets.reader', %s, true)",
                    (said,),
                )
            rows = role.execute(
                f"SELECT count(*) FROM {SCHEMA}.documents"
            ).fetchall()
            seen[how] = int(rows[0][0])

        look("no claim", None)
        mine = claim(key, BOB, moment())
        look("Bob's own claim", mine)
        role.rollback()
        look("the same claim in the next transaction", mine)
        role.rollback()
        forged = claim(key, BOB, moment()).replace("bob", "dana")
        look("Bob's claim with Dana's name in it", forged)
        role.rollback()
        guessed = claim(bytes(len(key)), DANA, moment())
        look("Dana's name, signed with a guessed key", guessed)
        role.rollback()
        look("Dana's name without a signature", "larkspur dana")
    return seen
