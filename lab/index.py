"""The index: what a service may be asked, and what may change it.

Reading (``search``, ``answer``, ``check``, ``read``) is for people and
always takes a ``Context``. Everything else belongs to trusted code: its
errors reveal that a document exists.
"""

from __future__ import annotations

import os
import threading
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
)
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, TypeVar, cast

from lab import answers, chunking, encoders, model, search
from lab import audit as auditing
from lab import events as batches
from lab.chunking import Chunker, WindowChunker
from lab.directory import Directory, bind
from lab.encoders import Encoder
from lab.encoders.counts import TermCounts
from lab.errors import (
    Deleted,
    InvalidInput,
    NotFound,
    ProjectionChanged,
    StalePolicy,
    StaleRevision,
)
from lab.model import (
    Answer,
    Checked,
    Context,
    Document,
    Policy,
    Reading,
    Removed,
    Results,
    Upserted,
)
from lab.projecting import Projector
from lab.rerank import Reranker, TitleRule
from lab.search import Freshness, Query
from lab.store import (
    ChunkRow,
    Fault,
    Record,
    Settings,
    Snapshot,
    Store,
    Transaction,
)
from lab.store.opening import open_store
from lab.text import Projection, project


class _Stored:
    """Stands for "as the store was built"; ``None`` means none."""


STORED: Final = _Stored()
T = TypeVar("T")


@dataclass(frozen=True)
class DocumentStatus:
    """What trusted code may know of one document."""

    tenant: str
    doc_id: str
    live: bool
    revision: int
    policy_revision: int
    sha256: str
    policy: Policy | None


@dataclass(frozen=True)
class Status:
    """What the index holds and how it was built."""

    documents: int
    tombstones: int
    chunks: int
    encoder: str
    chunker: str
    terms: str


class Index:
    """Documents of many tenants, each readable by whom its policy names.

    Safe to use from several threads. Use as a context manager, or call
    ``close``.
    """

    def __init__(
        self, store: Store, projector: Projector, *, settled: bool = True
    ) -> None:
        self._store = store
        self._projector = projector
        # False only while an index waits to be rebuilt.
        self._settled = settled
        # Held from before a rebuild commits until its projector is ours.
        self._switching = threading.Lock()
        self.directory = Directory(store)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        encoder: Encoder | _Stored | None = STORED,
        chunker: Chunker | _Stored = STORED,
        to_rebuild: bool = False,
    ) -> Index:
        """Open or make an index.

        An existing one keeps its stored projection; a new one gets
        ``TermCounts`` and ``WindowChunker``. ``encoder=None`` makes a
        lexical index. Naming others than the stored ones raises
        ``ProjectionChanged``, unless the index is opened ``to_rebuild``:
        then it answers nothing until ``rebuild`` was called.
        """
        return cls.over(
            open_store(path),
            encoder=encoder,
            chunker=chunker,
            to_rebuild=to_rebuild,
        )

    @classmethod
    def over(
        cls,
        store: Store,
        *,
        encoder: Encoder | _Stored | None = STORED,
        chunker: Chunker | _Stored = STORED,
        to_rebuild: bool = False,
    ) -> Index:
        """Open an index over a store that is already there."""
        try:
            with store.read() as snapshot:
                stored = snapshot.settings()
            if stored is None:
                stored = cls._found(store, encoder, chunker)
            if to_rebuild:
                default = Projector(TermCounts(), WindowChunker())
                return cls(store, default, settled=False)
            projector = Projector(
                _known_encoder(stored)
                if isinstance(encoder, _Stored)
                else encoder,
                chunking.from_spec(dict(stored.chunker_spec))
                if isinstance(chunker, _Stored)
                else chunker,
            )
            _agree(stored, projector.settings())
        except BaseException:
            store.close()
            raise
        return cls(store, projector)

    @staticmethod
    def _found(
        store: Store,
        encoder: Encoder | _Stored | None,
        chunker: Chunker | _Stored,
    ) -> Settings:
        """Write the settings of a new store, or read who was faster."""
        made = Projector(
            TermCounts() if isinstance(encoder, _Stored) else encoder,
            WindowChunker() if isinstance(chunker, _Stored) else chunker,
        ).settings()
        with store.write() as txn:
            stored = txn.settings()
            if stored is None:
                txn.configure(made)
                stored = made
        return stored

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open one consistent read of the store, for trusted code.

        Raises ``ProjectionChanged`` when another process has rebuilt the
        index with other settings.
        """
        return self._read()

    @contextmanager
    def _read(self, projector: Projector | None = None) -> Iterator[Snapshot]:
        """Open a snapshot of the projection that ``projector`` made."""
        while True:
            using = projector or self._projector
            with self._store.read() as snapshot:
                if self._made_by(using, snapshot):
                    yield snapshot
                    return
            self._refuse_foreign(using, projector is not None)

    @contextmanager
    def _write(
        self, projector: Projector | None = None
    ) -> Iterator[Transaction]:
        """Open a transaction on the projection that ``projector`` made."""
        while True:
            using = projector or self._projector
            with self._store.write() as txn:
                if self._made_by(using, txn):
                    yield txn
                    return
            self._refuse_foreign(using, projector is not None)

    def _made_by(self, projector: Projector, snapshot: Snapshot) -> bool:
        if not self._settled:
            raise ProjectionChanged("the index is open to be rebuilt only")
        stored = snapshot.settings()
        return stored is not None and not _differs(stored, projector.settings())

    def _refuse_foreign(self, projector: Projector, needed: bool) -> None:
        """Raise unless it was this very index that was rebuilt meanwhile.

        Then another try, with the projector that is now ours, is right;
        but not for a caller who has ``needed`` the old one already.
        """
        with self._switching:
            if self._projector is not projector and not needed:
                return
        with self._store.read() as snapshot:
            _agree(_settings(snapshot), projector.settings())
        raise ProjectionChanged("the index was rebuilt meanwhile; ask again")

    def _settling(self, call: Callable[[Projector], T]) -> T:
        """Return ``call(projector)``, made again if a rebuild came between.

        What was encoded for one projection is never used with another.
        """
        while True:
            projector = self._projector
            try:
                return call(projector)
            except ProjectionChanged:
                with self._switching:
                    if self._projector is projector:
                        raise

    # Reading: everything below takes a Context and reveals only its view.

    def search(
        self,
        query: str,
        context: Context,
        *,
        limit: int = 5,
        mode: str = "hybrid",
        rerank: bool | Reranker = True,
        max_age: int | None = None,
        now: int | None = None,
        approximate: bool = False,
        audit: auditing.Sink | None = None,
    ) -> Results:
        """Return the best ``limit`` readable chunks for ``query``.

        ``mode`` is ``hybrid``, ``lexical`` or ``vector``; ``rerank`` may be
        another ``Reranker``. ``max_age`` (seconds) with ``now`` (Unix
        seconds) drops documents not updated since. ``approximate`` lets an
        index over everybody's vectors choose the candidates, where the
        store keeps one: faster on large stores, marked in the results, and
        outside the promise of equal bytes for equal views. Raises
        ``PermissionError`` without a ``Context`` and ``InvalidInput`` for
        a malformed query, before anything is read.
        """
        model.require_context(context)
        asked = search.parse(query, mode, limit)
        if not isinstance(approximate, bool):
            raise InvalidInput("approximate: must be true or false")
        freshness = _freshness(max_age, now)
        reranker = _reranker(rerank)
        results = self._settling(
            lambda projector: self._search(
                projector, context, asked, reranker, freshness, approximate
            )
        )
        _record(
            audit,
            "search",
            context,
            [
                (h.doc_id, h.revision, h.start, h.end, h.sha256)
                for h in results.hits
            ],
        )
        return results

    def _search(
        self,
        projector: Projector,
        context: Context,
        asked: Query,
        reranker: Reranker | None,
        freshness: Freshness | None,
        approximate: bool,
    ) -> Results:
        encoder = projector.encoder
        if approximate and (encoder is None or encoder.dims is None):
            raise InvalidInput("approximate: this index has no dense vectors")
        if approximate and asked.mode == "lexical":
            raise InvalidInput("approximate: finding words is always exact")
        if asked.mode == "vector" and encoder is None:
            raise InvalidInput("mode: this index has no vectors")
        encoded = None
        if encoder is not None and asked.mode != "lexical" and asked.terms:
            encoded = encoders.encode(encoder, [asked.text], query=True)[0]
        with self._read(projector) as snapshot:
            return search.search(
                snapshot,
                context,
                asked,
                encoded,
                encoder is not None,
                encoder.minimum_score if encoder else 0.0,
                reranker,
                freshness,
                approximate,
            )

    def answer(
        self,
        hits: Iterable[Any],
        context: Context,
        *,
        limit: int = 2,
        sink: MutableMapping[str, int] | None = None,
        audit: auditing.Sink | None = None,
    ) -> Answer:
        """Check hits again, now, and return what still holds.

        Hits are untrusted: whatever they claim, the text comes from the
        store. ``sink`` counts rejections by reason for the operator.
        """
        model.require_context(context)
        with self._read() as snapshot:
            answer = answers.answer(snapshot, context, hits, limit, sink)
        _record(
            audit,
            "answer",
            context,
            [
                (e.doc_id, e.revision, e.start, e.end, e.sha256)
                for e in answer.evidence
            ],
        )
        return answer

    def check(
        self,
        citation: str,
        context: Context,
        *,
        audit: auditing.Sink | None = None,
    ) -> Checked:
        """Decide now whether a citation holds for this reader."""
        model.require_context(context)
        if not isinstance(citation, str):
            raise InvalidInput("citation: must be a string")
        with self._read() as snapshot:
            checked, shown = answers.check(snapshot, context, citation)
        _record(audit, "check", context, shown)
        return checked

    def read(
        self,
        doc_id: str,
        context: Context,
        *,
        audit: auditing.Sink | None = None,
    ) -> Reading:
        """Return a whole document.

        Raises the same ``NotFound`` for a document that is unknown,
        deleted or not readable.
        """
        model.require_context(context)
        model.check_id(doc_id, "doc_id")
        with self._read() as snapshot:
            record = snapshot.document(snapshot.readable(context), doc_id)
        if record is None:
            raise NotFound(f"{doc_id}: no such document that you may read")
        _record(
            audit,
            "read",
            context,
            [(doc_id, record.revision, 0, len(record.body), record.sha256)],
        )
        return Reading(
            doc_id,
            record.revision,
            record.title,
            record.body,
            record.sha256,
            record.updated_at,
            record.origin,
        )

    # Ingestion and maintenance: trusted code only.

    def upsert(self, document: Document, restore: bool = False) -> Upserted:
        """Store a revision of a document, whole or not at all.

        Raises ``InvalidInput``, ``StaleRevision``, ``Deleted`` or
        ``EncoderError``; the old revision then goes on serving. A content
        event never changes the policy of a document that is already
        there; ``policy`` is required when it is first seen or restored.
        """
        if type(document) is not Document:
            raise InvalidInput("document: must be a Document")
        if not isinstance(restore, bool):
            raise InvalidInput("restore: must be true or false")
        projection = project(document.format, document.source)
        return self._settling(
            lambda projector: self._upsert(
                projector, document, projection, restore
            )
        )

    def _upsert(
        self,
        projector: Projector,
        document: Document,
        projection: Projection,
        restore: bool,
    ) -> Upserted:
        # Looked at before encoding, which may be slow, and again inside
        # the write transaction, which alone decides.
        with self._read(projector) as snapshot:
            current = snapshot.record(document.tenant, document.doc_id)
        _admit(document, projection, current, restore)
        rows = projector.rows(projection)
        with self._write(projector) as txn:
            current = txn.record(document.tenant, document.doc_id)
            state = _admit(document, projection, current, restore)
            if (
                state == "unchanged"
                and current is not None
                and txn.intact(document.tenant, document.doc_id)
            ):
                return Upserted(
                    "unchanged",
                    current.revision,
                    len(rows),
                    current.sha256,
                    current.policy_revision,
                )
            policy_revision = self._replace(
                txn, document, projection, current, rows
            )
        return Upserted(
            "indexed",
            document.revision,
            len(rows),
            projection.sha256,
            policy_revision,
        )

    @staticmethod
    def _replace(
        txn: Transaction,
        document: Document,
        projection: Projection,
        current: Record | None,
        rows: list[ChunkRow],
    ) -> int:
        """Write an admitted document; return its policy revision."""
        fresh = current is None or not current.live
        policy = document.policy if fresh else None
        if fresh and policy is None:
            raise InvalidInput(
                f"policy: {document.tenant}/{document.doc_id} is new or"
                " restored, so it needs one"
            )
        policy_revision = 0 if current is None else current.policy_revision
        updated_at, origin = document.updated_at, document.origin
        if policy is not None:
            policy_revision += 1
            classification, barrier = policy.classification, policy.barrier
        else:
            assert current is not None
            classification, barrier = current.classification, current.barrier
            if document.revision == current.revision:
                # Lost rows are being repaired; nothing else may change.
                updated_at, origin = current.updated_at, current.origin
        txn.replace(
            Record(
                document.tenant,
                document.doc_id,
                document.revision,
                policy_revision,
                True,
                projection.format,
                projection.title,
                projection.body,
                projection.sha256,
                updated_at,
                origin,
                classification,
                barrier,
            ),
            rows,
        )
        if policy is not None:
            txn.set_policy(
                document.tenant,
                document.doc_id,
                bind(txn, document.tenant, policy.readers),
                classification,
                barrier,
                policy_revision,
            )
        return policy_revision

    def set_policy(
        self,
        tenant: str,
        doc_id: str,
        policy: Policy,
        expected_policy_revision: int,
    ) -> int:
        """Compare and swap a live document's policy; return its revision.

        Groups are bound to the identity they have now. Raises
        ``StalePolicy`` when another change came first and ``NotFound`` for
        a document never seen or deleted.
        """
        model.check_id(tenant, "tenant")
        model.check_id(doc_id, "doc_id")
        if type(policy) is not Policy:
            raise InvalidInput("policy: must be a Policy")
        model.check_revision(
            expected_policy_revision, "expected_policy_revision", 0
        )
        with self._write() as txn:
            current = txn.record(tenant, doc_id)
            if current is None or not current.live:
                raise NotFound(f"{tenant}/{doc_id}: no such document")
            if current.policy_revision != expected_policy_revision:
                raise StalePolicy(
                    f"{tenant}/{doc_id}: policy is at revision"
                    f" {current.policy_revision}, not"
                    f" {expected_policy_revision}; read it again"
                )
            revision = current.policy_revision + 1
            txn.set_policy(
                tenant,
                doc_id,
                bind(txn, tenant, policy.readers),
                policy.classification,
                policy.barrier,
                revision,
            )
        return revision

    def delete(self, tenant: str, doc_id: str, revision: int) -> Removed:
        """Leave a tombstone at ``revision``.

        Content, terms, vectors and readers go; both revisions advance. An
        id never seen gets a tombstone too, so that a late event stays
        dead. Raises ``StaleRevision`` unless ``revision`` is higher than
        the stored one; exactly the tombstone's is ``unchanged``.
        """
        model.check_id(tenant, "tenant")
        model.check_id(doc_id, "doc_id")
        model.check_revision(revision, "revision")
        with self._write() as txn:
            current = txn.record(tenant, doc_id)
            policy_revision = 1
            if current is not None:
                if not current.live and current.revision == revision:
                    return Removed(
                        "unchanged", revision, current.policy_revision
                    )
                if revision <= current.revision:
                    raise StaleRevision(
                        f"{tenant}/{doc_id}: is at revision"
                        f" {current.revision}; a delete needs a higher one"
                    )
                policy_revision = current.policy_revision + 1
            txn.tombstone(tenant, doc_id, revision, policy_revision)
        return Removed("deleted", revision, policy_revision)

    def apply(
        self, events: Iterable[str | Mapping[str, Any]]
    ) -> list[batches.Outcome]:
        """Carry out events in order and report each one's outcome.

        Each is its own transaction: one that is refused stops no other.
        """
        return batches.apply(self, events)

    def status(
        self, tenant: str | None = None, doc_id: str | None = None
    ) -> Status | DocumentStatus:
        """Return what the index holds, or the state of one document."""
        if tenant is not None:
            model.check_id(tenant, "tenant")
        with self._store.read() as snapshot:
            if doc_id is not None:
                if tenant is None:
                    raise InvalidInput("tenant: needed to name a document")
                model.check_id(doc_id, "doc_id")
                return _document_status(snapshot, tenant, doc_id)
            counts = snapshot.counts(tenant)
            settings = snapshot.settings()
        assert settings is not None
        return Status(
            counts["documents"],
            counts["tombstones"],
            counts["chunks"],
            settings.encoder,
            settings.chunker,
            settings.terms,
        )

    def verify(self) -> list[Fault]:
        """Name every fault in the store; an empty list is good news."""
        return self._store.verify()

    def purge(self) -> list[str]:
        """Make deleted text disappear from the store's own files.

        Returns what is out of reach. Revision high-water marks survive.
        """
        return self._store.purge()

    def rebuild(
        self,
        encoder: Encoder | _Stored | None = STORED,
        chunker: Chunker | _Stored = STORED,
    ) -> int:
        """Project every live document anew; return how many there were.

        The new projection is made beside the old, which goes on serving;
        what changed meanwhile is done again; one transaction switches.
        Policies, directory, revisions, tombstones and citations survive.
        """
        with self._store.read() as snapshot:
            stored = _settings(snapshot)
        projector = Projector(
            _known_encoder(stored) if isinstance(encoder, _Stored) else encoder,
            chunking.from_spec(dict(stored.chunker_spec))
            if isinstance(chunker, _Stored)
            else chunker,
        )
        made: dict[tuple[str, str], tuple[str, list[ChunkRow]]] = {}
        # Preparing outside the transaction is repeated while writers keep
        # changing documents, but not for ever.
        for _ in range(3):
            if not self._prepare(projector, made):
                break
        with self._switching:
            with self._store.write() as txn:
                if self._settled:
                    _agree(_settings(txn), self._projector.settings())
                live = [record for record in txn.records() if record.live]
                txn.configure(projector.settings())
                for record in live:
                    txn.replace(record, _rows(projector, made, record))
            self._projector = projector
            self._settled = True
        return len(live)

    def _prepare(
        self,
        projector: Projector,
        made: dict[tuple[str, str], tuple[str, list[ChunkRow]]],
    ) -> int:
        """Make the rows that are missing or outdated; return how many."""
        with self._store.read() as snapshot:
            pending = [
                (record.tenant, record.doc_id)
                for record in snapshot.records()
                if record.live
                and made.get((record.tenant, record.doc_id), ("",))[0]
                != record.sha256
            ]
        for key in pending:
            with self._store.read() as snapshot:
                record = snapshot.record(*key)
            if record is not None and record.live:
                made[key] = (record.sha256, _rows(projector, made, record))
        return len(pending)


def _settings(snapshot: Snapshot) -> Settings:
    stored = snapshot.settings()
    if stored is None:
        raise ProjectionChanged("the store lost its settings")
    return stored


def _known_encoder(stored: Settings) -> Encoder | None:
    return encoders.from_spec(stored.encoder_spec)


def _differs(stored: Settings, wanted: Settings) -> str | None:
    """Return the first part whose fingerprints differ."""
    for part in ("encoder", "chunker", "terms"):
        if getattr(stored, part) != getattr(wanted, part):
            return part
    return None


def _agree(stored: Settings, wanted: Settings) -> None:
    part = _differs(stored, wanted)
    if part is not None:
        have, want = getattr(stored, part), getattr(wanted, part)
        raise ProjectionChanged(
            f"the index was built with {part} {have or 'none'!r},"
            f" this program has {want or 'none'!r}; open it with the"
            " former or rebuild it"
        )


def _rows(
    projector: Projector,
    made: Mapping[tuple[str, str], tuple[str, list[ChunkRow]]],
    record: Record,
) -> list[ChunkRow]:
    digest, rows = made.get((record.tenant, record.doc_id), ("", []))
    if digest == record.sha256:
        return rows
    return projector.rows(
        Projection(record.title, record.body, record.sha256, record.format)
    )


def _admit(
    document: Document,
    projection: Projection,
    current: Record | None,
    restore: bool,
) -> str:
    """Decide what becomes of a content event: indexed or unchanged."""
    name = f"{document.tenant}/{document.doc_id}"
    if current is None or not current.live:
        if current is not None:
            if document.revision <= current.revision:
                raise StaleRevision(
                    f"{name}: was deleted at revision {current.revision}"
                )
            if not restore:
                raise Deleted(
                    f"{name}: was deleted at revision {current.revision};"
                    " only an explicit restore brings it back"
                )
        if document.policy is None:
            raise InvalidInput(
                f"policy: {name} is new or restored, so it needs one"
            )
        return "indexed"
    if document.revision < current.revision:
        raise StaleRevision(
            f"{name}: is at revision {current.revision} already"
        )
    if document.revision == current.revision:
        if projection.sha256 != current.sha256:
            raise StaleRevision(
                f"{name}: revision {current.revision} has other content;"
                " a change needs a higher revision"
            )
        return "unchanged"
    return "indexed"


def _reranker(rerank: object) -> Reranker | None:
    if rerank is True:
        return TitleRule()
    if rerank is False:
        return None
    if not callable(getattr(rerank, "rank", None)):
        raise InvalidInput("rerank: must be true, false or a Reranker")
    return cast(Reranker, rerank)


def _freshness(max_age: object, now: object) -> Freshness | None:
    if max_age is None:
        return None
    if isinstance(max_age, bool) or not isinstance(max_age, int):
        raise InvalidInput("max_age: must be an integer number of seconds")
    if max_age < 0:
        raise InvalidInput("max_age: must not be negative")
    if now is None:
        raise InvalidInput("now: needed with max_age, in Unix seconds")
    return Freshness(max_age, model.check_time(now, "now"))


def _document_status(
    snapshot: Snapshot, tenant: str, doc_id: str
) -> DocumentStatus:
    record = snapshot.record(tenant, doc_id)
    if record is None:
        raise NotFound(f"{tenant}/{doc_id}: never seen")
    policy = None
    if record.live:
        names = [
            f"group:{r.name}" if r.kind == "group" else r.name
            for r in snapshot.readers(tenant, doc_id)
        ]
        policy = Policy(tuple(names), record.classification, record.barrier)
    return DocumentStatus(
        tenant,
        doc_id,
        record.live,
        record.revision,
        record.policy_revision,
        record.sha256,
        policy,
    )


def _record(
    sink: auditing.Sink | None,
    action: str,
    context: Context,
    shown: Iterable[tuple[str, int, int, int, str]],
) -> None:
    if sink is not None:
        sink(auditing.record(action, context, shown))
