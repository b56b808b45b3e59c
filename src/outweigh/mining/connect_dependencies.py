"""Connects what was installed with workspaces: variables, links, files that a build wrote, and what must be hidden."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outweigh.mining.dependencies import DEPENDENCIES_INSIDE, SYSTEM_PATH, DependencySet, InstalledDependencies
from outweigh.mining.own_copies import (
    connect_project,
    installed_copies,
    move_node_modules,
    new_folder,
    site_packages,
    system_copies,
)
from outweigh.mining.python_plan import ENTRY_POINTS, PYTHON_INSIDE, VENV
from outweigh.sandbox.base_sandbox import WORKSPACE

_NODE_INSIDE = f"{DEPENDENCIES_INSIDE}/node"
_GENERATED_INSIDE = f"{DEPENDENCIES_INSIDE}/generated"
# Files that a build writes into the workspace and that imports need; other products of a build are made of code that
# may be later than the commit.
_GENERATED = re.compile(r"_?version(?:_info|_generated)?\.(?:py|txt|json)|.*\.so", re.IGNORECASE)
_NOT_SOURCE = frozenset({"node_modules", "__pycache__", ".git", "build", "dist", ".venv", "venv", ".eggs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlace:
    """Folders of the host: `build` is new and on the file system of the result, `cache` is shared by a suite.

    `python` is a copied interpreter, None where the system's own is used. `shows_system` says that sandboxes have the
    system of this machine, and not that of an image.
    """

    build: Path
    cache: Path
    python: Path | None = None
    shows_system: bool = True

    @property
    def folder(self) -> Path:
        """The dependencies, while they are installed."""
        return self.build / "dependencies"


def library_path(python: Path | None) -> dict[str, str]:
    """Where the loader finds the library of a copied interpreter."""
    has_library = python is not None and any((python / "lib").glob("libpython*.so*"))
    return {"LD_LIBRARY_PATH": f"{PYTHON_INSIDE}/lib"} if has_library else {}


def connect_dependencies(wanted: DependencySet, base_tree: Path, place: InstallPlace) -> InstalledDependencies:
    """Connect the project with what was installed, and find later code of its own."""
    folder, workspace = place.folder, place.build / "workspace"
    variables: dict[str, str] = {}
    setup: list[str] = []
    path = [SYSTEM_PATH]
    packages = site_packages(folder / "venv")
    if packages is not None:
        name = wanted.names.get("python")
        points = f"{WORKSPACE}/{ENTRY_POINTS}" if wanted.connect else None
        connect_project(packages, name, wanted.version or wanted.project_version, _sources(base_tree), points)
        variables |= {"VIRTUAL_ENV": VENV, **library_path(place.python)}
        path.insert(0, f"{VENV}/bin")
        if place.python is not None:
            new_folder(folder / "python")
            _link_tree(place.python, folder / "python")
    if modules := move_node_modules(workspace, folder / "node"):
        variables["NODE_PATH"] = f"{_NODE_INSIDE}/node_modules"
        path.insert(0, f"{_NODE_INSIDE}/node_modules/.bin")
        for each in modules:
            _show_workspace_links(folder / "node" / each, Path(each))
            setup.append(f"mkdir -p {each} && ln -sfn {_NODE_INSIDE}/{each}/* {_NODE_INSIDE}/{each}/.[!.]* {each}/")
    variables |= _download_variables(folder)
    if _keep_generated(workspace, base_tree, folder / "generated"):
        setup.append(f"cp -R {_GENERATED_INSIDE}/. .")
    copies = dict(installed_copies(folder, wanted.names))
    if place.shows_system:
        copies |= system_copies(wanted.names)
    return InstalledDependencies(
        key=wanted.key,
        folder=folder,
        variables={"PATH": ":".join(path), **variables},
        setup=tuple(setup),
        copies=copies,
    )


def _sources(base_tree: Path) -> tuple[str, ...]:
    """The folders from which a project is imported that no tool has linked."""
    return tuple(
        f"{WORKSPACE}/{name}".rstrip("/") for name in ("src", "lib", "") if name == "" or (base_tree / name).is_dir()
    )


def _download_variables(folder: Path) -> dict[str, str]:
    variables: dict[str, str] = {}
    if (folder / "go").is_dir():
        variables |= {
            "GOMODCACHE": f"{DEPENDENCIES_INSIDE}/go",
            "GOPROXY": "off",
            "GOFLAGS": "-mod=mod",
            "GONOSUMDB": "*",
        }
    if (folder / "cargo").is_dir():
        variables |= {"CARGO_HOME": f"{DEPENDENCIES_INSIDE}/cargo", "CARGO_NET_OFFLINE": "true"}
    return variables


def _show_workspace_links(modules: Path, inside: Path) -> None:
    """Let links to packages of the workspace itself lead there by their full path: they were relative to it."""
    scopes = [path for path in modules.glob("@*") if path.is_dir() and not path.is_symlink()]
    for link in (*modules.glob("*"), *(path for scope in scopes for path in scope.glob("*"))):
        if link.is_symlink():
            target = Path(WORKSPACE, inside, link.relative_to(modules)).parent / link.readlink()
            link.unlink()
            link.symlink_to(os.path.normpath(target))


def _keep_generated(workspace: Path, base_tree: Path, target: Path) -> bool:
    """Keep the files that the build wrote into the workspace and that imports need."""
    found = [path for path in _new_files(workspace, base_tree) if _GENERATED.fullmatch(path.name)]
    if found:
        new_folder(target)
    for path in found:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(workspace / path, target / path, follow_symlinks=False)
    return bool(found)


def _new_files(workspace: Path, base_tree: Path) -> Iterator[Path]:
    for place, inside, names in os.walk(workspace):
        inside[:] = [name for name in inside if name not in _NOT_SOURCE and not name.endswith(".egg-info")]
        for name in names:
            path = Path(place, name).relative_to(workspace)
            if not os.path.lexists(base_tree / path) and not (workspace / path).is_symlink():
                yield path


def _link_tree(source: Path, target: Path) -> None:
    """Show the files of a folder in another without copying them where the file system allows it."""
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
