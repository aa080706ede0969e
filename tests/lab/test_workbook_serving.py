"""The panel lets in one browser of this machine, and nobody else."""

from __future__ import annotations

import hmac
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

import lab
from lab.workbook.cli import main
from lab.workbook.serving import HEADERS, LARGEST_BODY, NAME, Busy, Server
from tests.lab.learners import TRACK, begun, reference, write

STAGE = f"{TRACK.id}:04-namespaces"
JSON = "application/json"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def error(self) -> str:
        return str(json.loads(self.text)["error"])


@dataclass
class Browser:
    """A browser that does what a test says, right or wrong."""

    server: Server
    cookie: str = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        sent = {"Host": self.origin[7:], "Cookie": self.cookie}
        if method == "POST":
            sent |= {"Origin": self.origin, "Content-Type": JSON}
            sent["Content-Length"] = str(len(body or b""))
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.server.server_port, timeout=60
        )
        connection.putrequest(
            method, path, skip_host=True, skip_accept_encoding=True
        )
        for name, value in {**sent, **(headers or {})}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        answer = Answer(reply.status, reply.headers, reply.read().decode())
        connection.close()
        return answer

    def get(self, path: str, **headers: str | None) -> Answer:
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        return self.send("GET", path, headers=named)

    def act(
        self, action: object, stage: object, **headers: str | None
    ) -> Answer:
        body = json.dumps({"action": action, "stage": stage}).encode()
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        return self.send("POST", "/en/act", body, named)

    def enter(self) -> Browser:
        answer = self.get(self.server.gate.link[len(self.origin) :])
        assert answer.status == 303
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return self


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "home", 0) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def stranger(server: Server) -> Browser:
    return Browser(server)


@pytest.fixture
def browser(server: Server) -> Browser:
    return Browser(server).enter()


def test_it_listens_on_this_machine_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


# The launch link and the cookie


def test_the_cookie_is_for_this_panel_and_no_script(
    server: Server, stranger: Browser
) -> None:
    answer = stranger.get(f"/open?token={server.gate.token}")
    assert answer.status == 303
    assert answer.headers["Location"] == "/"
    name, _, rest = answer.headers["Set-Cookie"].partition("=")
    assert name == f"ks_workbook_{server.server_port}"
    assert rest.split("; ")[1:] == ["HttpOnly", "SameSite=Strict", "Path=/"]
    assert server.gate.token not in rest


def test_the_launch_link_works_once(server: Server, stranger: Browser) -> None:
    stranger.enter()
    answer = Browser(server).get(f"/open?token={server.gate.token}")
    assert answer.status == 403
    assert "was used already" in answer.text
    assert answer.headers["Set-Cookie"] is None


@pytest.mark.parametrize("token", ["", "x", "é" * 43, "x" * 10_000])
def test_a_wrong_token_opens_nothing(stranger: Browser, token: str) -> None:
    answer = stranger.get(f"/open?token={quote(token)}")
    assert answer.status == 403
    assert "is not of this panel" in answer.text
    # It is not spent by being guessed at.
    assert stranger.enter().get("/en/").status == 200


def test_secrets_are_compared_in_constant_time(
    server: Server, stranger: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bytes] = []
    real = hmac.compare_digest

    def spy(left: bytes, right: bytes) -> bool:
        compared.append(right)
        return real(left, right)

    monkeypatch.setattr(hmac, "compare_digest", spy)
    stranger.enter().get("/en/")
    assert server.gate.token.encode() in compared
    assert len(set(compared)) == 2


@pytest.mark.parametrize(
    "path", ["/", "/en/", "/zh/authorized-retrieval", "/panel.js", "/panel.css"]
)
def test_without_the_cookie_there_is_nothing_to_see(
    stranger: Browser, path: str
) -> None:
    answer = stranger.get(path)
    assert answer.status == 401
    assert "open the link" in answer.text


def test_the_cookie_of_another_panel_does_not_open_this_one(
    server: Server, browser: Browser, tmp_path: Path
) -> None:
    with Server(tmp_path, 0) as other:
        value = browser.cookie.partition("=")[2]
        stolen = Browser(server, f"{other.gate.cookie}={value}")
        assert stolen.get("/en/").status == 401
        guessed = Browser(server, f"{server.gate.cookie}=guess")
        assert guessed.get("/en/").status == 401


# Host, Origin, content type


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost:{}", "127.0.0.1", "127.0.0.1:1", None]
)
@pytest.mark.parametrize("path", ["/en/", "/open?token={}"])
def test_a_request_for_another_host_is_refused(
    server: Server, browser: Browser, host: str | None, path: str
) -> None:
    named = host and host.format(server.server_port)
    if named == f"127.0.0.1:{server.server_port}":
        pytest.fail("this is the right host")
    answer = browser.get(path.format(server.gate.token), Host=named)
    assert answer.status == 421
    assert "only" in answer.text
    assert browser.act("hint", STAGE, Host=named).status == 421


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{}"]
)
def test_an_action_from_another_origin_is_refused(
    server: Server, browser: Browser, origin: str | None
) -> None:
    named = origin and origin.format(server.server_port)
    answer = browser.act("hint", STAGE, Origin=named)
    assert answer.status == 403
    assert "from a page of this panel" in answer.error


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=gbk",
        "text/plain; application/json",
    ],
)
def test_a_form_cannot_act(browser: Browser, kind: str | None) -> None:
    answer = browser.act("hint", STAGE, Content_Type=kind)
    assert answer.status == 415
    assert answer.error == "an action is application/json"


def test_an_action_without_the_cookie_is_refused(stranger: Browser) -> None:
    answer = stranger.act("hint", STAGE)
    assert answer.status == 401
    assert "open the link" in answer.error


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_other_methods_are_not_known(browser: Browser, method: str) -> None:
    assert browser.send(method, "/en/act").status == 501


# Bodies


@pytest.mark.parametrize(
    "stage",
    [
        "../../etc/passwd",
        f"{TRACK.id}:../../x",
        f"{TRACK.id}/04-namespaces",
        "04-namespaces",
        f"{TRACK.id}:04-namespaces; rm -rf ~",
        "",
        7,
        None,
        ["a"],
    ],
)
def test_a_stage_is_one_of_those_there_are(
    browser: Browser, stage: object, tmp_path: Path
) -> None:
    answer = browser.act("check", stage)
    assert answer.status == 404
    assert answer.error == "there is no such stage"
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("action", ["doctor", "solution", "__init__", "", 3])
def test_an_action_is_one_of_those_there_are(
    browser: Browser, action: object
) -> None:
    answer = browser.act(action, STAGE)
    assert answer.status == 400
    assert "no such action" in answer.error


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'"check"',
        b'{"action": "hint"}',
        b'{"action": "hint", "stage": "x", "timeout": 9}',
        b'{"action": "hint", "action": "check", "stage": "x"}',
        b'{"action": NaN, "stage": "x"}',
    ],
)
def test_a_body_is_an_action_and_a_stage_and_nothing_else(
    browser: Browser, body: bytes
) -> None:
    answer = browser.send("POST", "/en/act", body)
    assert answer.status == 400
    assert "act" in answer.error


def test_an_oversized_body_is_refused_unread(browser: Browser) -> None:
    answer = browser.send("POST", "/en/act", b" " * (LARGEST_BODY + 1))
    assert answer.status == 413
    answer = browser.send("POST", "/en/act", b" " * 3_000_000)
    assert answer.status == 413
    assert f"at most {LARGEST_BODY} bytes" in answer.error


@pytest.mark.parametrize("length", [None, "-1", "+5", "1_0", "x", "9" * 20])
def test_a_body_must_say_its_length(
    browser: Browser, length: str | None
) -> None:
    answer = browser.send("POST", "/en/act", None, {"Content-Length": length})
    assert answer.status == 411


def test_a_chunked_body_is_refused(browser: Browser) -> None:
    answer = browser.send(
        "POST",
        "/en/act",
        b"0\r\n\r\n",
        {"Transfer-Encoding": "chunked"},
    )
    assert answer.status == 411


@pytest.mark.parametrize(
    "path", ["/act", "/fr/act", "/en/act/", "/en/act?x=1", "/en/../en/act"]
)
def test_actions_have_one_address(browser: Browser, path: str) -> None:
    body = json.dumps({"action": "hint", "stage": STAGE}).encode()
    assert browser.send("POST", path, body).status == 404


@pytest.mark.parametrize(
    "path",
    [
        "/en/../../etc/passwd",
        "/en/%2e%2e/%2e%2e/etc/passwd",
        "/panel/../serving.py",
        "/serving.py",
        "/fr/",
        "/en/nothing",
        "//evil.example/",
        "//[",
    ],
)
def test_there_are_no_other_pages(browser: Browser, path: str) -> None:
    answer = browser.get(path)
    assert answer.status in (400, 404)
    assert "root:" not in answer.text
    assert "import" not in answer.text


# Answers


def test_every_answer_forbids_framing_and_foreign_content(
    browser: Browser, stranger: Browser
) -> None:
    for answer in (
        browser.get("/en/"),
        browser.get("/panel.js"),
        browser.get("/nothing"),
        browser.act("hint", "x"),
        stranger.get("/en/"),
        stranger.send("PUT", "/"),
    ):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        policy = answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["Server"] == NAME


def test_pages_show_every_stage_in_both_languages(browser: Browser) -> None:
    for lang in ("en", "zh"):
        assert TRACK.title[lang] in browser.get(f"/{lang}/").text
        page = browser.get(f"/{lang}/{TRACK.id}").text
        assert f'<html lang="{lang}">' in page
        for stage in TRACK.stages:
            assert f'data-stage="{TRACK.id}:{stage.id}"' in page
            assert stage.title[lang] in page
    assert "第 3、4 章" in page
    assert browser.get("/", Accept_Language="zh-CN").headers["Location"] == (
        "/zh/"
    )


def test_pages_run_no_script_but_the_panels_own(browser: Browser) -> None:
    page = browser.get(f"/en/{TRACK.id}").text
    assert page.count("<script") == 1
    assert '<script src="/panel.js" defer></script>' in page
    script = browser.get("/panel.js").text
    assert "innerHTML" not in script
    assert "eval" not in script


# Actions


def test_the_buttons_do_what_the_commands_do(
    server: Server, browser: Browser, tmp_path: Path
) -> None:
    assert "begin with" in browser.act("check", STAGE).error
    assert browser.act("begin", STAGE).status == 200
    again = browser.act("begin", STAGE)
    assert again.status == 409
    assert "something already" in again.error
    told = json.loads(browser.act("check", STAGE).text)
    assert told["outcome"] == "fail"
    assert "not written yet: Stage 04" in told["text"]
    told = json.loads(browser.act("hint", STAGE).text)
    assert told["text"].startswith("1/3\nnamespace looks at the tenant")
    home = tmp_path / "home"
    (home / TRACK.id / "authorized_retrieval.py").write_text(
        reference(), "utf-8"
    )
    told = json.loads(browser.act("check", STAGE).text)
    assert told["outcome"] == "pass"
    # Terminal and panel share their progress.
    assert 'data-outcome="pass"' in browser.get(f"/en/{TRACK.id}").text
    assert main(["reset", TRACK.id, "--workspace", str(home)]) == 0
    assert 'data-outcome="pass"' not in browser.get(f"/en/{TRACK.id}").text
    told = json.loads(browser.act("undo", STAGE).text)
    assert told["outcomes"][STAGE] == "pass"
    told = json.loads(browser.act("reset", STAGE).text)
    assert set(told["outcomes"].values()) == {""}


def test_two_checks_at_once_are_one_too_many(
    server: Server, browser: Browser, tmp_path: Path
) -> None:
    workspace = begun(tmp_path / "home")
    sleeping = "    import time; time.sleep(3)\n"
    text = reference("    if not tenant.strip():\n", sleeping)
    write(workspace, text.replace(sleeping, sleeping + "    if True:\n", 1))
    first: list[Answer] = []
    thread = threading.Thread(
        target=lambda: first.append(browser.act("check", STAGE))
    )
    thread.start()
    deadline = time.monotonic() + 30
    while not workspace.log("04-namespaces").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    second = browser.act("check", STAGE)
    assert second.status == 409
    assert "a check is running" in second.error
    # Reading goes on meanwhile.
    assert browser.get(f"/en/{TRACK.id}").status == 200
    server.panel.stop()
    thread.join(30)
    assert "was not checked" in json.loads(first[0].text)["text"]


def test_what_a_test_prints_is_text_and_bounded(
    browser: Browser, tmp_path: Path
) -> None:
    workspace = begun(tmp_path / "home")
    loud = '    raise ValueError("<script>alert(1)</script>" * 9999)\n'
    text = reference("    if not tenant.strip():\n", loud + "    if True:\n")
    write(workspace, text)
    answer = browser.act("check", STAGE)
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert "<script>" in json.loads(answer.text)["text"]
    assert len(answer.text) < 4000


# Ports


def test_a_port_that_another_program_has_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Busy, match=f"^port {port} cannot be used"):
            Server(tmp_path, port)


def test_a_panel_that_is_there_already_is_recognised(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = server.server_port
    words = ["serve", "--port", str(port), "--workspace", str(tmp_path)]
    assert main(words) == 3
    told = capsys.readouterr().err
    assert f"port {port}: a panel of the workbook is running there" in told
    assert "--port" in told


def test_an_impossible_port_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for port in ("-1", "65536", "x", "８"):
        assert main(["serve", "--port", port]) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_serve_prints_one_link_and_ends_when_interrupted(
    tmp_path: Path,
) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-B", "-m", "lab.workbook", "serve"),
            *("--port", "0", "--workspace", str(tmp_path)),
        ],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(lab.__file__).parent.parent),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Open http://127.0.0.1:")
        token = line.split("token=")[1].strip()
        assert len(token) >= 43
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert err == ""
    assert token not in out
