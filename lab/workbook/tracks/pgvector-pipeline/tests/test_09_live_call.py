"""Stage 9, live: three questions to a real model, which is paid for."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from live_answer import client_from_environment, run_live
from local_models import record_run
from reranking import Bm25Reranker, Pipeline
from store import HashingEmbedder

FIGURES = json.loads(
    Path(__file__).with_name("figures.json").read_text("utf-8")
)


@pytest.fixture
def client() -> Any:
    """Return a client; `check` runs this file where there is a key."""
    try:
        return client_from_environment()
    except ValueError as error:
        pytest.skip(str(error))


def test_three_questions_are_answered_from_the_sources_or_refused(
    client: Any, corpus_store: Any, run_folder: Path
) -> None:
    """Read the run that is named; nothing of it was lost, and it was paid."""
    pipeline = Pipeline(corpus_store, HashingEmbedder(), Bm25Reranker())
    run = run_live(pipeline, client, FIGURES["support_floor"])
    today = datetime.now(UTC).date()
    path = record_run(run_folder, today, "live-answer", run.data())
    faults = run.faults()
    assert not faults, f"{faults[0]} (runs/{path.name})"
