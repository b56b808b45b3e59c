"""Claims about whole experiments: resuming, and stopping when it is decided."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest
from tests.engine.engine_fixtures import loaded, open_engine, plan_of, shell
from tests.engine.fake_sandboxes import BrokenSandboxes

from outweigh.app.until_decided import Looks
from outweigh.engine.batch import EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent
from outweigh.engine.experiment import (
    ExperimentProgress,
    close_abandoned_attempts,
    experiment_progress,
    run_experiment,
    thread_executor,
)
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.look_plan import plan_even_looks
from outweigh.model.pricing import PriceTables
from outweigh.store.run_store import FolderRunStore
from outweigh.verdict.evidence_settings import evidence_settings

SOLVE = [{"do": "write", "path": "answer.txt", "content": "42"}]


def scripted(probability: float, **behaviour: Any) -> dict[str, Any]:
    drawn = {"solve_probability": probability, "on_success": SOLVE, "duration_seconds": 10, "cost_usd": 0.1}
    return {"agent": "scripted", "options": {"default": {**drawn, **behaviour}}}


class Engine:
    """One engine over a store."""

    def __init__(self, suite: LoadedSuite, deps: EngineDeps, store: FolderRunStore) -> None:
        self.suite, self.deps, self.store = suite, deps, store
        self.events: list[EngineEvent] = []

    def run(
        self,
        plan: Sequence[PlannedRun],
        *,
        until_decided: bool = False,
        budget_usd: float | None = None,
        drain: Signal | None = None,
    ) -> EndReason:
        close_abandoned_attempts(self.deps, plan, self.store.abandoned(), self.events.append)
        progress = experiment_progress(plan, self.store)
        looks = self.looks(plan) if until_decided else None
        return run_experiment(
            thread_executor(self.deps, 2, looks),
            progress,
            retries=self.deps.limits.retries,
            budget=Budget(budget_usd, self.suite.spec.limits.budget_usd, progress.paid),
            looks=looks,
            drain=drain or Signal(),
            listen=self.events.append,
        )

    def looks(self, plan: Sequence[PlannedRun]) -> Looks:
        """Looks at the first tasks of the plan, by the suite's policy."""
        spec = self.suite.spec
        planned = plan_even_looks(list(dict.fromkeys(run.trial.task_id for run in plan)), 2)
        settings = evidence_settings(gates=spec.policy.gates, looks=planned)
        looks = Looks(
            spec.baseline, [arm for arm in spec.arms if arm != spec.baseline], planned, settings, PriceTables()
        )
        for attempts in self.store.finished().values():
            for record in attempts:
                looks.add(record)
        return looks

    def progress(self, plan: Sequence[PlannedRun]) -> ExperimentProgress:
        return experiment_progress(plan, self.store)

    def attempts(self) -> dict[tuple[str, str, int], list[Status]]:
        return {trial: [record.status for record in records] for trial, records in self.store.finished().items()}


class ResumableExperiment:
    """A suite, and one engine after the other over the same store."""

    def __init__(self, folder: Path, arms: dict[str, Any], **settings: Any) -> None:
        self.folder = folder
        self.suite = loaded(folder, arms, **settings)

    def engine(self) -> Iterator[Engine]:
        with open_engine(self.suite, self.folder / "store") as (deps, store):
            yield Engine(self.suite, deps, store)


def test_resuming_repeats_nothing_that_counts(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": scripted(1.0), "b": scripted(0.0)}, tasks=3)
    plan = plan_of(lab.suite, repeats=2)
    for engine in lab.engine():
        assert engine.run(plan[:5]) is EndReason.DONE
        before = engine.store.finished()

    for engine in lab.engine():
        assert engine.run(plan) is EndReason.DONE

        after = engine.store.finished()
        assert len(after) == len(plan)
        assert all(len(records) == 1 for records in after.values())
        assert {trial: after[trial] for trial in before} == before


def test_a_failing_agent_counts_and_is_not_repeated(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": shell("exit 1"), "b": shell("sleep 60")}, limits={"timeout_seconds": 0.2})
    plan = plan_of(lab.suite)

    for _ in range(2):
        for engine in lab.engine():
            assert engine.run(plan) is EndReason.DONE
            assert engine.attempts() == {
                ("task-1", "a", 1): [Status.AGENT_ERROR],
                ("task-1", "b", 1): [Status.TIMEOUT],
            }


def test_resuming_attempts_again_what_infrastructure_failed(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": scripted(1.0), "b": scripted(0.0)}, limits={"retries": 0})
    plan = plan_of(lab.suite)
    for engine in lab.engine():
        engine.deps = replace(engine.deps, sandboxes=BrokenSandboxes())
        assert engine.run(plan) is EndReason.INCOMPLETE

    for engine in lab.engine():
        assert [number for _, number in engine.progress(plan).left] == [2, 2]
        assert engine.run(plan) is EndReason.DONE
        assert set(map(tuple, engine.attempts().values())) == {(Status.INFRA_ERROR, Status.COMPLETED)}


def test_resuming_closes_attempts_that_a_killed_engine_left_open(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": scripted(1.0), "b": scripted(0.0)})
    plan = plan_of(lab.suite)
    for engine in lab.engine():
        engine.store.begin("task-1/a/1#1", next(run.trial for run in plan if run.trial.arm == "a"), 1)

    for engine in lab.engine():
        assert engine.run(plan) is EndReason.DONE
        assert engine.attempts()["task-1", "a", 1] == [Status.INFRA_ERROR, Status.COMPLETED]
        assert engine.attempts()["task-1", "b", 1] == [Status.COMPLETED]
        assert engine.store.abandoned() == []


def test_a_gap_in_the_attempts_does_not_lead_to_a_number_twice(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": scripted(1.0), "b": scripted(0.0)}, limits={"retries": 0})
    plan = [run for run in plan_of(lab.suite) if run.trial.arm == "a"]
    for _ in range(4):
        for engine in lab.engine():
            engine.deps = replace(engine.deps, sandboxes=BrokenSandboxes())
            engine.run(plan)
    file = tmp_path / "store" / "runs-engine.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], b"damaged\n", *lines[2:]]))

    for engine in lab.engine():
        assert engine.run(plan) is EndReason.DONE
        numbers = [record.attempt for record in engine.store.finished()["task-1", "a", 1]]
        assert numbers == [1, 2, 3, 4, 5]


def test_progress_knows_what_every_arm_has_and_what_it_cost(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": scripted(1.0), "b": scripted(0.0)}, tasks=2)
    plan = plan_of(lab.suite)
    for engine in lab.engine():
        engine.run([run for run in plan if run.trial.arm == "a"])
        progress = engine.progress(plan)

    assert (progress.done, progress.passed) == ({"a": 2}, {"a": 2})
    assert {run.trial.arm for run, _ in progress.left} == {"b"}
    assert progress.spent_usd == pytest.approx(0.2)


def test_what_earlier_engines_spent_counts_against_the_budget(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": scripted(1.0), "b": scripted(0.0)}, tasks=5, limits={"budget_usd": 0.1})
    plan = plan_of(lab.suite)
    for engine in lab.engine():
        assert engine.run(plan, budget_usd=0.4) is EndReason.BUDGET
        assert len(engine.attempts()) == 4

    for engine in lab.engine():
        assert engine.run(plan, budget_usd=0.6) is EndReason.BUDGET
        assert len(engine.attempts()) == 6
        assert engine.run(plan, budget_usd=1.0) is EndReason.DONE


def test_an_attempt_that_a_killed_engine_paid_for_counts_at_its_worst(tmp_path: Path) -> None:
    lab = ResumableExperiment(tmp_path, {"a": scripted(1.0), "b": scripted(0.0)}, tasks=5, limits={"budget_usd": 0.1})
    plan = plan_of(lab.suite)
    for engine in lab.engine():
        engine.store.begin("lost", plan[0].trial, 1)

    for engine in lab.engine():
        assert engine.run(plan, budget_usd=0.4) is EndReason.BUDGET
        counted = [statuses for statuses in engine.attempts().values() if set(statuses) - EXCLUDED_STATUSES]
        assert len(counted) == 3


def sequential(folder: Path, baseline: float, candidate: float) -> tuple[EndReason, int, int]:
    """How an experiment of 40 tasks ends, how many trials it ran, and how many were planned."""
    noise = {"median": 10, "spread": 0.1}
    arms = {
        "a": scripted(baseline, duration_seconds=noise),
        "b": {**scripted(candidate, duration_seconds=noise), "extra_prompt": "Think."},
    }
    policy = {"gates": ["pass_rate"]}
    lab = ResumableExperiment(folder, arms, tasks=40, policy=policy, seed=3)
    plan = plan_of(lab.suite, repeats=2, task_by_task=True)
    for engine in lab.engine():
        stop = engine.run(plan, until_decided=True)
        return stop, len(engine.attempts()), len(plan)
    raise AssertionError("an engine has one life")


def test_until_decided_stops_early_on_a_clear_difference(tmp_path: Path) -> None:
    stop, ran, planned = sequential(tmp_path, baseline=0.1, candidate=1.0)

    assert stop is EndReason.DECIDED
    assert ran < planned / 2


def test_until_decided_stops_early_where_a_decision_has_become_unlikely(tmp_path: Path) -> None:
    stop, ran, planned = sequential(tmp_path, baseline=0.5, candidate=0.5)

    assert stop is EndReason.FUTILE
    assert ran < planned
