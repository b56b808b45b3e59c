"""A suite with everything it names: tasks, arms, and the files that arms lay into workspaces. Reads; runs nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.run.arms import ArmFiles, load_arm
from outweigh.run.same_arms import refuse_unexplained_twins
from outweigh.run.task_folder import load_task
from outweigh.run.task_globs import task_folders
from outweigh.task.arm import Arm
from outweigh.task.parse import parse_suite
from outweigh.task.suite import DEFAULT_REPEATS, LADDER_REPEATS, PolicySpec, SuiteSpec
from outweigh.task.task import Task
from outweigh.verdict.policy import refuse_misfits

SUITE_FILE = "suite.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSuite:
    """Everything an experiment is made of. `overlays` holds the content of every file that an arm lays, by its hash."""

    spec: SuiteSpec
    folder: Path
    tasks: tuple[Task, ...]
    arms: Mapping[str, Arm]
    overlays: Mapping[str, bytes]


def load_suite(path: Path) -> LoadedSuite:
    """Read a suite file, or the `suite.toml` of a folder. Whatever is wrong in it is found here, before any run."""
    file = path / SUITE_FILE if path.is_dir() else path
    spec = parse_suite(_read(file), str(file))
    _check_policy(spec.policy, str(file))
    folder = file.parent.resolve()
    files = ArmFiles(folder)
    arms = {name: load_arm(name, spec.arms, files, str(file)) for name in spec.arms}
    refuse_unexplained_twins(arms, spec.arms, str(file))
    return LoadedSuite(
        spec=spec, folder=folder, tasks=_tasks(spec, folder, str(file)), arms=arms, overlays=files.contents
    )


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
