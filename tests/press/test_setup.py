"""The private environment is made once, whole, and never by surprise."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from book.press import commands, environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with three locks of its own."""
    (tmp_path / "locks").mkdir()
    for name in ("backend", "build", "test"):
        text = f"{name}-package==1.0 \\\n    --hash=sha256:00\n"
        (tmp_path / "locks" / f"{name}.txt").write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record instead of running pip and venv."""
    seen: list[str] = []

    def make(home: Path) -> list[str]:
        seen.append("make")
        python = environment.interpreter(home)
        python.parent.mkdir(parents=True)
        python.touch()
        (home / "pyvenv.cfg").touch()
        return ["pip"]

    def install(_pip: object, lock: Path, _say: object) -> None:
        seen.append(lock.name)

    monkeypatch.delenv(environment.VARIABLE, raising=False)
    monkeypatch.setattr(environment, "make", make)
    monkeypatch.setattr(environment, "install", install)
    return seen


def quiet(_line: str) -> None:
    """Take no notice."""


def test_the_backend_is_installed_before_what_it_builds(
    tree: Path, calls: list[str]
) -> None:
    environment.ensure(tree, "build", quiet)
    assert calls == ["make", "backend.txt", "build.txt"]


def test_a_matching_stamp_runs_nothing(tree: Path, calls: list[str]) -> None:
    environment.ensure(tree, "build", quiet)
    calls.clear()
    environment.ensure(tree, "build", quiet)
    assert calls == []


def test_the_test_set_is_added_to_a_build_environment(
    tree: Path, calls: list[str]
) -> None:
    environment.ensure(tree, "build", quiet)
    calls.clear()
    environment.ensure(tree, "test", quiet)
    assert calls == ["test.txt"]
    calls.clear()
    environment.ensure(tree, "build", quiet)
    assert calls == []


def test_a_changed_lock_remakes_the_environment(
    tree: Path, calls: list[str]
) -> None:
    environment.ensure(tree, "build", quiet)
    stray = environment.location(tree) / "left-over"
    stray.touch()
    calls.clear()
    (tree / "locks" / "build.txt").write_text("other==2\n", "utf-8")
    environment.ensure(tree, "build", quiet)
    assert calls == ["make", "backend.txt", "build.txt"]
    assert not stray.exists()


def test_another_python_remakes_the_environment(
    tree: Path, calls: list[str]
) -> None:
    environment.ensure(tree, "build", quiet)
    home = environment.location(tree)
    stamp = environment.Stamp.read(home)
    assert stamp is not None
    environment.Stamp("3.0.0", stamp.locks).write(home)
    calls.clear()
    environment.ensure(tree, "build", quiet)
    assert calls[0] == "make"


def test_a_half_made_environment_is_remade(
    tree: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_pip: object, lock: Path, _say: object) -> None:
        if lock.name == "build.txt":
            raise environment.SetupFailed("the network went away")

    with monkeypatch.context() as patch:
        patch.setattr(environment, "install", breaks)
        with pytest.raises(environment.SetupFailed, match="went away"):
            environment.ensure(tree, "build", quiet)
    assert environment.Stamp.read(environment.location(tree)) is None
    calls.clear()
    environment.ensure(tree, "build", quiet)
    assert calls == ["make", "backend.txt", "build.txt"]


def test_a_failed_upgrade_does_not_leave_the_old_stamp(
    tree: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.ensure(tree, "build", quiet)

    def breaks(_pip: object, _lock: Path, _say: object) -> None:
        raise environment.SetupFailed("the network went away")

    with monkeypatch.context() as patch:
        patch.setattr(environment, "install", breaks)
        with pytest.raises(environment.SetupFailed):
            environment.ensure(tree, "test", quiet)
    home = environment.location(tree)
    assert not environment.satisfied(tree, home, "build")


def test_a_folder_that_is_no_environment_is_never_deleted(
    tree: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tree / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("ten years", "utf-8")
    monkeypatch.setenv(environment.VARIABLE, str(precious))
    with pytest.raises(environment.SetupFailed, match="left alone"):
        environment.ensure(tree, "build", quiet)
    assert (precious / "thesis.txt").read_text("utf-8") == "ten years"
    assert calls == []


def test_the_variable_says_where(
    tree: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.VARIABLE, str(tree / "elsewhere"))
    python = environment.ensure(tree, "build", quiet)
    assert python.is_relative_to(tree.resolve() / "elsewhere")
    assert not (tree / ".venv").exists()


def test_without_ensurepip_an_outer_pip_fills_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(environment, "outer_pip", lambda: ["outer", "pip"])
    home = tmp_path / "venv"
    pip = environment.make(home)
    python = environment.interpreter(home)
    assert pip == ["outer", "pip", "--python", str(python)]
    assert python.exists()


def test_without_ensurepip_and_pip_the_package_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(environment, "outer_pip", lambda: None)
    with pytest.raises(environment.SetupFailed) as caught:
        environment.make(tmp_path / "venv")
    version = "python{}.{}-venv".format(*sys.version_info[:2])
    assert f"apt-get install {version}" in str(caught.value)
    assert not (tmp_path / "venv").exists()


def test_a_failing_install_shows_the_reason_and_ends(tmp_path: Path) -> None:
    lock = tmp_path / "build.txt"
    lock.write_text("nothing-like-this\n", "utf-8")
    said: list[str] = []
    program = "import sys; print('no such hash'); sys.exit(7)"
    pip = [sys.executable, "-c", program]
    with pytest.raises(environment.SetupFailed, match="exit code 7"):
        environment.install(pip, lock, said.append)
    assert said == ["  pip: no such hash"]


def test_every_locked_package_has_a_hash_and_no_address() -> None:
    for name in ("backend", "build", "test"):
        text = (ROOT / "locks" / f"{name}.txt").read_text("utf-8")
        assert "://" not in text
        assert "index-url" not in text
        entries = text.count("==") - text.count(" == ")
        assert entries > 1
        for block in text.split("\n\n"):
            assert "==" in block or "--hash" not in block
        pins = [line for line in text.splitlines() if line[:1].isalnum()]
        assert pins
        assert all(line.endswith("\\") for line in pins)


def test_the_test_lock_only_adds_to_the_build_lock() -> None:
    lines = {
        name: (ROOT / "locks" / f"{name}.txt").read_text("utf-8").splitlines()
        for name in ("backend", "build", "test")
    }
    for name in ("backend", "build"):
        pins = [line for line in lines[name] if line[:1].isalnum()]
        assert pins
        assert set(pins) <= set(lines["test"])


def test_a_stamp_names_the_python_it_was_made_for(tmp_path: Path) -> None:
    stamp = environment.Stamp(platform.python_version(), {"build": "0" * 64})
    stamp.write(tmp_path)
    assert environment.Stamp.read(tmp_path) == stamp
    (tmp_path / environment.STAMP).write_text('{"python":', "utf-8")
    assert environment.Stamp.read(tmp_path) is None


def test_the_setup_imports_only_the_standard_library() -> None:
    program = (
        "import sys; import book.press.environment; "
        "print([n for n in sys.modules if (n.split('.')[0] not in "
        "sys.stdlib_module_names | {'book', '__main__'})])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_an_unknown_command_is_one_clear_line() -> None:
    done = subprocess.run(
        [sys.executable, "build.py", "bulid"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "invalid choice: 'bulid'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_without_its_code_is_not_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = commands.Command("there", "is", "book.press.problems:Problem")
    gone = commands.Command("gone", "is not", "book.press.never:run")
    monkeypatch.setattr(commands, "COMMANDS", (there, gone))
    with pytest.raises(SystemExit):
        commands.parse(["--help"])
    text = capsys.readouterr().out
    assert "there" in text
    assert "gone" not in text


@pytest.mark.parametrize("argv", [["--strict"], ["build", "--strict"]])
def test_strict_is_understood_with_and_without_the_command(
    argv: list[str],
) -> None:
    command, args = commands.parse(argv)
    assert command.name == "build"
    assert args.strict is True


def test_the_exit_code_of_the_command_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 41\n", "utf-8")
    python.chmod(0o755)
    if os.name == "nt":
        pytest.skip("needs a POSIX shell script as interpreter")
    monkeypatch.setattr(environment, "inside", lambda _home: False)
    monkeypatch.setattr(environment, "ensure", lambda *_: python)
    assert environment.main(["build"]) == 41
