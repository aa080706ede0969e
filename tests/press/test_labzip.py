"""The lab ZIP holds what is tracked, and is tried as it is shipped."""

from __future__ import annotations

import importlib.util
import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from book.press import digest, labzip
from book.press.labzip import Counts
from book.press.problems import Problem, Problems

ROOT = Path(__file__).resolve().parents[2]

SMALL = {
    "lab/__init__.py": "",
    "lab/__main__.py": (
        "import sys\nfrom lab.cli import main\nsys.exit(main())\n"
    ),
    "lab/cli.py": (
        "import sys\n\n\ndef main():\n"
        "    print('small lab', *sys.argv[1:])\n    return 0\n"
    ),
    "lab/data/note.txt": "云雀\r\n",
    "lab/README.md": "# Small lab\n",
    "lab/README.zh.md": "# 小实验室\n",
    "tests/__init__.py": "",
    "tests/conftest.py": "",
    "tests/lab/__init__.py": "",
    "tests/lab/test_small.py": (
        "import pytest\nimport lab\n\n\ndef test_one():\n    assert lab\n"
        "\n\ndef test_two():\n    pytest.importorskip('numpy')\n"
    ),
    "tests/lab/test_small_property.py": "import hypothesis\n",
    "tests/press/test_press.py": "",
    "book/en/00.md": "# Not the lab\n",
    "LICENSE": "MIT\n",
    "LICENSE-DATA": "CC0\n",
    "LICENSE-TEXT": "CC BY\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project, with the real metadata and the real backend."""
    root = tmp_path / "tree"
    for name, text in SMALL.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    for name in ("pyproject.toml", "lab/_backend/wheel_backend.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, root / name)
    counts = root / labzip.COUNTS
    counts.parent.mkdir(parents=True)
    counts.write_text("[bare]\npassed = 1\nskipped = 1\n", "utf-8")
    return root


def files(root: Path) -> list[str]:
    return sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file()
    )


def make(root: Path) -> Path:
    path = root.parent / labzip.NAME
    labzip.write(path, labzip.members(root, files(root)))
    return path


def test_the_zip_has_the_lab_and_its_tests_in_one_folder(tree: Path) -> None:
    with zipfile.ZipFile(make(tree)) as archive:
        names = archive.namelist()
    top = "keeps-secrets-lab/"
    assert names == [
        top + name
        for name in (
            "LICENSE",
            "LICENSE-DATA",
            "README.md",
            "README.zh.md",
            "lab/__init__.py",
            "lab/__main__.py",
            "lab/_backend/wheel_backend.py",
            "lab/cli.py",
            "lab/data/note.txt",
            "pyproject.toml",
            "tests/__init__.py",
            "tests/conftest.py",
            "tests/lab/__init__.py",
            "tests/lab/test_small.py",
        )
    ]


def test_text_has_lf_line_ends_whatever_the_checkout(tree: Path) -> None:
    with zipfile.ZipFile(make(tree)) as archive:
        note = archive.read("keeps-secrets-lab/lab/data/note.txt")
    assert note == "云雀\n".encode()


def test_bytes_that_are_no_text_are_left_as_they_are(tree: Path) -> None:
    data = b"\x00\r\n\x01"
    (tree / "lab" / "data" / "model.onnx").write_bytes(data)
    with zipfile.ZipFile(make(tree)) as archive:
        name = "keeps-secrets-lab/lab/data/model.onnx"
        assert archive.read(name) == data


def test_two_trees_with_other_times_give_the_same_bytes(
    tree: Path, tmp_path: Path
) -> None:
    first = make(tree).read_bytes()
    other = tmp_path / "another" / "place"
    shutil.copytree(tree, other)
    for path in other.rglob("*"):
        path.touch()
    assert make(other).read_bytes() == first


def test_a_missing_licence_is_named(tree: Path) -> None:
    (tree / "LICENSE").unlink()
    with pytest.raises(Problems, match="LICENSE: the lab ZIP needs"):
        make(tree)


def test_a_name_that_breaks_elsewhere_is_refused(tree: Path) -> None:
    (tree / "lab" / "云.txt").write_text("x", "utf-8")
    with pytest.raises(Problems, match="may not survive unpacking"):
        make(tree)


def test_names_that_differ_only_in_case_are_refused(tree: Path) -> None:
    (tree / "lab" / "CLI.py").write_text("", "utf-8")
    if len(list((tree / "lab").glob("[Cc][Ll][Ii].py"))) < 2:
        pytest.skip("this file system folds case")
    with pytest.raises(Problems, match="capital letters"):
        make(tree)


def test_only_tracked_files_ship(tree: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org",
             *words],
            cwd=tree, check=True, capture_output=True,
        )  # fmt: skip

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "small")
    (tree / "lab" / "private-notes.txt").write_text("not ours", "utf-8")
    tracked = digest.tracked(tree)
    names = {member.name for member in labzip.members(tree, tracked)}
    assert "lab/cli.py" in names
    assert "lab/private-notes.txt" not in names


def test_without_git_the_manifest_is_the_list(tree: Path) -> None:
    text = digest.manifest(tuple(files(tree)))
    (tree / "MANIFEST").write_text(text, "utf-8")
    (tree / "lab" / "private-notes.txt").write_text("not ours", "utf-8")
    names = digest.tracked(tree)
    assert "lab/cli.py" in names
    assert "lab/private-notes.txt" not in names
    (tree / "lab" / "cli.py").unlink()
    with pytest.raises(Problems, match=r"lab/cli\.py: named in MANIFEST"):
        digest.tracked(tree)


def test_without_git_and_manifest_there_is_one_sentence(tree: Path) -> None:
    with pytest.raises(Problems, match="neither git nor a MANIFEST"):
        digest.tracked(tree)


def test_recording_a_delivery_does_not_change_the_source(tree: Path) -> None:
    names = tuple(files(tree))
    before = digest.tree_digest(tree, names)
    (tree / "DELIVERY.md").write_text("delivered\n", "utf-8")
    assert digest.tree_digest(tree, tuple(files(tree))) == before
    (tree / "LICENSE").write_text("changed\n", "utf-8")
    assert digest.tree_digest(tree, names) != before


def test_the_unpacked_zip_runs_with_python_and_pytest_only(
    tree: Path,
) -> None:
    trial = labzip.try_bare(tree, make(tree))
    # numpy is installed where this test runs, and not where the ZIP runs.
    assert trial.counts == Counts(passed=1, skipped=1)
    assert trial.problems == ()


def test_a_test_that_stops_running_is_noticed(tree: Path) -> None:
    path = tree / "tests" / "lab" / "test_small.py"
    text = path.read_text("utf-8").replace("def test_one", "def no_test")
    path.write_text(text, "utf-8")
    trial = labzip.try_bare(tree, make(tree))
    (problem,) = trial.problems
    assert problem.file == labzip.COUNTS
    assert "pins 1 passed, 1 skipped" in problem.message
    assert "gave 0 passed, 1 skipped" in problem.message


def test_a_failing_test_is_named(tree: Path) -> None:
    path = tree / "tests" / "lab" / "test_small.py"
    path.write_text("def test_bad():\n    assert 0\n", "utf-8")
    trial = labzip.try_bare(tree, make(tree))
    (problem,) = trial.problems
    assert "tests.lab.test_small::test_bad fails" in problem.message


def test_a_file_forgotten_in_git_breaks_the_trial(tree: Path) -> None:
    path = tree.parent / labzip.NAME
    listed = [name for name in files(tree) if name != "lab/cli.py"]
    labzip.write(path, labzip.members(tree, listed))
    with pytest.raises(Problems, match=r"lab demo.*lab\.cli"):
        labzip.try_bare(tree, path)


def test_tests_that_cannot_be_collected_are_a_problem(tree: Path) -> None:
    (tree / "tests" / "lab" / "test_small.py").write_text("def", "utf-8")
    with pytest.raises(Problems, match="exit code 2"):
        labzip.try_bare(tree, make(tree))


def test_what_was_counted_is_pinned_and_the_rest_is_kept(tree: Path) -> None:
    counts = tree / labzip.COUNTS
    counts.write_bytes((ROOT / labzip.COUNTS).read_bytes())
    before = labzip.expected(tree, "extras")
    trial = labzip.Trial("bare", Counts(7, 5), 1.0, ())
    labzip.pin(tree, [trial])
    assert labzip.expected(tree, "bare") == Counts(7, 5)
    assert labzip.expected(tree, "extras") == before


def test_a_failure_is_never_pinned(tree: Path) -> None:
    problem = Problem(labzip.NAME, 0, "test_bad fails")
    trial = labzip.Trial("bare", Counts(7, 5, 1), 1.0, (problem,))
    with pytest.raises(Problems, match="test_bad fails"):
        labzip.pin(tree, [trial])
    assert labzip.expected(tree, "bare") == Counts(1, 1)


# Installing


def pip_install(target: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-index",
         "--disable-pip-version-check", "--target", str(target), *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_pip_installs_the_zip_without_a_network(tree: Path) -> None:
    target = tree.parent / "site"
    done = pip_install(target, str(make(tree)))
    assert done.returncode == 0, done.stderr
    assert (target / "lab" / "data" / "note.txt").exists()
    assert not (target / "lab" / "_backend").exists()
    script = (target / "bin" / "keeps-secrets").read_text("utf-8")
    assert "from lab.cli import main" in script
    said = subprocess.run(
        [sys.executable, str(target / "bin" / "keeps-secrets"), "hello"],
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "small lab hello\n"


def test_extras_of_the_zip_have_names(tree: Path) -> None:
    wanted = f"{make(tree)}[onnx]"
    done = pip_install(tree.parent / "site", wanted)
    # With no index the extra cannot be had, but pip must look for it.
    assert done.returncode != 0
    assert "onnxruntime" in done.stderr or "numpy" in done.stderr
    assert "does not provide the extra" not in done.stderr


def test_an_editable_install_points_at_the_tree(tree: Path) -> None:
    target = tree.parent / "site"
    done = pip_install(target, "-e", str(tree))
    if "not supported" in done.stderr:
        pytest.skip("this pip cannot install editably into a folder")
    assert done.returncode == 0, done.stderr
    text = (target / "keeps_secrets.pth").read_text("utf-8")
    assert text.strip() == str(tree)


def test_the_source_archive_is_whole_and_reproducible(tree: Path) -> None:
    path = tree / "lab" / "_backend" / "wheel_backend.py"
    spec = importlib.util.spec_from_file_location("small_backend", path)
    assert spec is not None
    assert spec.loader is not None
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    made = []
    for name in ("one", "two"):
        (tree.parent / name).mkdir()
        file = backend.build_sdist(str(tree.parent / name))
        made.append((tree.parent / name / file).read_bytes())
    assert made[0] == made[1]
    with tarfile.open(fileobj=io.BytesIO(made[0])) as archive:
        names = archive.getnames()
    assert "keeps_secrets-1.0.0/PKG-INFO" in names
    assert "keeps_secrets-1.0.0/lab/_backend/wheel_backend.py" in names
