"""What it would take to decide: more tasks by the test that the data call for, their price, or more repeats."""

from math import ceil

import numpy as np
import pytest
from scipy import stats

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.stats.variance import TaskMoments, cluster_errors
from outweigh.testing.builders import evidence_of, runs_of_arm
from outweigh.verdict.decision import RequiredSample
from outweigh.verdict.evidence_settings import GATED_METRICS
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.required_sample import required_sample

NEEDED = (stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) ** 2
"""Tasks per squared ratio of deviation to margin, for 80 % power at one-sided 5 %."""


def gate(
    benefits: np.ndarray,
    *,
    name: str = "pass_rate",
    families: tuple[str, ...] | None = None,
    noise: tuple[TaskMoments, TaskMoments] | None = None,
) -> GateSample:
    return GateSample(
        gated=GATED_METRICS[name],
        margin=0.05,
        tasks=tuple(f"task-{number}" for number in range(len(benefits))),
        benefits=benefits,
        families=families,
        noise=noise,
        unknown=None,
    )


def spread(tasks: int, deviation: float) -> np.ndarray:
    values: np.ndarray = np.where(np.arange(tasks) % 2, 1.0, -1.0)
    values *= deviation / values.std(ddof=1)
    return values


def comparison(repeats: int = 5) -> Comparison:
    """Two arms whose runs cost ten cents each."""
    return compare_arms(
        evidence_of(*(runs_of_arm(arm, [[True] * repeats] * 2) for arm in ("old", "new"))), "old", "new"
    )


def needs(*gates: GateSample, repeats: int = 5) -> RequiredSample:
    found = required_sample(gates, comparison(repeats))
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "limit"), [("pass_rate", 0.05), ("duration", np.log(1.05))])
def test_scattered_deltas_need_the_tasks_of_a_t_test(name: str, limit: float) -> None:
    found = needs(gate(spread(20, 0.2), name=name))

    tasks = ceil(NEEDED * 0.2**2 / limit**2) - 20
    assert found.more_tasks == tasks
    assert found.cost_usd == pytest.approx(tasks * 2 * 5 * 0.10)
    assert found.more_repeats is None
    assert f"about {tasks} more tasks, about ${found.cost_usd:,.2f}" in found.detail
    assert "more repeats alone would not do" in found.detail


def test_two_tasks_are_enough_to_foresee_how_many_are_needed() -> None:
    wanted = NEEDED * (0.2 / np.log(1.05)) ** 2

    assert needs(gate(spread(2, 0.2), name="duration")).more_tasks == pytest.approx(wanted - 2, abs=5)


def test_the_gate_that_needs_most_decides() -> None:
    small, large = gate(spread(20, 0.2)), gate(spread(20, 0.4))

    assert needs(small, large).more_tasks == needs(large).more_tasks


def test_tasks_that_hardly_differ_need_as_many_as_exact_counting() -> None:
    one_loss = np.zeros(30)
    one_loss[0] = -1.0
    enough = next(tasks for tasks in range(30, 999) if stats.binom.cdf(1, tasks, 0.05) <= 0.05)

    assert needs(gate(np.zeros(10))).more_tasks == 59 - 10
    assert needs(gate(one_loss)).more_tasks == enough - 30


def test_losses_beyond_the_margin_are_not_counted_away() -> None:
    two_losses = np.zeros(40)
    two_losses[:2] = -1.0

    assert required_sample([gate(two_losses)], comparison()) is None


def test_families_are_what_is_counted_where_tasks_have_any() -> None:
    families = tuple(f"family-{number // 4}" for number in range(24))
    benefits = np.repeat(spread(6, 0.2), 4)
    errors = cluster_errors(benefits, families)

    found = needs(gate(benefits, families=families))

    assert found.more_tasks == ceil(NEEDED * errors.cr2**2 * 6 / 0.05**2 * 4) - 24


def test_fewer_tasks_than_any_conclusion_needs_are_asked_for_first() -> None:
    assert needs(gate(np.array([0.5]))).more_tasks == 5
    assert needs(gate(spread(4, 0.001))).more_tasks == 2
    assert required_sample([gate(spread(6, 0.001))], comparison()) is None


def moments(means: np.ndarray, variance: float, runs: int) -> TaskMoments:
    return TaskMoments(
        means=means, variances=np.full(len(means), variance), counts=np.full(len(means), runs, dtype=np.int64)
    )


def test_repeats_help_where_the_noise_between_runs_is_what_scatters() -> None:
    benefits, runs = spread(40, 0.2), 5
    noise = (moments(np.zeros(40), 0.09, runs), moments(benefits, 0.09, runs))
    between_tasks = 0.2**2 - 2 * 0.09 / runs
    affordable = 40 * 0.05**2 / NEEDED

    found = needs(gate(benefits, noise=noise), repeats=runs)

    assert found.more_repeats == ceil(2 * 0.09 / (affordable - between_tasks)) - runs
    assert f"or {found.more_repeats} more repeats of every task" in found.detail


def test_repeats_do_not_help_where_the_tasks_themselves_differ() -> None:
    benefits = spread(40, 0.4)
    noise = (moments(np.zeros(40), 0.1, 5), moments(benefits, 0.1, 5))

    assert needs(gate(benefits, noise=noise)).more_repeats is None
