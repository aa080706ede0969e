"""A cache of answers that remembers the text and decides access again.

Finding an entry is not permission to see it. Every hit checks every source
for the reader who asks, so a revocation, a new revision or a deletion ends
an entry for whom it concerns, without anyone telling the cache.

An entry is kept for the reader it was made for. Sharing entries among
readers (``shared=True``) never shows text from a document the reader may
not read, but it does show which answer somebody else was given: that
answer was ranked among documents of *their* view, and may differ from the
one this reader's own view gives. So the promise that equal views give
equal bytes ends where a shared cache begins.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from lab.answering.derived import Checker, Derived, readable
from lab.errors import InvalidInput
from lab.model import Context, require_context
from lab.text import normalize

# Answers kept for one question of one tenant when readers share.
MOST_PER_QUESTION: Final = 8

_Key = tuple[str, str | None, str]


class AnswerCache:
    """Answers by question, checked at each use.

    ``capacity`` is the number of questions kept; the one unused longest
    goes first. One cache serves several threads. Abstentions are not kept:
    they have no sources, and would outlive the grant that ends them.
    """

    def __init__(
        self, index: Checker, *, capacity: int = 1024, shared: bool = False
    ) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, int):
            raise InvalidInput("capacity: must be an integer")
        if capacity < 1:
            raise InvalidInput("capacity: must be at least 1")
        self._index = index
        self._capacity = capacity
        self._shared = shared
        self._lock = Lock()
        self._entries: OrderedDict[_Key, tuple[Derived, ...]] = OrderedDict()

    def get(self, question: str, context: Context) -> Derived | None:
        """Return an answer this reader may read now, else ``None``.

        ``None`` is the same for a question never asked and for one whose
        answers this reader may not see.
        """
        key = self._key(question, context)
        with self._lock:
            entries = self._entries.get(key, ())
            if entries:
                self._entries.move_to_end(key)
        # Checked outside the lock: a slow store stops no other reader.
        for entry in entries:
            if readable(entry, self._index, context):
                return entry
        return None

    def put(self, question: str, context: Context, answer: Derived) -> None:
        """Keep an answer that was made for this reader.

        Raises ``InvalidInput`` for anything but a ``Derived``.
        """
        if not isinstance(answer, Derived):
            raise InvalidInput("answer: must be a Derived, bound to sources")
        key = self._key(question, context)
        keep = MOST_PER_QUESTION if self._shared else 1
        with self._lock:
            others = [e for e in self._entries.get(key, ()) if e != answer]
            self._entries[key] = (answer, *others[: keep - 1])
            self._entries.move_to_end(key)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)

    def _key(self, question: str, context: Context) -> _Key:
        require_context(context)
        words = " ".join(normalize(question, "question").split())
        if not words:
            raise InvalidInput("question: must not be blank")
        reader = None if self._shared else context.principal
        return context.tenant, reader, words
