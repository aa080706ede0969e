"""The index once more, as plainly as it can be said.

Dictionaries, sets and fractions; no database and no speed. It shares
nothing with the lab but terms, chunkers and the hashing of features, so
that a test which drives both finds where one of them is wrong.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

from lab.chunking import Chunk, Chunker
from lab.encoders.hashing import SignedHashing
from lab.terms import terms
from lab.text import Projection

UNIT = 2**40
CLASSES = ["public", "internal", "confidential", "restricted"]
ABSTENTION = "No evidence that you may read supports an answer."


class Refused(Exception):
    """An operation was refused; ``args[0]`` names the lab's error."""


@dataclass(frozen=True)
class Content:
    """A text of known title: the model need not parse anything."""

    format: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def body(self) -> str:
        """Return the normalised text that coordinates refer to."""
        if self.format == "text":
            return "\n\n".join((self.title, *self.paragraphs))
        parts = [f"# {self.title}"]
        for n, paragraph in enumerate(self.paragraphs):
            if self.format == "json":
                parts.append(f"## part {n}\n{paragraph}")
            else:
                parts.append(paragraph)
        return "\n\n".join(parts)

    @property
    def source(self) -> str:
        """Return what a source system would send."""
        if self.format != "json":
            return self.body
        sections = [
            {"heading": f"part {n}", "text": paragraph}
            for n, paragraph in enumerate(self.paragraphs)
        ]
        return json.dumps({"title": self.title, "sections": sections})

    @cached_property
    def projection(self) -> Projection:
        """Return what a chunker cuts."""
        canonical = json.dumps(
            [self.format, self.title, self.body],
            ensure_ascii=False,
            separators=(",", ":"),
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        return Projection(self.title, self.body, digest, self.format)


@dataclass(frozen=True)
class Rules:
    """A policy as it was written."""

    readers: tuple[str, ...]
    classification: str = "internal"
    barrier: str | None = None


@dataclass(frozen=True)
class Doc:
    """A document or, without content, its tombstone."""

    revision: int
    policy_revision: int
    content: Content | None = None
    updated_at: int | None = None
    origin: str | None = None
    rules: Rules | None = None
    # ("principal", name), ("any", "*") or ("group", identity).
    bound: frozenset[tuple[str, Any]] = frozenset()


@dataclass(frozen=True)
class Team:
    """A group; ``identity`` is new whenever a group is made."""

    identity: int
    revision: int
    live: bool
    members: frozenset[tuple[str, Any]] = frozenset()


@dataclass(frozen=True)
class Person:
    """A principal's entry in the directory."""

    clearance: str
    barriers: frozenset[str]
    revision: int


@dataclass(frozen=True)
class Found:
    """One ranked chunk, with what a hit says of it."""

    doc_id: str
    number: int
    fused: int
    ranks: dict[str, int]
    scores: dict[str, int]
    title_terms: int | None


@dataclass
class Model:
    """What the index should hold and say."""

    chunker: Chunker
    encoder: str | int | None = "sparse"  # or dimensions, or none
    docs: dict[tuple[str, str], Doc] = field(default_factory=dict)
    teams: dict[tuple[str, str], Team] = field(default_factory=dict)
    people: dict[tuple[str, str], Person] = field(default_factory=dict)
    identities: int = 0
    # Only to save time: one text is always cut the same way.
    cuts: dict[tuple[Content, str], list[Chunk]] = field(default_factory=dict)

    # --- who may read what -------------------------------------------------

    def bind(self, tenant: str, names: tuple[str, ...]) -> frozenset[Any]:
        """Resolve names to the identities they have at this moment."""
        bound: set[tuple[str, Any]] = set()
        for name in names:
            if name == "*":
                bound.add(("any", "*"))
            elif name.startswith("group:"):
                team = self.teams.get((tenant, name[6:]))
                if team is not None and team.live:
                    bound.add(("group", team.identity))
            else:
                bound.add(("principal", name))
        return frozenset(bound)

    def memberships(self, tenant: str, person: str) -> set[tuple[str, Any]]:
        """Return everything that a person is."""
        mine: set[tuple[str, Any]] = {("principal", person), ("any", "*")}
        while True:
            more = {
                ("group", team.identity)
                for (where, _), team in self.teams.items()
                if where == tenant
                and team.live
                and any(m in mine for m in team.members)
            }
            if more <= mine:
                return mine
            mine |= more

    def readable(self, tenant: str, person: str) -> dict[str, Doc]:
        """Return the live documents a person may read, by id."""
        mine = self.memberships(tenant, person)
        entry = self.people.get((tenant, person))
        clearance = entry.clearance if entry else "internal"
        inside = entry.barriers if entry else frozenset()
        return {
            doc_id: doc
            for (where, doc_id), doc in sorted(self.docs.items())
            if where == tenant
            and doc.content is not None
            and doc.rules is not None
            and doc.bound & mine
            and CLASSES.index(clearance)
            >= CLASSES.index(doc.rules.classification)
            and (doc.rules.barrier is None or doc.rules.barrier in inside)
        }

    # --- what changes ------------------------------------------------------

    def upsert(
        self,
        tenant: str,
        doc_id: str,
        revision: int,
        content: Content,
        rules: Rules | None,
        updated_at: int | None,
        origin: str | None,
        restore: bool,
    ) -> tuple[str, int, int]:
        """Return state, revision and policy revision."""
        old = self.docs.get((tenant, doc_id))
        if old is not None and old.content is not None:
            if revision < old.revision:
                raise Refused("StaleRevision")
            if revision == old.revision:
                if content != old.content:
                    raise Refused("StaleRevision")
                return "unchanged", old.revision, old.policy_revision
            self.docs[tenant, doc_id] = replace(
                old,
                revision=revision,
                content=content,
                updated_at=updated_at,
                origin=origin,
            )
            return "indexed", revision, old.policy_revision
        if old is not None:
            if revision <= old.revision:
                raise Refused("StaleRevision")
            if not restore:
                raise Refused("Deleted")
        if rules is None:
            raise Refused("InvalidInput")
        policy_revision = 1 + (old.policy_revision if old else 0)
        self.docs[tenant, doc_id] = Doc(
            revision,
            policy_revision,
            content,
            updated_at,
            origin,
            rules,
            self.bind(tenant, rules.readers),
        )
        return "indexed", revision, policy_revision

    def set_policy(
        self, tenant: str, doc_id: str, rules: Rules, expected: int
    ) -> int:
        """Return the new policy revision."""
        old = self.docs.get((tenant, doc_id))
        if old is None or old.content is None:
            raise Refused("NotFound")
        if old.policy_revision != expected:
            raise Refused("StalePolicy")
        self.docs[tenant, doc_id] = replace(
            old,
            policy_revision=expected + 1,
            rules=rules,
            bound=self.bind(tenant, rules.readers),
        )
        return expected + 1

    def delete(
        self, tenant: str, doc_id: str, revision: int
    ) -> tuple[str, int, int]:
        """Return state, revision and policy revision."""
        old = self.docs.get((tenant, doc_id))
        if old is not None:
            if old.content is None and revision == old.revision:
                return "unchanged", revision, old.policy_revision
            if revision <= old.revision:
                raise Refused("StaleRevision")
        policy_revision = 1 + (old.policy_revision if old else 0)
        self.docs[tenant, doc_id] = Doc(revision, policy_revision)
        return "deleted", revision, policy_revision

    def set_person(
        self,
        tenant: str,
        person: str,
        clearance: str,
        barriers: frozenset[str],
        expected: int,
    ) -> int:
        """Return the new revision."""
        old = self.people.get((tenant, person))
        if expected != (old.revision if old else 0):
            raise Refused("StalePolicy")
        self.people[tenant, person] = Person(clearance, barriers, expected + 1)
        return expected + 1

    def set_team(
        self, tenant: str, name: str, members: tuple[str, ...], expected: int
    ) -> int:
        """Return the new revision."""
        old = self.teams.get((tenant, name))
        revision = old.revision if old else 0
        if old is not None and old.live:
            if expected != revision:
                raise Refused("StalePolicy")
            identity = old.identity
        else:
            if expected not in (0, revision):
                raise Refused("StalePolicy")
            self.identities += 1
            identity = self.identities
        # A group may name itself, so it is there before it has members.
        self.teams[tenant, name] = Team(identity, revision + 1, True)
        self.teams[tenant, name] = Team(
            identity, revision + 1, True, self.bind(tenant, members)
        )
        return revision + 1

    def delete_team(self, tenant: str, name: str, expected: int) -> int:
        """Return the revision that the name is left at."""
        old = self.teams.get((tenant, name))
        if old is None or not old.live:
            raise Refused("NotFound")
        if old.revision != expected:
            raise Refused("StalePolicy")
        self.teams[tenant, name] = Team(old.identity, expected + 1, False)
        return expected + 1

    # --- what is found -----------------------------------------------------

    def chunks(self, doc: Doc) -> list[Chunk]:
        """Cut a live document as the index is set to."""
        assert doc.content is not None
        key = (doc.content, self.chunker.fingerprint)
        if key not in self.cuts:
            self.cuts[key] = self.chunker.chunk(doc.content.projection)
        return self.cuts[key]

    def search(
        self,
        tenant: str,
        person: str,
        query: str,
        mode: str,
        rerank: bool,
        oldest: int | None,
    ) -> tuple[list[Found], int, int]:
        """Return ranked chunks, candidates considered, candidates stale.

        ``oldest`` is the least ``updated_at`` that is fresh enough.
        """
        asked = list(dict.fromkeys(terms(query)))
        if not asked:
            return [], 0, 0
        docs = self.readable(tenant, person)
        rows = {
            (doc_id, chunk.number): chunk.text
            for doc_id, doc in docs.items()
            for chunk in self.chunks(doc)
        }
        scores: dict[str, dict[tuple[str, int], int]] = {}
        if mode != "vector":
            scores["lexical"] = lexical(asked, rows)
        if mode != "lexical" and self.encoder is not None:
            scores["vector"] = self.near(query, rows)
        ranks = {
            channel: {
                key: rank
                for rank, key in enumerate(
                    sorted(found, key=lambda k: (-found[k], k))[:100], 1
                )
            }
            for channel, found in scores.items()
        }
        keys = {key for ranked in ranks.values() for key in ranked}
        found = []
        for doc_id, number in keys:
            doc = docs[doc_id]
            assert doc.content is not None
            if oldest is not None and (
                doc.updated_at is None or doc.updated_at < oldest
            ):
                continue
            mine = {
                channel: ranked[doc_id, number]
                for channel, ranked in ranks.items()
                if (doc_id, number) in ranked
            }
            shares = [
                nearest(Fraction(UNIT, 60 + rank)) for rank in mine.values()
            ]
            named = len(set(asked) & set(terms(doc.content.title)))
            found.append(
                Found(
                    doc_id,
                    number,
                    sum(shares),
                    mine,
                    {c: scores[c][doc_id, number] for c in mine},
                    named if rerank else None,
                )
            )
        found.sort(
            key=lambda f: (
                # A title counts from half of the query's terms on.
                -(f.title_terms or 0)
                if 2 * (f.title_terms or 0) >= len(asked)
                else 0,
                -f.fused,
                f.doc_id,
                f.number,
            )
        )
        return found, len(keys), len(keys) - len(found)

    def near(
        self, query: str, rows: dict[tuple[str, int], str]
    ) -> dict[tuple[str, int], int]:
        """Return the cosines of at least 0.05, in units of 2**-40."""
        mine = self.vector(query)
        found = {}
        for key, text in rows.items():
            theirs = self.vector(text)
            dot = sum(n * theirs.get(place, 0) for place, n in mine.items())
            norms = [sum(n * n for n in v.values()) for v in (mine, theirs)]
            if 0 in norms or (self.encoder == "sparse" and dot == 0):
                continue
            score = round(dot / math.sqrt(norms[0] * norms[1]) * UNIT)
            if score >= round(0.05 * UNIT):
                found[key] = score
        return found

    def vector(self, text: str) -> dict[Any, int]:
        """Return a text's integers by feature or by dimension."""
        if self.encoder == "sparse":
            return dict(Counter(terms(text)))
        assert isinstance(self.encoder, int)
        (row,) = SignedHashing(self.encoder).encode([text])
        return {n: round(127 * value) for n, value in enumerate(row)}

    # --- what is evidence --------------------------------------------------

    def evidence(
        self, tenant: str, person: str, claims: list[dict[str, Any]], limit: int
    ) -> tuple[list[tuple[str, int, int]], dict[str, int]]:
        """Return (doc_id, start, end) of what holds, and refusals by reason.

        The claims are well formed.
        """
        docs = self.readable(tenant, person)
        taken: list[tuple[str, int, int]] = []
        refused: Counter[str] = Counter()
        for claim in claims:
            if len(taken) == limit:
                break
            reason = self.refusal(tenant, person, docs, claim)
            if reason is None and any(
                doc_id == claim["doc_id"]
                and start < claim["end"]
                and claim["start"] < end
                for doc_id, start, end in taken
            ):
                reason = "overlap"
            if reason is None:
                taken.append((claim["doc_id"], claim["start"], claim["end"]))
            else:
                refused[reason] += 1
        return taken, dict(refused)

    def refusal(
        self,
        tenant: str,
        person: str,
        docs: dict[str, Doc],
        claim: dict[str, Any],
    ) -> str | None:
        """Return why one claim is no evidence, ``None`` if it is."""
        if (claim["tenant"], claim["principal"]) != (tenant, person):
            return "foreign"
        doc = docs.get(claim["doc_id"])
        if doc is None:
            stored = self.docs.get((tenant, claim["doc_id"]))
            dead = stored is not None and stored.content is None
            return "deleted" if dead else "unreadable"
        if claim["revision"] != doc.revision:
            return "revision"
        assert doc.content is not None
        if claim["document_sha256"] != doc.content.projection.sha256:
            return "digest"
        for chunk in self.chunks(doc):
            if chunk.number == claim["number"]:
                same = (chunk.start, chunk.end, chunk.sha256)
                asked = (claim["start"], claim["end"], claim["sha256"])
                return None if same == asked else "digest"
        return "digest"

    def cites(
        self, tenant: str, person: str, claim: dict[str, Any]
    ) -> str | None:
        """Return the quote of a claim's citation, ``None`` if unavailable."""
        if claim["tenant"] != tenant:
            return None
        doc = self.readable(tenant, person).get(claim["doc_id"])
        if doc is None or doc.revision != claim["revision"]:
            return None
        assert doc.content is not None
        return doc.content.body[claim["start"] : claim["end"]]


def nearest(value: Fraction) -> int:
    """Round to the nearest integer, halves up."""
    return math.floor(value + Fraction(1, 2))


def idf(n: int, df: int) -> int:
    """Return ln(1 + (N - df + 0.5) / (df + 0.5)) in units of 2**-40."""
    with localcontext() as context:
        context.prec = 60
        inside = 1 + (Decimal(n - df) + Decimal("0.5")) / (
            Decimal(df) + Decimal("0.5")
        )
        return int((inside.ln() * UNIT).to_integral_value())


def lexical(
    asked: list[str], rows: dict[tuple[str, int], str]
) -> dict[tuple[str, int], int]:
    """Return the BM25 score of every row that holds a term asked for."""
    words = {key: Counter(terms(text)) for key, text in rows.items()}
    total = sum(counted.total() for counted in words.values())
    found: dict[tuple[str, int], int] = {}
    for term in asked:
        df = sum(term in counted for counted in words.values())
        for key, counted in words.items():
            if term not in counted:
                continue
            average = Fraction(total, len(rows))
            norm = Fraction(3, 2) * (
                Fraction(1, 4) + Fraction(3, 4) * counted.total() / average
            )
            share = Fraction(idf(len(rows), df)) * counted[term]
            share *= Fraction(5, 2) / (counted[term] + norm)
            found[key] = found.get(key, 0) + nearest(share)
    return found
