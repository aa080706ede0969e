"""Events from a source system, one JSON object each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab import canonical, schema
from lab.errors import InvalidInput, LabError
from lab.model import Document, Policy

if TYPE_CHECKING:
    from lab.index import Index


@dataclass(frozen=True)
class Outcome:
    """What became of one event.

    ``number`` counts events from 1. ``state`` is what was done
    (``indexed``, ``unchanged``, ``deleted``, ``set``) or ``refused``, then
    with the error's ``code`` and ``message``.
    """

    number: int
    op: str
    state: str
    code: str | None = None
    message: str | None = None

    def to_data(self) -> dict[str, Any]:
        """Return the outcome as JSON-ready data."""
        return {
            "number": self.number,
            "op": self.op,
            "state": self.state,
            "code": self.code,
            "message": self.message,
        }


def apply(
    index: Index, events: Iterable[str | Mapping[str, Any]]
) -> list[Outcome]:
    """Carry out events in order; blank lines are passed over."""
    outcomes = []
    number = 0
    for event in events:
        if isinstance(event, str) and not event.strip():
            continue
        number += 1
        outcomes.append(_one(index, event, number))
    return outcomes


def _one(index: Index, event: str | Mapping[str, Any], number: int) -> Outcome:
    op = "?"
    where = f"event {number}"
    try:
        data = (
            canonical.loads(event, where) if isinstance(event, str) else event
        )
        if isinstance(data, Mapping) and isinstance(data.get("op"), str):
            op = data["op"]
        schema.validate(data, "event", where)
        return Outcome(number, op, _do(index, data))
    except LabError as error:
        return Outcome(number, op, "refused", error.code, str(error))


def _do(index: Index, data: Mapping[str, Any]) -> str:
    tenant = data["tenant"]
    directory = index.directory
    match data["op"]:
        case "upsert":
            document = Document(
                tenant,
                data["doc_id"],
                data["revision"],
                data["format"],
                data["source"],
                _policy(data["policy"]) if "policy" in data else None,
                data.get("updated_at"),
                data.get("origin"),
            )
            return index.upsert(document, data.get("restore", False)).state
        case "delete":
            return index.delete(tenant, data["doc_id"], data["revision"]).state
        case "set_policy":
            index.set_policy(
                tenant,
                data["doc_id"],
                _policy(data["policy"]),
                data["expected_policy_revision"],
            )
        case "set_principal":
            directory.set(
                tenant,
                data["principal"],
                data.get("clearance", "internal"),
                data.get("barriers", ()),
                data["expected_revision"],
            )
        case "set_group":
            directory.set_group(
                tenant,
                data["name"],
                data["members"],
                data["expected_revision"],
            )
        case "delete_group":
            directory.delete_group(
                tenant, data["name"], data["expected_revision"]
            )
        case other:
            raise InvalidInput(f"op: unknown {other!r}")
    return "set"


def _policy(data: Mapping[str, Any]) -> Policy:
    return Policy(
        tuple(data["readers"]),
        data.get("classification", "internal"),
        data.get("barrier"),
    )
