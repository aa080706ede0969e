"""The whole story: cite, update, revoke, delete, replay, and stay silent.

Two companies share one index. Each step does something that happens to
documents and readers, and checks what must hold after it.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.errors import Deleted, LabError, StaleRevision
from lab.experiments import Emit, Refuted, Uses, _models
from lab.fixture import DATA, Fixture, Query, load_fixture, populate
from lab.index import Index
from lab.model import MODES, Answer, Context, Document, Hit

KIND = "core"
PAGE = True
LIMITATIONS = (
    "One index, one process, one fixture: it shows the promises kept in this"
    " story; the tests look for stories in which they would break.",
    "A checked quotation is the text of the cited document now. Whether it"
    " answers the question is for the reader to judge.",
)

QUESTION: Final = "travel: hotel limit a night"
OLD, NEW = "180 GBP", "210 GBP"
POLICY: Final = "travel-policy"
NEXT_REVISION: Final = DATA / "demo" / "travel-policy-r2.md"

WEI = Context("larkspur", "wei")
BOB = Context("larkspur", "bob")
DANA = Context("larkspur", "dana")
OTHER_BOB = Context("quayside", "bob")


def uses() -> Uses:
    """Return what the story runs on."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Tell the story; raise ``Refuted`` where it does not come true."""
    fixture = load_fixture()
    with Index.open(":memory:") as index:
        populate(index, fixture)
        return _Story(emit, index, fixture).tell()


class _Story:
    """The steps, and the promises counted so far."""

    def __init__(self, emit: Emit, index: Index, fixture: Fixture) -> None:
        self.emit = emit
        self.index = index
        self.fixture = fixture
        self.promises = 0
        self.first = fixture.document("larkspur", POLICY)
        self.second = replace(
            self.first, revision=2, source=_read(NEXT_REVISION), policy=None
        )

    def tell(self) -> dict[str, Any]:
        """Run every step in order; return the claims."""
        people = len(self.fixture.principals)
        tenants = {d.tenant for d in self.fixture.documents}
        self.emit(
            f"{len(tenants)} companies, {len(self.fixture.documents)}"
            f" documents, {people} people, one index."
        )
        claims: dict[str, Any] = {
            "tenants": len(tenants),
            "documents": len(self.fixture.documents),
            "people": people,
        }
        claims["cite"] = self.cite()
        claims["update"] = self.update()
        claims["revoke"] = self.revoke()
        claims["delete"] = self.delete()
        claims["replay"] = self.replay()
        claims["silence"] = self.silence()
        claims["promises"] = self.promises
        self.emit("")
        self.emit(f"All {self.promises} promises held.")
        return claims

    # Telling and checking.

    def title(self, number: int, text: str) -> None:
        """Begin a step."""
        self.emit("")
        self.emit(f"{number}. {text}")

    def holds(self, true: bool, promise: str) -> None:
        """Count a promise that holds; raise ``Refuted`` otherwise.

        No ``assert``: Python drops those under ``-O``.
        """
        if not true:
            raise Refuted(promise)
        self.promises += 1
        self.emit(f"   ok  {promise}")

    def ask(self, context: Context) -> tuple[tuple[Hit, ...], Answer]:
        """Search and answer the one question of this story."""
        hits = self.index.search(QUESTION, context).hits
        return hits, self.index.answer(hits, context, limit=5)

    def quote(self, answer: Answer, figure: str) -> str:
        """Show the quoted line with ``figure``; return its citation."""
        for item in answer.evidence:
            for line in item.text.split("\n"):
                if figure in line:
                    for part in textwrap.wrap(line, 74):
                        self.emit(f"   | {part}")
                    self.emit(f"   {item.citation}")
                    return item.citation
        raise Refuted(f"the answer quotes {figure}")

    def abstains(
        self, hits: Iterable[Hit], context: Context, reason: str, what: str
    ) -> dict[str, int]:
        """Check that hits in hand serve nothing, and why."""
        sink: Counter[str] = Counter()
        answer = self.index.answer(hits, context, limit=5, sink=sink)
        self.holds(
            answer.state == "abstain" and sink[reason] > 0,
            f"{what} are turned away ({reason}); the answer abstains",
        )
        return dict(sink)

    def unavailable(self, citation: str, context: Context, who: str) -> str:
        """Check that a citation no longer opens anything."""
        state = self.index.check(citation, context).state
        self.holds(state == "unavailable", f"{who} citation is unavailable")
        return state

    # The steps.

    def cite(self) -> dict[str, Any]:
        """Answer with checked quotations."""
        self.title(1, f'Wei asks: "{QUESTION}"')
        self.wei_hits, answer = self.ask(WEI)
        self.wei_citation = self.quote(answer, OLD)
        checked = self.index.check(self.wei_citation, WEI)
        self.holds(
            checked.state == "valid" and OLD in (checked.quote or ""),
            "the citation opens, and what it opens is the quotation",
        )
        self.holds(
            all(
                self.index.read(item.doc_id, WEI).body[item.start : item.end]
                == item.text
                for item in answer.evidence
            ),
            "every word of the answer is a document's, none a model's",
        )
        mine = {hit.doc_id for hit in self.wei_hits}
        theirs = self.index.search(QUESTION, OTHER_BOB).hits
        self.holds(
            POLICY in mine
            and bool(theirs)
            and all(OLD not in hit.text for hit in theirs),
            "Quayside's Bob gets his own company's travel policy, not this one",
        )
        return {"state": answer.state, "citation": self.wei_citation}

    def update(self) -> dict[str, Any]:
        """Replace the policy: the limit goes from 180 to 210."""
        self.title(2, "Finance publishes revision 2 of the travel policy")
        self.index.upsert(self.second)
        findable = self._findable(OLD, WEI)
        self.holds(
            not findable, f"{OLD} is not findable any more, in any channel"
        )
        rejected = self.abstains(
            [hit for hit in self.wei_hits if hit.doc_id == POLICY],
            WEI,
            "revision",
            "Wei's old hits",
        )
        old = self.unavailable(self.wei_citation, WEI, "Wei's old")
        self.wei_hits, answer = self.ask(WEI)
        self.wei_citation = self.quote(answer, NEW)
        self.holds(
            f"/{POLICY}@2[" in self.wei_citation,
            "the same question now cites revision 2",
        )
        return {
            "old_figure_findable": findable,
            "old_citation": old,
            "old_hits_rejected": rejected,
            "citation": self.wei_citation,
        }

    def revoke(self) -> dict[str, Any]:
        """Take Bob out of engineering, and so out of staff."""
        self.title(3, "Bob leaves engineering, through which he was staff")
        bob_hits, answer = self.ask(BOB)
        bob_citation = next(
            item.citation for item in answer.evidence if NEW in item.text
        )
        before = self.index.search(QUESTION, WEI).to_json()
        group = self.index.directory.get_group("larkspur", "engineering")
        if group is None:
            raise Refuted("the fixture has a group engineering")
        self.index.directory.set_group(
            "larkspur",
            "engineering",
            [name for name in group.members if name != "bob"],
            expected_revision=group.revision,
        )
        rejected = self.abstains(
            [hit for hit in bob_hits if hit.doc_id == POLICY],
            BOB,
            "unreadable",
            "the hits in Bob's hands",
        )
        state = self.unavailable(bob_citation, BOB, "Bob's")
        self.holds(
            not self._findable(NEW, BOB), "Bob's next search does not find it"
        )
        kept = self.index.check(self.wei_citation, WEI).state
        self.holds(
            kept == "valid"
            and self.index.search(QUESTION, WEI).to_json() == before,
            "Wei keeps her access: the same bytes, and her citation opens",
        )
        return {
            "hits_rejected": rejected,
            "citation": state,
            "kept_citation": kept,
        }

    def delete(self) -> dict[str, Any]:
        """Delete the policy at revision 3."""
        self.title(4, "Finance deletes the travel policy")
        self.index.delete("larkspur", POLICY, 3)
        rejected = self.abstains(
            [hit for hit in self.wei_hits if hit.doc_id == POLICY],
            WEI,
            "deleted",
            "Wei's hits",
        )
        state = self.unavailable(self.wei_citation, WEI, "Wei's")
        self.holds(
            not self._findable(NEW, WEI) and not self._findable(OLD, WEI),
            "neither figure is findable",
        )
        theirs = self.index.read(POLICY, OTHER_BOB)
        self.holds(
            theirs.revision == 1,
            "Quayside's document of the same name is untouched",
        )
        return {"hits_rejected": rejected, "citation": state}

    def replay(self) -> dict[str, Any]:
        """Send the old events again, late and out of order."""
        self.title(5, "A queue delivers old events again")
        outcomes = {}
        for name, document, expected in (
            ("revision 1", self.first, StaleRevision),
            ("revision 2", self.second, StaleRevision),
            (
                "revision 4, no word of restoring",
                replace(self.second, revision=4),
                Deleted,
            ),
        ):
            code = self._refused(document, expected, name)
            outcomes[f"revision_{document.revision}"] = code
        self.holds(
            not self._findable(NEW, WEI), "the policy is still not findable"
        )
        again = self.index.delete("larkspur", POLICY, 3).state
        self.holds(again == "unchanged", "the deletion, again, changes nothing")
        return {**outcomes, "delete_again": again}

    def silence(self) -> dict[str, Any]:
        """Ask what nobody here may know."""
        self.title(6, "Questions that must find nothing")
        queries = [q for q in self.fixture.queries if q.designated]
        counts: dict[str, int] = {}
        hits = 0
        for kind, what in (
            ("forbidden", "about documents the asker may not read"),
            ("other-tenant", "about the other company"),
            ("unknown", "about what no document says"),
        ):
            mine = [q for q in queries if q.kind == kind]
            counts[kind] = len(mine)
            self.emit(f'   "{mine[0].query}" ({mine[0].principal})')
            hits += sum(self._hits(query) for query in mine)
            self.holds(
                hits == 0,
                f"{len(mine)} questions {what}: no hit in any mode",
            )
        layoffs = self.index.search("layoffs severance", DANA).hits
        self.holds(
            bool(layoffs) and layoffs[0].doc_id == "board-paper-q3",
            "Dana, whose board paper it is, finds it at once",
        )
        return {"questions": counts, "hits": hits}

    def _findable(self, figure: str, context: Context) -> bool:
        return any(
            figure in hit.text
            for query in (QUESTION, figure)
            for mode in MODES
            for hit in self.index.search(
                query, context, mode=mode, limit=100
            ).hits
        )

    def _hits(self, query: Query) -> int:
        return sum(
            len(
                self.index.search(
                    query.query, query.context, mode=mode, limit=100
                ).hits
            )
            for mode in query.designated
        )

    def _refused(
        self, document: Document, expected: type[LabError], name: str
    ) -> str:
        try:
            self.index.upsert(document)
        except expected as error:
            self.holds(True, f"{name}: refused, {error.code}")
            return error.code
        raise Refuted(f"{name}: refused")


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")
