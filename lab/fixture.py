"""The two companies whose documents every example searches.

The files in ``lab/data`` are our own and in the public domain (CC0). Their
digests stand in a manifest that is checked on every load, so a number
measured on the fixture names exactly what it was measured on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lab import canonical
from lab.errors import InvalidInput
from lab.model import (
    MODES,
    Context,
    Document,
    Policy,
    check_class,
    check_id,
    check_text,
    check_time,
    member,
)

if TYPE_CHECKING:
    from lab.index import Index

DATA: Final = Path(__file__).parent / "data"
MANIFEST: Final = "manifest.json"
POSITIVE: Final = ("lexical", "factual", "paraphrase", "cross-language")
NEGATIVE: Final = ("unknown", "forbidden", "other-tenant")
KINDS: Final = POSITIVE + NEGATIVE
MAX_QUERY: Final = 1024


@dataclass(frozen=True)
class Principal:
    """A person as the directory knows them."""

    tenant: str
    principal: str
    clearance: str
    barriers: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """A group; members are principals and ``group:NAME``."""

    tenant: str
    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Query:
    """One labelled question, asked by one principal.

    ``kind`` is one of ``KINDS``. A positive query has ``anchors``: a chunk
    is relevant when it holds at least one of them (letter case and the
    amount of white space aside) and belongs to one of ``documents``
    (``TENANT/DOC``; empty means any). A negative query has no anchors;
    ``documents`` then says where the answer lies out of its reader's
    sight, and ``designated`` the search modes that must return nothing,
    because no term of the query stands in anything the reader may see.
    """

    id: str
    tenant: str
    principal: str
    kind: str
    lang: str
    query: str
    documents: tuple[str, ...]
    anchors: tuple[str, ...]
    designated: tuple[str, ...]
    note: str

    @property
    def negative(self) -> bool:
        """Return whether the right behaviour is to find nothing."""
        return self.kind in NEGATIVE

    @property
    def context(self) -> Context:
        """Return who asks."""
        return Context(self.tenant, self.principal)


@dataclass(frozen=True)
class Fixture:
    """Documents, directory and questions, named by one digest.

    ``digest`` is over the manifest's files and their SHA-256; ``as_of`` is
    the moment (integer Unix seconds) at which the documents are the
    companies' present.
    """

    digest: str
    as_of: int
    documents: tuple[Document, ...]
    principals: tuple[Principal, ...]
    groups: tuple[Group, ...]
    queries: tuple[Query, ...]

    def document(self, tenant: str, doc_id: str) -> Document:
        """Return one document; raises ``KeyError`` when there is none."""
        for document in self.documents:
            if (document.tenant, document.doc_id) == (tenant, doc_id):
                return document
        raise KeyError(f"{tenant}/{doc_id}")


def load_fixture(root: Path = DATA) -> Fixture:
    """Read the fixture below ``root``, checking every file first.

    Raises ``InvalidInput`` naming the file when one is missing, unlisted or
    not what the manifest says, or when its content is malformed.
    """
    files = _checked_files(root)
    documents = _json(files, "documents.json")
    directory = _json(files, "directory.json")
    _keys(documents, "documents.json", "schema as_of documents")
    _keys(directory, "directory.json", "schema principals groups")
    return Fixture(
        digest=canonical.digest(_digests(files)),
        as_of=check_time(documents["as_of"], "documents.json: as_of"),
        documents=tuple(
            _document(item, f"documents.json: documents[{n}]", files)
            for n, item in enumerate(documents["documents"])
        ),
        principals=tuple(
            _principal(item, f"directory.json: principals[{n}]")
            for n, item in enumerate(directory["principals"])
        ),
        groups=tuple(
            _group(item, f"directory.json: groups[{n}]")
            for n, item in enumerate(directory["groups"])
        ),
        queries=read_queries(_text(files, "queries.jsonl"), "queries.jsonl"),
    )


def populate(index: Index, fixture: Fixture) -> None:
    """Fill a new index with the fixture through its public interface.

    The directory comes first: a policy binds the groups that exist when it
    is set.
    """
    for person in fixture.principals:
        index.directory.set(
            person.tenant,
            person.principal,
            clearance=person.clearance,
            barriers=person.barriers,
            expected_revision=0,
        )
    for group in fixture.groups:
        index.directory.set_group(
            group.tenant, group.name, group.members, expected_revision=0
        )
    for document in fixture.documents:
        index.upsert(document)


def read_queries(text: str, what: str) -> tuple[Query, ...]:
    """Parse labelled queries, one JSON object a line; blank lines pass.

    Raises ``InvalidInput`` naming the line. A reader's own golden set has
    the same form as the fixture's.
    """
    queries: list[Query] = []
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{what}: line {number}"
        query = _query(canonical.loads(line, place), place)
        if query.id in seen:
            raise InvalidInput(f"{place}: id {query.id} occurs twice")
        seen.add(query.id)
        queries.append(query)
    return tuple(queries)


def manifest(root: Path = DATA) -> str:
    """Return the manifest of the files now below ``root``, as JSON text."""
    data = {
        "schema": "ks.fixture.manifest/1",
        "licence": "CC0-1.0",
        "files": _digests(_read(root)),
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _read(root: Path) -> dict[str, bytes]:
    """Return every file by its POSIX path; dot files are the desktop's."""
    if not root.is_dir():
        raise InvalidInput(f"{root}: no such folder")
    paths = {
        path.relative_to(root).as_posix(): path
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    paths.pop(MANIFEST, None)
    return {name: paths[name].read_bytes() for name in sorted(paths)}


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {
        name: hashlib.sha256(content).hexdigest()
        for name, content in files.items()
    }


def _checked_files(root: Path) -> dict[str, bytes]:
    files = _read(root)
    try:
        text = (root / MANIFEST).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(f"{root / MANIFEST}: missing") from None
    data = canonical.loads(text, MANIFEST)
    _keys(data, MANIFEST, "schema licence files")
    said, found = data["files"], _digests(files)
    for name in sorted({*said, *found}):
        if name not in found:
            problem = "missing"
        elif name not in said:
            problem = "not listed in the manifest"
        elif said[name] != found[name]:
            problem = "changed since the manifest was written"
        else:
            continue
        raise InvalidInput(
            f"{root / name}: {problem}; unpack the lab again, or run"
            " 'python -m lab.fixture' if the change is meant"
        )
    return files


def _text(files: Mapping[str, bytes], name: str) -> str:
    if name not in files:
        raise InvalidInput(f"{name}: missing from the fixture")
    try:
        return files[name].decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: not UTF-8 at byte {error.start}") from None


def _json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    value = canonical.loads(_text(files, name), name)
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: must be an object")
    return value


def _keys(item: Any, place: str, names: str) -> None:
    if not isinstance(item, dict):
        raise InvalidInput(f"{place}: must be an object")
    wanted = set(names.split())
    for key in sorted(wanted ^ set(item)):
        problem = "missing" if key in wanted else "unknown key"
        raise InvalidInput(f"{place}: {key}: {problem}")


def _strings(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInput(f"{place}: must be a list of strings")
    return tuple(check_text(item, place, MAX_QUERY) for item in value)


def _document(item: Any, place: str, files: Mapping[str, bytes]) -> Document:
    _keys(
        item,
        place,
        "tenant doc_id revision format path readers classification barrier"
        " updated_at origin",
    )
    return Document(
        tenant=item["tenant"],
        doc_id=item["doc_id"],
        revision=item["revision"],
        format=item["format"],
        source=_text(files, item["path"]),
        policy=Policy(
            readers=item["readers"],
            classification=item["classification"],
            barrier=item["barrier"],
        ),
        updated_at=item["updated_at"],
        origin=item["origin"],
    )


def _principal(item: Any, place: str) -> Principal:
    _keys(item, place, "tenant principal clearance barriers")
    return Principal(
        tenant=check_id(item["tenant"], f"{place}: tenant"),
        principal=check_id(item["principal"], f"{place}: principal"),
        clearance=check_class(item["clearance"], f"{place}: clearance"),
        barriers=_strings(item["barriers"], f"{place}: barriers"),
    )


def _group(item: Any, place: str) -> Group:
    _keys(item, place, "tenant name members")
    members = _strings(item["members"], f"{place}: members")
    for name in members:
        member(name, f"{place}: members")
    return Group(
        tenant=check_id(item["tenant"], f"{place}: tenant"),
        name=check_id(item["name"], f"{place}: name"),
        members=members,
    )


def _query(item: Any, place: str) -> Query:
    _keys(
        item,
        place,
        "id tenant principal kind lang query documents anchors designated note",
    )
    kind = item["kind"]
    if kind not in KINDS:
        raise InvalidInput(f"{place}: kind must be one of {', '.join(KINDS)}")
    anchors = _strings(item["anchors"], f"{place}: anchors")
    designated = _strings(item["designated"], f"{place}: designated")
    if kind in POSITIVE and (designated or not anchors):
        raise InvalidInput(
            f"{place}: a {kind} query has anchors and no designated modes"
        )
    if kind in NEGATIVE and anchors:
        raise InvalidInput(f"{place}: a {kind} query has no anchors")
    if not set(designated) <= set(MODES):
        raise InvalidInput(
            f"{place}: designated modes are of {', '.join(MODES)}"
        )
    if not isinstance(item["note"], str):
        raise InvalidInput(f"{place}: note must be a string")
    return Query(
        id=check_id(item["id"], f"{place}: id"),
        tenant=check_id(item["tenant"], f"{place}: tenant"),
        principal=check_id(item["principal"], f"{place}: principal"),
        kind=kind,
        lang=check_text(item["lang"], f"{place}: lang", 35),
        query=check_text(item["query"], f"{place}: query", MAX_QUERY),
        documents=_strings(item["documents"], f"{place}: documents"),
        anchors=anchors,
        designated=designated,
        note=item["note"],
    )


if __name__ == "__main__":
    (DATA / MANIFEST).write_text(manifest(), encoding="utf-8", newline="\n")
    print(f"{DATA / MANIFEST}: fixture {load_fixture().digest[:16]}")
