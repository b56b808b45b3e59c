"""Twenty-one public agents on the 97 tasks of AgentDojo: half the tasks, chosen by some, on pairs of the others.

Every pair of agents is judged, by tasks that other agents chose. Most pairs really differ. Ties are broken at random.
`make samples` fetches the runs.
"""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray
from scipy import stats
from scripts.install_public_runs import ATTACKED, PLAIN

from outweigh.stats.task_information import estimate_information
from outweigh.stats.task_selection import order_tasks, task_t

RUNS = Path(__file__).resolve().parents[2] / ".public_runs"
Counts = NDArray[np.intp]


class Matrix(Struct, frozen=True, kw_only=True):
    """The outcomes of every task (row), agent (column) and repeat; NaN where there is none."""

    passed: NDArray[np.float64]

    @property
    def passes(self) -> Counts:
        number: Counts = np.nansum(self.passed, axis=2).astype(np.intp)
        return number

    @property
    def runs(self) -> Counts:
        number: Counts = np.isfinite(self.passed).sum(axis=2).astype(np.intp)
        return number


def _read(name: str) -> Matrix:
    if not (RUNS / name).is_file():
        pytest.skip("the public runs are not installed; `make samples` does that")
    rows = [msgspec.json.decode(line) for line in (RUNS / name).read_bytes().splitlines()]
    tasks, arms = (sorted({row[key] for row in rows}) for key in ("task_id", "arm"))
    passed = np.full((len(tasks), len(arms), max(row["repeat"] for row in rows) + 1), np.nan)
    for row in rows:
        passed[tasks.index(row["task_id"]), arms.index(row["arm"]), row["repeat"]] = row["success"]
    return Matrix(passed=passed)


@pytest.fixture(scope="module")
def plain() -> Matrix:
    """Every agent ran every task once."""
    return _read(PLAIN)


@pytest.fixture(scope="module")
def attacked() -> Matrix:
    """Every agent ran every task five to nine times, each time with another injection."""
    return _read(ATTACKED)


def _half(passes: Counts, runs: Counts) -> Counts:
    size = len(passes)
    return order_tasks(estimate_information(passes, runs), np.ones(size), [None] * size).keep(size // 2)


def _pairs(passes: Counts, runs: Counts, number: int) -> Iterator[tuple[float, float, float]]:
    """The t statistic of every pair of agents on all tasks, on the half that `number` others chose, and on any half."""
    dice = np.random.default_rng(0)
    rates = passes / runs
    for pair in combinations(range(passes.shape[1]), 2):
        choosing = dice.permutation([arm for arm in range(passes.shape[1]) if arm not in pair])[:number]
        mixed = dice.permutation(len(passes))
        deltas = (rates[:, pair[1]] - rates[:, pair[0]])[mixed]
        chosen = _half(passes[mixed][:, choosing], runs[mixed][:, choosing])
        yield task_t(deltas), task_t(deltas[chosen]), task_t(deltas[: len(deltas) // 2])


def _kept(passes: Counts, runs: Counts, number: int) -> tuple[float, float]:
    """The slopes through 0 of what is kept by choice, and at random, over all pairs."""
    whole, chosen, at_random = np.array(list(_pairs(passes, runs, number))).T
    return float(whole @ chosen / (whole @ whole)), float(whole @ at_random / (whole @ whole))


@pytest.mark.parametrize(("number", "least"), [(19, 0.95), (10, 0.88), (6, 0.85), (4, 0.83)])
def test_half_the_tasks_keep_most_of_the_t_statistic_of_agents_that_ran_once(
    plain: Matrix, number: int, least: float
) -> None:
    kept, at_random = _kept(plain.passes, plain.runs, number)

    assert plain.passes.shape == (97, 21)
    assert kept >= least
    assert at_random == pytest.approx(0.71, abs=0.04)


@pytest.mark.parametrize(("number", "least"), [(19, 0.95), (10, 0.95), (4, 0.90), (3, 0.85), (2, 0.80)])
def test_half_the_tasks_keep_most_of_the_t_statistic_of_agents_that_ran_several_times(
    attacked: Matrix, number: int, least: float
) -> None:
    kept, _ = _kept(attacked.passes, attacked.runs, number)

    assert kept >= least


def test_an_agent_is_as_rarely_called_better_than_itself_on_chosen_tasks_as_on_all(attacked: Matrix) -> None:
    """The runs of one agent are dealt to two arms at random; the tasks are chosen by the other agents."""
    dice = np.random.default_rng(1)
    everywhere, on_chosen, tests = 0, 0, 0
    tasks, agents, repeats = attacked.passed.shape
    critical = {size: stats.t.ppf(0.975, size - 1) for size in (tasks, tasks // 2)}
    for agent in range(agents):
        others = [arm for arm in range(agents) if arm != agent]
        chosen = _half(attacked.passes[:, others], attacked.runs[:, others])
        for _ in range(100):
            first = dice.permuted(np.tile(np.arange(repeats) % 2 == 0, (tasks, 1)), axis=1)
            one, other = (np.where(dealt, attacked.passed[:, agent], np.nan) for dealt in (first, ~first))
            known = np.isfinite(one).any(axis=1) & np.isfinite(other).any(axis=1)
            deltas = np.full(tasks, np.nan)
            deltas[known] = np.nanmean(one[known], axis=1) - np.nanmean(other[known], axis=1)
            everywhere += abs(task_t(deltas)) > critical[tasks]
            on_chosen += abs(task_t(deltas[chosen])) > critical[tasks // 2]
            tests += 1

    assert tests == 2_100
    assert on_chosen / tests <= 0.07
    assert abs(on_chosen - everywhere) / tests <= 0.02
