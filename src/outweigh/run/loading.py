"""A suite with everything it names: tasks, arms, and the files that arms lay into workspaces. Reads; runs nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from outweigh.errors import UsageError
from outweigh.ports.workspaces import Revisions
from outweigh.run.arms import ArmFiles, load_arm
from outweigh.run.same_arms import refuse_unexplained_twins
from outweigh.run.task_folder import load_task
from outweigh.run.task_globs import task_folders
from outweigh.task.arm import Arm, ArmOrigin
from outweigh.task.inherit import inherit
from outweigh.task.parse import parse_suite
from outweigh.task.suite import DEFAULT_REPEATS, LADDER_REPEATS, PolicySpec, SuiteSpec
from outweigh.task.task import Task
from outweigh.verdict.policy import refuse_misfits

SUITE_FILE = "suite.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSuite:
    """Everything an experiment is made of. `overlays` holds the content of every file that an arm lays, by its hash.

    `origins` says of every arm from git where it comes from; `notes` is what whoever reads a result must know.
    """

    spec: SuiteSpec
    folder: Path
    tasks: tuple[Task, ...]
    arms: Mapping[str, Arm]
    overlays: Mapping[str, bytes]
    origins: Mapping[str, ArmOrigin]
    notes: tuple[str, ...] = ()


def load_suite(path: Path, revisions: Revisions | None = None) -> LoadedSuite:
    """Read a suite file, or the `suite.toml` of a folder. Whatever is wrong in it is found here, before any run."""
    file = suite_file(path)
    spec = parse_suite(_read(file), str(file))
    suite = _load(spec, file, revisions)
    refuse_unexplained_twins(suite.arms, spec.arms, str(file))
    return suite


def load_sides(path: Path, revisions: Revisions, refs: Mapping[str, str]) -> LoadedSuite:
    """The suite's baseline arm with the configuration of each of these refs; its other arms take no part.

    The sides may turn out to be the same: whether there is anything to compare is for the caller to see.
    """
    file = suite_file(path)
    spec = parse_suite(_read(file), str(file), fewest_arms=1)
    model = msgspec.structs.replace(inherit(spec.baseline, spec.arms), tier=None, same_as=None)
    arms = {name: msgspec.structs.replace(model, from_git=ref) for name, ref in refs.items()}
    return _load(msgspec.structs.replace(spec, arms=arms, baseline=next(iter(refs))), file, revisions)


def suite_file(path: Path) -> Path:
    """The suite file that a path means."""
    return path / SUITE_FILE if path.is_dir() else path


def _load(spec: SuiteSpec, file: Path, revisions: Revisions | None) -> LoadedSuite:
    _check_policy(spec.policy, str(file))
    folder = file.parent.resolve()
    files = ArmFiles(folder, revisions)
    arms = {name: load_arm(name, spec.arms, files, str(file)) for name in spec.arms}
    tasks = _tasks(spec, folder, str(file))
    return LoadedSuite(spec=spec, folder=folder, tasks=tasks, arms=arms, overlays=files.contents, origins=files.origins)


def _check_policy(policy: PolicySpec, source: str) -> None:
    try:
        refuse_misfits(policy.name, policy.gates, policy.margins)
    except UsageError as error:
        raise UsageError(f"{source}: [policy] {error}") from None


def _tasks(spec: SuiteSpec, folder: Path, source: str) -> tuple[Task, ...]:
    found: dict[str, Path] = {}
    tasks: list[Task] = []
    for place in task_folders(spec.tasks, folder, source):
        task = load_task(place)
        if task.id in found:
            raise UsageError(
                f"{place} and {found[task.id]} are both called {task.id!r}. "
                "Records are told apart by the task's name; give one of them another, under [task] in its task.toml."
            )
        found[task.id] = place
        tasks.append(task)
    return tuple(tasks)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"There is no suite at {file}. Name a suite file, or a folder with a {SUITE_FILE}.") from None
    except OSError as fault:
        raise UsageError(f"{file} cannot be read: {fault.strerror}.") from None


def usual_repeats(suite: LoadedSuite) -> int:
    """The repeats of a suite that does not name them, or those it names: more for a ladder, whose steps are small."""
    if suite.spec.repeats is not None:
        return suite.spec.repeats
    return LADDER_REPEATS if any(arm.tier is not None for arm in suite.arms.values()) else DEFAULT_REPEATS
