"""The panel in a browser, as a learner uses it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from book.press.gates.browser import browser, missing_tools, served
from lab.workbook.serving import Server
from tests.lab.learners import MODULE, TRACK, reference

pytestmark = pytest.mark.browser

STAGE = f'section[data-stage="{TRACK.id}:04-namespaces"]'


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    missing = missing_tools()
    if missing:
        pytest.skip(missing.reason)
    with browser() as opened:
        yield opened


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "home", 0) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def press(page: Any, place: str, name: str) -> str:
    """Press a button and return what is then shown beside it."""
    section = page.locator(place)
    section.get_by_role("button", name=name, exact=True).click()
    output = section.locator("pre")
    page.wait_for_function(
        "element => !document.querySelector('button:disabled')"
        " && element.textContent !== document.body.dataset.wait",
        arg=output.element_handle(),
        timeout=60_000,
    )
    return str(output.text_content())


def test_failing_check_message_fix_green_hint(
    server: Server, chromium: Any, tmp_path: Path
) -> None:
    context = chromium.new_context(locale="en-GB")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda one: wrong.append(one.text) if one.type == "error" else None,
    )
    page.goto(server.gate.link)
    assert page.url.endswith("/en/")
    page.get_by_role("link", name=TRACK.title["en"]).click()
    assert page.locator("section").count() == len(TRACK.stages)

    top = "div[data-stage]"
    file = tmp_path / "home" / TRACK.id / MODULE
    assert press(page, top, "Begin") == str(file.parent)

    told = press(page, STAGE, "Check")
    assert "fails, 0 of 9 tests pass" in told
    assert "not written yet: Stage 04" in told
    assert page.locator(STAGE).get_attribute("data-outcome") == "fail"

    file.write_text(reference("        and (chunk.b", "        or (chunk.b"))
    told = press(page, STAGE, "Check")
    assert "got True, expected False" in told
    assert "Compare ranks with >=" in told

    told = press(page, STAGE, "Hint")
    assert told.startswith("1/3")

    file.write_text(reference())
    told = press(page, STAGE, "Check")
    assert "passes, 9 tests" in told
    assert page.locator(STAGE).get_attribute("data-outcome") == "pass"

    page.reload()
    assert page.locator(STAGE).get_attribute("data-outcome") == "pass"
    press(page, top, "Forget results")
    assert page.locator(STAGE).get_attribute("data-outcome") == ""
    press(page, top, "Undo")
    assert page.locator(STAGE).get_attribute("data-outcome") == "pass"

    page.get_by_role("link", name="中文").click()
    assert page.locator("h1").text_content() == TRACK.title["zh"]
    told = press(page, STAGE, "提示")
    assert told.startswith("2/3\nvisible 是一个表达式")
    assert wrong == []
    context.close()


def test_another_browser_sees_nothing(server: Server, chromium: Any) -> None:
    first = chromium.new_context()
    first.new_page().goto(server.gate.link)
    second = chromium.new_context()
    page = second.new_page()
    answer = page.goto(server.gate.link)
    assert answer.status == 403
    assert "was used already" in page.content()
    first.close()
    second.close()


def test_a_page_from_elsewhere_can_neither_frame_nor_act(
    server: Server, chromium: Any, tmp_path: Path
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.gate.link)
    panel = f"http://127.0.0.1:{server.server_port}"
    site = tmp_path / "site"
    site.mkdir()
    (site / "evil.html").write_text(
        f"""<!doctype html><title>evil</title>
        <iframe src="{panel}/en/"></iframe>
        <form method="post" action="{panel}/en/act" enctype="text/plain">
        <input name='{{"action":"begin","stage":"{TRACK.id}:01-documents","x":"'
        value='"}}'></form>""",
        "utf-8",
    )
    # Another port is another origin and yet the same site, so that the
    # browser does send the cookie: the worst neighbour there is.
    with served(site) as address:
        page.goto(f"{address}/evil.html")
        frame = page.frame_locator("iframe")
        assert frame.locator("section").count() == 0
        page.evaluate(
            """([panel, body]) => fetch(panel + "/en/act", {
                method: "POST", mode: "no-cors", credentials: "include", body,
            }).catch(() => "the answer is kept from it too")""",
            [panel, f'{{"action":"begin","stage":"{TRACK.id}:01-documents"}}'],
        )
        with page.expect_navigation():
            page.evaluate("document.forms[0].submit()")
        assert "from a page of this panel" in page.content()
    assert not (tmp_path / "home").exists()
    context.close()
