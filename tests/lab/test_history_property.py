"""Random histories of every operation, against the plain model.

After each step everything that any reader can observe is compared: what
they may read, what they find and with which score, which of their old hits
and citations still hold, and what trusted code is told.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from lab.chunking import BlockChunker, SectionChunker, WindowChunker
from lab.encoders import Encoder
from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.errors import LabError, NotFound, ProjectionChanged
from lab.index import DocumentStatus, Index, Status
from lab.model import Context, Document, Policy
from tests.lab.model_index import Content, Doc, Model, Refused, Rules
from tests.lab.support import contract

# More on demand, and new ones every time: KEEPS_SECRETS_STEPS=100000
SAME = "KEEPS_SECRETS_STEPS" not in os.environ
STEPS = int(os.environ.get("KEEPS_SECRETS_STEPS", "2000"))
STEPS_EACH = 40

TENANTS = ("larkspur", "quayside")
PEOPLE = ("alice", "bob", "wei")
DOCS = ("travel", "board", "salary")
TEAMS = ("staff", "finance", "board")
WORDS = ("hotel", "night", "zebra", "quota", "the", "差旅", "酒店上限", "é")
QUERIES = ("hotel night", "zebra", "差旅 the", "酒店", "quota é hotel")
MODES = ("hybrid", "lexical", "vector")
NOW = 1_000

tenants = st.sampled_from(TENANTS)
people = st.sampled_from(PEOPLE)
docs = st.sampled_from(DOCS)
teams = st.sampled_from(TEAMS)
members = st.sampled_from((*PEOPLE, *(f"group:{name}" for name in TEAMS)))
readers = st.one_of(members, st.just("*"), st.just("group:unknown"))
classes = st.sampled_from(("public", "internal", "confidential", "restricted"))
barriers = st.sampled_from((None, None, None, "heron", "osprey"))
inside = st.frozensets(st.sampled_from(("heron", "osprey")), max_size=2)
revisions = st.integers(1, 12)
ahead = st.sampled_from((1, 1, 1, 1, 2, 0, -1))
# Mostly what the store is at, sometimes what it was or will be at.
guesses = st.sampled_from((0, 0, 0, 0, -1, 1))
line = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
contents = st.builds(
    Content,
    st.sampled_from(("markdown", "text", "json")),
    st.sampled_from(WORDS),
    st.lists(line, max_size=4).map(tuple),
)
rules = st.builds(
    Rules,
    st.lists(readers, max_size=3, unique=True).map(tuple),
    classes,
    barriers,
)
# Policies that let somebody in, so that there is something to compare.
opening = st.builds(
    Rules,
    st.lists(
        st.sampled_from((*PEOPLE, "*", "group:staff", "group:finance")),
        min_size=1,
        max_size=3,
        unique=True,
    ).map(tuple),
    st.sampled_from(("public", "internal")),
)
STARTING = (
    Rules(("*",), "public"),
    Rules(("group:staff", "bob")),
    Rules(("alice", "group:finance"), "confidential"),
)
times = st.sampled_from((None, 100, 950, NOW))
origins = st.sampled_from((None, "folder/a.md"))
actors = st.integers(0, 1)

ENCODERS: dict[str | int | None, Callable[[], Encoder | None]] = {
    "sparse": TermCounts,
    32: lambda: SignedHashing(32),
    None: lambda: None,
}
CHUNKERS = (WindowChunker(40, 8), SectionChunker(9, 2), BlockChunker(50, 1))


def policy(given: Rules) -> Policy:
    """Return the lab's own policy."""
    return Policy(given.readers, given.classification, given.barrier)


def event(doc: Document, restore: bool) -> dict[str, Any]:
    """Return a document as an event line says it."""
    data: dict[str, Any] = {
        "op": "upsert",
        "tenant": doc.tenant,
        "doc_id": doc.doc_id,
        "revision": doc.revision,
        "format": doc.format,
        "source": doc.source,
        "restore": restore,
    }
    if doc.policy is not None:
        data["policy"] = doc.policy.to_data()
        if doc.policy.barrier is None:
            del data["policy"]["barrier"]
    if doc.updated_at is not None:
        data["updated_at"] = doc.updated_at
    if doc.origin is not None:
        data["origin"] = doc.origin
    return data


class Histories(RuleBasedStateMachine):
    """Two actors change one store; the model says what must follow."""

    place: Callable[[], str]

    def __init__(self) -> None:
        super().__init__()
        self.where = self.place()
        self.lasting = self.where != ":memory:"
        self.indexes: list[Index] = []
        self.model = Model(CHUNKERS[0])
        self.turn = 0
        self.in_hand: list[dict[str, Any]] = []

    @initialize(
        encoder=st.sampled_from(sorted(ENCODERS, key=str)),
        chunker=st.sampled_from(CHUNKERS),
    )
    def open(self, encoder: Any, chunker: Any) -> None:
        first = Index.open(
            self.where, encoder=ENCODERS[encoder](), chunker=chunker
        )
        second = Index.open(self.where) if self.lasting else first
        self.indexes = [first, second]
        self.model = Model(chunker, encoder)
        # Histories begin in the middle: with something to be seen.
        for tenant in TENANTS:
            self.set_team(0, tenant, "staff", ("alice", "wei"), 0, False)
            for number, doc_id in enumerate(DOCS):
                words = WORDS[number:] + WORDS[: number + 3]
                content = Content("markdown", "hotel zebra", (" ".join(words),))
                given = STARTING[number]
                self.upsert(
                    1,
                    tenant,
                    doc_id,
                    1,
                    content,
                    given,
                    NOW - 60 * number,
                    None,
                    False,
                    False,
                )

    def teardown(self) -> None:
        for index in self.indexes:
            index.close()

    # --- asking both -------------------------------------------------------

    def both(
        self, real: Callable[[], Any], modelled: Callable[[], Any]
    ) -> None:
        """Do one thing twice; results, or errors, must be the same."""
        refused = None
        try:
            expected = modelled()
        except Refused as refusal:
            refused = refusal.args[0]
        if refused is None:
            assert real() == expected
            return
        with pytest.raises(LabError) as caught:
            real()
        assert type(caught.value).__name__ == refused

    # --- what happens ------------------------------------------------------

    @rule(
        actor=actors,
        tenant=tenants,
        doc_id=docs,
        step=ahead,
        content=contents,
        given=st.one_of(st.none(), rules, rules, rules),
        updated_at=times,
        origin=origins,
        restore=st.booleans(),
        by_event=st.booleans(),
    )
    def upsert(
        self,
        actor: int,
        tenant: str,
        doc_id: str,
        step: int,
        content: Content,
        given: Rules | None,
        updated_at: int | None,
        origin: str | None,
        restore: bool,
        by_event: bool,
    ) -> None:
        old = self.model.docs.get((tenant, doc_id))
        revision = max(1, (old.revision if old else 0) + step)
        sent = Document(
            tenant,
            doc_id,
            revision,
            content.format,
            content.source,
            policy(given) if given else None,
            updated_at,
            origin,
        )
        index = self.indexes[actor]

        def real() -> Any:
            if by_event:
                return self.applied(index, event(sent, restore))
            made = index.upsert(sent, restore)
            return made.state, made.revision, made.policy_revision

        def modelled() -> Any:
            made = self.model.upsert(
                tenant,
                doc_id,
                revision,
                content,
                given,
                updated_at,
                origin,
                restore,
            )
            return made[0] if by_event else made

        self.both(real, modelled)

    @rule(actor=actors, tenant=tenants, doc_id=docs, restore=st.booleans())
    def send_again(
        self, actor: int, tenant: str, doc_id: str, restore: bool
    ) -> None:
        """The same revision once more, with another time and policy."""
        old = self.model.docs.get((tenant, doc_id))
        if old is None or old.content is None:
            return
        self.upsert(
            actor,
            tenant,
            doc_id,
            0,
            old.content,
            Rules(("*",), "public"),
            7,
            "other.md",
            restore,
            False,
        )

    @rule(
        actor=actors,
        tenant=tenants,
        doc_id=docs,
        given=rules,
        guess=guesses,
        by_event=st.booleans(),
    )
    def set_policy(
        self,
        actor: int,
        tenant: str,
        doc_id: str,
        given: Rules,
        guess: int,
        by_event: bool,
    ) -> None:
        old = self.model.docs.get((tenant, doc_id))
        expected = max(0, (old.policy_revision if old else 0) + guess)
        index = self.indexes[actor]

        def real() -> Any:
            if not by_event:
                return index.set_policy(tenant, doc_id, policy(given), expected)
            data = {
                "op": "set_policy",
                "tenant": tenant,
                "doc_id": doc_id,
                "policy": {
                    "readers": list(given.readers),
                    "classification": given.classification,
                    **({"barrier": given.barrier} if given.barrier else {}),
                },
                "expected_policy_revision": expected,
            }
            return self.applied(index, data)

        def modelled() -> Any:
            made = self.model.set_policy(tenant, doc_id, given, expected)
            return "set" if by_event else made

        self.both(real, modelled)

    @rule(
        actor=actors,
        tenant=tenants,
        doc_id=docs,
        step=ahead,
        by_event=st.booleans(),
    )
    def delete(
        self, actor: int, tenant: str, doc_id: str, step: int, by_event: bool
    ) -> None:
        old = self.model.docs.get((tenant, doc_id))
        revision = max(1, (old.revision if old else 0) + step)
        index = self.indexes[actor]

        def real() -> Any:
            if by_event:
                data = {
                    "op": "delete",
                    "tenant": tenant,
                    "doc_id": doc_id,
                    "revision": revision,
                }
                return self.applied(index, data)
            made = index.delete(tenant, doc_id, revision)
            return made.state, made.revision, made.policy_revision

        def modelled() -> Any:
            made = self.model.delete(tenant, doc_id, revision)
            return made[0] if by_event else made

        self.both(real, modelled)

    @rule(
        actor=actors,
        tenant=tenants,
        person=people,
        clearance=classes,
        walls=inside,
        guess=guesses,
    )
    def set_person(
        self,
        actor: int,
        tenant: str,
        person: str,
        clearance: str,
        walls: frozenset[str],
        guess: int,
    ) -> None:
        old = self.model.people.get((tenant, person))
        expected = max(0, (old.revision if old else 0) + guess)
        directory = self.indexes[actor].directory
        self.both(
            lambda: directory.set(tenant, person, clearance, walls, expected),
            lambda: self.model.set_person(
                tenant, person, clearance, walls, expected
            ),
        )

    @rule(
        actor=actors,
        tenant=tenants,
        name=teams,
        names=st.lists(members, max_size=4, unique=True).map(tuple),
        guess=guesses,
        by_event=st.booleans(),
    )
    def set_team(
        self,
        actor: int,
        tenant: str,
        name: str,
        names: tuple[str, ...],
        guess: int,
        by_event: bool,
    ) -> None:
        old = self.model.teams.get((tenant, name))
        expected = max(0, (old.revision if old else 0) + guess)
        index = self.indexes[actor]

        def real() -> Any:
            if not by_event:
                return index.directory.set_group(tenant, name, names, expected)
            data = {
                "op": "set_group",
                "tenant": tenant,
                "name": name,
                "members": list(names),
                "expected_revision": expected,
            }
            return self.applied(index, data)

        def modelled() -> Any:
            made = self.model.set_team(tenant, name, names, expected)
            return "set" if by_event else made

        self.both(real, modelled)

    @rule(actor=actors, tenant=tenants, name=teams, guess=guesses)
    def delete_team(
        self, actor: int, tenant: str, name: str, guess: int
    ) -> None:
        old = self.model.teams.get((tenant, name))
        expected = max(0, (old.revision if old else 0) + guess)
        directory = self.indexes[actor].directory
        self.both(
            lambda: directory.delete_group(tenant, name, expected),
            lambda: self.model.delete_team(tenant, name, expected),
        )

    @rule(
        actor=actors,
        tenant=tenants,
        doc_id=docs,
        content=contents,
        updated_at=times,
    )
    def revise(
        self,
        actor: int,
        tenant: str,
        doc_id: str,
        content: Content,
        updated_at: int | None,
    ) -> None:
        """The usual event: the next revision, no policy."""
        self.upsert(
            actor,
            tenant,
            doc_id,
            1,
            content,
            None,
            updated_at,
            None,
            False,
            True,
        )

    @rule(
        actor=actors,
        tenant=tenants,
        doc_id=docs,
        content=contents,
        given=opening,
    )
    def restore(
        self,
        actor: int,
        tenant: str,
        doc_id: str,
        content: Content,
        given: Rules,
    ) -> None:
        self.upsert(
            actor, tenant, doc_id, 1, content, given, NOW, None, True, False
        )

    @rule(
        actor=actors,
        tenant=tenants,
        doc_id=docs,
        given=opening,
        by_event=st.booleans(),
    )
    def grant(
        self,
        actor: int,
        tenant: str,
        doc_id: str,
        given: Rules,
        by_event: bool,
    ) -> None:
        self.set_policy(actor, tenant, doc_id, given, 0, by_event)

    @rule(
        actor=actors,
        work=st.sampled_from(
            ("rebuild", "rebuild", "purge", "verify", "reopen")
        ),
        encoder=st.sampled_from(sorted(ENCODERS, key=str)),
        chunker=st.sampled_from(CHUNKERS),
    )
    def maintain(
        self, actor: int, work: str, encoder: Any, chunker: Any
    ) -> None:
        mine = self.indexes[actor]
        if work == "purge":
            assert mine.purge()
        elif work == "verify":
            assert mine.verify() == []
        elif work == "rebuild":
            self.rebuild(actor, encoder, chunker)
        elif self.lasting:
            mine.close()
            self.indexes[actor] = Index.open(self.where)

    def rebuild(self, actor: int, encoder: Any, chunker: Any) -> None:
        before = (self.model.encoder, self.model.chunker)
        live = sum(d.content is not None for d in self.model.docs.values())
        mine, other = self.indexes[actor], self.indexes[1 - actor]
        assert mine.rebuild(ENCODERS[encoder](), chunker) == live
        self.model.encoder, self.model.chunker = encoder, chunker
        if other is mine or before == (encoder, chunker):
            return
        with pytest.raises(ProjectionChanged):
            other.search("zebra", Context("larkspur", "bob"))
        other.close()
        self.indexes[1 - actor] = Index.open(self.where)

    def applied(self, index: Index, data: dict[str, Any]) -> str:
        """Apply one event; a refusal is raised as its error."""
        (made,) = index.apply([data])
        if made.state != "refused":
            return made.state
        for kind in LabError.__subclasses__():
            if kind.code == made.code:
                raise kind(made.message)
        raise AssertionError(made)

    # --- what everybody sees -----------------------------------------------

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        if not self.indexes:
            return
        self.turn += 1
        query = QUERIES[self.turn % len(QUERIES)]
        mode = MODES[self.turn % len(MODES)]
        for place, tenant in enumerate(TENANTS):
            for number, person in enumerate(PEOPLE):
                index = self.indexes[(self.turn + number + place) % 2]
                self.same_reading(index, tenant, person)
                self.same_search(index, tenant, person, query, mode)
                self.same_evidence(index, tenant, person)
        self.same_status(self.indexes[self.turn % 2])

    def same_reading(self, index: Index, tenant: str, person: str) -> None:
        context = Context(tenant, person)
        expected = self.model.readable(tenant, person)
        for doc_id in DOCS:
            doc = expected.get(doc_id)
            if doc is None:
                with pytest.raises(NotFound) as caught:
                    index.read(doc_id, context)
                assert str(caught.value) == (
                    f"{doc_id}: no such document that you may read"
                )
                continue
            assert doc.content is not None
            reading = index.read(doc_id, context)
            assert dataclasses.astuple(reading) == (
                doc_id,
                doc.revision,
                doc.content.title,
                doc.content.body,
                doc.content.projection.sha256,
                doc.updated_at,
                doc.origin,
            )

    def same_search(
        self, index: Index, tenant: str, person: str, query: str, mode: str
    ) -> None:
        if mode == "vector" and self.model.encoder is None:
            mode = "lexical"
        rerank = self.turn % 4 != 0
        age = None if self.turn % 3 else 100
        results = index.search(
            query,
            Context(tenant, person),
            limit=100,
            mode=mode,
            rerank=rerank,
            max_age=age,
            now=NOW,
        )
        found, considered, stale = self.model.search(
            tenant, person, query, mode, rerank, NOW - age if age else None
        )
        assert (results.considered, results.stale) == (considered, stale)
        assert [
            (
                hit.doc_id,
                hit.number,
                hit.fused,
                {name: c.rank for name, c in hit.channels.items()},
                {name: c.score for name, c in hit.channels.items()},
                hit.features.get("title_terms"),
            )
            for hit in results.hits
        ] == [dataclasses.astuple(item) for item in found]
        for hit in results.hits[:2]:
            self.in_hand.append(hit.to_data())
        del self.in_hand[:-36]

    def same_evidence(self, index: Index, tenant: str, person: str) -> None:
        context = Context(tenant, person)
        claims = [c for c in self.in_hand if c["principal"] == person]
        claims += [c for c in self.in_hand if c["principal"] != person][:2]
        refused: dict[str, int] = {}
        answer = index.answer(claims, context, limit=10, sink=refused)
        taken, reasons = self.model.evidence(tenant, person, claims, 10)
        assert [(e.doc_id, e.start, e.end) for e in answer.evidence] == taken
        assert refused == reasons
        assert answer.state == ("extractive" if taken else "abstain")
        for claim in self.in_hand[self.turn % 5 :: 5]:
            checked = index.check(claim["citation"], context)
            assert checked.quote == self.model.cites(tenant, person, claim)
            assert (checked.state == "valid") == (checked.quote is not None)

    def same_status(self, index: Index) -> None:
        stored = self.model.docs.values()
        live = [doc for doc in stored if doc.content is not None]
        status = index.status()
        assert isinstance(status, Status)
        assert (status.documents, status.tombstones, status.chunks) == (
            len(live),
            len(stored) - len(live),
            sum(len(self.model.chunks(doc)) for doc in live),
        )
        for (tenant, doc_id), doc in self.model.docs.items():
            state = index.status(tenant, doc_id)
            assert isinstance(state, DocumentStatus)
            assert (state.live, state.revision, state.policy_revision) == (
                doc.content is not None,
                doc.revision,
                doc.policy_revision,
            )
            self.same_policy(state, doc)

    @staticmethod
    def same_policy(state: DocumentStatus, doc: Doc) -> None:
        if doc.rules is None:
            assert state.policy is None
            return
        assert state.policy == policy(doc.rules)


def drive(
    request: pytest.FixtureRequest, place: Callable[[], str], steps: int
) -> None:
    """Run histories of together about ``steps`` steps.

    A store behind a socket takes longer for each, and gets fewer.
    """
    if request.node.get_closest_marker("server"):
        steps //= 5
    machine = type("Histories", (Histories,), {"place": staticmethod(place)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=max(1, steps // STEPS_EACH),
            stateful_step_count=STEPS_EACH,
            deadline=None,
            derandomize=SAME,
            suppress_health_check=list(HealthCheck),
        ),
    )


@contract("C-02", "C-15", "C-16", "C-19", "C-33", "C-35")
def test_short_histories_agree_with_the_model(
    request: pytest.FixtureRequest, new_place: Callable[[], str]
) -> None:
    drive(request, new_place, 160)


@contract("C-02", "C-15", "C-16", "C-17", "C-18", "C-19", "C-20", "C-24")
@contract("C-27", "C-28", "C-30", "C-33", "C-34", "C-35", "C-36", "C-47")
@pytest.mark.slow
def test_long_histories_agree_with_the_model(
    request: pytest.FixtureRequest, new_place: Callable[[], str]
) -> None:
    drive(request, new_place, STEPS)
