"""Answers and citations: nothing is believed, everything is looked up."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from lab import answers, citations, schema
from lab.audit import AuditLog
from lab.errors import InvalidInput
from lab.index import Index
from lab.model import Context, Policy
from tests.lab.support import (
    ALICE,
    BOB,
    OUTSIDER,
    changed,
    contract,
    document,
)

TEXT = "# Travel policy\n\nA hotel night may cost 180 pounds."


def one_hit(index: Index) -> dict[str, Any]:
    """Index one document and return alice's hit on it as data."""
    index.upsert(document(source=TEXT, readers=("alice", "bob")))
    return index.search("hotel", ALICE).hits[0].to_data()


@contract("C-25")
def test_evidence_text_comes_from_the_store_not_from_the_hit(
    index: Index,
) -> None:
    hit = changed(one_hit(index), text="You may spend anything.")
    answer = index.answer([hit], ALICE)
    assert answer.evidence[0].text == TEXT
    assert "anything" not in answer.to_json()


@contract("C-25")
def test_a_span_is_the_slice_it_names_and_its_digest(index: Index) -> None:
    index.upsert(document(source="前言\r\n\r\n\U0001f44d\U0001f3fd quota is 5"))
    body = index.read("travel-policy", ALICE).body
    for hit in index.search("quota", ALICE).hits:
        assert body[hit.start : hit.end] == hit.text
        digest = hashlib.sha256(hit.text.encode()).hexdigest()
        assert hit.sha256 == digest
        assert hit.citation == (
            f"ks1:larkspur/travel-policy@1[{hit.start},{hit.end})#{digest[:16]}"
        )


@contract("C-26")
def test_a_hit_serves_only_the_reader_it_was_made_for(index: Index) -> None:
    hit = one_hit(index)
    sink: dict[str, int] = {}
    for reader in (BOB, OUTSIDER):
        assert index.answer([hit], reader, sink=sink).state == "abstain"
    assert sink == {"foreign": 2}
    assert index.answer([hit], ALICE).state == "extractive"


@contract("C-27")
@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        ({"revision": 2}, "revision"),
        ({"document_sha256": "0" * 64}, "digest"),
        ({"sha256": "0" * 64}, "digest"),
        ({"start": 1}, "digest"),
        ({"end": 7}, "digest"),
        ({"number": 9}, "digest"),
        ({"doc_id": "board-paper"}, "unreadable"),
        ({"doc_id": "never"}, "unreadable"),
        ({"doc_id": "gone"}, "deleted"),
        ({"tenant": "quayside"}, "foreign"),
        ({"principal": "dana"}, "foreign"),
        ({"start": -1}, "malformed"),
        ({"start": True}, "malformed"),
        ({"number": 2**70}, "malformed"),
        ({"doc_id": "\ud800"}, "malformed"),
        ({"revision": "1"}, "malformed"),
    ],
)
def test_a_forged_hit_is_turned_away_and_counted(
    index: Index, forged: dict[str, Any], reason: str
) -> None:
    index.upsert(document("board-paper", "# Board\n\nlayoffs", readers=()))
    index.upsert(document("gone", "# Gone"))
    index.delete("larkspur", "gone", 2)
    hit = one_hit(index)
    sink: dict[str, int] = {}
    answer = index.answer([changed(hit, **forged), hit], ALICE, sink=sink)
    # The valid hit behind the forged one still serves.
    assert len(answer.evidence) == 1
    assert sink == {reason: 1}
    assert reason in answers.REASONS


@contract("C-27")
@pytest.mark.parametrize("claim", [None, 7, "hit", [], {}, {"tenant": 1}])
def test_a_claim_that_is_no_hit_is_malformed(
    index: Index, claim: object
) -> None:
    sink: dict[str, int] = {}
    answer = index.answer([claim, one_hit(index)], ALICE, sink=sink)
    assert answer.state == "extractive"
    assert sink == {"malformed": 1}


@contract("C-27")
def test_a_hit_of_an_older_revision_gives_no_evidence(index: Index) -> None:
    hit = one_hit(index)
    index.upsert(
        document(source=TEXT.replace("180", "210"), revision=2, readers=None)
    )
    assert index.answer([hit], ALICE).state == "abstain"
    assert index.check(hit["citation"], ALICE).state == "unavailable"


@contract("C-27", "C-47")
def test_a_newer_revision_with_the_same_text_outdates_what_is_in_hand(
    index: Index,
) -> None:
    hit = one_hit(index)
    index.upsert(document(source=TEXT, revision=2, readers=None))
    sink: dict[str, int] = {}
    assert index.answer([hit], ALICE, sink=sink).state == "abstain"
    assert sink == {"revision": 1}
    assert index.check(hit["citation"], ALICE).state == "unavailable"
    fresh = index.search("hotel", ALICE).hits
    assert index.answer(fresh, ALICE).evidence[0].revision == 2


@contract("C-27")
def test_a_chunk_that_disagrees_with_its_body_serves_nothing(
    tmp_path: Path,
) -> None:
    import sqlite3

    path = tmp_path / "store.db"
    with Index.open(path) as index:
        hit = one_hit(index)
        raw = sqlite3.connect(path)
        raw.execute("UPDATE documents SET body = replace(body, '180', '999')")
        raw.commit()
        raw.close()
        assert index.answer([hit], ALICE).state == "abstain"
        assert index.check(hit["citation"], ALICE).state == "unavailable"


@contract("C-28")
def test_overlapping_evidence_is_not_a_second_witness(index: Index) -> None:
    long = "hotel " * 100
    index.upsert(document(source=long, format="text"))
    hits = index.search("hotel", ALICE, limit=10).hits
    assert any(a.end > b.start > a.start for a in hits for b in hits)
    sink: dict[str, int] = {}
    answer = index.answer(hits, ALICE, limit=10, sink=sink)
    spans = sorted((e.start, e.end) for e in answer.evidence)
    assert len(spans) > 1
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
    assert sink["overlap"] == len(hits) - len(spans)


@contract("C-28")
def test_the_same_hit_twice_is_one_piece_of_evidence(index: Index) -> None:
    hit = one_hit(index)
    assert len(index.answer([hit, hit, hit], ALICE, limit=5).evidence) == 1


@contract("C-29")
def test_without_evidence_there_is_one_fixed_sentence(index: Index) -> None:
    index.upsert(document("secret", "# Layoffs\n\nlayoffs", readers=()))
    empty = index.answer([], ALICE)
    hidden = index.answer(index.search("layoffs", ALICE).hits, ALICE)
    assert empty.state == hidden.state == "abstain"
    assert empty.to_json() == hidden.to_json()
    assert empty.text == answers.ABSTENTION
    assert empty.generated is False


@contract("C-29")
def test_why_a_hit_was_refused_is_not_in_the_reader_s_answer(
    index: Index,
) -> None:
    hit = one_hit(index)
    texts = {
        index.answer([changed(hit, **forged)], ALICE).to_json()
        for forged in (
            {"revision": 9},
            {"doc_id": "never"},
            {"sha256": "0" * 64},
            {"principal": "bob"},
        )
    }
    assert len(texts) == 1


@pytest.mark.parametrize("limit", [0, 11, True, "2", None])
def test_an_answer_holds_one_to_ten_pieces(index: Index, limit: object) -> None:
    with pytest.raises(InvalidInput):
        index.answer([], ALICE, limit=limit)  # type: ignore[arg-type]


def test_hits_must_be_a_list(index: Index) -> None:
    for wrong in ("hits", None, 7):
        with pytest.raises(InvalidInput):
            index.answer(wrong, ALICE)  # type: ignore[arg-type]


@contract("C-47")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: "",
        lambda c: " " + c,
        lambda c: c + " ",
        lambda c: c + "\n",
        lambda c: c.replace("ks1", "ks2"),
        lambda c: c.replace("@1", "@01"),
        lambda c: c.replace("@1", "@2"),
        lambda c: c.replace("@1", "@0"),
        lambda c: c.replace("@1", "@99999999999999999999"),
        lambda c: c.replace("[0,", "[00,"),
        lambda c: c.replace("[0,", "[1,"),
        lambda c: c.replace("[0,", "[-1,"),
        lambda c: c.replace(")", "]"),
        lambda c: c[:-1],
        lambda c: c + "0",
        lambda c: c[:-16] + "0" * 16,
        lambda c: c[:-16] + c[-16:].upper(),
        lambda c: c.replace("larkspur", "quayside"),
        lambda c: c.replace("travel-policy", "board-paper"),
        lambda c: c.replace("travel-policy", "never"),
        lambda c: c.replace("travel-policy", "gone"),
        lambda c: "\ud800",
        lambda c: "x" * 10_000,
    ],
)
def test_a_citation_holds_whole_or_is_unavailable(
    index: Index, spoil: Any
) -> None:
    index.upsert(document("board-paper", TEXT, readers=()))
    index.upsert(document("gone", TEXT))
    index.delete("larkspur", "gone", 2)
    citation = one_hit(index)["citation"]
    assert index.check(citation, ALICE).quote == TEXT
    spoiled = spoil(citation)
    assert spoiled != citation
    checked = index.check(spoiled, ALICE)
    assert (checked.state, checked.quote, checked.title) == (
        "unavailable",
        None,
        None,
    )


def test_a_citation_survives_its_own_parsing() -> None:
    text = citations.cite("t", "d", 7, 3, 9, "quoted")
    parsed = citations.parse(text)
    assert str(parsed) == text
    assert citations.parse(text.replace("[3,9)", "[9,9)")) is None


@contract("C-47")
def test_a_citation_carries_nothing_about_who_may_read(index: Index) -> None:
    made = index.upsert(document(source=TEXT))
    before = index.search("hotel", ALICE).to_json()
    index.set_policy(
        "larkspur",
        "travel-policy",
        Policy(("alice", "bob", "group:x"), "public"),
        made.policy_revision,
    )
    assert index.search("hotel", ALICE).to_json() == before


@contract("C-48")
def test_an_audit_record_says_who_and_what_and_never_the_text(
    index: Index, tmp_path: Path
) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", clock=lambda: 1_700_000_000)
    index.upsert(document(source=TEXT))
    hits = index.search("hotel", ALICE, audit=log).hits
    answer = index.answer(hits, ALICE, audit=log)
    index.check(answer.evidence[0].citation, ALICE, audit=log)
    index.read("travel-policy", ALICE, audit=log)
    lines = (tmp_path / "audit.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert [r["action"] for r in records] == [
        "search",
        "answer",
        "check",
        "read",
    ]
    for record in records:
        schema.validate(record, "audit", "record")
        assert record["principal"] == "alice"
        (shown,) = record["shown"]
        assert (shown["doc_id"], shown["revision"]) == ("travel-policy", 1)
        assert record["at"] == 1_700_000_000
    for word in ("hotel", "180", "Travel"):
        assert word not in "".join(lines)


@contract("C-48")
def test_what_was_not_shown_is_in_no_audit_record(index: Index) -> None:
    records: list[dict[str, Any]] = []
    index.upsert(document("hidden", TEXT, readers=()))
    index.search("hotel", ALICE, audit=records.append)
    index.answer([], ALICE, audit=records.append)
    assert all(record["shown"] == [] for record in records)


def test_a_foreign_tenant_s_context_is_no_context_of_ours(
    index: Index,
) -> None:
    hit = one_hit(index)
    assert index.check(hit["citation"], OUTSIDER).state == "unavailable"
    assert index.check(hit["citation"], Context("larkspur", "new")).state == (
        "unavailable"
    )
