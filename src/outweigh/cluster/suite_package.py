"""A suite as one file that a host can make attempts from, however far from the lead: a tar of what its tasks and arms
name on the lead's disk, and the loaded suite with their places.

The suite is loaded once, by the lead: its arms may come from revisions, earlier versions and choices that only the lead
knows. Lead and hosts trust each other with code anyway, so it is pickled. The same suite gives the same bytes.
"""

import io
import pickle
import tarfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec.structs import replace as replace_fields

from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.model.base import Json
from outweigh.model.preflight_result import PreflightResult
from outweigh.model.task import FolderSource, GitSource, TarballSource, Task, WorkspaceSource
from outweigh.version import __version__

_SUITE = "suite.pickle"
_FILES = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSuite:
    """A suite with what the lead knows of it: what its tasks were found to report, and the labels of its rules.

    `places` are the names in the package of what it holds, by their paths on the lead's disk.
    """

    version: str
    suite: LoadedSuite
    tried: tuple[PreflightResult, ...]
    labels: Json
    places: Mapping[str, str]


def pack_suite(suite: LoadedSuite, tried: tuple[PreflightResult, ...], labels: Json) -> bytes:
    """The package; UsageError where a file that the suite names is missing."""
    places = {path: f"{_FILES}/{number}" for number, path in enumerate(_paths(suite))}
    packed = PackedSuite(
        version=__version__,
        suite=replace(suite, arm_files=None),
        tried=tried,
        labels=dict(labels),
        places=places,
    )
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        content = pickle.dumps(packed, protocol=5)
        entry = tarfile.TarInfo(_SUITE)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
        for path, name in places.items():
            try:
                archive.add(path, name, filter=_without_owner)
            except OSError as fault:
                raise UsageError(f"{fault.filename or path} cannot be sent to the hosts: {fault.strerror}.") from fault
    return stream.getvalue()


def unpack_suite(package: Path, folder: Path) -> PackedSuite:
    """The suite with its files in a new folder; UsageError where another release of outweigh packed it."""
    with tarfile.open(package) as archive:
        archive.extractall(folder, filter="tar")
    with suppress(AttributeError, ImportError, TypeError):
        packed: PackedSuite = pickle.loads((folder / _SUITE).read_bytes())
        if packed.version == __version__:
            return replace(packed, suite=_relocate(packed.suite, packed.places, folder))
    raise UsageError(f"lead and host have different releases of outweigh; this host has {__version__}.")


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _paths(suite: LoadedSuite) -> list[str]:
    """Every path on this disk that an attempt may read, once."""
    found: list[str | None] = []
    for task in suite.tasks:
        found += [task.tests_folder, task.solution_folder, _source_path(task.workspace)]
        found += [None if task.image is None else task.image.dockerfile]
        found += [None if task.dependencies is None else task.dependencies.folder]
    for arm in suite.arms.values():
        found += [arm.options[key] for key in arm.option_files]
    prices = [suite.spec.gateway.prices, *(provider.prices for provider in suite.spec.providers.values())]
    found += [str(suite.folder / stated) for stated in prices if stated is not None]
    return list(dict.fromkeys(path for path in found if path is not None))


def _source_path(source: WorkspaceSource | None) -> str | None:
    if isinstance(source, FolderSource | TarballSource):
        return source.path
    if isinstance(source, GitSource) and Path(source.repository).is_dir():
        return source.repository
    return None


def _relocate(suite: LoadedSuite, places: Mapping[str, str], folder: Path) -> LoadedSuite:
    """The suite with the paths that its files have on this host."""

    def moved(path: str) -> str:
        return str(folder / places[path]) if path in places else path

    def prices(stated: str | None) -> str | None:
        return None if stated is None else moved(str(suite.folder / stated))

    spec = replace_fields(
        suite.spec,
        gateway=replace_fields(suite.spec.gateway, prices=prices(suite.spec.gateway.prices)),
        providers={
            name: replace_fields(provider, prices=prices(provider.prices))
            for name, provider in suite.spec.providers.items()
        },
    )
    arms = {
        name: replace_fields(
            arm, options={key: moved(value) if key in arm.option_files else value for key, value in arm.options.items()}
        )
        for name, arm in suite.arms.items()
    }
    return replace(suite, spec=spec, arms=arms, tasks=tuple(_relocate_task(task, moved) for task in suite.tasks))


def _relocate_task(task: Task, moved: Callable[[str], str]) -> Task:
    def kept(path: str | None) -> str | None:
        return None if path is None else moved(path)

    workspace, image, dependencies = task.workspace, task.image, task.dependencies
    if isinstance(workspace, GitSource):
        workspace = replace_fields(workspace, repository=moved(workspace.repository))
    elif workspace is not None:
        workspace = replace_fields(workspace, path=moved(workspace.path))
    return replace_fields(
        task,
        tests_folder=kept(task.tests_folder),
        solution_folder=kept(task.solution_folder),
        workspace=workspace,
        image=None if image is None else replace_fields(image, dockerfile=kept(image.dockerfile)),
        dependencies=None if dependencies is None else replace_fields(dependencies, folder=moved(dependencies.folder)),
    )
