"""Engines for tests: a suite written on the spot, and everything else as the command line puts it together."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from outweigh.app.build_engine import Scratch, build_engine_deps, engine_label, load_suite_adapters
from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.model.run_record import RunRecord
from outweigh.store.run_store import FolderRunStore
from outweigh.verdict.policy import check_policy

Arms = Mapping[str, Mapping[str, Any]]
DONE = {"type": "file_contains", "name": "done", "path": "answer.txt", "text": "42"}


MISSING_PROGRAM = {"agent": "shell", "options": {"command": ["./no-such-program"]}}
"""An arm whose program is not there."""


def shell(line: str, **more: Any) -> dict[str, Any]:
    """An arm whose agent is a line of shell."""
    return {"agent": "shell", "options": {"command": line}, **more}


def write_suite(
    folder: Path, arms: Arms, *, tasks: int = 1, task: Mapping[str, Any] | None = None, **settings: Any
) -> Path:
    """A suite of small tasks that ask for a file; the first arm is the baseline.

    One alone gets an idle partner, unless designs make others.
    """
    for number in range(1, tasks + 1):
        write_task(folder / f"task-{number}", **{"checks": [DONE], "family": "answers", **(task or {})})
    suite = {
        "name": "suite",
        "tasks": ["task-*"],
        "baseline": next(iter(arms)),
        "sandbox": {"kind": "local"},
        "arms": {**arms, "idle": {"agent": "noop"}} if len(arms) == 1 and "designs" not in settings else arms,
        **settings,
    }
    (folder / "suite.toml").write_text(toml_lines(suite))
    return folder


def write_task(folder: Path, **settings: Any) -> None:
    (folder / "environment").mkdir(parents=True)
    (folder / "instruction.md").write_text("Write 42 to answer.txt.\n")
    (folder / "environment" / "question.txt").write_text("6 x 7\n")
    (folder / "task.toml").write_text(toml_lines({"metadata": {"outweigh": settings}}))


def toml_lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in table.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def plan_of(suite: LoadedSuite, *, repeats: int = 1, task_by_task: bool = False) -> tuple[PlannedRun, ...]:
    tasks = [task.id for task in suite.tasks]
    return plan_runs(tasks, list(suite.arms), repeats, suite.spec.seed, task_by_task=task_by_task)


@contextmanager
def open_engine(
    suite: LoadedSuite, folder: Path, scratch: Path | None = None
) -> Iterator[tuple[EngineDeps, FolderRunStore]]:
    """The engine's dependencies, with a real store in `folder`."""
    place = scratch or folder.parent / "scratch"
    place.mkdir(exist_ok=True)
    with FolderRunStore.open(folder) as store:
        yield (
            build_engine_deps(
                suite, load_suite_adapters(suite), store, engine_label(folder), Scratch(folder=place), Event()
            ),
            store,
        )


def loaded(folder: Path, arms: Arms, **settings: Any) -> LoadedSuite:
    return load_suite(write_suite(folder / "suite", arms, **settings), check_policy=check_policy)


def artifact(store: FolderRunStore, record: RunRecord, name: str) -> bytes:
    return store.artifact(record.artifacts[name])


def kept_bytes(folder: Path) -> bytes:
    """Everything a store holds, whatever file it is in."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
