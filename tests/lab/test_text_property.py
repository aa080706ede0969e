import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from lab import canonical
from lab.errors import InvalidInput
from lab.terms import terms
from lab.text import normalize, project, to_utf16

ANYTHING = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from(
            "\ufeff\r\n\x00\ud800\u0301\u0316e\u3099カ\u1100\u1161"
        ),
    )
)
TEXT = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from("\r\n#`-: \u0301\u0316eＡｶﾞ汉カ\U00031350"),
    )
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ANYTHING),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["title", "sections", "heading", "text", "x"]),
            inner,
        ),
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_text_is_normalised_once_or_refused(source: str) -> None:
    try:
        text = normalize(source)
    except InvalidInput:
        assert "\x00" in source or "\ud800" in source or not encodes(source)
        return
    assert normalize(text) == text
    assert "\r" not in text
    assert unicodedata.is_normalized("NFC", text)


def encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@given(st.sampled_from(["markdown", "text"]), TEXT)
def test_a_projection_of_its_own_body_is_itself(
    format: str, source: str
) -> None:
    made = project(format, source)
    assert project(format, made.body) == made
    assert project(format, source.replace("\n", "\r\n")).body == normalize(
        source.replace("\n", "\r\n")
    )
    assert made.sha256 == canonical.digest([format, made.title, made.body])
    assert made.title


@given(VALUES)
def test_any_json_value_is_projected_or_refused(value: object) -> None:
    try:
        made = project("json", json.dumps(value))
    except InvalidInput as error:
        assert str(error)  # noqa: PT017
    else:
        assert made.body.startswith("# ")


@given(TEXT, st.data())
def test_utf16_spans_are_those_of_the_encoder(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    span = to_utf16(text, start, end)
    units = text.encode("utf-16-le")[span.start * 2 : span.end * 2]
    assert units.decode("utf-16-le") == text[start:end]


@given(TEXT)
def test_equivalent_texts_have_equal_terms(text: str) -> None:
    found = terms(text)
    assert terms(unicodedata.normalize("NFD", text)) == found
    assert terms(unicodedata.normalize("NFC", text)) == found
    assert terms(" ".join(found)) == found


@given(TEXT, TEXT)
def test_a_text_between_spaces_is_found_by_itself(
    text: str, around: str
) -> None:
    found = terms(f"{around} {text} {around}")
    assert set(terms(text)) <= set(found)
    assert found == terms(around) + terms(text) + terms(around)
