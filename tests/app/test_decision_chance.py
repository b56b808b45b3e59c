"""The chance of a decision that is said before a run, against the looks that end real runs."""

from collections.abc import Sequence
from math import comb

import numpy as np
import pytest

from outweigh.app.until_decided import Looks
from outweigh.engine.batch import EndReason
from outweigh.model.look_plan import plan_even_looks
from outweigh.model.pricing import PriceTables
from outweigh.stats.variance import VarianceComponents
from outweigh.testing.builders import a_run
from outweigh.verdict.decision_chance import UNLIKELY, DecisionSimulation
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.pilot_gates import gates_without_pilot
from outweigh.verdict.public_variation import public_populations
from outweigh.verdict.rule_on_arrays import CURRENT_RULE


def variances(deltas: float, runs: float) -> VarianceComponents:
    return VarianceComponents(
        true_deltas=deltas, candidate_runs=runs, baseline_runs=runs, observed_deltas=None, tasks=0, warnings=()
    )


COINS = {"pass_rate": variances(0.0, 0.25)}
"""Every task of the baseline passes every second time, whichever task it is."""


def simulation(stated: dict[str, VarianceComponents] | None = None, *names: str) -> DecisionSimulation:
    gates = names or tuple(stated or {})
    limits = gates_without_pilot(gates, evidence_settings()).limits
    return DecisionSimulation(populations=public_populations(gates, stated or {}), limits=limits, rule=CURRENT_RULE)


def is_decided(before: Sequence[bool], after: Sequence[bool], ratios: Sequence[float] | None = None) -> bool:
    """Whether the looks of a run with one repeat end it with a decision; `ratios` are durations in the candidate."""
    order = [f"t{number}" for number in range(len(before))]
    plan = plan_even_looks(order, 1)
    gates = ["pass_rate"] if ratios is None else ["pass_rate", "duration"]
    looks = Looks("old", ["new"], plan, evidence_settings(gates=gates, looks=plan), PriceTables())
    for place, task in enumerate(order):
        seconds = 60.0 * (1.0 if ratios is None else ratios[place])
        for record in (
            a_run(task, "old", 1, passed=before[place], duration_seconds=60.0),
            a_run(task, "new", 1, passed=after[place], duration_seconds=seconds),
        ):
            looks.add(record)
        if (seen := looks.take(set(order[place + 1 :]))).end is not None:
            return seen.end is EndReason.DECIDED
    return bool(seen.settled)


def test_the_chance_is_that_of_every_outcome_by_its_binomial_weight() -> None:
    """A candidate that always passes, a baseline that passes every second time, six tasks, and one look at the end."""
    tasks = 6
    weights = {
        failed: comb(tasks, failed) / 2**tasks
        for failed in range(tasks + 1)
        if is_decided([place >= failed for place in range(tasks)], [True] * tasks)
    }
    exact = sum(weights.values())

    found = simulation(COINS).chance(tasks, 0.5)

    assert 0.05 < exact < 0.95, "a case where chance matters"
    assert found.value == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / 1000))
    assert found.low == found.high == found.value, "stated variances leave no range"


def test_with_fewer_tasks_than_a_verdict_takes_nothing_is_decided() -> None:
    assert not is_decided([False] * 5, [True] * 5)
    assert simulation(COINS).chance(5, 0.5).value == 0.0


@pytest.mark.parametrize("gain", [0.4])
def test_the_chance_is_near_the_share_of_simulated_runs_that_their_looks_decide(gain: float) -> None:
    """Drawn here by other means than in the planner: 60 experiments of 16 tasks, with a gate of time as well."""
    tasks, experiments, random = 16, 60, np.random.default_rng(7)
    decided = [
        is_decided(
            (random.random(tasks) < 0.5).tolist(),
            (random.random(tasks) < 0.5 + gain).tolist(),
            np.exp(random.normal(0.0, np.sqrt(0.01 + 2 * 0.02), tasks)).tolist(),
        )
        for _ in range(experiments)
    ]
    share = sum(decided) / experiments

    found = simulation(COINS | {"duration": variances(0.01, 0.02)}).chance(tasks, gain)

    assert found.value == pytest.approx(share, abs=3 * np.sqrt(max(share * (1 - share), 0.02) / experiments))


def test_an_unlikely_decision_comes_with_what_would_make_it_even() -> None:
    simulated = simulation(COINS)

    outlook = simulated.outlook(12, 0.2)

    assert outlook.chance.value < UNLIKELY
    assert outlook.is_unlikely
    assert outlook.even_tasks is not None
    assert outlook.even_gain is not None
    assert simulated.chance(outlook.even_tasks, 0.2).value == pytest.approx(0.5, abs=0.08)
    assert simulated.chance(12, outlook.even_gain).value == pytest.approx(0.5, abs=0.08)


def test_a_likely_decision_needs_no_advice() -> None:
    outlook = simulation(COINS).outlook(40, 0.4)

    assert not outlook.is_unlikely
    assert (outlook.even_tasks, outlook.even_gain) == (None, None)
    assert outlook.if_same < 0.1


def test_a_gain_that_no_number_of_tasks_shows_has_none_to_name() -> None:
    outlook = simulation(COINS).outlook(300, 0.0)

    assert outlook.is_unlikely
    assert outlook.even_tasks is None


def test_public_records_leave_a_range_and_more_tasks_never_make_a_decision_much_less_likely() -> None:
    simulated = simulation(None, "pass_rate", "duration", "non_cache_tokens", "cost")
    chances = [simulated.chance(tasks, 0.2) for tasks in (12, 40, 160)]

    assert all((each.low or 0.0) <= each.value <= (each.high or 0.0) for each in chances)
    assert chances[0].value < chances[1].value < chances[2].value
    assert simulated.chance(40, 0.2) == chances[1], "the same question has the same answer"
