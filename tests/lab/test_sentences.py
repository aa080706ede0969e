"""Sentences: what ends one, and what only looks as if it did."""

from __future__ import annotations

import pytest

from lab.answering.code import code_spans
from lab.answering.sentences import sentence_spans, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("“这是对的。”他说。", ["“这是对的。”", "他说。"]),
        ('"这是对的。"他说。', ['"这是对的。"', "他说。"]),
        ("「はい。」と言った。", ["「はい。」", "と言った。"]),
        ("（真的。）好！", ["（真的。）", "好！"]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("**Done.** Next.", ["**Done.**", "Next."]),
    ],
)
def test_a_closing_mark_stays_with_its_terminator(text, expected):
    assert sentences(text) == expected


def test_a_straight_quote_after_a_full_stop_may_open_the_next_sentence():
    assert sentences('他说。"好。"然后走了。') == [
        "他说。",
        '"好。"',
        "然后走了。",
    ]
    assert sentences('他说"好"。"再见。"') == ['他说"好"。', '"再见。"']


def test_an_english_quotation_goes_on_in_lower_case():
    assert sentences('"Stop!" he said. Go.') == ['"Stop!" he said.', "Go."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("値は３．１４です。次です。", ["値は３．１４です。", "次です。"]),
        ("はい．次の文です．", ["はい．", "次の文です．"]),
        ("比率是3.14。次は２．５倍。", ["比率是3.14。", "次は２．５倍。"]),
        (
            "It was fined £1.6m after a check. It paid.",
            ["It was fined £1.6m after a check.", "It paid."],
        ),
        ("Use v1.2.3 now. Then stop.", ["Use v1.2.3 now.", "Then stop."]),
        ("Mail a.b@c.d today. Thanks.", ["Mail a.b@c.d today.", "Thanks."]),
        (
            "See https://a.example/b?c=1!x for it. Go.",
            ["See https://a.example/b?c=1!x for it.", "Go."],
        ),
        ("It costs 3. Next one.", ["It costs 3.", "Next one."]),
    ],
)
def test_a_dot_inside_a_number_or_an_address_ends_nothing(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See e.g. Mr. Fox. He left.", ["See e.g. Mr. Fox.", "He left."]),
        ("Under U.S. law it holds.", ["Under U.S. law it holds."]),
        (
            "It does so in the U.S. The rest differs.",
            ["It does so in the U.S.", "The rest differs."],
        ),
        ("Ask J. Smith. Or wait.", ["Ask J. Smith.", "Or wait."]),
        ("It is plan B. Then stop.", ["It is plan B.", "Then stop."]),
        ("Leave at 3 p.m. today. Run.", ["Leave at 3 p.m. today.", "Run."]),
        ("See No. 5 and Fig. 2. Fine.", ["See No. 5 and Fig. 2.", "Fine."]),
        ("The answer is no. Five came.", ["The answer is no.", "Five came."]),
        ("Acme Ltd. said so.", ["Acme Ltd. said so."]),
        ("Pens, paper, etc. The rest.", ["Pens, paper, etc.", "The rest."]),
    ],
)
def test_an_abbreviation_ends_only_before_a_new_beginning(text, expected):
    assert sentences(text) == expected


def test_an_unknown_word_ends_a_sentence_even_before_lower_case():
    # A claim hidden behind a cited neighbour would escape its check.
    assert sentences("The limit is 180. the rate is 5.") == [
        "The limit is 180.",
        "the rate is 5.",
    ]


def test_a_dot_before_chinese_text_ends_a_sentence():
    assert sentences("限额是210.下一条是5。") == ["限额是210.", "下一条是5。"]


def test_an_ellipsis_is_a_pause_unless_something_new_begins():
    assert sentences("Wait... what? Well… Go.") == [
        "Wait... what?",
        "Well…",
        "Go.",
    ]
    assert sentences("我……不知道。好") == ["我……不知道。", "好"]


def test_terminators_in_a_row_are_one_end():
    assert sentences("等等！？什么？！好") == ["等等！？", "什么？！", "好"]


@pytest.mark.parametrize(
    "code",
    ["`a. B! C? d。e`", "``x. ` Y. z``", "```arr[0]. B```"],
)
def test_code_ends_no_sentence(code):
    assert sentences(f"Call {code} first. Then go.") == [
        f"Call {code} first.",
        "Then go.",
    ]


def test_a_lone_backtick_hides_nothing():
    assert sentences("The ` mark. Another.") == ["The ` mark.", "Another."]
    assert sentences(r"A \`b. C` d.") == [r"A \`b.", "C` d."]


def test_a_fence_is_one_piece():
    text = "First.\n```py\na. B. c\n\nd。e\n```\nLast. End."
    assert sentences(text) == [
        "First.",
        "```py\na. B. c\n\nd。e\n```",
        "Last.",
        "End.",
    ]


def test_a_fence_is_closed_only_by_its_own_mark_and_length():
    fence = "````\na. B\n```\n~~~~\n`````"
    assert sentences(f"{fence}\nBee is. Sea is.") == [
        fence,
        "Bee is.",
        "Sea is.",
    ]
    unclosed = "~~~ruby\na. B\n~~~ruby\nIt is. They are."
    assert sentences(unclosed) == [unclosed]


def test_source_markers_belong_to_the_sentence_before_them():
    text = "The limit is 210.[1] Meals are 45. [2][3] Taxis [4].\n[5]"
    assert sentences(text) == [
        "The limit is 210.[1]",
        "Meals are 45. [2][3]",
        "Taxis [4].\n[5]",
    ]


def test_a_link_is_no_marker():
    assert sentences("See here. [1](x) is a link.") == [
        "See here.",
        "[1](x) is a link.",
    ]


def test_one_line_feed_is_soft_and_a_blank_line_is_an_end():
    assert sentences("The limit\nis 210. It\n\nholds\nhere") == [
        "The limit\nis 210.",
        "It",
        "holds\nhere",
    ]


def test_list_items_headings_and_rows_stand_alone():
    text = "# Hotels\nIn the UK\n- one\n- two\n1. First. More.\n2. Second"
    assert sentences(text) == [
        "# Hotels",
        "In the UK",
        "- one",
        "- two",
        "1. First.",
        "More.",
        "2. Second",
    ]
    table = "| a | b |\n|---|---|\n| c | d |"
    assert sentences(table) == ["| a | b |", "| c | d |"]
    assert sentences("一、第一条\n二、第二条") == ["一、第一条", "二、第二条"]


@pytest.mark.parametrize("text", ["", " \n\t", "...", "---", "？！", "“”"])
def test_what_holds_no_letter_and_no_digit_is_no_sentence(text):
    assert sentences(text) == []


def test_spans_point_into_the_text():
    text = "  One. 二。\n\nThree "
    assert sentence_spans(text) == [(2, 6), (7, 9), (11, 16)]


def test_a_code_span_needs_an_equal_run_in_the_same_paragraph():
    assert code_spans("a `b` c") == [(2, 5)]
    assert code_spans("a ``b` c`` d") == [(2, 10)]
    assert code_spans("a `b\n\nc` d") == []
    assert code_spans("`C:\\` x") == [(0, 5)]
