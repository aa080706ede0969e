"""Words that carry no content of their own, ours, for two languages.

Short on purpose. What changes a claim stays in: negations, modal verbs
(may, must, can), quantities and directions. A list can only make a claim
easier to support, so a word is here only if no rule could turn on it.
"""

from __future__ import annotations

from typing import Final

ENGLISH: Final = frozenset(
    """a an the this that these those there here
    i me my we us our you your he him his she her it its they them their
    who whom whose which what
    is am are was were be been being do does did have has had having
    and or but so as of in on at to for from by with into about than then
    also just very s t ll re ve""".split()
)

# A two-character term with one of these is an accident of grammar, such
# as 店的 in 酒店的限额.
CHINESE_PARTICLES: Final = frozenset("的了吗呢吧啊呀嘛是")

# Kept, whatever stands beside it: 不是 is not nothing.
CHINESE_NEGATIONS: Final = frozenset("不没沒未无無非别別勿否")

CHINESE_WORDS: Final = frozenset(
    """我们 你们 他们 她们 它们 这个 那个 这些 那些 一个 以及 或者 因此 所以
    但是 因为 就是 这里 那里 我 你 您 他 她 它 这 那 和 与 及 或 也 就
    都 而 在 于""".split()
)
