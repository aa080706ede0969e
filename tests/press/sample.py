"""A small edition with one block of every kind, in both languages.

For tests of renderers, readers and gates: everything a chapter may hold is
here once, including what tends to break (markup characters in code, a tab,
a non-ASCII anchor's ASCII id, a footnote, inline and display formulas, a
list that is split by a fence, links of every kind).
"""

from __future__ import annotations

from book.press.blocks import Block, Chapter, Edition, Heading, Part, make_block

_MATH = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML" display="{display}">'
    "<semantics><mrow>{body}</mrow>"
    '<annotation encoding="application/x-tex">{tex}</annotation>'
    "</semantics></math>"
)
_INLINE = _MATH.format(
    display="inline", body="<mi>k</mi><mo>=</mo><mn>60</mn>", tex="k = 60"
)
_DISPLAY = _MATH.format(
    display="block",
    body="<mi>s</mi><mo>=</mo><mfrac><mn>1</mn>"
    "<mrow><mi>k</mi><mo>+</mo><mi>r</mi></mrow></mfrac>",
    tex=r"s = \frac{1}{k + r}",
)

_CODE = (
    '<span class="k">def</span><span class="w"> </span>'
    '<span class="nf">cut</span><span class="p">(</span>a<span class="p">)'
    '</span><span class="p">:</span>\n\n'
    '    <span class="k">return</span> a <span class="o">&lt;</span> '
    '<span class="s2">"&amp;\t守"</span>'
)

_WORDS = {
    "en": {
        "title": "Search That Keeps Secrets",
        "subtitle": "Permission-aware RAG you can run and refute",
        "part0": "Before you start",
        "part1": "Finding",
        "partz": "Appendices",
        "preface": "Preface",
        "chapter": "A lexical baseline",
        "summary": "Why <candidates> come first & scores second.",
        "appendix": "Glossary",
        "why": "Why candidates come first",
        "deep": "A corner of it",
        "para": "Some <em>plain</em> and <strong>bold</strong> words",
        "point": "first point",
        "point2": "second point",
        "after": "after the fence",
        "quote": "A quoted sentence.",
        "listing": "The smallest cut",
        "label": "Listing 5.1",
        "row0": "channel",
        "row1": "recall at 3",
        "lexical": "lexical",
        "table": "Recall by channel",
        "figure": "From source to evidence",
        "alt": "Five boxes in a row, joined by arrows",
        "box": "source",
        "note": "Note",
        "noted": "A window is not a witness.",
        "foot": "A footnote with a formula",
        "back": "Back to the text",
        "see": "See",
        "exercise": "Exercise",
        "todo": "Write the cut yourself.",
        "run": "Run this in the page",
        "doctor": "Ask your own store",
        "hello": "This book keeps its promises where it can be checked.",
        "term": "A stretch of a document that can be found and cited.",
    },
    "zh": {
        "title": "守得住权限的检索",
        "subtitle": "企业知识库与 RAG：可授权、可撤权、可引用、可推翻",
        "part0": "开始之前",
        "part1": "检索",
        "partz": "附录",
        "preface": "前言",
        "chapter": "词法基线",
        "summary": "为什么先有 <候选>，再有分数 & 排序。",
        "appendix": "术语表",
        "why": "为什么先有候选",
        "deep": "其中一角",
        "para": "一些<em>平常</em>的字和<strong>加粗</strong>的字",
        "point": "第一点",
        "point2": "第二点",
        "after": "代码之后",
        "quote": "一句引文。",
        "listing": "最小的截断",
        "label": "代码 5.1",
        "row0": "通道",
        "row1": "召回率@3",
        "lexical": "词法",
        "table": "各通道的召回率",
        "figure": "从来源到证据",
        "alt": "五个方框排成一行，用箭头相连",
        "box": "来源",
        "note": "说明",
        "noted": "窗口不是证人。",
        "foot": "带公式的脚注",
        "back": "回到正文",
        "see": "参见",
        "exercise": "练习",
        "todo": "自己写出截断。",
        "run": "在页面里运行",
        "doctor": "检查你自己的系统",
        "hello": "能检验的地方，本书都守约。",
        "term": "文档里可以被找到、被引用的一段。",
    },
}


def _figure(
    kind: str, language: str, code: str, caption: str, label: str
) -> str:
    number = f'<span class="number" data-chrome="1">{label} </span>'
    tail = f"<figcaption>{number}{caption}</figcaption>" if caption else ""
    return (
        f'<figure class="{kind}"><pre><code class="language-{language}">'
        f"{code}</code></pre>{tail}</figure>"
    )


def _chapter_html(slug: str, w: dict[str, str]) -> list[tuple[str, str]]:
    """Kind and root of every block of the sample chapter, in order."""
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" width="120"'
        ' height="40" viewBox="0 0 120 40" aria-labelledby="fig1-t fig1-d">'
        f'<title id="fig1-t">{w["figure"]}</title>'
        f'<desc id="fig1-d">{w["alt"]}</desc>'
        '<rect class="paper ink-line" x="1" y="1" width="80" height="30"'
        ' fill="#ffffff" stroke="#1c1b1a"/>'
        '<text class="ink" x="40" y="20" fill="#1c1b1a" font-size="12"'
        f' text-anchor="middle">{w["box"]}</text></svg>'
    )
    number = '<span class="number" data-chrome="1">'
    return [
        ("heading", f'<h1 id="{slug}">{w["chapter"]}</h1>'),
        (
            "paragraph",
            f"<p>{w['para']} &amp; <code>a &lt; b</code>, {_INLINE}."
            '<a class="fnref" role="doc-noteref" id="fnref-why"'
            ' href="ks:#fn-why" data-chrome="1">1</a></p>',
        ),
        ("heading", f'<h2 id="candidates-first">{w["why"]}</h2>'),
        (
            "list",
            f"<ol><li>{w['point']}</li><li><p>{w['point2']}</p>"
            f"<ul><li>{w['lexical']}</li></ul></li></ol>",
        ),
        ("code", _figure("code", "text", "a\tb &lt; c\n\n  d", "", "")),
        ("list", f'<ol start="2"><li class="continued">{w["after"]}</li></ol>'),
        ("quote", f"<blockquote><p>{w['quote']}</p></blockquote>"),
        (
            "listing",
            _figure("listing", "python", _CODE, w["listing"], w["label"]),
        ),
        (
            "transcript",
            _figure(
                "transcript",
                "console",
                '<span class="gp">$ </span>python -m lab demo\n'
                '<span class="go">守得住: 3 &gt; 2</span>',
                "",
                "",
            ),
        ),
        ("heading", f'<h3 id="a-corner">{w["deep"]}</h3>'),
        (
            "table",
            '<figure class="table"><table><thead><tr>'
            f'<th scope="col">{w["row0"]}</th><th scope="col">{w["row1"]}</th>'
            f"</tr></thead><tbody><tr><td>{w['lexical']}</td>"
            '<td><span class="value" data-evidence="term-evaluation">0.917'
            "</span></td></tr><tr><td>-</td><td></td></tr></tbody></table>"
            f"<figcaption>{number}1 </span>{w['table']}</figcaption></figure>",
        ),
        (
            "figure",
            f'<figure class="figure">{svg}'
            f"<figcaption>{number}1 </span>{w['figure']}</figcaption></figure>",
        ),
        ("formula", f'<figure class="formula">{_DISPLAY}</figure>'),
        (
            "note",
            f'<aside class="note" role="note"><p><strong>{w["note"]}</strong>'
            f"</p><p>{w['noted']}</p></aside>",
        ),
        (
            "paragraph",
            f'<p>{w["see"]} <a href="ks:f-glossary#chunk">{w["appendix"]}</a>,'
            f' <a href="ks:#candidates-first">{w["why"]}</a>,'
            ' <a href="ks-lab:tests/lab/test_search.py">test_search.py</a>,'
            ' <a href="ks-evidence:term-evaluation">term-evaluation</a>,'
            ' <a href="ks-contract:C-07">C-07</a>,'
            ' <a href="ks-source:sqlite-fts5">SQLite FTS5</a>,'
            ' <a href="https://www.sqlite.org/fts5.html">fts5.html</a>.</p>',
        ),
        (
            "exercise",
            f'<aside class="exercise" role="note" id="ex-cut"><p><strong>'
            f"{w['exercise']}</strong></p><p>{w['todo']}</p></aside>",
        ),
        ("run", f'<aside class="run" role="note"><p>{w["run"]}</p></aside>'),
        (
            "doctor",
            f'<aside class="doctor" role="note"><p>{w["doctor"]}</p></aside>',
        ),
        (
            "footnote",
            '<aside class="footnote" role="doc-footnote" id="fn-why">'
            f'{number}1 </span><p>{w["foot"]} {_INLINE}</p><p data-chrome="1">'
            '<a class="backlink" role="doc-backlink" href="ks:#fnref-why"'
            f' aria-label="{w["back"]}">↩</a></p></aside>',
        ),
    ]


def _chapter(
    lang: str,
    slug: str,
    number: str,
    part: str,
    title: str,
    fragments: list[tuple[str, str]],
) -> Chapter:
    blocks: list[Block] = []
    headings: list[Heading] = []
    for ordinal, (kind, html) in enumerate(fragments, 1):
        block = make_block(slug, ordinal, kind, html, ordinal * 2)
        blocks.append(block)
        if kind == "heading":
            anchor = html.split('id="')[1].split('"')[0]
            headings.append(Heading(int(html[2]), anchor, block.text, block.id))
    return Chapter(
        slug=slug,
        lang=lang,
        number=number,
        part=part,
        title=title,
        summary=_WORDS[lang]["summary"],
        contracts=("C-07",) if number == "1" else (),
        experiment="term-evaluation" if number == "1" else "",
        blocks=tuple(blocks),
        headings=tuple(headings),
        words=180,
    )


def sample_edition(lang: str) -> Edition:
    """The sample book in ``en`` or ``zh``: preface, chapter, glossary."""
    w = _WORDS[lang]
    preface = "00-preface"
    chapter = "05-lexical-baseline"
    glossary = "f-glossary"
    chapters = (
        _chapter(
            lang,
            preface,
            "",
            "front",
            w["preface"],
            [
                ("heading", f'<h1 id="{preface}">{w["preface"]}</h1>'),
                ("paragraph", f"<p>{w['hello']}</p>"),
            ],
        ),
        _chapter(
            lang,
            chapter,
            "1",
            "finding",
            w["chapter"],
            _chapter_html(chapter, w),
        ),
        _chapter(
            lang,
            glossary,
            "F",
            "appendices",
            w["appendix"],
            [
                ("heading", f'<h1 id="{glossary}">{w["appendix"]}</h1>'),
                ("heading", '<h2 id="chunk">chunk</h2>'),
                ("paragraph", f"<p>{w['term']}</p>"),
            ],
        ),
    )
    return Edition(
        lang=lang,
        title=w["title"],
        subtitle=w["subtitle"],
        parts=(
            Part("front", w["part0"], (preface,)),
            Part("finding", w["part1"], (chapter,)),
            Part("appendices", w["partz"], (glossary,)),
        ),
        chapters=chapters,
        metadata={
            "authors": "The Search That Keeps Secrets authors",
            "version": "1.0.0",
            "date": "2025-11-30",
            "identifier": (
                "urn:uuid:6f0d5c7e-0000-5000-8000-00000000000"
                + ("1" if lang == "en" else "2")
            ),
            "licence": "CC BY 4.0",
            "licence_url": "https://creativecommons.org/licenses/by/4.0/",
            "description": w["hello"],
        },
    )


def sample_editions() -> dict[str, Edition]:
    """Both languages, as ``load_editions`` would give them."""
    return {lang: sample_edition(lang) for lang in ("en", "zh")}
