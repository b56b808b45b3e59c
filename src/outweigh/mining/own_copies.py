"""Finds code of the project itself among its dependencies, which may be later than the commit.

Installing links the project's workspace; a copy of it is replaced by a link. Some tools bring the project along as a
dependency of their own: mocha brings commander, and pip carries copies of what it uses.

What is looked at was written by code of the repository, and this runs outside of the sandbox. So no link in it is
followed, and nothing is written through one.
"""

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from outweigh.workspace.trash import remove_tree

_FOUND_DEPTH = 12
_SYSTEM_PACKAGES = tuple(f"{top}lib/python3*/{kind}-packages" for top in ("", "local/") for kind in ("dist", "site"))
_MOST_BYTES = 10_000_000
_EDITABLE = re.compile(r'"editable"\s*:\s*true')


def normal_name(name: str) -> str:
    """The name of a Python package as all tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def site_packages(environment: Path) -> Path | None:
    """The folder of a virtual environment into which packages are installed."""
    found = sorted((environment / "lib").glob("python3*/site-packages"))
    return next((path for path in found if has_no_links(environment.parent, path)), None)


def has_no_links(root: Path, path: Path) -> bool:
    """Whether a folder below a root is reached without any link."""
    between = [path, *path.parents]
    return path.is_dir() and not any(each.is_symlink() for each in between[: between.index(root)])


def connect_project(
    packages: Path,
    name: str | None,
    version: str | None,
    sources: tuple[str, ...],
    entry_points: str | None = None,
) -> None:
    """Make sure that the project is imported from the workspace and that nothing of its text stays in the environment.

    `sources` are the folders inside from which it is imported, where it is not installed as a link already.
    `entry_points` is the file inside that a workspace has of its own.
    """
    own = _distribution(packages, name) if name else None
    if own is None or not _is_link(own):
        if own is not None:
            _remove_copied_files(packages, own)
        elif name:
            _describe(packages, name, version)
        _replace_file(packages / "_workspace.pth", "".join(f"{source}\n" for source in sources))
    if name and (own := _distribution(packages, name)) is not None:
        _strip_description(own / "METADATA")
        if entry_points is not None:
            with suppress(FileNotFoundError):
                (own / "entry_points.txt").unlink()
            (own / "entry_points.txt").symlink_to(entry_points)


def _distribution(packages: Path, name: str) -> Path | None:
    wanted = normal_name(name)
    for path in sorted(packages.glob("*.dist-info")):
        if (
            path.is_dir()
            and not path.is_symlink()
            and normal_name(path.name.removesuffix(".dist-info").rpartition("-")[0]) == wanted
        ):
            return path
    return None


def _is_link(distribution: Path) -> bool:
    return _EDITABLE.search(_text(distribution / "direct_url.json")) is not None


def _text(path: Path) -> str:
    """The text of a plain file; empty where there is none."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return ""
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _replace_file(path: Path, content: str) -> None:
    """Write a new file in place of whatever is there."""
    with suppress(FileNotFoundError):
        path.unlink()
    with path.open("x") as file:
        file.write(content)


def _remove_copied_files(packages: Path, distribution: Path) -> None:
    """Remove the code of an installed copy, by its record; its description stays, so that it counts as installed."""
    root = packages.resolve()
    for line in _text(distribution / "RECORD").splitlines():
        name = line.partition(",")[0]
        path = packages / name
        with suppress(OSError, ValueError):
            if path.parent.resolve().is_relative_to(root) and not name.startswith(distribution.name):
                path.unlink()


def _describe(packages: Path, name: str, version: str | None) -> None:
    folder = packages / f"{normal_name(name).replace('-', '_')}-{version or '0'}.dist-info"
    with suppress(FileNotFoundError):
        folder.unlink()
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version or '0'}\n")
    (folder / "RECORD").write_text("")


def _strip_description(metadata: Path) -> None:
    """Remove the long description, which may contain a changelog of later releases."""
    head, _, _ = _text(metadata).partition("\n\n")
    if head:
        kept = re.sub(r"^Description:.*(?:\n[ \t].*)*\n?", "", f"{head}\n", flags=re.MULTILINE)
        _replace_file(metadata, kept)


def later_copies(copies: Mapping[str, str], version: str | None) -> tuple[str, ...]:
    """The paths of copies that are later than the project's version at a commit.

    A copy whose version is unknown, or a project without a version, counts as later.
    """
    return tuple(sorted(path for path, copied in copies.items() if not _is_earlier(copied, version)))


def installed_copies(folder: Path, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Paths below the folder with code of the project itself, and the version of each; empty where it is unknown."""
    if "node" in names:
        for path in _folders(folder, f"node_modules/{names['node']}"):
            yield path.relative_to(folder).as_posix(), _package_version(path)
    if "python" in names:
        module = normal_name(names["python"]).replace("-", "_")
        yield from ((path.relative_to(folder).as_posix(), "") for path in _vendored(folder, module))


def _vendored(folder: Path, module: str) -> Iterator[Path]:
    """Copies of a module that other packages carry; nothing says of which version they are."""
    for place in ("_vendor", "vendored", "_vendored", "extern", "vendor"):
        yield from _folders(folder, f"{place}/{module}")


def system_copies(names: Mapping[str, str], root: Path = Path("/usr")) -> Iterator[tuple[str, str]]:
    """Paths of this machine's system, which sandboxes show, with code of the project; and the version of each."""
    if "node" in names:
        for place in ("share/nodejs", "lib/node_modules", "local/lib/node_modules"):
            for path in _folders(root / place, names["node"]):
                yield str(path), _package_version(path)
    if "python" in names:
        module = normal_name(names["python"]).replace("-", "_")
        for packages in sorted(path for pattern in _SYSTEM_PACKAGES for path in root.glob(pattern)):
            yield from ((str(path), "") for path in _vendored(packages, module))
            own = _distribution(packages, names["python"])
            version = "" if own is None else own.name.removesuffix(".dist-info").rpartition("-")[2]
            code = (path for name in (module, f"{module}.py") if (path := packages / name).exists())
            compiled = packages.glob(f"__pycache__/{module}.*.pyc")
            yield from ((str(path), version) for path in (*code, *compiled))


def _folders(folder: Path, ending: str) -> Iterator[Path]:
    """Folders whose path ends in this way; links are not followed."""
    parts = tuple(ending.split("/"))
    for place, inside, _ in os.walk(folder):
        found = Path(place).relative_to(folder).parts
        if len(found) > _FOUND_DEPTH:
            inside.clear()
        elif found[-len(parts) :] == parts and not Path(place).is_symlink():
            yield Path(place)


def _package_version(package: Path) -> str:
    try:
        found = json.loads(_text(package / "package.json"))
    except (ValueError, RecursionError):
        return ""
    version = found.get("version") if isinstance(found, dict) else None
    return version if isinstance(version, str) else ""


def _is_earlier(copy: str, own: str | None) -> bool:
    """Whether a copy is surely older: one of the same version may have been released after the commit."""
    if not copy or own is None:
        return False
    return _numbers(copy) < _numbers(own)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("-")[0])[:4])


def move_node_modules(workspace: Path, folder: Path) -> list[str]:
    """Move every `node_modules` of a workspace to the same path below a new folder; returns their paths."""
    _remove_path(folder)
    found = []
    for place, inside, _ in os.walk(workspace):
        if "node_modules" not in inside:
            continue
        inside.remove("node_modules")
        modules = Path(place, "node_modules")
        if modules.is_symlink():
            continue
        path = modules.relative_to(workspace)
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(modules, folder / path)
        found.append(path.as_posix())
    return sorted(found)


def new_folder(folder: Path) -> None:
    """Make an empty folder in place of whatever is there."""
    _remove_path(folder)
    folder.mkdir()


def _remove_path(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        remove_tree(path)
