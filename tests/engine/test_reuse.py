"""Which earlier runs stand for planned ones: recent ones freely, stale ones for half of a task's runs at most."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.engine.engine_fixtures import shell, write_suite

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.engine.reuse import ReusedRun, ReuseSource, anchor_repeats, find_reusable_runs, reuse_limits
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.stats.estimate import Unit
from outweigh.stats.proportions import cliff_delta
from outweigh.testing.builders import a_run
from outweigh.verdict.policy import check_policy

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LIMIT = NOW - timedelta(days=7)
TASKS, REPEATS = 12, 5


@pytest.fixture
def suite(tmp_path: Path) -> LoadedSuite:
    arms = {"base": shell("true"), "head": shell("false")}
    return load_suite(write_suite(tmp_path / "suite", arms, tasks=TASKS), check_policy=check_policy)


def plan(suite: LoadedSuite, arms: Sequence[str] = ("base", "head")) -> tuple[PlannedRun, ...]:
    return plan_runs([task.id for task in suite.tasks], arms, REPEATS, 1)


def earlier(suite: LoadedSuite, days: float, repeats: int = REPEATS) -> list[RunRecord]:
    """Runs of the baseline that were made so many days ago."""
    return [
        a_run(
            task.id,
            "base",
            repeat,
            started_at=NOW - timedelta(days=days, seconds=repeat),
            position=repeat,
            arm_fingerprint=suite.arms["base"].fingerprint,
            task_checksum=task.checksum,
        )
        for task in suite.tasks
        for repeat in range(1, repeats + 1)
    ]


def reuse(
    suite: LoadedSuite,
    runs: Sequence[RunRecord],
    *,
    planned: Sequence[PlannedRun] | None = None,
    stored: Sequence[RunRecord] = (),
) -> list[ReusedRun]:
    whole = plan(suite) if planned is None else planned
    held = {run.trial.key for run in stored}
    left = [(run, 1) for run in whole if run.trial.arm == "base" and run.trial.key not in held]
    limits = reuse_limits(whole, stored, baseline="base", not_before=LIMIT)
    source = ReuseSource(name="there", settings="same", runs=runs)
    tasks = {task.id: task for task in suite.tasks}
    return list(find_reusable_runs(left, suite.arms, tasks, [source], settings="same", limits=limits))


def per_task(found: Sequence[ReusedRun]) -> set[int]:
    return set(Counter(one.record.trial.task_id for one in found).values())


def test_recent_runs_stand_for_all(suite: LoadedSuite) -> None:
    found = reuse(suite, earlier(suite, 1))

    assert per_task(found) == {REPEATS}
    assert not any(one.stale for one in found)


def test_stale_runs_stand_for_half_and_the_others_are_made_anew(suite: LoadedSuite) -> None:
    found = reuse(suite, earlier(suite, 30))

    assert len(found) == TASKS * 2
    assert per_task(found) == {2}
    assert all(one.stale for one in found)


def test_recent_runs_are_taken_before_stale_ones(suite: LoadedSuite) -> None:
    found = reuse(suite, [*earlier(suite, 30), *earlier(suite, 1, repeats=1)])

    assert Counter(one.stale for one in found) == {True: 2 * TASKS, False: TASKS}


def test_a_baseline_without_a_candidate_is_made_anew(suite: LoadedSuite) -> None:
    assert reuse(suite, earlier(suite, 30), planned=plan(suite, ["base"])) == []


def test_going_on_with_a_run_adds_no_more_stale_ones(suite: LoadedSuite) -> None:
    first = [one.record for one in reuse(suite, earlier(suite, 30))]

    assert reuse(suite, earlier(suite, 30), stored=first) == []


def test_the_runs_that_are_made_anew_lie_among_the_candidates(suite: LoadedSuite) -> None:
    reused = {one.record.trial.key for one in reuse(suite, earlier(suite, 30))}
    fresh = [run.position for run in plan(suite) if run.trial.arm == "base" and run.trial.key not in reused]
    candidate = [run.position for run in plan(suite) if run.trial.arm == "head"]

    lag = cliff_delta(np.array(fresh, float), np.array(candidate, float), level=0.95, unit=Unit.RUN).point
    assert lag is not None
    assert abs(lag) < 0.25


def test_a_reused_run_has_no_position_and_keeps_its_clock(suite: LoadedSuite) -> None:
    (one, *_) = reuse(suite, earlier(suite, 1))

    assert one.record.position is None
    assert one.record.started_at == one.started_at
    assert one.record.extra[REUSED_LABEL]["source"] == "there"


def test_the_same_plan_always_makes_the_same_runs_anew(suite: LoadedSuite) -> None:
    shuffled = [msgspec.structs.replace(run) for run in reversed(earlier(suite, 30))]

    def keys(runs: Sequence[RunRecord]) -> set[tuple[str, str, int]]:
        return {one.record.trial.key for one in reuse(suite, runs)}

    assert keys(shuffled) == keys(earlier(suite, 30))


class TestAnchorsOfAVersion:
    """Runs of the baseline in the same store, when a changed candidate is begun."""

    WEEK = timedelta(days=7)

    def anchors(self, suite: LoadedSuite, days: float, **known: timedelta | None) -> dict[str, tuple[int, ...]]:
        return anchor_repeats(earlier(suite, days), REPEATS, begun_at=NOW, **{"max_age": self.WEEK, **known})

    def test_recent_runs_need_none(self, suite: LoadedSuite) -> None:
        assert self.anchors(suite, 6.9) == {}

    def test_of_runs_that_are_too_old_all_but_half_are_made_anew_after_the_earlier_ones(
        self, suite: LoadedSuite
    ) -> None:
        assert set(self.anchors(suite, 8).values()) == {(6, 7, 8)}

    def test_every_run_is_made_anew_where_none_may_be_reused(self, suite: LoadedSuite) -> None:
        assert set(self.anchors(suite, 0.1, max_age=None).values()) == {(6, 7, 8, 9, 10)}

    def test_runs_that_were_made_since_change_nothing(self, suite: LoadedSuite) -> None:
        """The same anchors come out when the run goes on after some of them were made."""
        since = earlier(suite, -1, repeats=8)

        assert anchor_repeats([*earlier(suite, 8), *since], REPEATS, begun_at=NOW, max_age=self.WEEK) == self.anchors(
            suite, 8
        )

    def test_half_of_them_may_be_old(self, suite: LoadedSuite) -> None:
        young = [run for run in earlier(suite, 1) if run.trial.repeat > 2]
        old = [run for run in earlier(suite, 8) if run.trial.repeat <= 2]

        assert anchor_repeats([*old, *young], REPEATS, begun_at=NOW, max_age=self.WEEK) == {}
