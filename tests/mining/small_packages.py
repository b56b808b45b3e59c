"""Tiny packages and projects that are installed without any registry."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

BACKEND = """
import os, zipfile

def _wheel(folder, module, direct):
    version = os.environ.get("SETUPTOOLS_SCM_PRETEND_VERSION", "1.0")
    name = f"kettle-{version}-py3-none-any.whl"
    with open("src/kettle/_version.py", "w") as file:
        file.write(f"version = {version!r}\\n")
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        if direct:
            wheel.write("src/kettle/__init__.py", "kettle/__init__.py")
        else:
            wheel.writestr("kettle.pth", os.path.abspath("src"))
        info = f"kettle-{version}.dist-info"
        head = f"Metadata-Version: 2.1\\nName: kettle\\nVersion: {version}\\nRequires-Dist: water\\n"
        wheel.writestr(f"{info}/METADATA", head + "\\nChanges of later releases: boils faster.\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[kettle.lids]\\nlater = kettle.later:lid\\n")
        wheel.writestr(f"{info}/RECORD", "kettle/__init__.py,,\\n" if direct else "")
    return name

def get_requires_for_build_wheel(settings=None): return []
def get_requires_for_build_editable(settings=None): return []
def build_wheel(folder, settings=None, metadata=None): return _wheel(folder, "kettle", True)
def build_editable(folder, settings=None, metadata=None): return _wheel(folder, "kettle", False)
"""
PROJECT = """
[project]
name = "kettle"
dynamic = ["version"]
dependencies = ["water"]

[project.entry-points."kettle.lids"]
flat = "kettle:lid"

[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[tool.hatch.version]
source = "vcs"
"""


def write_index(folder: Path, name: str, versions: Mapping[str, str]) -> None:
    """An index with the versions of a package of one module, and the day on which each was released."""
    place = folder / name
    place.mkdir(parents=True)
    files = {version: f"{name}-{version}-py3-none-any.whl" for version in versions}
    for version, file in files.items():
        _write_wheel(place / file, name, version)
    links = [
        f'<a href="{file}" data-upload-time="{versions[version]}T00:00:00.000000Z">{file}</a>'
        for version, file in files.items()
    ]
    (place / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")


def _write_wheel(path: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"version = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


def write_project(folder: Path) -> Path:
    """A project with a backend of its own, and an index of what it needs."""
    (folder / "src" / "kettle").mkdir(parents=True)
    (folder / "src" / "kettle" / "__init__.py").write_text("import water\nboils = water.version\n")
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(PROJECT)
    write_index(folder / "index", "water", {"1.0": "2026-04-01", "2.0": "2026-05-05", "3.0": "2026-08-01"})
    write_index(folder / "index", "pytest", {"8.0": "2026-01-01"})
    write_index(folder / "index", "setuptools", {"80.0": "2026-01-01"})
    return folder
