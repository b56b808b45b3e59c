"""Every task of the demo and of the starter suite, for real: solved it passes, botched or left alone it does not."""

import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event

import msgspec
import pytest

from outweigh.agents.noop import NoopAgent
from outweigh.agents.oracle import OracleAgent
from outweigh.agents.scripted import ScriptedAgent
from outweigh.app.starter_suite import starter_files
from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.engine.checks.evaluate import CheckSubject, evaluate_checks
from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.model.arm import Arm
from outweigh.model.failure import Status
from outweigh.model.run_record import CheckResult, Trial
from outweigh.model.task import FolderSource, Task
from outweigh.ports.agents import Agent, AttemptRequest
from outweigh.ports.sandboxes import SandboxRequest
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.verdict.policy import check_policy

DEMO = Path(__file__).parents[2] / "src" / "outweigh" / "demo_suite"
Attempt = Callable[[Agent, Task], tuple[CheckResult, ...]]


@pytest.fixture(scope="module")
def demo() -> LoadedSuite:
    return load_suite(DEMO, check_policy=check_policy)


@pytest.fixture
def attempt(tmp_path: Path, demo: LoadedSuite) -> Attempt:
    """Let an agent attempt a task in a fresh workspace, and check what it left."""

    def run(agent: Agent, task: Task) -> tuple[CheckResult, ...]:
        assert isinstance(task.workspace, FolderSource)
        folder = tmp_path / agent.name / task.id
        shutil.copytree(task.workspace.path, folder)
        arm = on_a_bad_day(demo)
        request = AttemptRequest(
            trial=Trial(task_id=task.id, arm=arm.name, repeat=1, seed=1),
            task=task,
            arm=arm,
            timeout_seconds=3600.0,
            budget_usd=None,
            environment={},
            model_access=None,
        )
        with LocalSandboxProvider().open(a_room(folder)) as sandbox:
            done = agent.attempt(request, sandbox)
            assert (done.status, done.status_detail) == (Status.COMPLETED, None)
        subject = CheckSubject(untouched=Path(task.workspace.path), answer=None)
        with open_check_sandbox(checks_in(folder, task)) as checks:
            return evaluate_checks(task, checks, subject).results

    return run


def checks_in(folder: Path, task: Task) -> CheckSandboxRequest:
    place = folder.with_name(f"{folder.name}-checks")
    return CheckSandboxRequest(
        provider=LocalSandboxProvider(), sandbox=a_room(folder), folder=place, tests=task.tests_folder
    )


def a_room(folder: Path) -> SandboxRequest:
    return SandboxRequest(
        workspace=folder,
        home=folder.parent,
        label="demo",
        read_only=(),
        ports=(),
        image=None,
        memory_mb=None,
        processes=None,
        cancel=Event(),
    )


def on_a_bad_day(demo: LoadedSuite) -> Arm:
    """The plain arm with its script found from anywhere, and no chance to solve anything."""
    options = {"script": str(DEMO / "script.toml"), "tasks": {task.id: {"solve_probability": 0} for task in demo.tasks}}
    return msgspec.structs.replace(demo.arms["plain"], options=options)


def test_every_demo_task_passes_solved_and_fails_otherwise(demo: LoadedSuite, attempt: Attempt) -> None:
    assert len(demo.tasks) == 12
    for task in demo.tasks:
        assert all(check.passed for check in attempt(OracleAgent(), task)), task.id
        assert not all(check.passed for check in attempt(NoopAgent(), task)), task.id


def test_what_a_bad_day_leaves_in_the_demo_fails_for_real(demo: LoadedSuite, attempt: Attempt) -> None:
    for task in demo.tasks:
        assert False in [check.passed for check in attempt(ScriptedAgent(), task)], task.id


def test_the_twin_is_the_same_and_the_others_are_not(demo: LoadedSuite) -> None:
    prints = {name: arm.fingerprint for name, arm in demo.arms.items()}

    assert prints["same"] == prints["plain"]
    assert len(set(prints.values())) == 3


def test_every_starter_task_passes_solved_and_fails_otherwise(tmp_path: Path, attempt: Attempt) -> None:
    for name, content in starter_files().items():
        (tmp_path / "starter" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "starter" / name).write_bytes(content)

    tasks = load_suite(tmp_path / "starter", check_policy=check_policy).tasks

    assert len(tasks) == 2
    for task in tasks:
        assert all(check.passed for check in attempt(OracleAgent(), task)), task.id
        assert not all(check.passed for check in attempt(NoopAgent(), task)), task.id
