"""A build backend that needs nothing, so that installing needs no network.

pip calls these functions by name (the standard behind them is PEP 517, and
PEP 660 for an editable install). A wheel is a ZIP with the package, the
metadata from pyproject.toml and a RECORD of digests.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "lab"
TAG = "py3-none-any"
DATE = (2026, 1, 1, 0, 0, 0)
SECONDS = 1767225600  # the same date in Unix seconds

# Made by running the code; no part of it.
_MADE = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache")

Settings = Mapping[str, Any] | None


def _project() -> dict[str, Any]:
    """The [project] table of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    table: dict[str, Any] = tomllib.loads(text)["project"]
    return table


def _stem(project: Mapping[str, Any]) -> str:
    """``name-version`` as file names spell it."""
    name = re.sub(r"[-_.]+", "_", str(project["name"])).lower()
    return f"{name}-{project['version']}"


def _requirement(text: str, extra: str) -> str:
    """A Requires-Dist line for a package that an extra brings."""
    package, _, marker = (part.strip() for part in text.partition(";"))
    condition = f'extra == "{extra}"'
    if marker:
        condition = f"({marker}) and {condition}"
    return f"Requires-Dist: {package} ; {condition}"


def _metadata(project: Mapping[str, Any]) -> str:
    """The METADATA file: core metadata 2.4, README as description."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        f"Keywords: {','.join(project['keywords'])}",
    ]
    lines += [f"Author: {author['name']}" for author in project["authors"]]
    lines += [f"Classifier: {text}" for text in project["classifiers"]]
    lines += [f"License-File: {path.name}" for path in _licences()]
    lines += [f"Requires-Dist: {text}" for text in project["dependencies"]]
    for extra, packages in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [_requirement(text, extra) for text in packages]
    readme = ROOT / PACKAGE / "README.md"
    if not readme.exists():
        readme = ROOT / "README.md"
    lines += ["Description-Content-Type: text/markdown", ""]
    return "\n".join(lines) + "\n" + readme.read_text("utf-8")


def _licences() -> list[Path]:
    """The licence files at the top of the tree."""
    return sorted(ROOT.glob("LICENSE*"))


def _info(project: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of the .dist-info folder, RECORD aside."""
    wheel = (
        "Wheel-Version: 1.0\n"
        "Generator: keeps-secrets\n"
        "Root-Is-Purelib: true\n"
        f"Tag: {TAG}\n"
    )
    scripts = "".join(
        f"{name} = {target}\n" for name, target in project["scripts"].items()
    )
    files = {
        "METADATA": _metadata(project).encode(),
        "WHEEL": wheel.encode(),
        "entry_points.txt": f"[console_scripts]\n{scripts}".encode(),
    }
    for path in _licences():
        files[f"licenses/{path.name}"] = path.read_bytes()
    return files


def _package_files() -> Iterator[Path]:
    """Every file of the package except this backend, sorted."""
    for path in sorted((ROOT / PACKAGE).rglob("*")):
        inside = path.relative_to(ROOT)
        if not path.is_file() or "_backend" in inside.parts:
            continue
        if any(part in _MADE for part in inside.parts):
            continue
        yield path


def _write_wheel(folder: str, package: Mapping[str, bytes]) -> str:
    """Write a wheel with these files and the metadata; return its name."""
    project = _project()
    info = f"{_stem(project)}.dist-info"
    members = dict(package)
    members |= {f"{info}/{k}": v for k, v in _info(project).items()}
    record = []
    for name, data in members.items():
        digest = hashlib.sha256(data).digest()
        text = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        record.append(f"{name},sha256={text},{len(data)}\n")
    record.append(f"{info}/RECORD,,\n")
    members[f"{info}/RECORD"] = "".join(record).encode()
    wheel = f"{_stem(project)}-{TAG}.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w") as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def get_requires_for_build_wheel(
    config_settings: Settings = None,
) -> list[str]:
    """Nothing is needed to build."""
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel
get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the .dist-info folder; return its name."""
    project = _project()
    info = f"{_stem(project)}.dist-info"
    for name, data in _info(project).items():
        path = Path(metadata_directory) / info / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return info


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """Write the wheel; return its file name."""
    files = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in _package_files()
    }
    return _write_wheel(wheel_directory, files)


def build_editable(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """Write a wheel that puts this folder on the path."""
    return _write_wheel(
        wheel_directory, {"keeps_secrets.pth": f"{ROOT}\n".encode()}
    )


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write a source archive of package, tests and licences."""
    project = _project()
    stem = _stem(project)
    files = [ROOT / "pyproject.toml", *_licences(), *_package_files()]
    files += sorted((ROOT / PACKAGE / "_backend").glob("*.py"))
    files += sorted(ROOT.glob("README*.md"))
    files += sorted((ROOT / "tests").rglob("*.py"))
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        contents = {
            path.relative_to(ROOT).as_posix(): path.read_bytes()
            for path in files
        }
        contents["PKG-INFO"] = _metadata(project).encode()
        for name, data in sorted(contents.items()):
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), SECONDS, 0o644
            tar.addfile(entry, io.BytesIO(data))
    name = f"{stem}.tar.gz"
    # A fixed time in the header: same tree, same bytes.
    packed = gzip.compress(raw.getvalue(), mtime=SECONDS)
    (Path(sdist_directory) / name).write_bytes(packed)
    return name
