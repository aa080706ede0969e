"""A second, slow reading of the access rules, to hold the index against.

Nothing here asks the index or its store: the answer comes from the
fixture's directory and policies alone, rule by rule. If the two ever
disagree, one of them is wrong, and an evaluation stops.
"""

from __future__ import annotations

from lab.fixture import Fixture
from lab.model import CLASSES, Context, Document


def may_read(fixture: Fixture, context: Context, doc_id: str) -> bool:
    """Return whether the fixture's rules let ``context`` read a document.

    All must hold: the same tenant; named, in a named group, or ``*``;
    clearance at least the classification; no barrier, or inside it. A
    principal the directory does not know has no groups and the clearance
    ``internal``.
    """
    try:
        document = fixture.document(context.tenant, doc_id)
    except KeyError:
        return False
    policy = document.policy
    if policy is None:
        return False
    clearance, barriers = "internal", frozenset[str]()
    for person in fixture.principals:
        if (person.tenant, person.principal) == (
            context.tenant,
            context.principal,
        ):
            clearance, barriers = person.clearance, frozenset(person.barriers)
    return (
        _named(fixture, context, document)
        and CLASSES.index(clearance) >= CLASSES.index(policy.classification)
        and (policy.barrier is None or policy.barrier in barriers)
    )


def _named(fixture: Fixture, context: Context, document: Document) -> bool:
    assert document.policy is not None
    names = {context.principal, "*"} | groups(fixture, context)
    return bool(names & set(document.policy.readers))


def groups(fixture: Fixture, context: Context) -> set[str]:
    """Return the groups of a principal as ``group:NAME``, nested included.

    Grown until it grows no more, so that cycles end.
    """
    inside: set[str] = set()
    while True:
        known = inside | {context.principal}
        grown = {
            f"group:{group.name}"
            for group in fixture.groups
            if group.tenant == context.tenant and known & set(group.members)
        }
        if grown == inside:
            return inside
        inside = grown
