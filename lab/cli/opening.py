"""Opening the index that ``--db`` names."""

from __future__ import annotations

from lab.errors import InvalidInput, StoreUnavailable
from lab.index import Index
from lab.store.opening import exists


def there(name: str) -> bool:
    """Say whether ``--db`` names something that may be opened."""
    return exists(name)


def open_index(
    name: str, *, make: bool = False, to_rebuild: bool = False
) -> Index:
    """Open the index at a path or data source name.

    Only with ``make`` is a missing one made: a command that reads must not
    answer "nothing found" from an empty file it just created because of a
    mistyped name.
    """
    if not name:
        raise InvalidInput("--db: must name a file")
    if not make and not there(name):
        raise StoreUnavailable(
            f"{name}: there is no index; make one with `sync` or `apply`, or"
            " name yours with --db"
        )
    return Index.open(name, to_rebuild=to_rebuild)
