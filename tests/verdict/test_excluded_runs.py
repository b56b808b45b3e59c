"""Excluded runs decide nothing, neither by one arm losing more of them nor by being those that would have failed."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.verdict.looked_runs import ORDER, PLAN
from tests.verdict.looked_runs import runs as looked_runs

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Decision, Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.excluded_runs import count_as_failures

GATES = ["pass_rate", "duration"]


def experiment(
    gain: float, *, slower: float = 1.0, tasks: int = 40, repeats: int = 5, seed: int = 1
) -> list[RunRecord]:
    """Two arms that pass 50 % and 50 % + gain; the candidate takes `slower` times as long."""
    dice = np.random.default_rng(seed)
    return [
        a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=bool(dice.random() < (0.5 if arm == "old" else 0.5 + gain)),
            duration_seconds=60 * float(np.exp(dice.normal(0, 0.1))) * (1.0 if arm == "old" else slower),
            cost=reported_cost(0.1),
        )
        for task in range(tasks)
        for repeat in range(1, repeats + 1)
        for arm in ("old", "new")
    ]


def failed(record: RunRecord) -> bool:
    return record.trial.arm == "new" and record.checks is not None and not record.checks[0].passed


def lose(
    records: Iterable[RunRecord], number: int, which: Callable[[RunRecord], bool], *, retried: bool = False
) -> list[RunRecord]:
    """Exclude the first so many of these runs; a retried one passes in its second attempt."""
    found: list[RunRecord] = []
    for record in records:
        if number > 0 and which(record):
            number -= 1
            trial = record.trial
            place = (trial.task_id, trial.arm, trial.repeat)
            took: dict[str, Any] = {"duration_seconds": record.duration_seconds, "cost": record.cost}
            found.append(a_run(*place, status=Status.INFRA_ERROR, **took))
            if retried:
                found.append(a_run(*place, attempt=2, passed=True, **took))
        else:
            found.append(record)
    return found


def compared(records: Iterable[RunRecord]) -> Comparison:
    return compare_arms(evidence_of(list(records)), "old", "new")


def decide(records: Iterable[RunRecord], **chosen: Any) -> Verdict:
    return decide_by_evidence([compared(records)], evidence_settings(gates=GATES, **chosen))[0]


def is_new(record: RunRecord) -> bool:
    return record.trial.arm == "new"


UNEQUAL = "the arms lost different shares of their attempts to infrastructure: 0 of 200 of old, 7 of 200 of new"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("gain", "slower", "shown"),
    [(0.45, 0.8, Decision.IMPROVED), (0.0, 1.0, Decision.NEUTRAL), (0.45, 1.5, Decision.TRADE_OFF)],
)
def test_unequal_exclusions_decide_nothing(version: int, gain: float, slower: float, shown: Decision) -> None:
    if version == 1 and shown is Decision.TRADE_OFF:
        shown = Decision.REGRESSED  # version 1 knows no trade-off
    chosen: dict[str, Any] = {"version": version, "margins": {"pass_rate": 0.25}}
    records = experiment(gain, slower=slower)
    assert decide(records, **chosen).decision is shown

    verdict = decide(lose(records, 7, is_new), **chosen)

    assert verdict.decision is (Decision.REGRESSED if shown is Decision.REGRESSED else Decision.INCONCLUSIVE)
    assert any(UNEQUAL in reason for reason in verdict.reasons)
    assert any(UNEQUAL in blocker for blocker in verdict.blockers)


@pytest.mark.parametrize("version", [1, 2])
def test_a_regression_stands_whatever_was_lost(version: int) -> None:
    lost = lose(experiment(-0.4), 20, lambda record: is_new(record) and record.trial.repeat == 1)

    verdict = decide(lost, version=version)

    assert verdict.decision is Decision.REGRESSED


@pytest.mark.parametrize("lost_by", ["old", "new"])
def test_more_than_five_points_apart_is_unequal_however_few_runs_there_are(lost_by: str) -> None:
    # 2 of 36 is 5.6 points more than nothing, and Fisher's exact p is .49.
    records = experiment(0.5, slower=0.6, tasks=12, repeats=3)
    assert decide(records).decision is Decision.IMPROVED

    verdict = decide(lose(records, 2, lambda record: record.trial.arm == lost_by))

    assert verdict.decision is Decision.INCONCLUSIVE
    assert any("the arms lost different shares" in reason for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("version", "gain", "slower", "seed", "retried", "turned"),
    [
        (1, 0.16, 1.0, 19, False, "it would be inconclusive, not improved"),
        (1, 0.16, 1.0, 6, True, "it would be inconclusive, not improved"),
        (2, 0.16, 1.0, 6, True, "it would be inconclusive, not improved"),
        (2, 0.14, 1.5, 10, False, "it would be regressed, not trade_off"),
        (2, 0.14, 1.5, 10, True, "it would be regressed, not trade_off"),
    ],
)
def test_a_decision_that_failures_would_turn_is_not_made(
    version: int, gain: float, slower: float, seed: int, retried: bool, turned: str
) -> None:
    """Five failures of 200 are hidden, which is too few for the exact test (p = .061) and enough for a gain."""
    records = lose(experiment(gain, slower=slower, seed=seed), 5, failed, retried=retried)

    verdict = decide(records, version=version)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert any(f"if every run lost to infrastructure counted as a failure, {turned}" in r for r in verdict.reasons)
    assert any(turned in blocker for blocker in verdict.blockers)


@pytest.mark.parametrize("version", [1, 2])
def test_a_gain_that_failures_cannot_turn_stands(version: int) -> None:
    records = lose(lose(experiment(0.45, slower=0.8), 4, failed), 4, lambda record: record.trial.arm == "old")

    assert decide(records, version=version).decision is Decision.IMPROVED


def test_every_lost_attempt_is_a_failure_of_its_task_and_took_what_it_took() -> None:
    lost = a_run("t", "new", 1, status=Status.INFRA_ERROR, duration_seconds=10.0)
    again = a_run("t", "new", 1, attempt=2, passed=True, duration_seconds=30.0)
    gone = a_run("t", "new", 2, status=Status.NOT_RUN, duration_seconds=None)
    kept = a_run("t", "old", 1, passed=True, duration_seconds=20.0)

    found = count_as_failures(compared([lost, again, gone, kept]))

    assert found is not None
    table = found.candidate_table
    # First what is counted, then what is excluded, then what a later attempt took the place of.
    assert table.columns["passed"].tolist() == [1.0, 0.0, 0.0]
    assert [run.objective for run in table.runs] == [1.0, 0.0, 0.0]
    assert table.columns["duration_seconds"].tolist() == pytest.approx([30.0, float("nan"), 10.0], nan_ok=True)
    assert found.baseline_table.columns["passed"].tolist() == [1.0]


def test_a_run_of_a_task_without_checks_cannot_fail() -> None:
    unchecked = [a_run("t", arm, 1, checks=None) for arm in ("old", "new")]
    lost = a_run("t", "new", 2, status=Status.INFRA_ERROR)

    found = count_as_failures(compared([*unchecked, lost]))

    assert found is not None
    assert np.isnan(found.candidate_table.columns["passed"]).all()
    assert found.candidate_table.runs[-1].vacuous


def test_where_nothing_was_lost_there_is_nothing_to_count() -> None:
    assert count_as_failures(compared(experiment(0.0, tasks=2))) is None


def test_what_a_look_decided_falls_when_exclusions_become_unequal_later() -> None:
    first = PLAN.tasks_at(0)
    early = looked_runs(first, 0.45, speed=0.7)
    later = looked_runs([task for task in ORDER if task not in first], 0.45, speed=0.7)
    verdicts = {
        lost: decide_by_evidence(
            [compared([*early, *lose(later, lost, is_new)])], evidence_settings(gates=GATES, looks=PLAN)
        )[0]
        for lost in (0, 20)
    }

    assert verdicts[0].decision is Decision.IMPROVED
    assert verdicts[20].decision is Decision.INCONCLUSIVE
    assert any("the arms lost different shares" in reason for reason in verdicts[20].reasons)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    gain=st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.3]),
    hidden=st.integers(0, 60),
    version=st.sampled_from([1, 2]),
)
def test_hiding_failures_earns_no_decision_that_failing_would_not(
    seed: int, gain: float, hidden: int, version: int
) -> None:
    honest = experiment(gain, tasks=20, repeats=4, seed=seed)

    decided = decide(lose(honest, hidden, failed), version=version).decision

    assert decided in (decide(honest, version=version).decision, Decision.INCONCLUSIVE, Decision.REGRESSED)
