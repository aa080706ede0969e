"""Stage 1: documents, ranks, citations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from authorized_retrieval import Chunk, Document, classification_rank, ingest

POLICY = Document("larkspur", "travel-policy", "Hotel 180.", version=2)


def chunk(section: str = "Limits", start: int = 40, end: int = 57) -> Chunk:
    """Return a chunk of the travel policy."""
    return Chunk(
        chunk_id="travel-policy::1",
        tenant="larkspur",
        doc_id="travel-policy",
        version=2,
        section=section,
        start=start,
        end=end,
        text="x" * (end - start),
    )


def test_a_citation_names_document_version_section_and_span() -> None:
    """Return f"{doc_id}@v{version}#{section}[{start}:{end}]"."""
    assert chunk().citation() == "travel-policy@v2#Limits[40:57]"
    assert chunk("body", 0, 3).citation() == "travel-policy@v2#body[0:3]"


def test_the_four_classifications_rank_from_0_to_3() -> None:
    """The rank is the place in CLASSIFICATIONS, public first."""
    names = ["public", "internal", "confidential", "restricted"]
    assert [classification_rank(name) for name in names] == [0, 1, 2, 3]


@pytest.mark.parametrize("word", ["Confidential", "confidental", "", "secret"])
def test_an_unknown_classification_has_no_rank(word: str) -> None:
    """Raise ValueError for every word that is not one of the four."""
    with pytest.raises(ValueError, match="classification"):
        classification_rank(word)


def test_a_sound_document_passes_ingestion_unchanged() -> None:
    """Return the very document after checking it."""
    assert ingest(POLICY) is POLICY


@pytest.mark.parametrize("name", ["tenant", "doc_id"])
@pytest.mark.parametrize("value", ["", "   "], ids=["empty", "blanks"])
def test_a_blank_id_is_refused(name: str, value: str) -> None:
    """Raise ValueError naming the field when nothing but blanks is left."""
    with pytest.raises(ValueError, match=name):
        ingest(replace(POLICY, **{name: value}))


def test_a_version_below_1_is_refused() -> None:
    """Versions count from 1: raise ValueError below that."""
    assert ingest(replace(POLICY, version=1)).version == 1
    with pytest.raises(ValueError, match="version"):
        ingest(replace(POLICY, version=0))


def test_a_mistyped_classification_fails_at_ingestion() -> None:
    """Call classification_rank in ingest, so that a typo cannot get in."""
    with pytest.raises(ValueError, match="classification"):
        ingest(replace(POLICY, classification="confidental"))
