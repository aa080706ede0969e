"""Two texts without a common word that meet in one place of a vector."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.svg import Drawing

_EVIDENCE = Path(__file__).parents[2] / "lab/evidence/vector-probes.json"


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    place: str
    without: str
    signs: str


_WORDS = {
    "en": Words(
        title="Two texts meet in one place",
        description=(
            "Above, the terms of one text; below, those of another. Arrows"
            " lead to places of the vector, each with its sign: {arrows}. In"
            " place {shared} they meet. Without signs the cosine is"
            " {unsigned}, with signs {signed}."
        ),
        place="place {place}",
        without="all plus: 1 × 1, cosine {value}",
        signs="with signs: −1 × +1, cosine {value}",
    ),
    "zh": Words(
        title="两段文字在一个位置相遇",
        description=(
            "上面是一段文字的词项，下面是另一段的。箭头指向向量中的位置，并"
            "带着各自的符号：{arrows}。它们在第 {shared} 位相遇。不带符号时"
            "余弦为 {unsigned}，带符号时为 {signed}。"
        ),
        place="第 {place} 位",
        without="全取正号：1 × 1，余弦 {value}",
        signs="带符号：−1 × +1，余弦 {value}",
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    found = _found()
    above, below = (text.split() for text in found["texts"])
    places: dict[str, tuple[int, int]] = {
        term: (place, sign) for term, (place, sign) in found["places"].items()
    }
    (shared,) = {places[t][0] for t in above} & {places[t][0] for t in below}
    order = [
        *(places[t][0] for t in above if places[t][0] != shared),
        shared,
        *(places[t][0] for t in below if places[t][0] != shared),
    ]
    value = {
        name: f"{found[name]:+.3f}".replace("-", "−")
        for name in ("unsigned", "signed")
    }
    comma = ", " if lang == "en" else "、"
    arrows = comma.join(
        f"{term} {_sign(sign)} {place}"
        for term, (place, sign) in places.items()
    )
    drawing = Drawing(
        480,
        300,
        words.title,
        words.description.format(arrows=arrows, shared=shared, **value),
    )
    width, room = 128.0, 176.0
    x = {place: 16 + room * n - 16 * n for n, place in enumerate(order)}
    cells = {
        place: drawing.box(
            x[place],
            108,
            width,
            40,
            (words.place.format(place=place),),
            colour="accent" if place == shared else "muted",
            size=13,
            thick=2.5 if place == shared else 1.5,
        )
        for place in order
    }
    for terms, top in ((above, 16.0), (below, 200.0)):
        for term in terms:
            place, sign = places[term]
            box = drawing.box(x[place], top, width, 36, (term,), size=14)
            start, end = (
                (box.bottom, cells[place].top)
                if top < 108
                else (box.top, cells[place].bottom)
            )
            drawing.arrow([start, end])
            drawing.label(
                start[0] + 18,
                (start[1] + end[1]) / 2 + 5,
                _sign(sign),
                room=20,
                size=15,
                bold=True,
                colour="warn" if sign < 0 else "ink",
            )
    for number, (text, name) in enumerate(
        ((words.without, "unsigned"), (words.signs, "signed"))
    ):
        drawing.label(
            240,
            264 + 24 * number,
            text.format(value=value[name]),
            room=440,
            size=14,
            colour="accent" if number else "ink",
        )
    return drawing.svg()


def _sign(sign: int) -> str:
    return "−" if sign < 0 else "+"


def _found() -> dict[str, Any]:
    claims = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]
    found: dict[str, Any] = claims["collisions"][0]
    return found
