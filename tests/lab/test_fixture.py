"""The fixture is what it says it is, and its labels can be believed."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.chunking import BlockChunker, Chunker, SectionChunker, WindowChunker
from lab.errors import InvalidInput, NotFound
from lab.evaluation.access import groups, may_read
from lab.evaluation.runner import squeezed
from lab.fixture import (
    DATA,
    KINDS,
    MANIFEST,
    Fixture,
    Query,
    load_fixture,
    manifest,
    populate,
    read_queries,
)
from lab.index import Index
from lab.model import MODES, Context
from lab.terms import terms
from lab.text import Projection, project

FIXTURE = load_fixture()
BODIES: dict[tuple[str, str], Projection] = {
    (d.tenant, d.doc_id): project(d.format, d.source) for d in FIXTURE.documents
}
POSITIVE = [q for q in FIXTURE.queries if not q.negative]
NEGATIVE = [q for q in FIXTURE.queries if q.negative]
HAN = re.compile(r"[\u4e00-\u9fff]")


def name(query: Query) -> str:
    return query.id


@pytest.fixture(scope="module")
def filled() -> Iterator[Index]:
    with Index.open(":memory:") as index:
        populate(index, FIXTURE)
        yield index


def readable(context: Context) -> list[str]:
    """The ids a reader may see, by the rules read a second time."""
    return [
        doc_id
        for tenant, doc_id in BODIES
        if tenant == context.tenant and may_read(FIXTURE, context, doc_id)
    ]


# What is in it


def test_it_is_as_large_and_as_mixed_as_promised() -> None:
    assert len(FIXTURE.documents) >= 48
    assert len(FIXTURE.queries) >= 120
    assert {d.tenant for d in FIXTURE.documents} == {"larkspur", "quayside"}
    assert {d.format for d in FIXTURE.documents} == {"markdown", "json"}
    chinese = [b for b in BODIES.values() if len(HAN.findall(b.body)) > 200]
    assert len(chinese) >= 16
    counts = Counter(query.kind for query in FIXTURE.queries)
    assert all(counts[kind] >= 8 for kind in KINDS), counts
    languages = Counter((q.kind, q.lang) for q in FIXTURE.queries)
    assert all(languages[kind, lang] for kind in KINDS for lang in ("en", "zh"))


def test_every_document_has_120_to_700_words() -> None:
    """A word is a run of letters and figures, or one Chinese character."""
    for key, body in BODIES.items():
        spaced = re.findall(r"[A-Za-z0-9]+", body.body)
        words = len(spaced) + len(HAN.findall(body.body))
        assert 120 <= words <= 700, (key, words)


def test_the_tenants_share_document_ids_and_a_name() -> None:
    shared = Counter(doc_id for _, doc_id in BODIES)
    assert {doc_id for doc_id, count in shared.items() if count == 2} == {
        "travel-policy",
        "onboarding",
        "incident-guide",
        "holiday-calendar",
    }
    assert {p.tenant for p in FIXTURE.principals if p.principal == "bob"} == {
        "larkspur",
        "quayside",
    }


def test_the_board_paper_is_for_dana_alone() -> None:
    readers = [
        person.principal
        for person in FIXTURE.principals
        if may_read(
            FIXTURE, Context(person.tenant, person.principal), "board-paper-q3"
        )
    ]
    assert readers == ["dana"]


def test_the_barrier_holds_inside_a_group_that_is_named() -> None:
    policy = FIXTURE.document("larkspur", "heron-term-sheet").policy
    assert policy is not None
    assert policy.barrier == "heron"
    may = {
        person.principal
        for person in FIXTURE.principals
        if person.tenant == "larkspur"
        and may_read(
            FIXTURE,
            Context("larkspur", person.principal),
            "heron-term-sheet",
        )
    }
    assert may == {"alice", "dana"}


def test_each_wall_alone_keeps_somebody_out() -> None:
    """Naming, clearance and barrier are each the only reason somewhere."""
    decisive: dict[str, set[tuple[str, str]]] = {}
    for document in FIXTURE.documents:
        policy = document.policy
        assert policy is not None
        without = {
            "naming": dataclasses.replace(policy, readers=("*",)),
            "clearance": dataclasses.replace(policy, classification="public"),
            "barrier": dataclasses.replace(policy, barrier=None),
        }
        for person in FIXTURE.principals:
            context = Context(person.tenant, person.principal)
            if document.tenant != person.tenant or may_read(
                FIXTURE, context, document.doc_id
            ):
                continue
            for wall, weaker in without.items():
                open_ = dataclasses.replace(
                    FIXTURE,
                    documents=(dataclasses.replace(document, policy=weaker),),
                )
                if may_read(open_, context, document.doc_id):
                    decisive.setdefault(wall, set()).add(
                        (person.principal, document.doc_id)
                    )
    assert ("alice", "price-list-2026") not in decisive["naming"]
    assert ("wei", "price-list-2026") in decisive["naming"]
    assert ("alice", "board-calendar") in decisive["clearance"]
    assert ("erin", "cleanroom-zh") in decisive["clearance"]
    assert ("chen", "heron-diligence-notes") in decisive["barrier"]
    assert ("bob", "heron-announcement-draft") in decisive["barrier"]


def test_groups_are_followed_into_groups() -> None:
    assert groups(FIXTURE, Context("larkspur", "wei")) == {
        "group:engineering",
        "group:staff",
    }
    assert groups(FIXTURE, Context("larkspur", "erin")) == set()
    assert groups(FIXTURE, Context("quayside", "bob")) == {"group:ops"}


def test_the_superseded_rules_are_the_oldest_by_years() -> None:
    times = sorted(
        (document.updated_at or 0, document.doc_id)
        for document in FIXTURE.documents
    )
    assert times[0][1] == "expenses-2019"
    assert times[1][0] - times[0][0] > 3 * 365 * 86400
    assert times[-1][0] < FIXTURE.as_of


def test_the_hotel_figure_stands_in_one_document_and_changes() -> None:
    for figure, holders in (("180", ["travel-policy"]), ("210", [])):
        assert holders == [
            doc_id
            for (tenant, doc_id), body in BODIES.items()
            if tenant == "larkspur" and figure in terms(body.body)
        ]
    revised = (DATA / "demo" / "travel-policy-r2.md").read_text("utf-8")
    assert "United Kingdom is 210 GBP a night" in revised
    assert "180" not in revised


@pytest.mark.parametrize(
    "shape",
    [
        r"(?m)^---\n",
        r"(?m)^=+$",
        r"(?m)^## C#$",
        r"(?m)^## .+ ##$",
        r"(?m)^#### ",
        r"(?m)^~~~",
        r"(?ms)^```\w*\n# ",
        r"(?m)^\|.*\|$",
        r"<!--",
    ],
)
def test_markdown_that_trips_parsers_occurs(shape: str) -> None:
    assert any(re.search(shape, d.source) for d in FIXTURE.documents)


# The labels


@pytest.mark.parametrize(
    "chunker", [WindowChunker(), SectionChunker(), BlockChunker()]
)
def test_every_anchor_stands_whole_in_a_readable_chunk_and_nowhere_else(
    chunker: Chunker,
) -> None:
    chunks = {
        key: [squeezed(chunk.text) for chunk in chunker.chunk(body)]
        for key, body in BODIES.items()
    }
    for query in POSITIVE:
        for anchor in query.anchors:
            holders = {
                f"{query.tenant}/{doc_id}"
                for doc_id in readable(query.context)
                if any(
                    squeezed(anchor) in text
                    for text in chunks[query.tenant, doc_id]
                )
            }
            assert holders, (query.id, anchor)
            assert holders <= set(query.documents), (query.id, anchor)


@pytest.mark.parametrize("query", POSITIVE, ids=name)
def test_who_asks_may_read_every_document_that_answers(query: Query) -> None:
    for reference in query.documents:
        tenant, doc_id = reference.split("/")
        assert tenant == query.tenant
        assert may_read(FIXTURE, query.context, doc_id)


@pytest.mark.parametrize("query", NEGATIVE, ids=name)
def test_who_asks_a_negative_may_read_no_document_that_answers(
    query: Query,
) -> None:
    assert bool(query.documents) == (query.kind != "unknown")
    for reference in query.documents:
        tenant, doc_id = reference.split("/")
        assert (tenant, doc_id) in BODIES
        assert (tenant == query.tenant) == (query.kind == "forbidden")
        assert tenant != query.tenant or not may_read(
            FIXTURE, query.context, doc_id
        )


@pytest.mark.parametrize(
    "query", [q for q in NEGATIVE if q.designated], ids=name
)
def test_no_term_of_a_designated_query_is_in_its_readers_sight(
    query: Query,
) -> None:
    asked = set(terms(query.query))
    for doc_id in readable(query.context):
        body = BODIES[query.tenant, doc_id]
        assert not asked & set(terms(f"{body.title}\n{body.body}")), doc_id
    elsewhere = set[str]()
    for reference in query.documents:
        tenant, doc_id = reference.split("/")
        elsewhere |= set(terms(BODIES[tenant, doc_id].body))
    # Forbidden and other-tenant terms do exist, out of sight.
    assert asked <= elsewhere or query.kind == "unknown"


def test_unknown_designated_terms_are_nowhere_at_all() -> None:
    everything = set[str]()
    for body in BODIES.values():
        everything |= set(terms(body.body))
    for query in NEGATIVE:
        if query.kind == "unknown" and query.designated:
            assert not set(terms(query.query)) & everything, query.id


def test_cross_language_questions_and_passages_differ_in_script() -> None:
    for query in POSITIVE:
        if query.kind == "cross-language":
            asked_in_chinese = bool(HAN.search(query.query))
            for anchor in query.anchors:
                assert asked_in_chinese != bool(HAN.search(anchor)), query.id


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "query", [q for q in NEGATIVE if q.designated], ids=name
)
def test_a_designated_negative_finds_nothing(
    filled: Index, query: Query, mode: str
) -> None:
    assert mode in query.designated
    results = filled.search(query.query, query.context, mode=mode, limit=100)
    assert results.hits == ()
    assert results.considered == 0


# The index agrees with the second reading of the rules


def test_index_and_second_reading_agree_on_every_reader_and_document(
    filled: Index,
) -> None:
    people = [Context(p.tenant, p.principal) for p in FIXTURE.principals]
    people += [Context("larkspur", "stranger"), Context("nowhere", "alice")]
    seen = set()
    for context in people:
        for doc_id in sorted({doc_id for _, doc_id in BODIES}):
            try:
                reading = filled.read(doc_id, context)
            except NotFound:
                allowed = False
            else:
                allowed = True
                assert reading.body == BODIES[context.tenant, doc_id].body
            seen.add(allowed)
            assert allowed == may_read(FIXTURE, context, doc_id), (
                context,
                doc_id,
            )
    assert seen == {True, False}


# Loading


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    return folder


def test_loading_twice_gives_equal_fixtures(copy: Path) -> None:
    again: Fixture = load_fixture(copy)
    assert again == FIXTURE
    assert re.fullmatch(r"[0-9a-f]{64}", again.digest)


def test_the_shipped_manifest_is_the_one_of_the_files() -> None:
    shipped = (DATA / MANIFEST).read_text("utf-8")
    assert json.loads(shipped) == json.loads(manifest())


def test_a_changed_file_is_named(copy: Path) -> None:
    path = copy / "documents" / "larkspur" / "travel-policy.md"
    path.write_bytes(path.read_bytes().replace(b"180 GBP", b"900 GBP"))
    with pytest.raises(InvalidInput, match=r"travel-policy\.md: changed"):
        load_fixture(copy)


def test_windows_line_ends_are_a_change(copy: Path) -> None:
    path = copy / "queries.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(InvalidInput, match=r"queries\.jsonl: changed"):
        load_fixture(copy)


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "directory.json").unlink()
    with pytest.raises(InvalidInput, match=r"directory\.json: missing"):
        load_fixture(copy)


def test_a_file_nobody_listed_is_named(copy: Path) -> None:
    (copy / "documents" / "larkspur" / "extra.md").write_text("# Extra\n")
    with pytest.raises(InvalidInput, match=r"extra\.md: not listed"):
        load_fixture(copy)


def test_a_missing_manifest_or_folder_is_named(copy: Path) -> None:
    (copy / MANIFEST).unlink()
    with pytest.raises(InvalidInput, match=r"manifest\.json: missing"):
        load_fixture(copy)
    with pytest.raises(InvalidInput, match=r"no such folder"):
        load_fixture(copy / "nowhere")


def test_a_change_that_is_meant_changes_the_digest(copy: Path) -> None:
    path = copy / "documents" / "larkspur" / "travel-policy.md"
    path.write_bytes(path.read_bytes().replace(b"180 GBP", b"190 GBP"))
    (copy / MANIFEST).write_text(manifest(copy), encoding="utf-8")
    assert load_fixture(copy).digest != FIXTURE.digest


GOOD = {
    "id": "q1",
    "tenant": "larkspur",
    "principal": "bob",
    "kind": "factual",
    "lang": "en",
    "query": "how long?",
    "documents": [],
    "anchors": ["sixty"],
    "designated": [],
    "note": "",
}


def line(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


def test_a_readers_own_golden_set_is_read_the_same_way() -> None:
    (query,) = read_queries(f"\n{line()}\n\n", "mine.jsonl")
    assert query.anchors == ("sixty",)
    assert query.context == Context("larkspur", "bob")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", r"line 1: must be an object"),
        ("{", r"line 1: not JSON"),
        (line(kind="trick"), r"line 1: kind must be one of"),
        (line(anchors=[]), r"a factual query has anchors"),
        (line(anchors="sixty"), r"anchors: must be a list"),
        (line(anchors=[""]), r"anchors: must have 1"),
        (line(designated=["lexical"]), r"no designated modes"),
        (line(kind="unknown"), r"an? unknown query has no anchors"),
        (
            line(kind="unknown", anchors=[], designated=["telepathy"]),
            r"designated modes are of",
        ),
        (line(tenant="a b"), r"tenant: must be 1 to 80"),
        (line(query="x" * 1025), r"query: must have 1 to 1024"),
        (line(query="\ud800"), r"surrogate"),
        (line(colour="red"), r"colour: unknown key"),
        (f"{line()}\n{line()}", r"line 2: id q1 occurs twice"),
    ],
)
def test_a_malformed_question_is_refused_with_its_line(
    text: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_queries(text, "mine.jsonl")
