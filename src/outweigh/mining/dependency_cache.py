"""Installed dependencies by their key: installed once, whoever asks first, and there for every later run.

`KEY/` appears only when everything in it is installed, and `KEY.toml` beside it says how. An installation that is
interrupted leaves a folder that the next one of the same key removes.
"""

import fcntl
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock

import msgspec

from outweigh.mining.connect_dependencies import InstallPlace
from outweigh.mining.dependencies import DependencyError, DependencySet, InstalledDependencies, MissingToolError
from outweigh.mining.install_dependencies import InstallSetting, install
from outweigh.mining.own_copies import later_copies
from outweigh.mining.plan_dependencies import FELL_BACK
from outweigh.mining.pythons import InstalledPython, copy_python, find_pythons
from outweigh.mining.shared_files import share_files
from outweigh.model.toml_writer import write_toml
from outweigh.workspace.trash import remove_tree

_WORK_FOLDER = ".work"
_WAIT_SECONDS = 0.1
_DATE_OPTION = re.compile(r"(?:--exclude-newer |--before=|UV_EXCLUDE_NEWER=)(\S+)")


class DependencyRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """How dependencies were installed, and how they are used; the file `KEY.toml`."""

    key: str
    commands: list[str]
    before: str | None = None
    python: str | None = None
    version: str | None = None
    notes: list[str] = []
    setup: list[str] = []
    copies: dict[str, str] = {}
    variables: dict[str, str] = {}
    manifests: dict[str, str] = {}


class DependencyCache:
    """The folder `dependencies` of a suite. Threads and processes may ask at the same time."""

    def __init__(self, folder: Path, setting: InstallSetting) -> None:
        self._folder = folder
        self._setting = setting
        self._failed: dict[str, DependencyError] = {}
        self._lock = Lock()

    def get(self, wanted: DependencySet, base_tree: Path) -> InstalledDependencies:
        """The installed dependencies; raise DependencyError where they cannot be installed, each time at once."""
        try:
            found = self._installed(wanted.key) or self._installed_now(wanted, base_tree)
        except MissingToolError:
            raise
        except DependencyError as fault:
            if wanted.otherwise is None or self._setting.cancel.is_set():
                raise
            try:
                return self.get(wanted.otherwise, base_tree)
            except DependencyError:
                raise fault from None  # what was wanted at first says most
        hidden = later_copies(found.copies, wanted.project_version)
        return replace(found, setup=(*found.setup, *wanted.connect), hidden=hidden)

    def _installed_now(self, wanted: DependencySet, base_tree: Path) -> InstalledDependencies:
        with _held_lock(self._folder / _WORK_FOLDER / f"{wanted.key}.lock", self._setting.cancel):
            with self._lock:
                failed = self._failed.get(wanted.key)
            if failed is not None:
                raise failed
            return self._installed(wanted.key) or self._install(wanted, base_tree)

    def _installed(self, key: str) -> InstalledDependencies | None:
        folder, recipe = self._folder / key, self._folder / f"{key}.toml"
        if not (folder.is_dir() and recipe.is_file()):
            return None
        try:
            known = msgspec.convert(tomllib.loads(recipe.read_text()), DependencyRecipe)
        except (msgspec.ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError):
            return None
        return InstalledDependencies(
            key=key,
            folder=folder,
            variables=known.variables,
            setup=tuple(known.setup),
            copies=known.copies,
        )

    def _install(self, wanted: DependencySet, base_tree: Path) -> InstalledDependencies:
        work = self._folder / _WORK_FOLDER
        python = self._python(wanted.interpreter)
        place = InstallPlace(
            build=work / wanted.key, cache=work / "cache", python=python, shows_system=self._setting.image is None
        )
        try:
            installed, commands = install(wanted, base_tree, place, self._setting)
            target = self._folder / wanted.key
            remove_tree(target)
            if (latest := self._latest()) is not None:
                share_files(installed.folder, latest)
            self._write_recipe(wanted, installed, commands)
            installed.folder.rename(target)
            return replace(installed, folder=target)
        except DependencyError as fault:
            if not self._setting.cancel.is_set():
                with self._lock:
                    self._failed[wanted.key] = fault
            raise
        finally:
            remove_tree(place.build)

    def _latest(self) -> Path | None:
        """What was installed last; commits that are near in time have most files in common."""
        recipes = [path for path in self._folder.glob("*.toml") if path.with_suffix("").is_dir()]
        return max(recipes, key=lambda path: path.stat().st_mtime).with_suffix("") if recipes else None

    def _python(self, program: str | None) -> Path | None:
        """A copy of an interpreter that sandboxes do not show, made once; None where there is nothing to copy."""
        if program is None or self._setting.image is not None:
            return None
        python = next((each for each in find_pythons() if each.program == program), None)
        if python is None or python.is_shown:
            return None
        work = self._folder / _WORK_FOLDER
        target = work / f"interpreter-{python.name}"
        with _held_lock(work / f"interpreter-{python.name}.lock", self._setting.cancel):
            if not target.is_dir():
                _copy_aside(python, target)
        return target

    def _write_recipe(self, wanted: DependencySet, installed: InstalledDependencies, commands: tuple[str, ...]) -> None:
        dates = [found[1] for command in commands if (found := _DATE_OPTION.search(command))]
        notes = list(wanted.notes)
        if commands != wanted.commands and FELL_BACK not in notes:
            notes.append(FELL_BACK)
        if not dates:
            notes.append("The versions are not limited to those of the commit's time, except by lock files.")
        recipe = DependencyRecipe(
            key=wanted.key,
            commands=list(commands),
            before=dates[0] if dates else None,
            python=None if wanted.interpreter is None else Path(wanted.interpreter).name,
            version=wanted.version,
            notes=notes,
            setup=list(installed.setup),
            copies=dict(installed.copies),
            variables=dict(installed.variables),
            manifests=dict(wanted.manifests),
        )
        stated = {key: value for key, value in msgspec.to_builtins(recipe).items() if value is not None}
        target = self._folder / f"{wanted.key}.toml"
        part = target.with_suffix(".part")
        part.write_text(write_toml(stated))
        part.rename(target)


def _copy_aside(python: InstalledPython, target: Path) -> None:
    # Not with_suffix: 3.11 and 3.12 would share one.
    part = target.with_name(f"{target.name}.part")
    remove_tree(part)
    copy_python(python, part)
    part.rename(target)


@contextmanager
def _held_lock(path: Path, cancel: Event) -> Iterator[None]:
    """Hold a lock among threads and processes; whoever waits for it can be cancelled."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancel.wait(_WAIT_SECONDS):
                    raise DependencyError("installing was cancelled") from None
        yield
