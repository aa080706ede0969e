"""Indexes that give one reader the same view and differ in all else.

``a_view`` draws what the reader may read; ``build`` makes an index that
gives exactly this view, with histories, hidden documents, other tenants,
groups and settings drawn anew each time; ``observe`` asks every reading
call and returns every byte. All take a ``random.Random``, so that the same
code serves seeded tests and hypothesis. Standard library only.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from lab.chunking import BlockChunker, Chunker, SectionChunker, WindowChunker
from lab.encoders import Encoder
from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.errors import Deleted, LabError, StaleRevision
from lab.index import DocumentStatus, Index
from lab.model import CLASSES, Context, Document, Policy

Op = Callable[[Index], object]
Settings = tuple[Encoder | None, Chunker]

READER = Context("larkspur", "bob")
OTHERS = ("alice", "dana", "erin", "wei")
HIDDEN = tuple(f"hidden-{n}" for n in range(6))
INSIDE = ("heron", "osprey")
OUTSIDE = "kestrel"
NOW = 1_000

WORDS = (
    *("hotel", "night", "quota", "zebra", "limit", "pounds", "rate"),
    *("layoffs", "budget", "claim", "the", "38.101", "multi-agent"),
    *("差旅", "酒店", "上限", "预算", "云雀仪器", "café", "Straße"),
)
QUERIES = ("hotel limit", "zebra", "layoffs budget 差旅", "酒店上限", "café")

ENCODERS: dict[str, Callable[[], Encoder | None]] = {
    "sparse": TermCounts,
    "dense": lambda: SignedHashing(48),
    "lexical": lambda: None,
}
CHUNKERS: dict[str, Callable[[], Chunker]] = {
    "window": lambda: WindowChunker(80, 20),
    "section": lambda: SectionChunker(24, 4),
    "block": lambda: BlockChunker(90, 1),
}


@dataclasses.dataclass(frozen=True)
class Seen:
    """One document as its reader knows it."""

    doc_id: str
    revision: int
    format: str
    source: str
    updated_at: int | None
    origin: str | None


def text(rng: random.Random) -> str:
    """Draw a text whose words hidden and visible documents share."""
    parts = []
    for n in range(rng.randrange(4)):
        if rng.randrange(3) == 0:
            parts.append(f"{'#' * (1 + n % 3)} {rng.choice(WORDS)}")
        count = rng.randrange(1, 14)
        parts.append(" ".join(rng.choice(WORDS) for _ in range(count)))
    return "\n\n".join(parts)


def source(rng: random.Random, format: str) -> str:
    """Draw a source in one of the formats."""
    if format != "json":
        return text(rng)
    sections = [
        {"heading": rng.choice(WORDS), "text": text(rng)}
        for _ in range(rng.randrange(3))
    ]
    return json.dumps({"title": rng.choice(WORDS), "sections": sections})


def a_view(rng: random.Random) -> tuple[Seen, ...]:
    """Draw the documents that the reader may read."""
    view = []
    for n in range(rng.randrange(1, 6)):
        format = rng.choice(("markdown", "text", "json"))
        made = source(rng, format)
        if view and rng.randrange(3) == 0:
            # A twin: equal scores, to be told apart by the total order.
            format, made = view[-1].format, view[-1].source
        view.append(
            Seen(
                f"doc-{n}",
                rng.randrange(4, 9),
                format,
                made,
                rng.choice((None, 100, 900, 1_000)),
                rng.choice((None, f"folder/{n}.md")),
            )
        )
    return tuple(view)


def settings(rng: random.Random) -> Settings:
    """Draw an encoder and a chunker."""
    return (
        ENCODERS[rng.choice(sorted(ENCODERS))](),
        CHUNKERS[rng.choice(sorted(CHUNKERS))](),
    )


# --- building --------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Rights:
    """What this index lets the reader have, none of it in the view."""

    clearance: str | None
    barriers: tuple[str, ...]

    def granting(self, rng: random.Random) -> Policy:
        """Draw a policy under which the reader may read."""
        readers = {
            rng.choice(
                ("bob", "*", "group:team", "group:outer", "group:circle")
            ),
            *rng.sample((*OTHERS, "group:strangers"), rng.randrange(3)),
        }
        top = CLASSES.index(self.clearance or "internal")
        barrier = rng.choice((None, *self.barriers))
        return Policy(tuple(readers), rng.choice(CLASSES[: top + 1]), barrier)

    def denying(self, rng: random.Random) -> Policy:
        """Draw a policy under which the reader may not."""
        all_ = ("*", "bob", "group:team")
        policies = [
            Policy(()),
            Policy(OTHERS, rng.choice(CLASSES)),
            Policy(("group:strangers", "alice"), "public"),
            Policy(("group:ghost",), "public"),
            Policy(("group:never",), "public"),
            Policy(all_, "public", OUTSIDE),
        ]
        if self.clearance != "restricted":
            policies.append(Policy(all_, "restricted"))
        return rng.choice(policies)


def build(
    index: Index,
    view: Iterable[Seen],
    rng: random.Random,
    encoder: Encoder | None,
    chunker: Chunker,
) -> None:
    """Fill an empty index so that ``READER`` has exactly ``view``.

    In the end the index has the given encoder and chunker, whatever it
    was opened with.
    """
    rights = Rights(
        rng.choice((None, "internal", "confidential", "restricted")),
        tuple(rng.sample(INSIDE, rng.randrange(len(INSIDE) + 1))),
    )
    for op in directory(rng, rights):
        op(index)
    lives = [life(rng, READER.tenant, s, rights.granting(rng)) for s in view]
    for doc_id in rng.sample(HIDDEN, rng.randrange(len(HIDDEN) + 1)):
        dead = rng.randrange(3) == 0
        last = rights.granting(rng) if dead else rights.denying(rng)
        lives.append(life(rng, READER.tenant, other(rng, doc_id), last, dead))
    for doc_id in ("doc-0", "doc-1", "hidden-1", "elsewhere"):
        if rng.randrange(2):
            everyone = Policy(("*", "bob"), "public")
            lives.append(life(rng, "quayside", other(rng, doc_id), everyone))
    ops = merged(rng, lives)
    if rng.randrange(2):
        ops.insert(rng.randrange(len(ops) + 1), rebuilt(*settings(rng)))
    ops.append(rebuilt(encoder, chunker))
    ops += [remade_ghost, *afterwards(rng)]
    for op in ops:
        op(index)


def other(rng: random.Random, doc_id: str) -> Seen:
    """Draw a document that the reader must not see."""
    format = rng.choice(("markdown", "text", "json"))
    made = source(rng, format)
    if format != "json":
        # Loud in every word the reader may ask for.
        made += "\n\n" + "hotel layoffs zebra 酒店 " * rng.randrange(9)
    return Seen(doc_id, rng.randrange(4, 9), format, made, NOW, "secret/x.md")


def rebuilt(encoder: Encoder | None, chunker: Chunker) -> Op:
    """Return an operation that rebuilds with these settings."""
    return lambda index: index.rebuild(encoder, chunker)


def directory(rng: random.Random, rights: Rights) -> list[Op]:
    """Give the reader their rights, and everybody else some noise."""
    ops: list[Op] = []

    def principal(tenant: str, name: str, *entries: Any) -> None:
        for revision, (clearance, barriers) in enumerate(entries):
            ops.append(
                lambda index, c=clearance, b=barriers, r=revision: (
                    index.directory.set(tenant, name, c, b, r)
                )
            )

    def group(name: str, *memberships: Sequence[str], start: int = 0) -> None:
        for revision, members in enumerate(memberships, start):
            ops.append(
                lambda index, m=members, r=revision: index.directory.set_group(
                    "larkspur", name, m, r
                )
            )

    if rights.clearance is not None or rights.barriers:
        before = [("public", INSIDE)] * rng.randrange(2)
        now = (rights.clearance or "internal", rights.barriers)
        principal("larkspur", "bob", *before, now)
    for name in rng.sample(OTHERS, rng.randrange(3)):
        principal("larkspur", name, (rng.choice(CLASSES), INSIDE))
    principal("quayside", "bob", ("restricted", (*INSIDE, OUTSIDE)))
    some = rng.sample(OTHERS, rng.randrange(3))
    group("team", *[some] * rng.randrange(2), ["bob", *some])
    group("circle", ["group:team"])
    group("outer", ["group:circle", *some])
    group("circle", ["group:outer", "group:team"], start=1)
    group("strangers", ["bob"], list(OTHERS))
    group("ghost", ["bob"])
    if rng.randrange(2):
        ops.append(
            lambda index: index.directory.set_group(
                "quayside", "strangers", ["bob", "frank"], 0
            )
        )
    return ops


def remade_ghost(index: Index) -> None:
    """Delete a group and make another of its name, with the reader."""
    index.directory.delete_group("larkspur", "ghost", 1)
    index.directory.set_group("larkspur", "ghost", ["bob"])


def afterwards(rng: random.Random) -> list[Op]:
    """Draw what may be done without changing anybody's view."""
    ops: list[Op] = []
    if rng.randrange(3) == 0:
        ops.append(lambda index: index.purge())
    if rng.randrange(3) == 0:
        ops.append(lambda index: index.rebuild())
    if rng.randrange(2):
        ops.append(
            lambda index: index.directory.set("larkspur", "zoe", "restricted")
        )
    return ops


def merged(rng: random.Random, lives: Iterable[list[Op]]) -> list[Op]:
    """Interleave histories, each in its own order."""
    waiting = [life for life in lives if life]
    ops = []
    while waiting:
        life = rng.choice(waiting)
        ops.append(life.pop(0))
        waiting = [life for life in waiting if life]
    return ops


def life(
    rng: random.Random,
    tenant: str,
    last: Seen,
    policy: Policy,
    dead: bool = False,
) -> list[Op]:
    """Draw a history that ends in ``last`` under ``policy``, or deleted."""
    ops: list[Op] = []

    def send(seen: Seen, given: Policy, restore: bool) -> None:
        sent = Document(
            tenant,
            seen.doc_id,
            seen.revision,
            seen.format,
            seen.source,
            given,
            seen.updated_at,
            seen.origin,
        )
        ops.append(lambda index: index.upsert(sent, restore))

    def late(seen: Seen) -> None:
        sent = Document(tenant, seen.doc_id, 1, "text", "late", policy)

        def replay(index: Index) -> None:
            with suppress(StaleRevision, Deleted):
                index.upsert(sent)

        ops.append(replay)

    def govern(given: Policy) -> None:
        def swap(index: Index) -> None:
            state = index.status(tenant, last.doc_id)
            assert isinstance(state, DocumentStatus)
            index.set_policy(tenant, last.doc_id, given, state.policy_revision)

        ops.append(swap)

    passing = Policy(("alice", "bob"), "public")
    earlier = range(1, last.revision)
    buried = False
    for revision in sorted(rng.sample(earlier, rng.randrange(3))):
        if ops and rng.randrange(3) == 0:
            buried = True
            ops.append(
                lambda index, r=revision: index.delete(tenant, last.doc_id, r)
            )
            continue
        before = dataclasses.replace(
            last, revision=revision, format="text", source=text(rng)
        )
        send(before, passing, buried)
        buried = False
        if rng.randrange(3) == 0:
            govern(Policy((), "restricted"))
    send(last, passing, buried)
    for _ in range(rng.randrange(2)):
        govern(Policy(("*",), "restricted", OUTSIDE))
    govern(policy)
    if rng.randrange(2):
        late(last)
    if rng.randrange(3) == 0:
        send(last, passing, False)
    if dead:
        ops.append(
            lambda index: index.delete(tenant, last.doc_id, last.revision + 1)
        )
    return ops


# --- observing -------------------------------------------------------------


def outcome(call: Callable[[], Any]) -> str:
    """Return what a reading call gave, or which error, word for word."""
    try:
        made = call()
    except (LabError, PermissionError) as error:
        code = getattr(error, "code", "permission")
        return f"{type(error).__name__} {code}: {error}"
    return str(made.to_json())


def searches(index: Index) -> list[str]:
    """Ask in every mode, with and without rerank, cuts and freshness."""
    seen = []
    for query in QUERIES:
        for mode in ("lexical", "vector", "hybrid"):
            for options in (
                {"limit": 100},
                {"limit": 1},
                {"limit": 3, "rerank": False},
                {"limit": 100, "max_age": 100, "now": NOW},
            ):
                seen.append(
                    outcome(
                        lambda q=query, m=mode, o=options: index.search(
                            q, READER, mode=m, **o
                        )
                    )
                )
    wrong: list[dict[str, Any]] = [
        {"query": ""},
        {"query": "!?"},
        {"query": "a\x00"},
        {"query": "zebra", "limit": 0},
        {"query": "zebra", "mode": "fuzzy"},
        {"query": "zebra", "max_age": -1, "now": NOW},
    ]
    for given in wrong:
        seen.append(outcome(lambda g=given: index.search(context=READER, **g)))
    return seen


def claims(index: Index) -> list[dict[str, Any]]:
    """Return hits of the view, then stale, forged and foreign ones."""
    hits = [
        hit.to_data()
        for query in QUERIES
        for hit in index.search(query, READER, limit=4).hits
    ]
    made = list(hits)
    for hit in hits[:3]:
        made += [
            {**hit, "revision": hit["revision"] - 1},
            {**hit, "document_sha256": "0" * 64},
            {**hit, "sha256": "0" * 64},
            {**hit, "start": hit["start"] + 1},
            {**hit, "number": hit["number"] + 1},
            {**hit, "text": "another text"},
            {**hit, "tenant": "quayside"},
            {**hit, "principal": "alice"},
            *({**hit, "doc_id": name} for name in (*HIDDEN, "never")),
        ]
    return made


def observe(
    index: Index,
    view: Sequence[Seen],
    foreign: Iterable[str] = (),
) -> list[str]:
    """Return everything ``READER`` can be told, byte for byte.

    ``foreign`` are citations of documents that the reader may not read.
    """
    seen = searches(index)
    audit: list[Any] = []
    made = claims(index)
    for limit in (0, 1, 2, 10):
        for claimed in (made, made[:1], made[1:][::-1], made[-9:], [], [None]):
            seen.append(
                outcome(
                    lambda c=claimed, n=limit: index.answer(
                        c, READER, limit=n, audit=audit.append
                    )
                )
            )
    citations = [claim["citation"] for claim in made[:3]]
    citations += [c.replace("[", "[0") for c in citations]
    citations += [c[:-16] + "0" * 16 for c in citations]
    citations += [c.replace("@", "@9") for c in citations]
    citations += [
        f"ks1:{READER.tenant}/{name}@1[0,1)#{'0' * 16}"
        for name in (*HIDDEN, "doc-0", "doc-9")
    ]
    citations += ["", "ks1:", "x" * 99, *foreign]
    for citation in citations:
        seen.append(
            outcome(
                lambda c=citation: index.check(c, READER, audit=audit.append)
            )
        )
    for name in (*(s.doc_id for s in view), *HIDDEN, "elsewhere", "no", "a b"):
        seen.append(
            outcome(lambda n=name: index.read(n, READER, audit=audit.append))
        )
    return [*seen, json.dumps(audit, sort_keys=True)]


def citations_of(index: Index, context: Context) -> list[str]:
    """Return citations that hold for another reader."""
    return [
        hit.citation
        for query in QUERIES
        for hit in index.search(query, context, limit=3).hits
    ]
