"""Gates over manuscript, ledger and evidence: each sees its fault."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from book.press.gates import Gate, Status, contracts, evidence, parity
from tests.press.printed import context
from tests.press.project import Project, make_project

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def findings(gate: Gate, root: Path) -> list[str]:
    result = gate.run(root / "staging", context(root))
    assert (result.status is Status.FAIL) == bool(result.findings)
    return [str(found) for found in result.findings]


@pytest.mark.parametrize("gate", [parity.GATE, contracts.GATE])
def test_a_sound_project_passes(gate: Gate, project: Project) -> None:
    assert findings(gate, project.root) == []


def test_a_paragraph_missing_in_one_language_is_named(
    project: Project,
) -> None:
    project.chapter("One.\n\nTwo.\n", "一。\n")
    (found,) = findings(parity.GATE, project.root)
    assert "book/zh/05-lexical-baseline.md" in found
    assert "paragraph" in found


def test_a_contract_without_a_test_is_named(project: Project) -> None:
    file = project.root / "lab/contracts.toml"
    text = file.read_text("utf-8")
    start = text.index("tests = [")
    end = text.index("]", start) + 1
    file.write_text(text[:start] + "tests = []" + text[end:], "utf-8")
    found = findings(contracts.GATE, project.root)
    assert any("C-01 has no test" in one for one in found)


def test_a_contract_that_no_chapter_explains_is_named(
    project: Project,
) -> None:
    for lang in ("en", "zh"):
        file = project.root / f"book/{lang}/05-lexical-baseline.md"
        text = file.read_text("utf-8")
        assert "contracts: C-01\n" in text
        file.write_text(text.replace("contracts: C-01\n", ""), "utf-8")
    found = findings(contracts.GATE, project.root)
    assert any("C-01 is explained in no chapter" in one for one in found)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A copy of the lab with two quick records left."""
    shutil.copytree(
        ROOT / "lab", tmp_path / "lab", ignore=shutil.ignore_patterns("*.pyc")
    )
    for path in (tmp_path / "lab/evidence").iterdir():
        if path.stem not in ("lexical-probes", "citation-life"):
            path.unlink()
    for path in (tmp_path / "lab/experiments").glob("[!_]*.py"):
        if path.stem not in ("lexical_probes", "citation_life"):
            path.unlink()
    return tmp_path


def test_records_that_come_out_the_same_pass(lab: Path) -> None:
    result = evidence.GATE.run(lab / "staging", context(lab))
    assert (result.status, result.reason) == (Status.PASS, "2 experiments")


def test_an_edited_record_is_named_with_both_values(lab: Path) -> None:
    path = lab / "lab/evidence/lexical-probes.json"
    record = json.loads(path.read_text("utf-8"))
    record["claims"]["asked"] += 1
    path.write_text(json.dumps(record), "utf-8")
    (found,) = findings(evidence.GATE, lab)
    assert "lab/evidence/lexical-probes.json" in found
    assert "claims.asked: recorded 9, found 8" in found


def test_a_lab_that_does_not_start_is_not_evidence(lab: Path) -> None:
    (lab / "lab/evidence.py").write_text("syntax error", "utf-8")
    (found,) = findings(evidence.GATE, lab)
    assert "could not be run" in found
