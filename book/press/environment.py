"""A private environment with locked packages, made when it is needed.

Runs on a bare Python, before anything is installed: standard library only.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from book.press import commands

VARIABLE = "KEEPS_SECRETS_VENV"
STAMP = "keeps-secrets.json"
OUTER_PIP = (22, 3)  # the first pip that installs into another Python
BEAT = 20.0  # seconds between signs of life while packages install


class SetupFailed(Exception):
    """The environment could not be made; the text is one clear sentence."""


@dataclass(frozen=True)
class Stamp:
    """What is installed in an environment; written when all of it is.

    ``locks`` has the SHA-256 of each lock that is installed in full.
    """

    python: str
    locks: dict[str, str]

    @staticmethod
    def read(home: Path) -> Stamp | None:
        """The stamp in ``home``, or None when it has no valid one."""
        try:
            data = json.loads((home / STAMP).read_text("utf-8"))
            return Stamp(str(data["python"]), dict(data["locks"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, home: Path) -> None:
        """Put the stamp there whole or not at all."""
        part = home / (STAMP + ".part")
        part.write_text(json.dumps(asdict(self)) + "\n", "utf-8")
        part.replace(home / STAMP)


def location(root: Path) -> Path:
    """Where the environment of this project is or will be."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen).expanduser().resolve() if chosen else root / ".venv"


def interpreter(home: Path) -> Path:
    """The Python inside an environment."""
    if os.name == "nt":
        return home / "Scripts" / "python.exe"
    return home / "bin" / "python"


def lock_digest(root: Path, lock: str) -> str:
    """SHA-256 over the lock and the build backend's lock."""
    digest = hashlib.sha256()
    for name in ("backend", lock):
        digest.update((root / "locks" / f"{name}.txt").read_bytes())
    return digest.hexdigest()


def packages(lock_text: str) -> int:
    """How many packages a lock names."""
    names = re.findall(r"^([A-Za-z0-9._-]+)==", lock_text, re.MULTILINE)
    return len(set(names))


def satisfied(root: Path, home: Path, lock: str) -> bool:
    """Whether ``home`` has all of ``lock``; asks only files, no network.

    An environment with the test set also serves a build.
    """
    stamp = Stamp.read(home)
    if stamp is None or stamp.python != platform.python_version():
        return False
    if not interpreter(home).exists():
        return False
    for name in dict.fromkeys((lock, "test")):
        if stamp.locks.get(name) == lock_digest(root, name):
            return True
    return False


@contextlib.contextmanager
def alone(home: Path, say: Callable[[str], None]) -> Iterator[None]:
    """One process at a time makes an environment; the others wait.

    An SQLite transaction is the one file lock in the standard library that
    works everywhere and goes away with its process.
    """
    key = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"keeps-secrets-{key}.lock"
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            say(f"another process is setting up {home}; waiting for it")
            connection.execute("PRAGMA busy_timeout = 1800000")
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                raise SetupFailed(
                    f"another process has been setting up {home} for half "
                    "an hour; stop it and run the command again"
                ) from error
        yield
    finally:
        connection.close()


def clear(home: Path) -> None:
    """Remove a stale or half-made environment, and never anything else."""
    if not home.exists():
        return
    ours = (home / "pyvenv.cfg").exists() or not any(home.iterdir())
    if not home.is_dir() or not ours:
        raise SetupFailed(
            f"{home} is not a virtual environment, so it is left alone; "
            f"set {VARIABLE} to a folder that build.py may make"
        )
    if Path(sys.prefix).resolve() == home.resolve():
        raise SetupFailed(
            f"{home} must be made again and cannot be from inside; run "
            "build.py with the Python it was made from"
        )
    shutil.rmtree(home)


def outer_pip() -> list[str] | None:
    """The command of a pip outside that can install into ``home``."""
    found = subprocess.run(
        [sys.executable, "-m", "pip", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    match = re.match(r"pip (\d+)\.(\d+)", found.stdout)
    if found.returncode or not match:
        return None
    if (int(match[1]), int(match[2])) < OUTER_PIP:
        return None
    return [sys.executable, "-m", "pip"]


def make(home: Path) -> list[str]:
    """Make an empty environment; return the pip command that fills it."""
    if importlib.util.find_spec("ensurepip") is not None:
        try:
            venv.create(home, with_pip=True, symlinks=os.name != "nt")
        except (OSError, subprocess.CalledProcessError):
            shutil.rmtree(home, ignore_errors=True)
        else:
            return [str(interpreter(home)), "-m", "pip"]
    pip = outer_pip()
    if pip is None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise SetupFailed(
            f"{sys.executable} cannot make a virtual environment with pip; "
            f"install the package python{version}-venv (Debian and Ubuntu: "
            f"apt-get install python{version}-venv) and run the command again"
        )
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    return [*pip, "--python", str(interpreter(home))]


def clean_environment() -> dict[str, str]:
    """The variables without those that would lead pip or Python astray."""
    astray = {"PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET"}
    astray |= {"PIP_PREFIX", "PIP_REQUIRE_HASHES", "__PYVENV_LAUNCHER__"}
    return {k: v for k, v in os.environ.items() if k not in astray}


def install(pip: Sequence[str], lock: Path, say: Callable[[str], None]) -> None:
    """Install exactly what a lock names, each file checked by its hash.

    Without build isolation, so that an sdist is built by the locked
    backend, which is installed first.
    """
    command = [
        *pip, "install", "--quiet", "--disable-pip-version-check",
        "--progress-bar", "off", "--no-deps", "--require-hashes",
        "--no-build-isolation", "-r", str(lock),
    ]  # fmt: skip
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=clean_environment(),
        )
        waited = 0.0
        while True:
            try:
                code = process.wait(BEAT)
                break
            except subprocess.TimeoutExpired:
                waited += BEAT
                say(f"  still installing ({waited:.0f} s)")
            except BaseException:
                process.kill()
                raise
        if code == 0:
            return
        log.seek(0)
        lines = [line.rstrip() for line in log if line.strip()]
    for line in lines[-8:]:
        say(f"  pip: {line}")
    raise SetupFailed(
        f"pip could not install locks/{lock.name} (exit code {code}, its "
        "last words above); check the network and run the command again"
    )


def ensure(root: Path, lock: str, say: Callable[[str], None]) -> Path:
    """The Python of an environment that has all of ``lock``.

    Made, or made again, when it is missing, half made, or of another lock
    or Python. When it matches nothing is run and no network is touched.
    """
    home = location(root)
    if satisfied(root, home, lock):
        return interpreter(home)
    with alone(home, say):
        if satisfied(root, home, lock):
            return interpreter(home)
        stamp = Stamp.read(home)
        text = (root / "locks" / f"{lock}.txt").read_text("utf-8")
        if lock == "test" and satisfied(root, home, "build"):
            # The test set only adds to the build set.
            (home / STAMP).unlink()
            pip = [str(interpreter(home)), "-m", "pip"]
            if importlib.util.find_spec("ensurepip") is None:
                pip = [*(outer_pip() or pip), "--python", pip[0]]
        else:
            why = "out of date" if stamp else "new"
            say(
                f"setting up {home} ({why}; Python {platform.python_version()})"
            )
            clear(home)
            pip = make(home)
            install(pip, root / "locks" / "backend.txt", say)
        say(
            f"installing {packages(text)} packages for `{lock}`; "
            "the first time takes a minute or two"
        )
        install(pip, root / "locks" / f"{lock}.txt", say)
        digests = {lock: lock_digest(root, lock)}
        if lock == "test":
            digests["build"] = lock_digest(root, "build")
        Stamp(platform.python_version(), digests).write(home)
        say("set up")
    return interpreter(home)


def inside(home: Path) -> bool:
    """Whether this process is the environment's own Python."""
    return Path(sys.prefix).resolve() == home.resolve()


def main(argv: Sequence[str]) -> int:
    """Set up what the command needs, then run it there.

    Returns the exit code of the command; 1 when the set-up failed; 130
    when interrupted.
    """
    root = Path(__file__).resolve().parents[2]
    command, args = commands.parse(argv)
    lock = "test" if getattr(args, "strict", False) else command.lock
    home = location(root)
    try:
        if inside(home) and satisfied(root, home, lock):
            return command.load()(args, root)
        python = ensure(root, lock, say)
        return rerun(python, root, argv)
    except SetupFailed as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("build.py: interrupted", file=sys.stderr)
        return 130


def rerun(python: Path, root: Path, argv: Sequence[str]) -> int:
    """Run the command again, inside; its exit code."""
    try:
        return subprocess.run(
            [str(python), "-X", "utf8", str(root / "build.py"), *argv],
            env=clean_environment(),
            check=False,
        ).returncode
    except KeyboardInterrupt:
        return 130  # the terminal interrupts both, and the other one says so


def say(line: str) -> None:
    """Show progress at once, also when the output is a pipe."""
    print(line, flush=True)
