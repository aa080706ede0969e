"""Principals and groups: who may have what, kept beside the documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lab import model
from lab.errors import InvalidInput, NotFound, StalePolicy
from lab.store import Group, Principal, Reader, Snapshot, Store


def bind(snapshot: Snapshot, tenant: str, names: Iterable[str]) -> list[Reader]:
    """Return names as the identities they have now.

    A group is bound by its incarnation: one deleted and made again under
    the same name is another group. An unknown or deleted group is bound to
    incarnation 0, which no group ever has.
    """
    bound = []
    for name in sorted(set(names)):
        if name == "*":
            bound.append(Reader("any", "*"))
            continue
        kind, plain = model.member(name, "reader")
        incarnation = 0
        if kind == "group":
            group = snapshot.group(tenant, plain)
            if group is not None and group.live:
                incarnation = group.incarnation
        bound.append(Reader(kind, plain, incarnation))
    return bound


class Directory:
    """Clearance, barriers and group members, each with a revision.

    Every change compares and swaps: it names the revision it was decided
    on (0 for an entry never seen) and raises ``StalePolicy`` when that is
    not the current one. Changes hold from the very next call of every
    process, because each reading call reads them in its own snapshot.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def set(
        self,
        tenant: str,
        principal: str,
        clearance: str = "internal",
        barriers: Iterable[str] = (),
        expected_revision: int = 0,
    ) -> int:
        """Set a principal's clearance and barriers; return the revision."""
        model.check_id(tenant, "tenant")
        model.check_id(principal, "principal")
        model.check_class(clearance, "clearance")
        inside = _names(barriers, "barriers")
        for barrier in inside:
            model.check_id(barrier, "barriers")
        model.check_revision(expected_revision, "expected_revision", 0)
        with self._store.write() as txn:
            current = txn.principal(tenant, principal)
            revision = 0 if current is None else current.revision
            if revision != expected_revision:
                raise StalePolicy(
                    f"principal {tenant}/{principal}: is at revision"
                    f" {revision}, not {expected_revision}; read it again"
                )
            txn.set_principal(
                tenant,
                principal,
                Principal(clearance, tuple(inside), revision + 1),
            )
        return revision + 1

    def get(self, tenant: str, principal: str) -> Principal | None:
        """Return a principal's entry, ``None`` when never set."""
        model.check_id(tenant, "tenant")
        model.check_id(principal, "principal")
        with self._store.read() as snapshot:
            return snapshot.principal(tenant, principal)

    def set_group(
        self,
        tenant: str,
        name: str,
        members: Iterable[str],
        expected_revision: int = 0,
    ) -> int:
        """Set a group's members; return the revision.

        Members are principals and ``group:NAME``; cycles are tolerated. A
        member group is bound to the identity it has now. After a deletion
        ``expected_revision`` may be 0 (there is no such group) or the
        revision that ``delete_group`` returned.
        """
        model.check_id(tenant, "tenant")
        model.check_id(name, "group")
        wanted = _names(members, "members")
        for member in wanted:
            model.member(member, "members")
        model.check_revision(expected_revision, "expected_revision", 0)
        with self._store.write() as txn:
            current = txn.group(tenant, name)
            revision = 0 if current is None else current.revision
            live = current is not None and current.live
            if expected_revision != revision and (
                live or expected_revision != 0
            ):
                raise StalePolicy(
                    f"group {tenant}/{name}: is at revision {revision},"
                    f" not {expected_revision}; read it again"
                )
            # Born at this revision, which no earlier group of this name
            # can have been.
            born = revision + 1
            if current is not None and current.live:
                born = current.incarnation
            group = Group(tuple(wanted), born, revision + 1, True)
            # First without members, so that a group naming itself is bound
            # to the identity it is being given.
            txn.set_group(tenant, name, group, ())
            txn.set_group(tenant, name, group, bind(txn, tenant, wanted))
        return revision + 1

    def get_group(self, tenant: str, name: str) -> Group | None:
        """Return a group's entry, ``None`` when unknown or deleted."""
        model.check_id(tenant, "tenant")
        model.check_id(name, "group")
        with self._store.read() as snapshot:
            group = snapshot.group(tenant, name)
        return group if group is not None and group.live else None

    def delete_group(
        self, tenant: str, name: str, expected_revision: int
    ) -> int:
        """Delete a group; return the revision its name is left at.

        Policies that name it grant nobody through it any more, even when
        a group of that name is made again.
        """
        model.check_id(tenant, "tenant")
        model.check_id(name, "group")
        model.check_revision(expected_revision, "expected_revision", 0)
        with self._store.write() as txn:
            current = txn.group(tenant, name)
            if current is None or not current.live:
                raise NotFound(f"group {tenant}/{name}: there is none")
            if current.revision != expected_revision:
                raise StalePolicy(
                    f"group {tenant}/{name}: is at revision"
                    f" {current.revision}, not {expected_revision};"
                    " read it again"
                )
            gone = Group((), current.incarnation, current.revision + 1, False)
            txn.set_group(tenant, name, gone, ())
        return current.revision + 1


def _names(values: Iterable[str], what: str) -> Sequence[str]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what}: must be a list of names")
    names = list(values)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{what}: must be a list of names")
    return sorted(set(names))
