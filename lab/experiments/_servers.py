"""A PostgreSQL for one run of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lab.errors import StoreUnavailable
from lab.experiments import Unavailable


@contextmanager
def served() -> Iterator[str]:
    """Start a server that goes away with its data; yield its DSN.

    ``Unavailable`` where there can be none.
    """
    from lab.store import embedded
    from lab.store.opening import require_client

    with ExitStack() as stack:
        try:
            require_client()
            server = stack.enter_context(embedded.passing())
        except StoreUnavailable as error:
            raise Unavailable(str(error)) from None
        yield server.get_uri()
