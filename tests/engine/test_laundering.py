"""An agent that has failed cannot have its run left out: every trick ends in a counted failure."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from benchmarks.attacks import ALL_ATTACKS
from tests.engine.engine_fixtures import open_engine, plan_of
from tests.prerequisites import require
from tests.sandbox.container_fixtures import busybox_image, working_engine

from outweigh.engine.attempt import run_attempt
from outweigh.engine.load_suite import load_suite
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import RunRecord
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.score.objective import objective, passed
from outweigh.testing.launder_tricks import TRICKS, LaunderTrick, compose_trick, write_launder_suite
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


@pytest.mark.needs_container
class TestContainer:
    def test_the_work_passes_and_none_fails(self, container: Tricked) -> None:
        assert_honest_arms(container)

    @pytest.mark.parametrize("name", [trick.name for trick in TRICKS] if ALL_ATTACKS in os.environ else IN_CONTAINER)
    def test_a_trick_is_a_failure_that_counts_and_leaves_nothing_behind(self, container: Tricked, name: str) -> None:
        assert_failed(container.record(name))
        assert list((container.scratch / "trials").iterdir()) == []
