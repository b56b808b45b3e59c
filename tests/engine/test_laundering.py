"""An agent that has failed cannot have its run left out: every trick ends in a counted failure."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from benchmarks.attacks import ALL_ATTACKS
from msgspec import structs
from tests.engine.engine_fixtures import open_engine, plan_of, shell, write_suite
from tests.prerequisites import require
from tests.sandbox.container_fixtures import busybox_image, working_engine
from tests.verdict.two_arms import decide, experiment

from outweigh.engine.attempt import run_attempt
from outweigh.engine.load_suite import load_suite
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import RunRecord
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.score.objective import objective, passed
from outweigh.testing.launder_tricks import TRICKS, LaunderTrick, compose_trick, write_launder_suite
from outweigh.verdict.decision import Decision
from outweigh.verdict.policy import check_policy

COMPOSED = [compose_trick(seed) for seed in range(8)]
IN_CONTAINER = (
    "exit-127",
    "report-infra-error",
    "close-everything",
    "nest-2500-folders",
    "pipes-everywhere",
    "kill-everything",
    "check-closes-workspace",
    "check-kills-everything",
)


class Tricked:
    """The suite of tricks in one kind of sandbox, attempted arm by arm."""

    def __init__(self, folder: Path, sandbox: dict[str, Any], held: ExitStack) -> None:
        write_launder_suite(folder / "suite", (*TRICKS, *COMPOSED), sandbox)
        suite = load_suite(folder / "suite", check_policy=check_policy)
        self.scratch = folder / "scratch"
        self._deps, _ = held.enter_context(open_engine(suite, folder / "store", self.scratch))
        self._plan = {run.trial.arm: run for run in plan_of(suite)}

    @cache  # noqa: B019 - a module has one or two of these, and several tests look at a record
    def record(self, arm: str) -> RunRecord:
        return run_attempt(self._deps, self._plan[arm], 1).record


@contextmanager
def tricked(folder: Path, sandbox: dict[str, Any]) -> Iterator[Tricked]:
    with ExitStack() as held:
        yield Tricked(folder, sandbox, held)


@contextmanager
def quick_folder(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory where there is one, because large trees are slow to remove from a disk."""
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else factory.mktemp("launder")
    with TemporaryDirectory(prefix="launder-", dir=parent) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tricked]:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    with quick_folder(tmp_path_factory) as folder, tricked(folder, {"kind": "bubblewrap"}) as scene:
        yield scene


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tricked]:
    require("container", ContainerSandboxProvider().missing())
    with (
        busybox_image(working_engine()) as image,
        quick_folder(tmp_path_factory) as folder,
        tricked(folder, {"kind": "container", "image": image}) as scene,
    ):
        yield scene


def assert_failed(record: RunRecord) -> None:
    """A run that counts, and counts as a failure."""
    told = record.status, record.status_detail, record.checks
    assert record.status not in EXCLUDED_STATUSES, told
    assert passed(record).value == 0, told
    assert objective(record).share.value is not None, told


RANK = {
    Decision.REGRESSED: 0,
    Decision.INCONCLUSIVE: 1,
    Decision.NEUTRAL: 2,
    Decision.TRADE_OFF: 2,
    Decision.IMPROVED: 3,
}


def lose_by(run: RunRecord, lost: RunRecord) -> RunRecord:
    """A failed run of the candidate as it would have ended by a trick; any other as it is."""
    if run.trial.arm != "new" or passed(run).value == 1:
        return run
    return structs.replace(run, status=lost.status, status_detail=lost.status_detail, checks=lost.checks)


def assert_honest_arms(scene: Tricked) -> None:
    solved, failed = scene.record("solved"), scene.record("failed")
    assert (solved.status, passed(solved).value) == (Status.COMPLETED, 1), solved.checks
    assert (failed.status, passed(failed).value) == (Status.COMPLETED, 0), failed.checks


@pytest.mark.needs_bubblewrap
class TestBubblewrap:
    def test_the_work_passes_and_none_fails(self, bubblewrap: Tricked) -> None:
        assert_honest_arms(bubblewrap)

    @pytest.mark.parametrize("trick", [*TRICKS, *COMPOSED], ids=lambda trick: trick.name[:60])
    def test_a_trick_is_a_failure_that_counts_and_leaves_nothing_behind(
        self, bubblewrap: Tricked, trick: LaunderTrick
    ) -> None:
        assert_failed(bubblewrap.record(trick.name))
        assert list((bubblewrap.scratch / "trials").iterdir()) == []

    @pytest.mark.parametrize("version", [1, 2])
    @pytest.mark.parametrize("gain", [-0.4, 0.0, 0.35])
    def test_no_trick_leads_to_a_better_decision_than_failing_honestly(
        self, bubblewrap: Tricked, gain: float, version: int
    ) -> None:
        records = experiment(gain)
        honest = decide(records, version=version).decision
        lost = {trick.name: bubblewrap.record(trick.name) for trick in (*TRICKS, *COMPOSED)}
        # Only what a record is counted by matters, so equal outcomes are decided about once.
        by_outcome = {
            (run.status, tuple(check.passed for check in run.checks or ())): name for name, run in lost.items()
        }

        for name in by_outcome.values():
            tricked_runs = [lose_by(run, lost[name]) for run in records]
            assert RANK[decide(tricked_runs, version=version).decision] <= RANK[honest], name

    def test_an_arm_that_closes_the_workspace_when_it_loses_passes_as_often_as_the_other(self, tmp_path: Path) -> None:
        line = "if grep -q '[02468]$' question.txt; then echo 42 >answer.txt; else {}; fi"
        arms = {"plain": shell(line.format(":")), "closing": shell(line.format("chmod 000 ."))}
        check = {"type": "command", "name": "done", "run": "grep -qx 42 answer.txt"}
        folder = write_suite(
            tmp_path / "suite", arms, tasks=4, task={"checks": [check]}, sandbox={"kind": "bubblewrap"}
        )
        for number in range(1, 5):
            (folder / f"task-{number}" / "environment" / "question.txt").write_text(f"{number}\n")
        suite = load_suite(folder, check_policy=check_policy)
        with open_engine(suite, tmp_path / "store") as (deps, _):
            records = [run_attempt(deps, planned, 1).record for planned in plan_of(suite)]

        outcomes = {arm: [passed(run).value for run in records if run.trial.arm == arm] for arm in arms}
        assert [sorted(map(str, found)) for found in outcomes.values()] == [["0", "0", "1", "1"]] * 2


@pytest.mark.needs_container
class TestContainer:
    def test_the_work_passes_and_none_fails(self, container: Tricked) -> None:
        assert_honest_arms(container)

    @pytest.mark.parametrize("name", [trick.name for trick in TRICKS] if ALL_ATTACKS in os.environ else IN_CONTAINER)
    def test_a_trick_is_a_failure_that_counts_and_leaves_nothing_behind(self, container: Tricked, name: str) -> None:
        assert_failed(container.record(name))
        assert list((container.scratch / "trials").iterdir()) == []
