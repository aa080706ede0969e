"""The assets gate sees what would call out, and what tells too much."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from book.press.gates import Status, assets
from tests.press.printed import context

# Put together here, so that no scanner takes this file for a leak.
AWS = "AKIA" + "Q3EXAMPLE4567890"[:16]
KEY = "-----BEGIN " + "RSA PRIVATE KEY-----"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
ADDRESS = "postgres" + "://reader:hunter2@db.example.org/x"
HOME = "/ho" + "me/somebody/book/site.py"


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    """Outputs with everything that may look wrong and is not."""
    site = tmp_path / "site"
    (site / "assets").mkdir(parents=True)
    (site / "search").mkdir()
    (site / "a.html").write_text(
        '<link rel="canonical" href="https://book.example.org/a.html">'
        '<a href="https://example.org/">a source</a>'
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
        "<p>See ~/home/notes, ./root/x and docs/home/a.</p>",
        "utf-8",
    )
    (site / "assets/a.css").write_text(
        "/* https://example.org/licence */\n"
        'p { background: url("data:image/svg+xml,<svg '
        "xmlns='http://www.w3.org/2000/svg'/>\") }",
        "utf-8",
    )
    (site / "assets/a.js").write_text("// https://example.org\n", "utf-8")
    (site / "search/en.js").write_text('x=["https://example.org/"]', "utf-8")
    (site / "icon.png").write_bytes(b"\x89PNG\r\n\x00" + AWS.encode())
    return tmp_path


def _found(
    staging: Path, root: Path = Path("/srv/where/it/was/made")
) -> list[str]:
    return [str(one) for one in assets.run(staging, context(root)).findings]


def test_what_only_looks_wrong_passes(staging: Path) -> None:
    result = assets.run(staging, context(Path("/srv/where/it/was/made")))
    assert not result.findings
    assert result.status is Status.PASS
    assert result.reason == "4 text files"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("site/b.html", '<img alt="" src="https://cdn.example.org/x.png">'),
        ("site/b.html", '<script src="//cdn.example.org/x.js"></script>'),
        (
            "site/b.html",
            '<link rel="stylesheet" href="https://cdn.example.org">',
        ),
        ("site/b.html", "<link href='https://cdn.example.org' rel='icon'>"),
        ("site/b.html", "<style>@import 'https://cdn.example.org/x';</style>"),
        ("site/b.html", '<p style="background:url(//cdn.example.org/x)">'),
        (
            "site/assets/b.css",
            "p { src: url(https://cdn.example.org/f.woff2) }",
        ),
        ("site/assets/b.js", 'fetch("https://cdn.example.org/x")'),
        ("site/assets/b.js", "import('https://cdn.example.org/x.mjs')"),
        ("site/b.svg", '<svg><image href="https://cdn.example.org/x"/></svg>'),
    ],
)
def test_a_page_that_would_call_out_is_named(
    name: str, text: str, staging: Path
) -> None:
    (staging / name).write_text("\n" + text, "utf-8")
    found = _found(staging)
    assert len(found) == 1
    assert found[0].startswith(f"{name}:2: would load ")
    assert "cdn.example.org" in found[0]


@pytest.mark.parametrize("secret", [AWS, KEY, TOKEN, ADDRESS])
def test_a_secret_is_named_by_its_place_and_not_repeated(
    secret: str, staging: Path
) -> None:
    with zipfile.ZipFile(staging / "keeps-secrets-lab.zip", "w") as archive:
        archive.writestr("lab/settings.py", f'\n\nKEY = "{secret}"\n')
    found = _found(staging)
    assert len(found) == 1
    place = "keeps-secrets-lab.zip!lab/settings.py:3: holds what looks like"
    assert found[0].startswith(place)
    assert secret not in found[0]


def test_a_folder_of_somebody_s_machine_is_named(staging: Path) -> None:
    (staging / "keeps-secrets-en.md").write_text(
        f"File {HOME}, line 3", "utf-8"
    )
    found = _found(staging)
    assert len(found) == 1
    assert found[0].startswith("keeps-secrets-en.md:1: names a folder")


def test_the_folder_of_this_build_is_named(staging: Path) -> None:
    (staging / "site/b.html").write_text("/srv/where/it/was/made/x", "utf-8")
    found = _found(staging)
    assert len(found) == 1
    assert "/srv/where/it/was/made" in found[0]
