"""Stores that a verdict can be computed about: twelve tasks, three repeats, a baseline `plain` and an arm `better`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.engine.engine_fixtures import shell, write_suite
from tests.trajectories import Runs, a_step, a_trajectory, store_of

from outweigh.engine.load_suite import load_suite
from outweigh.model.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.model.usage import Usage, reported_cost
from outweigh.store.run_store import FolderRunStore
from outweigh.store.write_experiment import write_experiment
from outweigh.testing.builders import a_judgment, a_run
from outweigh.verdict.policy import check_policy

SUITE, TASKS, REPEATS = "answers", 12, 3
LOST = "task-1"
"""The task on which `better` passes less often than `plain`."""


def decided_store(
    folder: Path,
    suite_folder: Path,
    *,
    day: int = 1,
    better_passes: int = 3,
    planned_runs: int | None = None,
    judged: bool = False,
    kind: AgentKind = AgentKind.REAL,
) -> Path:
    """A store of a day. `plain` passes one of three repeats and `better` so many; on one task `better` passes fewer."""
    if not suite_folder.exists():
        write_suite(suite_folder, {"plain": shell("true"), "better": shell("exit 0")}, tasks=TASKS, name=SUITE)
    suite = load_suite(suite_folder, check_policy=check_policy)
    start = datetime(2026, 3, day, 9, 0, tzinfo=UTC)
    runs: Runs = [
        (_run(number, arm, repeat, start, better_passes, kind), _transcript(number, arm))
        for number in range(1, TASKS + 1)
        for arm in ("plain", "better")
        for repeat in range(1, REPEATS + 1)
    ]
    store_of(folder, runs)
    write_experiment(folder, suite.spec, suite.tasks, suite.arms, planned_runs=planned_runs)
    if judged:
        with FolderRunStore.open(folder) as store:
            for run, _ in runs:
                store.append_judgment(a_judgment(run, 0.9 if run.trial.arm == "better" else 0.4))
    return folder


def _run(number: int, arm: str, repeat: int, start: datetime, better_passes: int, kind: AgentKind) -> RunRecord:
    passes = {"plain": 1, "better": better_passes}[arm]
    if f"task-{number}" == LOST:
        passes = {"plain": 3, "better": 2}[arm]
    effort = (40 + 7 * number + 5 * repeat) * (1.0 if arm == "plain" else 0.7 + 0.02 * (number * repeat % 7))
    return a_run(
        f"task-{number}",
        arm,
        repeat,
        passed=repeat <= passes,
        started_at=start + timedelta(minutes=number),
        duration_seconds=effort,
        cost=reported_cost(effort / 500),
        usage=Usage(
            input_tokens=int(50 * effort), output_tokens=int(9 * effort), cache_read_tokens=8000, cache_write_tokens=400
        ),
        agent=AgentIdentity(kind=kind, name="agent", version="1.0", model="model-1"),
    )


def _transcript(number: int, arm: str) -> dict[str, bytes]:
    look = a_step("bash", {"command": "ls"}, said="I look around.", output="question.txt")
    answer = {"plain": "I guess the answer.", "better": f"I compute the answer of task {number} exactly."}[arm]
    write = a_step("write", {"path": "answer.txt", "text": "42"}, said=answer)
    return {"trajectory.json": a_trajectory(look, write)}
