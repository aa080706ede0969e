"""The scripts of pages: what the site and the offline file share."""

from __future__ import annotations

from pathlib import Path

_PLACE = "  /* ranking.js */\n"


def with_ranking(script: str, templates: Path) -> str:
    """Return a script with the shared ranking of search put in its place.

    Raises ``ValueError`` when the script has no place for it.
    """
    if script.count(_PLACE) != 1:
        raise ValueError("the script has no one place for ranking.js")
    ranking = (templates / "ranking.js").read_text("utf-8")
    return script.replace(_PLACE, ranking)
