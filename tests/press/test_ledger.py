"""The ledger gate: a promise has a test, a test a promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.press.project import SLUG, Project, make_project

LEDGER = "lab/contracts.toml"
TESTS = "tests/lab/test_leak.py"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def replaced(project: Project, file: str, old: str, new: str) -> list[str]:
    """Faults after one replacement in one file."""
    text = (project.root / file).read_text()
    assert old in text
    project.write(file, text.replace(old, new))
    return project.faults()


def test_a_contract_without_a_test_is_named(project: Project) -> None:
    faults = replaced(
        project,
        LEDGER,
        'tests = ["tests/lab/test_leak.py::test_nothing_leaks"]',
        "tests = []",
    )
    assert f"{LEDGER}:2: C-01 has no test" in faults


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("tests/lab/test_no.py::test_x", "is in a file that does not exist"),
        ("tests/lab/test_leak.py::test_x", "does not exist"),
        ("tests/lab/test_leak.py", "is not of the form path::name"),
    ],
)
def test_a_contract_naming_no_test_is_an_error(
    project: Project, name: str, fault: str
) -> None:
    faults = replaced(
        project, LEDGER, "tests/lab/test_leak.py::test_nothing_leaks", name
    )
    assert f"{LEDGER}:2: C-01: test {name} {fault}" in faults


def test_a_listed_test_must_claim_the_contract(project: Project) -> None:
    faults = replaced(project, TESTS, '@contract("C-01")\n', "")
    assert (
        f"{LEDGER}:2: C-01: test {TESTS}::test_nothing_leaks does not carry"
        ' @contract("C-01")'
    ) in faults


def test_a_test_naming_an_unknown_contract_is_an_error(
    project: Project,
) -> None:
    faults = replaced(
        project,
        TESTS,
        '@contract("C-01")',
        '@contract("C-01")\n@contract("C-99")',
    )
    assert faults == [
        f"{TESTS}:5: the test claims C-99, which lab/contracts.toml has not"
    ]


def test_a_test_that_the_ledger_does_not_list_is_an_error(
    project: Project,
) -> None:
    text = (project.root / TESTS).read_text()
    project.write(
        TESTS,
        text + '\n\nclass TestMore:\n    @pytest.mark.contract("C-01")\n'
        "    def test_more(self):\n        pass\n",
    )
    assert project.faults() == [
        f"{TESTS}:10: C-01 does not list the test {TESTS}::TestMore::test_more;"
        " add it to tests in lab/contracts.toml"
    ]


def test_a_chapter_explaining_an_unknown_contract_is_an_error(
    project: Project,
) -> None:
    file = f"book/en/{SLUG}.md"
    faults = replaced(project, file, "contracts: C-01", "contracts: C-01, C-9")
    assert f"{file}:4: explains C-9, which lab/contracts.toml has not" in faults


def test_a_chapter_citing_an_unknown_contract_is_an_error(
    project: Project,
) -> None:
    project.chapter('{{ contract("C-99") }}\n', "字。\n")
    assert any("there is no contract C-99" in f for f in project.faults())


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('id = "C-01"', 'id = "C01"', "C01: its id is not of the form C-07"),
        ('group = "access"\n', "", "C-01: lacks group"),
        ('group = "access"', 'group = "x"', "C-01: its group is none of"),
        ('title.zh = "什么也不漏"\n', "", "C-01: title needs en and zh"),
        ('zh = "读者只找到他可读的。"\n', "", "C-01: lacks zh"),
        ('group = "access"', 'gruop = "access"', "C-01: has an unknown key"),
    ],
)
def test_a_malformed_contract_is_named_with_its_line(
    project: Project, old: str, new: str, fault: str
) -> None:
    faults = replaced(project, LEDGER, old, new)
    assert any(f.startswith(f"{LEDGER}:2: {fault}") for f in faults), faults


def test_the_ledger_appendix_shows_each_contract_with_its_tests(
    project: Project,
) -> None:
    chapter = project.load().editions["en"].chapter("d-ledger")
    assert [heading.id for heading in chapter.headings][1:] == [
        "group-access",
        "c-01",
    ]
    text = "\n".join(block.text for block in chapter.blocks)
    assert "A reader finds what they may read." in text
    assert "Not promised: Timing." in text
    assert "test_nothing_leaks" in text
    assert "Explained in: A baseline" in text


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"read": "2025-11-30"', '"read": "yesterday"', "read is not a date"),
        ('"url": "https:', '"url": "file:', "url is not an address"),
        ('"licence": "public domain"', '"x": 1', "lacks licence"),
        ('"zh": "语法。"', '"fr": "x"', "supports needs a text in each"),
        ('"id": "sqlite-fts5"', '"id": "SQLite"', "id is not of the form"),
        (
            '"05-lexical-baseline"',
            '"00-preface"',
            "chapter 05-lexical-baseline cites it; add it to chapters",
        ),
        (
            '"05-lexical-baseline"',
            '"05-lexical-baseline", "00-preface"',
            "chapter 00-preface does not cite it; take it off chapters",
        ),
    ],
)
def test_a_faulty_source_is_named(
    project: Project, old: str, new: str, fault: str
) -> None:
    path = project.root / "sources.json"
    import json

    text = json.dumps(json.loads(path.read_text()), ensure_ascii=False)
    assert old in text
    path.write_text(text.replace(old, new))
    faults = project.faults()
    assert any(f.startswith("sources.json:1: ") and fault in f for f in faults)


def test_sources_that_are_not_json_are_one_clear_message(
    project: Project,
) -> None:
    project.write("sources.json", '[\n{"id": }]')
    assert project.faults() == [
        "sources.json:2: not valid JSON: Expecting value"
    ]


def test_a_faulty_glossary_is_named(project: Project) -> None:
    project.write(
        "book/glossary.toml",
        '[[term]]\nid = "Chunk"\nword.en = "chunk"\ndefnition.en = "x"\n',
    )
    faults = [f for f in project.faults() if f.startswith("book/glossary")]
    assert faults == [
        "book/glossary.toml: Chunk: definition needs en and zh",
        "book/glossary.toml: Chunk: its id is not lower-case ASCII",
        "book/glossary.toml: Chunk: unknown key defnition",
        "book/glossary.toml: Chunk: word needs en and zh",
    ]
