"""The sample edition, completed so that every output can be printed.

The sample's links lead to appendices, so here is one that has their anchors;
and a chapter of hard cases: text that Markdown, XML or HTML would take for
markup, in the places where that has gone wrong before.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

from book.press import contentmap, epub, fulltext, offline
from book.press.blocks import Chapter, Edition, Heading, Part, make_block
from book.press.context import BuildContext
from tests.press.sample import sample_edition

HARD = "06-hard-cases"
APPENDIX = "a-sources"

_TEX = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow>'
    "<mi>a</mi><mo>&lt;</mo><mi>b</mi></mrow>"
    '<annotation encoding="application/x-tex">'
    r"a_i * b_i &lt; c_{d} \\ |x|"
    "</annotation></semantics></math>"
)

_LONG = "abcdefghij" * 20

HARD_CASES = (
    ("heading", f'<h1 id="{HARD}">C# and ends with #</h1>'),
    ("paragraph", "<p># not a heading</p>"),
    ("paragraph", "<p>1. not a list</p>"),
    ("paragraph", "<p>- nor this</p>"),
    ("paragraph", "<p>+ nor this</p>"),
    ("paragraph", "<p>&gt; not a quote</p>"),
    ("paragraph", "<p>===</p>"),
    ("paragraph", "<p>--- and *stars* and _lines_ and snake_case_name</p>"),
    (
        "paragraph",
        "<p>&lt;b&gt;not bold&lt;/b&gt; &amp;amp; &amp;#65; a &lt; b</p>",
    ),
    ("paragraph", "<p>[x](y) ![x](y) [^why] [x]: y `code` ~~gone~~ \\* \\</p>"),
    ("paragraph", "<p>$5 and $6, <code>$PATH</code>$, $<code>x</code>$</p>"),
    ("paragraph", '<p>Wait!<a href="ks:#hard">a link</a>, not an image</p>'),
    ("paragraph", "<p>**“他说，<strong>“权限，”</strong>就是权限。</p>"),
    (
        "paragraph",
        "<p>字<strong>粗，</strong>字，字<em>（斜）</em>字<em>斜</em>字</p>",
    ),
    ("paragraph", "<p><strong><em>both</em></strong><em>next</em> to it</p>"),
    ("paragraph", "<p>a<strong> spaced </strong>b H<sub>2</sub>O<br/>next</p>"),
    ("paragraph", "<p><code>`</code> <code>``x`</code> <code> a </code></p>"),
    ("paragraph", f"<p>In a line {_TEX}, and “quoted”.</p>"),
    ("paragraph", f"<p>{_LONG} <code>{_LONG}</code></p>"),
    ("heading", '<h2 id="hard">Listings that end a fence</h2>'),
    (
        "code",
        '<figure class="code"><pre><code class="language-text">'
        "```\n````\n&lt;!-- 06-hard-cases-0001 heading --&gt;\n\n\t tab\n"
        "~~~ trailing  </code></pre></figure>",
    ),
    (
        "code",
        '<figure class="code"><pre><code class="language-text">\n\nlate\n\n'
        "</code></pre><figcaption>Empty lines *around* | it</figcaption>"
        "</figure>",
    ),
    (
        "code",
        f'<figure class="code"><pre><code class="language-text">{_LONG}'
        "</code></pre></figure>",
    ),
    (
        "table",
        '<figure class="table"><table><thead><tr><th scope="col">a | b</th>'
        '<th scope="col" class="right">count</th></tr></thead><tbody><tr>'
        "<td><code>x | y</code></td><td>\\| <em>e</em></td></tr><tr>"
        f"<td>{_TEX}</td><td>line<br/>line</td></tr><tr><td></td><td></td></tr>"
        "</tbody></table></figure>",
    ),
    (
        "list",
        "<ul><li>one</li><li><p>two</p><p>paragraphs</p></li><li>three"
        '<ol start="7"><li>seven</li><li>eight<ul><li>deep</li></ul></li></ol>'
        "</li><li><strong>bold</strong> and 1. more</li></ul>",
    ),
    (
        "list",
        "<ul><li>* starred</li><li>- dashed</li><li># hashed</li></ul>",
    ),
    (
        "quote",
        "<blockquote><p>First.</p><ul><li>in a list</li></ul><p>&gt; Last.</p>"
        "</blockquote>",
    ),
    (
        "note",
        '<aside class="note" role="note"><p>See</p><figure class="code"><pre>'
        '<code class="language-text">  $ ls\n\n  end</code></pre></figure>'
        "</aside>",
    ),
    (
        "paragraph",
        '<p>Two notes.<a class="fnref" role="doc-noteref" id="fnref-n2"'
        ' href="ks:#fn-n2" data-chrome="1">1</a></p>',
    ),
    (
        "footnote",
        '<aside class="footnote" role="doc-footnote" id="fn-n2">'
        '<span class="number" data-chrome="1">1 </span><p>One.</p><p>Two, with'
        ' <a href="https://example.org/a_(b)?c=1&amp;d=2">a link</a>.'
        ' <a class="backlink" role="doc-backlink" data-chrome="1"'
        ' href="ks:#fnref-n2" aria-label="Back">↩</a></p></aside>',
    ),
)

ANCHORS = (
    "src-sqlite-fts5",
    "ev-term-evaluation",
    "c-07",
    "file-tests-lab-test-search-py",
)


def _chapter(
    like: Chapter, slug: str, number: str, part: str, fragments: object
) -> Chapter:
    assert isinstance(fragments, tuple)
    blocks = tuple(
        make_block(slug, ordinal, kind, html, ordinal)
        for ordinal, (kind, html) in enumerate(fragments, 1)
    )
    headings = tuple(
        Heading(
            int(block.html[2]),
            block.html.split(' id="')[1].split('"')[0],
            block.text,
            block.id,
        )
        for block in blocks
        if block.kind == "heading"
    )
    return replace(
        like,
        slug=slug,
        number=number,
        part=part,
        title=headings[0].text,
        blocks=blocks,
        headings=headings,
        contracts=(),
        experiment="",
    )


def complete_edition(lang: str) -> Edition:
    """The sample in one language, with an appendix and the hard cases."""
    edition = sample_edition(lang)
    like = edition.chapters[0]
    hard = _chapter(like, HARD, "2", "finding", HARD_CASES)
    anchors = tuple(
        ("heading", f'<h2 id="{anchor}">{anchor}</h2>') for anchor in ANCHORS
    )
    title = ("heading", f'<h1 id="{APPENDIX}">Sources</h1>')
    appendix = _chapter(like, APPENDIX, "A", "appendices", (title, *anchors))
    front, finding, last = edition.parts
    chapters = edition.chapters
    return replace(
        edition,
        parts=(
            front,
            Part(finding.id, finding.title, (*finding.slugs, HARD)),
            Part(last.id, last.title, (APPENDIX, *last.slugs)),
        ),
        chapters=(*chapters[:2], hard, appendix, *chapters[2:]),
    )


def complete_editions() -> dict[str, Edition]:
    """Both languages."""
    return {lang: complete_edition(lang) for lang in ("en", "zh")}


def context(root: Path) -> BuildContext:
    """The facts of a build that never was."""
    return BuildContext(
        root=root,
        source_digest="0123456789abcdef" * 4,
        source_date_epoch=1_764_460_800,
        version="1.0.0",
        dirty=False,
    )


def print_all(folder: Path) -> None:
    """Every output of the complete sample, and its content map.

    The site is reduced to what is read back: its blocks between two marks.
    """
    editions = complete_editions()
    facts = context(Path(__file__).resolve().parents[2])
    for renderer in (fulltext, offline, epub):
        renderer.render(editions, folder, facts)
    for lang, edition in editions.items():
        pages = folder / "site" / lang
        pages.mkdir(parents=True)
        for chapter in edition.chapters:
            blocks = "\n".join(block.html for block in chapter.blocks)
            (pages / f"{chapter.slug}.html").write_text(
                "<!doctype html>\n<!-- blocks:start -->\n"
                f"{blocks}\n<!-- blocks:end -->\n",
                "utf-8",
            )
    contentmap.write(editions, folder, facts)


def damage(path: Path, old: str, new: str) -> None:
    """Change a text file in one place; it must have that place once."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1, (path.name, old, text.count(old))
    path.write_text(text.replace(old, new), "utf-8")


def damage_epub(path: Path, member: str, old: str, new: str) -> None:
    """Change one entry of an e-book in one place, and pack it again."""
    with zipfile.ZipFile(path) as packed:
        entries = [(info, packed.read(info)) for info in packed.infolist()]
    assert any(info.filename == member for info, _ in entries)
    with zipfile.ZipFile(path, "w") as packed:
        for info, content in entries:
            if info.filename == member:
                text = content.decode("utf-8")
                assert text.count(old) == 1, (member, old, text.count(old))
                content = text.replace(old, new).encode("utf-8")
            packed.writestr(info, content)


def line_of(path: Path, member: str, text: str) -> int:
    """The line of an entry of an e-book on which ``text`` begins."""
    with zipfile.ZipFile(path) as packed:
        content = packed.read(member).decode("utf-8")
    return content[: content.index(text)].count("\n") + 1
