"""The grader of the workbook's error analysis: right, nearly right, wrong.

What it says to a learner is compared letter for letter.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lab.workbook.manifest import HOME

TRACK = HOME / "tracks" / "pgvector-pipeline"


def _module(path: Path) -> ModuleType:
    """Return a module of the track under a name that no learner uses."""
    name = f"ks_pgvector_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


grading: Any = _module(TRACK / "tests" / "error_grading.py")
types: Any = _module(TRACK / "source" / "pipeline_types.py")
KEY = grading.load_key(TRACK / "corpus" / "key.json")
REFERENCE = (TRACK / "source" / "error_analysis.md").read_text("utf-8")

# Ten misses; q01 may be read in two ways.
READINGS = (
    "ranking|vocabulary-gap ranking ranking chunk-boundary chunk-boundary"
    " chunk-boundary vocabulary-gap vocabulary-gap anchor-ambiguity"
    " reranker-demotion"
).split()
SMALL = {
    f"q{number:02}": grading.Reading(
        tuple(kinds.split("|")), ("query-rewrite",), "As it is."
    )
    for number, kinds in enumerate(READINGS, 1)
}
MISSED = set(SMALL)
RIGHT = {name: reading.kinds[0] for name, reading in SMALL.items()}
WORDS = "because the right chunk " * 6


def table(kinds: dict[str, str], fix: str = "query-rewrite") -> str:
    """Return a table that gives each query a kind, and all one fix."""
    lines = [f"| {name} | {kind} | {fix} |" for name, kind in kinds.items()]
    return "\n".join(["| query | kind | fix |", "|---|---|---|", *lines, ""])


def essay(kinds: dict[str, str]) -> str:
    """Return the table, and a paragraph of 25 words for each kind."""
    parts = [table(kinds)]
    for kind in dict.fromkeys(kinds.values()):
        parts.append(f"{kind} {WORDS}".strip() + "\n")
    return "\n".join(parts)


def faults(text: str) -> list[str]:
    """Return all that is wrong with a text about the ten misses."""
    rows = grading.rows(text)
    return [
        *grading.missing(rows, MISSED),
        *grading.invented(rows, MISSED, SMALL),
        *grading.unknown(rows, types.FAILURE_KINDS, types.FIXES),
        *grading.disagreement(rows, MISSED, SMALL),
        *grading.unexplained(text),
    ]


# Right, and nearly right


def test_a_right_table_with_a_paragraph_for_each_kind_passes() -> None:
    assert faults(essay(RIGHT)) == []


def test_the_second_reading_of_a_row_is_as_good() -> None:
    # q01's second reading, and three wrong ones: 7 of 10 agree.
    kinds = RIGHT | {
        "q01": "vocabulary-gap",
        "q02": "reranker-demotion",
        "q03": "reranker-demotion",
        "q04": "reranker-demotion",
    }
    assert faults(essay(kinds)) == []


def test_seven_of_ten_are_enough_and_six_are_not() -> None:
    seven = RIGHT | dict.fromkeys(("q08", "q09", "q10"), "ranking")
    assert faults(essay(seven)) == []
    six = seven | {"q04": "ranking"}
    assert faults(essay(six)) == [
        "6 of 10 kinds agree with the key, 7 should; read q04 again"
    ]


def test_the_share_needed_is_rounded_up() -> None:
    # 70 % of 19 are 13.3.
    missed = {f"q{n}" for n in range(19)}
    key = {n: grading.Reading(("ranking",), (), "") for n in missed}

    def graded(right: int) -> list[str]:
        rows = [
            grading.Row(f"q{n}", "ranking" if n < right else "other", "", n)
            for n in range(19)
        ]
        found: list[str] = grading.disagreement(rows, missed, key)
        return found

    assert graded(14) == []
    assert graded(13)[0].startswith("13 of 19 kinds agree with the key, 14")


def test_code_marks_capitals_and_further_columns_change_nothing() -> None:
    lines = [
        "| Kind | Query | my ranks | Fix |",
        "|:--|--|:-:|--:|",
        *(
            f"| `{kind}` | **{name}** | 12 | _query-rewrite_ |"
            for name, kind in RIGHT.items()
        ),
    ]
    rest = essay(RIGHT).partition("\n\n")[2]
    assert faults("\n".join(lines) + "\n\n" + rest) == []


def test_the_task_that_was_left_standing_ends_no_table() -> None:
    head, rule, rest = essay(RIGHT).split("\n", 2)
    text = f"{head}\n{rule}\n<!-- Stage 07: give\nevery miss -->\n{rest}"
    assert faults(text) == []


def test_a_miss_that_the_key_does_not_know_needs_a_row_and_no_reading() -> None:
    kinds = RIGHT | {"q77": "ranking"}
    rows = grading.rows(table(kinds))
    missed = MISSED | {"q77"}
    assert grading.missing(rows, missed) == []
    assert grading.invented(rows, missed, SMALL) == []
    assert grading.disagreement(rows, missed, SMALL) == []


def test_a_row_that_only_the_reference_misses_is_not_invented() -> None:
    found_here = MISSED - {"q05"}
    assert grading.invented(grading.rows(table(RIGHT)), found_here, SMALL) == []


# Wrong


def test_an_empty_table_lacks_every_miss() -> None:
    found = faults(table({}))
    assert found[0] == "q01: the pipeline misses it, and it has no row"
    assert len(found) == 11
    assert found[-1].startswith("0 of 10 kinds agree")


def test_a_miss_without_a_row_is_named_and_counts_as_wrong() -> None:
    kinds = RIGHT | {"q02": "vocabulary-gap", "q03": "vocabulary-gap"}
    kinds |= {"q04": "vocabulary-gap"}
    del kinds["q10"]
    assert faults(essay(kinds)) == [
        "q10: the pipeline misses it, and it has no row",
        "6 of 10 kinds agree with the key, 7 should; read q02 again",
    ]


def test_invented_rows_and_second_rows_fail() -> None:
    text = essay(RIGHT).replace(
        "|---|---|---|\n",
        "|---|---|---|\n| q99 | ranking | query-rewrite |\n"
        "| q01 | ranking | query-rewrite |\n",
    )
    assert faults(text) == [
        "line 3: 'q99' is no query that is missed",
        "line 5: q01 has a row already",
    ]


def test_words_outside_the_vocabulary_fail() -> None:
    kinds = RIGHT | {"q01": "ranking problem"}
    text = essay(kinds).replace("| query-rewrite |", "| pray |", 1)
    assert faults(text)[:2] == [
        "line 3: kind 'ranking problem' of q01; it is one of vocabulary-gap,"
        " chunk-boundary, ranking, reranker-demotion, anchor-ambiguity",
        "line 3: fix 'pray' of q01; it is one of hybrid-weights,"
        " smaller-chunks, contextual-chunk-headers, query-rewrite,"
        " better-embedder",
    ]


def test_a_row_with_too_few_cells_says_what_it_lacks() -> None:
    text = table({"q01": "ranking"}).replace(" query-rewrite |", "")
    (fault,) = grading.unknown(
        grading.rows(text), types.FAILURE_KINDS, types.FIXES
    )
    assert fault.startswith("line 3: fix '' of q01;")


@pytest.mark.parametrize("kind", types.FAILURE_KINDS)
def test_one_kind_on_every_row_fails_by_the_real_key(kind: str) -> None:
    rows = grading.rows(table(dict.fromkeys(KEY, kind)))
    (fault,) = grading.disagreement(rows, set(KEY), KEY)
    assert re.match(r"\d+ of 19 kinds agree with the key, 14 should", fault)


def test_a_table_in_a_fence_or_a_comment_is_none() -> None:
    body = table(RIGHT)
    assert grading.rows(f"```\n{body}```\n") == []
    assert grading.rows(f"~~~~\n~~~\n{body}~~~~\n") == []
    assert grading.rows(f"```\n```text\n{body}```\n") == []
    assert grading.rows(f"<!--\n{body}-->\n") == []
    assert len(grading.rows(f"```\n```\n{body}")) == 10


def test_other_tables_are_passed_over() -> None:
    other = "| kind | when |\n|---|---|\n| ranking | low |\n\n"
    assert len(grading.rows(other + table(RIGHT))) == 10


# Paragraphs


def explained(prose: str, *kinds: str) -> list[str]:
    """Return what is wrong with the prose below a table of these kinds."""
    rows = {f"q{n}": kind for n, kind in enumerate(kinds)}
    found: list[str] = grading.unexplained(table(rows) + "\n" + prose)
    return found


def test_a_paragraph_of_24_words_is_too_short() -> None:
    fault = "ranking: no paragraph of 25 words or more is about it"
    assert explained("ranking " + "word " * 24, "ranking") == []
    assert explained("ranking " + "word " * 23, "ranking") == [fault]


def test_a_heading_above_may_name_the_kind() -> None:
    prose = "## Ranking\n\n### In detail\n\n" + "word " * 25
    assert explained(prose, "ranking") == []
    later = "## Ranking\n\n## Other\n\n" + "word " * 25
    assert len(explained(later, "ranking")) == 1


def test_a_kind_may_be_written_without_its_hyphen() -> None:
    prose = "A Vocabulary\ngap " + "word " * 23
    assert explained(prose, "vocabulary-gap") == []


def test_part_of_a_longer_word_names_no_kind() -> None:
    assert len(explained("reranking " + "word " * 30, "ranking")) == 1


def test_one_paragraph_explains_one_kind() -> None:
    both = "ranking and chunk-boundary " + "word " * 25
    assert explained(both, "ranking", "chunk-boundary") == [
        "chunk-boundary: no paragraph of 25 words or more is about it"
    ]
    # The first names both, and is needed for the kind named once only.
    second = both + "\n\nranking " + "word " * 25
    assert explained(second, "ranking", "chunk-boundary") == []


@pytest.mark.parametrize("mark", ["> ", "| ", "```\n"])
def test_quotations_tables_and_code_explain_nothing(mark: str) -> None:
    assert len(explained(f"{mark}ranking {WORDS}", "ranking")) == 1


def test_an_item_of_a_list_is_a_paragraph() -> None:
    assert explained(f"- ranking:\n  {WORDS}\n- more", "ranking") == []
    halves = "- ranking " + "word " * 15 + "\n- ranking " + "word " * 15
    assert len(explained(halves, "ranking")) == 1


# The reference, the key and the corpus


def starter() -> str:
    """Return the text without its solutions."""
    return re.sub(
        r"<!-- solution (.*?) -->.*?<!-- end solution -->",
        r"<!-- Stage \1 -->",
        REFERENCE,
        flags=re.DOTALL,
    )


def test_the_starter_has_no_rows_and_explains_no_kind() -> None:
    assert grading.rows(starter()) == []
    prose = starter()
    assert all(len(explained(prose, kind)) == 1 for kind in types.FAILURE_KINDS)


def test_the_reference_agrees_with_the_key_on_every_row() -> None:
    rows = grading.rows(REFERENCE)
    assert [row.query for row in rows] == list(KEY)
    assert all(row.kind == KEY[row.query].kinds[0] for row in rows)
    assert grading.otherwise(rows, KEY) == []
    assert grading.unexplained(REFERENCE) == []


def test_what_the_key_says_otherwise_comes_with_a_reason() -> None:
    rows = [
        grading.Row("f08", "ranking", "hybrid-weights", 1),
        grading.Row("f10", "chunk-boundary", "hybrid-weights", 2),
        grading.Row("c03", "vocabulary-gap", "query-rewrite", 3),
    ]
    notes = grading.otherwise(rows, KEY)
    assert [note.split(".")[0] for note in notes] == [
        "f08: reranker-demotion",
        "f10: contextual-chunk-headers, better-embedder, query-rewrite",
    ]


def test_the_key_uses_the_vocabulary_and_every_word_of_it() -> None:
    kinds = Counter(k for one in KEY.values() for k in one.kinds)
    fixes = Counter(f for one in KEY.values() for f in one.fixes)
    assert set(kinds) == set(types.FAILURE_KINDS)
    assert set(fixes) == set(types.FIXES)
    assert all(one.why for one in KEY.values())
    assert set(KEY) <= {query.id for query in types.load_golden()}


def texts() -> dict[str, str]:
    """Return the documents of the corpus by id, sorted by path."""
    paths = [
        path
        for pattern in ("docs/*.md", "stories/*.txt")
        for path in (TRACK / "corpus").glob(pattern)
    ]
    return {path.stem: path.read_text("utf-8") for path in sorted(paths)}


def test_the_corpus_is_what_the_key_was_made_from() -> None:
    # After a change on purpose: look at every miss again, then at this.
    together = json.dumps(texts()).encode("utf-8")
    assert sha256(together).hexdigest()[:16] == "de2475be4bd82c29"


def test_the_corpus_is_prose_without_macros() -> None:
    found = texts()
    assert len(found) == 37
    for name, text in found.items():
        assert "{{" not in text, name
        assert 350 <= len(text.split()) <= 800, name


def test_every_anchor_stands_once_and_in_one_paragraph() -> None:
    found = texts()
    for query in types.load_golden():
        assert "\n" not in query.anchor
        holders = {
            name: text.count(query.anchor)
            for name, text in found.items()
            if query.anchor in text
        }
        assert holders == {query.doc_id: 1}, query.id


def test_every_answer_told_twice_is_where_the_key_says() -> None:
    told = {
        "f11": ("leading-lights", "with batteries for forty-eight hours"),
        "f18": ("tide-gauge", "The highest level ever recorded is 6.02"),
        "f19": ("buoy-maintenance", "Each of the twenty-seven buoys"),
    }
    ambiguous = {n for n, one in KEY.items() if "anchor-ambiguity" in one.kinds}
    assert set(told) == ambiguous
    for name, (document, words) in told.items():
        text = (TRACK / "corpus/docs" / f"{document}.md").read_text("utf-8")
        assert words in text
        assert f"{document}#" in KEY[name].why


def test_there_are_twenty_questions_of_each_kind() -> None:
    lines = (TRACK / "corpus/golden.jsonl").read_text("utf-8").splitlines()
    kinds = Counter(json.loads(line)["kind"] for line in lines)
    assert kinds == dict.fromkeys(types.KINDS, 20)
