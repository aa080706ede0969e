"""Screening: instructions to a model that hide in documents.

One table of rules, matched on what a reader (or a model) would read: a text
after compatibility folding, without the characters nobody sees. It finds
known phrases and known ways of hiding. Whoever rephrases gets past it, and
honest text about such attacks is flagged, so its rates are measured, not
promised: screening lowers the number of attempts that reach a model, and
what a model may do must be decided outside the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lab.answering.passage import Passage, check_string
from lab.answering.unseen import FLAG, TAG_BLOCK, Folded, tagged, visible, words


@dataclass(frozen=True)
class Rule:
    """One thing looked for.

    ``reads`` says of which view: the ``original`` code points, the text as
    it is read (``visible``), or its ``words`` alone, one space between
    them. ``says`` tells a reviewer what the match means.
    """

    name: str
    says: str
    pattern: re.Pattern[str]
    reads: str = "visible"


@dataclass(frozen=True)
class Finding:
    """What matched where: ``[start, end)`` in code points of the original.

    ``read`` is the matched text as a model would read it.
    """

    rule: str
    start: int
    end: int
    read: str


@dataclass(frozen=True)
class Flagged:
    """A passage that is kept out, by its place in the list, and why."""

    index: int
    citation: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Screening:
    """The passages that pass, in order, and the ones that do not."""

    passed: tuple[Passage, ...]
    flagged: tuple[Flagged, ...]


@dataclass(frozen=True)
class Measured:
    """How often screening is right on two lists of strings.

    ``missed`` and ``alarmed`` hold indexes into the lists; ``by_rule``
    counts the strings of both lists in which each rule matched.
    """

    attacks: int
    benign: int
    missed: tuple[int, ...]
    alarmed: tuple[int, ...]
    by_rule: Mapping[str, int]

    @property
    def hits(self) -> int:
        """Return how many attacks were flagged."""
        return self.attacks - len(self.missed)

    @property
    def hit_rate(self) -> float | None:
        """Return the share of attacks flagged; ``None`` without attacks."""
        return self.hits / self.attacks if self.attacks else None

    @property
    def false_alarm_rate(self) -> float | None:
        """Return the share of benign strings flagged, ``None`` without."""
        return len(self.alarmed) / self.benign if self.benign else None


# A blank in an English rule may be missing in the text: a zero-width space
# divides words for a model and is gone after folding. One at most, since
# the rules read words; longer gaps would make matching quadratic.
_GAP = " ?"
_OVER = "ignore|disregard|forget|overlook|override|bypass|discard|neglect"
_SUCH = (
    "all|any|every|your|these|those|previous|prior|earlier|above|preceding"
    "|foregoing|former|past|initial|original|existing|system|safety"
)
_FILL = (
    rf"{_SUCH}|of|the|my|our|this|about|other|given|and|or|that|which|you"
    r"|have|ve|been|were|just"
)
_ORDERS = (
    r"(?:instruction|direction|directive|rule|prompt|guideline|command"
    r"|guidance|constraint|restriction|guardrail|programming)s?"
)
_MODEL = (
    r"(?:ai|llm|gpt|chatgpt|(?:large )?language model|chatbot|assistant"
    r"|ai assistant|ai agent|ai model)s?"
)
_USER = "(?:the |your |any )?(?:user|reader|human|customer|operator)s?"


def _english(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z]){pattern.replace(' ', _GAP)}(?![a-z])")


_TARGET = (
    rf"(?:(?:{_FILL}) ){{0,5}}(?:{_SUCH}) (?:(?:{_FILL}) ){{0,3}}{_ORDERS}"
)

_ZH_OVER = (
    "(?:忽略|忽视|忽視|无视|無視|不要理[会會]|不理[会會]|[忘][记記掉]"
    "|[抛拋][开開弃]|跳过|跳過|绕过|繞過|推翻|(?:不要|不再|不必|无需|停止|拒绝)"
    "(?:遵守|遵循|遵从|服从|执行|執行))[掉了]?"
)
_ZH_SUCH = (
    "(?:之前|以前|先前|此前|前面|以上|上述|上面|以往|所有|全部|一切|任何|你的|您的"
    "|你收到|你被|系统|系統|原有|原来|初始|既有)"
)
_ZH_ORDERS = (
    "(?:指令|指示|说明|說明|命令|规则|規則|提示|设定|設定|要求|约束|限制|规定|規定"
    "|准则|对话|對話|上下文|内容|內容)"
)
_ZH_ANY = "[\u3400-\u9fff,、的]"
_ZH_USER = "(?:用户|用戶|读者|讀者|使用者|人类|人類)"
_ZH_MODEL = (
    "(?:ai|人工智能|人工智慧|大模型|(?:大|大型)?[语語]言模型|智能助手"
    "|聊天机器人)"
)

RULES: Final = (
    Rule(
        "override",
        "asks to set earlier instructions aside",
        _english(
            rf"(?:(?:{_OVER})(?:ing)? {_TARGET}"
            rf"|(?:{_OVER}) (?:about )?(?:all|everything|anything|what)"
            r" (?:(?:that|is|was|s|you|i|we|they|have|has|ve|been|were|just"
            r"|written|said|about) ){0,6}"
            r"(?:told|instructed|given|said|above|before|previously|learned))"
        ),
        reads="words",
    ),
    Rule(
        "disobey",
        "asks not to follow instructions",
        _english(
            r"(?:do not|don t|never|stop|no longer|instead of|without)"
            r" (?:follow|obey|adhere|comply|listen)(?:ing)? (?:to|with)? "
            rf"{_TARGET}"
        ),
        reads="words",
    ),
    Rule(
        "replace",
        "asks to answer something other than the document",
        _english(
            rf"(?:{_OVER}) (?:the|this|that) \w+ (?:\w+ )?and (?:instead )?"
            r"(?:state|say|write|answer|respond|reply|output|claim|report)"
        ),
        reads="words",
    ),
    Rule(
        "new-orders",
        "announces new instructions",
        _english(
            r"(?:your|the)? (?:new|updated|real|actual|revised|secret)"
            r" (?:system )?(?:instructions?|directives?|orders|prompt)"
            r" (?:are|is|follow|begin)"
        ),
        reads="words",
    ),
    Rule(
        "role",
        "gives the model another role",
        _english(
            r"(?:you are (?:now|no longer) (?:an?|the|my)? (?:\w+ ){0,4}"
            r"(?:ai|assistant|bot|model|chatbot|agent|dan|application"
            r"|hacker|character|persona)"
            r"|from (?:now|this point|here) on(?:wards?)? you (?:are|will"
            r"|must|shall|have to)"
            r"|pretend (?:that )?(?:to be|you are|you re) (?:an?|the|my)"
            r"|immerse yourself (?:in|into) the role"
            r"|do anything now|jail ?br(?:ea|o)k(?:en)?)"
        ),
        reads="words",
    ),
    Rule(
        "mode",
        "claims a mode in which rules do not hold",
        _english(
            r"(?:(?:god|dan|override|unrestricted|unfiltered|jailbreak) mode"
            r"|(?:system|developer|maintenance|admin) mode"
            r" (?:activated|enabled|engaged|initiated|unlocked)"
            r"|(?:security|law enforcement|system|safety) override)"
        ),
        reads="words",
    ),
    Rule(
        "markup",
        "imitates the marks of a conversation",
        re.compile(
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id"
            r"|start_header_id|end_header_id)\|>|\[/?inst\]|<</?sys>>"
            r"|</?system(?:[ _-]?(?:prompt|message|mode))?>"
        ),
    ),
    Rule(
        "reveal",
        "asks for the instructions themselves",
        _english(
            r"(?:reveal|show|print|repeat|output|display|leak|disclose"
            r"|tell me|give me|share|expose|recite) (?:(?:all|of|the|your|me"
            r"|us|full|exact|entire) ){0,4}(?:system|hidden|secret|initial"
            r"|original|internal) (?:prompt|instructions?|message|rules)"
        ),
        reads="words",
    ),
    Rule(
        "conceal",
        "asks to keep something from the user",
        _english(
            r"(?:do not|don t|never|without) (?:tell|inform|alert|notify|warn"
            r"|mention(?:ing)? (?:this|it) to|reveal(?:ing)? (?:this|it) to)"
            rf"(?:ing)? {_USER}"
        ),
        reads="words",
    ),
    Rule(
        "redirect",
        "asks to send the user somewhere",
        _english(
            rf"(?:tell|instruct|direct|convince|persuade|urge|trick) {_USER}"
            r" (?:to|into) (?:visit|click|call|send|transfer|pay|download|go"
            r"|contact|enter|share|log)(?:ing)?"
        ),
        reads="words",
    ),
    Rule(
        "addressed",
        "speaks to a language model",
        _english(
            rf"(?:(?:note|message|attention|instructions?|notice)"
            rf" (?:to|for)? (?:all |any |the |every )?{_MODEL} (?:reading"
            rf"|processing|summari[sz]ing|must|should|please)"
            rf"|(?:note|message|instructions?) (?:to|for) (?:all |any |the"
            rf" |every )?{_MODEL}"
            rf"|if you are (?:an? |the )?{_MODEL}"
            rf"|{_MODEL} (?:reading|processing|summari[sz]ing|parsing) this)"
        ),
        reads="words",
    ),
    Rule(
        "authority",
        "claims to be the model's maker",
        _english(
            r"(?:i (?:am|m) (?:your (?:developer|creator|administrator|owner)"
            r"|god)|as your (?:creator|developer|administrator|owner)"
            r"|as an ai (?:\w+ ){0,2}developed by)"
        ),
        reads="words",
    ),
    Rule(
        "exfiltrate",
        "asks to send secrets to an address",
        _english(
            r"(?:append|attach|encode|embed|send|post|forward|upload"
            r"|exfiltrate) (?:(?:all|the|this|your|user|s|any|full|entire)"
            r" ){0,4}(?:conversation|chat history|secrets?|passwords?"
            r"|api keys?|credentials|system prompt|context) "
            r"(?:\w+ ){0,3}(?:to|into|in) (?:https?|www|the url|this url"
            r"|this address|this link)"
        ),
        reads="words",
    ),
    Rule(
        "override-zh",
        "要求把先前的指示放在一边",
        re.compile(
            rf"{_ZH_OVER}{_ZH_ANY}{{0,8}}?{_ZH_SUCH}{_ZH_ANY}{{0,8}}?"
            rf"(?:{_ZH_ORDERS}|一切|东西|東西|的话|的話)"
        ),
    ),
    Rule(
        "replace-zh",
        "要求不按文档回答",
        re.compile(
            rf"(?:忽略|无视|無視|不要看|别管|不管){_ZH_ANY}{{1,12}}?"
            r"(?:并且?|並且?|而是|然后|然後|直接|改为|改為|转而)[,，]?"
            r"(?:说|說|回答|回复|回覆|输出|輸出|声明|聲明|写|寫|陈述|报告)"
        ),
    ),
    Rule(
        "new-orders-zh",
        "宣布新的指令",
        re.compile(
            r"(?:新的?|真正的?|最新的?|更新后的)(?:系统|系統)?"
            r"(?:指令|指示|命令|提示词|提示詞)(?:如下|是?:)"
        ),
    ),
    Rule(
        "role-zh",
        "给模型换一个角色",
        re.compile(
            r"(?:你[现現]在(?:是|就是|扮演)|[从從][现現]在(?:[开開]始|起),?你"
            r"(?:是|就是|将|將|要|必须|必須|只能|叫|不再)|假[装裝]你?(?:是|成)"
            r"|你(?:将|將|要)扮演|沉浸在.{0,20}角色|(?:现在|立即|马上)就?(?:可以|能)?做任何事|越[狱獄])"
        ),
    ),
    Rule(
        "mode-zh",
        "声称进入不受约束的模式",
        re.compile(
            r"(?:(?:上帝|越[狱獄]|无限制|無限制|不受限制?)模式"
            r"|[<\[](?:系统|系統|开发者|開發者|管理员)模式[>\]]"
            r"|(?:系统|系統|开发者|開發者|管理员)模式已?"
            r"(?:启动|激活|开启|啟動|開啟))"
        ),
    ),
    Rule(
        "reveal-zh",
        "索要指令本身",
        re.compile(
            r"(?:告[诉訴]我|[输輸]出|打印|[显顯]示|透露|[泄洩]露|重[复複]|展示"
            rf"|公[开開]|复述|[说說]出){_ZH_ANY}{{0,8}}?"
            r"(?:(?:系统|系統|初始|隐藏|隱藏|内部|內部)的?"
            r"(?:提示|指令|消息|设定)|提示[词詞])"
        ),
    ),
    Rule(
        "conceal-zh",
        "要求瞒着用户",
        re.compile(
            rf"(?:不要|别|切勿|请勿|勿|无须|無須)(?:(?:告[诉訴知]|通知|提醒"
            rf"|透露给){_ZH_USER}|[让讓]{_ZH_USER}(?:知道|发现|發現|察觉))"
        ),
    ),
    Rule(
        "addressed-zh",
        "对语言模型说话",
        re.compile(
            rf"(?:致(?:所有|各位|任何)?{_ZH_MODEL}|如果你是一?[个個]?{_ZH_MODEL}"
            rf"|{_ZH_MODEL}(?:助手)?在?(?:[阅閱]?[读讀]到?|[处處]理|[总總][结結])"
            r"(?:本|[这這]|[该該]))"
        ),
    ),
    Rule(
        "authority-zh",
        "自称模型的制造者",
        re.compile(
            r"(?:我是(?:上帝|你的(?:创造者|開發者|开发者|开发人员|管理员|主人))"
            r"|作为你的(?:创造者|开发者|管理员|主人)"
            r"|作为.{0,12}开发的(?:ai|人工智能))"
        ),
    ),
    Rule(
        "tags",
        "holds tag characters, which nobody sees, outside a flag",
        re.compile(f"{FLAG.pattern}|(?P<hidden>[{TAG_BLOCK}]+)"),
        reads="original",
    ),
    Rule(
        "selectors",
        "holds variation selectors in a row, a way to hide bytes",
        re.compile("(?P<hidden>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,})"),
        reads="original",
    ),
    Rule(
        "zero-width",
        "holds a long run of characters without width",
        re.compile("(?P<hidden>[\u180e\u200b-\u200f\u2060-\u2064\ufeff]{8,})"),
        reads="original",
    ),
    Rule(
        "bidi",
        "overrides the direction of text, so it shows in another order",
        re.compile("(?P<hidden>[\u202d\u202e]+)"),
        reads="original",
    ),
)


def scan(text: str) -> tuple[Finding, ...]:
    """Return every match of every rule in ``text``, in order of place."""
    check_string(text, "text")
    readings = [visible(text)]
    below = tagged(text)
    if below.text:
        readings.append(below)
    views = {"visible": readings, "words": [words(r) for r in readings]}
    found: set[Finding] = set()
    for rule in RULES:
        if rule.reads == "original":
            found.update(_hidden(rule, text))
        else:
            for view in views[rule.reads]:
                found.update(_phrases(rule, view))
    return tuple(sorted(found, key=lambda f: (f.start, f.end, f.rule)))


def _hidden(rule: Rule, text: str) -> list[Finding]:
    return [
        Finding(rule.name, *match.span(), tagged(match[0]).text)
        for match in rule.pattern.finditer(text)
        if match["hidden"]
    ]


def _phrases(rule: Rule, view: Folded) -> list[Finding]:
    return [
        Finding(rule.name, *view.span(*match.span()), match[0])
        for match in rule.pattern.finditer(view.text)
    ]


def screen(passages: Sequence[Passage]) -> Screening:
    """Part the passages that pass from those in which a rule matched.

    The same table as ``scan``: a passage is flagged exactly when ``scan``
    of its text finds something.
    """
    passed: list[Passage] = []
    flagged: list[Flagged] = []
    for index, passage in enumerate(passages):
        findings = scan(passage.text)
        if findings:
            flagged.append(Flagged(index, passage.citation, findings))
        else:
            passed.append(passage)
    return Screening(tuple(passed), tuple(flagged))


def measure(attacks: Sequence[str], benign: Sequence[str]) -> Measured:
    """Return how screening does on strings known to be one or the other."""
    by_rule: Counter[str] = Counter()
    unflagged: list[tuple[int, ...]] = []
    flagged: list[tuple[int, ...]] = []
    for strings in (attacks, benign):
        rules = [{f.rule for f in scan(text)} for text in strings]
        for names in rules:
            by_rule.update(names)
        flagged.append(tuple(n for n, names in enumerate(rules) if names))
        unflagged.append(tuple(n for n, names in enumerate(rules) if not names))
    return Measured(
        len(attacks),
        len(benign),
        unflagged[0],
        flagged[1],
        dict(sorted(by_rule.items())),
    )
