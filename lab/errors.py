"""The few ways the lab says no, each with a stable code and exit code.

Errors of the maintenance interface (``StaleRevision``, ``Deleted`` and so
on) reveal that a document exists; they are meant for trusted code. A
reading call answers ``NotFound`` for every reason alike.
"""

from __future__ import annotations


class LabError(Exception):
    """Base of the lab's own errors.

    ``code`` is stable and machine-readable; ``exit_code`` is what the
    command line returns.
    """

    code: str = "error"
    exit_code: int = 3


class InvalidInput(LabError, ValueError):
    """The caller's data is malformed; the message names the field."""

    code = "invalid_input"
    exit_code = 2


class StaleRevision(LabError):
    """A content event is older than what the store already holds."""

    code = "stale_revision"


class StalePolicy(LabError):
    """A compare-and-swap of a policy, principal or group lost."""

    code = "stale_policy"


class Deleted(LabError):
    """The document has a tombstone; only an explicit restore revives it."""

    code = "deleted"


class NotFound(LabError):
    """No such thing, or none that this reader may know of."""

    code = "not_found"


class ProjectionChanged(LabError):
    """The store was built by another encoder, chunker or term version."""

    code = "projection_changed"


class EncoderError(LabError):
    """An encoder returned something other than one finite row per text."""

    code = "encoder_error"


class BudgetTooSmall(LabError):
    """The parts that must not be dropped do not fit the budget."""

    code = "budget_too_small"


class StoreUnavailable(LabError):
    """The store cannot be read or written; nothing was changed."""

    code = "store_unavailable"
