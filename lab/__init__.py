"""An authorized retrieval library: search that keeps secrets.

The core needs Python 3.11 or newer and SQLite with FTS5, nothing else.
"""

__version__ = "1.0.0"
