"""Evidence in the book: looked up, formatted, never typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from book.press.evidence import PathError, follow
from book.press.evidence_macros import formatted
from book.press.faults import MacroError
from tests.press.project import FIRST, SLUG, Project, make_project

FILE = f"book/en/{SLUG}.md"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def fault(project: Project, body: str) -> str:
    """The first fault of the English chapter."""
    project.chapter(body, "字。\n")
    found = [f for f in project.faults() if f.startswith(FILE)]
    return found[0].removeprefix(f"{FILE}:")


def test_a_path_follows_keys_places_and_keys_with_dots() -> None:
    data = {"a": {"b.c": [{"d": 1}]}, "p0.5": 2}
    assert follow(data, "a.b.c.0.d") == 1
    assert follow(data, "p0.5") == 2
    with pytest.raises(PathError, match=r"no 'x' at 'x\.d'; there is a, p0"):
        follow(data, "x.d")
    with pytest.raises(PathError, match="'1' picks none of 1 items"):
        follow(data, "a.b.c.1")
    with pytest.raises(PathError, match="nothing below a single value"):
        follow(data, "p0.5.x")


@pytest.mark.parametrize(
    ("found", "spec", "text"),
    [
        (0.91666, ".3f", "0.917"),
        (0.9, ".0%", "90%"),
        (1234567, ",", "1,234,567"),
        (-0.25, ".2f", "\N{MINUS SIGN}0.25"),
        ("abstain", "", "abstain"),
        (True, "", "true"),
    ],
)
def test_a_value_is_formatted_as_asked(
    found: object, spec: str, text: str
) -> None:
    assert formatted(found, spec, "x") == text


def test_a_composed_value_or_a_wrong_format_is_refused() -> None:
    with pytest.raises(MacroError, match="not a single value"):
        formatted({"a": 1}, "", "x")
    with pytest.raises(MacroError, match=r"format '\.3f'"):
        formatted("abc", ".3f", "x")
    with pytest.raises(MacroError, match="takes no format"):
        formatted(True, ".1f", "x")


def test_a_value_says_where_it_comes_from(project: Project) -> None:
    project.chapter('{{ value("demo", "by.lexical.recall", ".2f") }}\n')
    assert project.last().endswith(
        '<span class="value" data-value="demo:by.lexical.recall">0.90</span>'
        "</p>"
    )


def test_changed_evidence_changes_the_book(project: Project) -> None:
    project.chapter('{{ value("demo", "count") }}\n')
    assert project.resolved().blocks[-1].text == "3"
    path = project.root / "lab/evidence/demo.json"
    data = json.loads(path.read_text())
    data["claims"]["count"] = 4
    path.write_text(json.dumps(data))
    assert project.resolved().blocks[-1].text == "4"


def test_missing_evidence_names_what_there_is(project: Project) -> None:
    message = fault(project, 'Text.\n\n{{ value("dmeo", "count") }}\n')
    assert message.startswith(f"{FIRST + 2}: value: lab/evidence/dmeo.json:")
    assert "did you mean `demo`?" in message


def test_a_missing_key_names_what_there_is(project: Project) -> None:
    message = fault(project, '{{ value("demo", "cuont") }}\n')
    assert message.startswith(f"{FIRST}: value: demo: claims: no 'cuont'")
    assert "count" in message


def test_what_was_observed_is_asked_for_as_observed(project: Project) -> None:
    message = fault(project, '{{ value("demo", "p50_ms") }}\n')
    assert "p50_ms is in observed, not in claims; ask for it with" in message
    message = fault(project, '{{ value("demo", "count", observed=True) }}\n')
    assert "ask for it without observed=True" in message
    project.chapter('{{ value("demo", "p50_ms", ".1f", observed=True) }}\n')
    assert project.resolved().blocks[-1].text == "12.3"


def test_a_table_prints_rows_by_key_with_labels(project: Project) -> None:
    project.chapter(
        '{{ table("demo", rows="by", columns=[["Channel", "@key"],'
        ' ["Recall", "recall", ".2f"], ["Hits", "hits"]],'
        ' labels={"lexical": "Words"}, caption="Recall") }}\n'
    )
    block = project.resolved().blocks[-1]
    assert block.text == (
        "Channel\tRecall\tHits\nWords\t0.90\t12\nhybrid\t1.00\t14\nRecall"
    )
    assert '<th scope="row">Words</th><td class="num">0.90</td>' in block.html


def test_a_table_picks_and_orders_rows(project: Project) -> None:
    project.chapter(
        '{{ table("demo", rows=["by.hybrid", "by.lexical"],'
        ' columns=[["", "@key"], ["n", "hits"]]) }}\n\n'
        '{{ table("demo", rows="runs", columns=[["#", "@key"], ["k", "k"]])'
        " }}\n"
    )
    first, second = project.resolved().blocks[-2:]
    assert first.text == "\tn\nhybrid\t14\nlexical\t12"
    assert second.text == "#\tk\n1\t3\n2\t5"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('rows="by", columns=[["R", "rcall"]]', "row lexical: no 'rcall'"),
        ('rows="count", columns=[["R", "x"]]', "is not a list of rows"),
        ('rows="by", columns=[["R"]]', "column ['R']"),
        (
            'rows="by", columns=[["C", "@key"]], labels={"x": "y"}',
            "labels name no row or cell: x",
        ),
    ],
)
def test_a_wrong_table_is_named(
    project: Project, call: str, message: str
) -> None:
    assert message in fault(project, f'{{{{ table("demo", {call}) }}}}\n')


def test_a_transcript_is_printed_as_recorded(project: Project) -> None:
    project.chapter('{{ transcript("demo") }}\n')
    block = project.resolved().blocks[-1]
    assert (block.kind, block.text) == (
        "transcript",
        "$ python -m lab demo\nfound 3",
    )
    # The prompt is apart, so that it is not copied with the command.
    assert '<span class="gp">$ </span>python' in block.html


def test_lines_of_a_transcript_must_be_there(project: Project) -> None:
    project.chapter('{{ transcript("demo", lines=(2, 2)) }}\n')
    assert project.resolved().blocks[-1].text == "found 3"
    message = fault(project, '{{ transcript("demo", lines=(2, 3)) }}\n')
    assert "demo has 2 lines" in message


def test_a_missing_transcript_is_an_error(project: Project) -> None:
    message = fault(project, '{{ transcript("other") }}\n')
    assert "lab/evidence/other.txt: no such file" in message


def test_a_faulty_evidence_file_is_one_clear_message(
    project: Project,
) -> None:
    project.write("lab/evidence/demo.json", '{\n"schema": \n}')
    message = fault(project, '{{ value("demo", "count") }}\n')
    assert "lab/evidence/demo.json:3: not valid JSON" in message
    project.write("lab/evidence/demo.json", '{"schema": 1}')
    message = fault(project, '{{ value("demo", "count") }}\n')
    assert "demo.json: lacks name, kind" in message


def test_an_experiment_in_the_front_matter_must_be_recorded(
    project: Project,
) -> None:
    path = project.root / FILE
    text = path.read_text().replace("experiment: demo", "experiment: none")
    path.write_text(text)
    assert any(
        f.startswith(f"{FILE}:5: experiment none: ") for f in project.faults()
    )


def test_the_evidence_appendix_lists_each_record_with_its_digest(
    project: Project,
) -> None:
    import hashlib

    data = (project.root / "lab/evidence/demo.json").read_bytes()
    loaded = project.load()
    for lang in ("en", "zh"):
        chapter = loaded.editions[lang].chapter("b-evidence")
        assert [h.id for h in chapter.headings] == ["b-evidence", "ev-demo"]
        shown = "\n".join(block.text for block in chapter.blocks)
        assert hashlib.sha256(data).hexdigest() in shown
        assert "A small fixture." in shown
