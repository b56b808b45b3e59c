"""Planned looks at many experiments at once end like the looks at each of them alone."""

import numpy as np
import pytest
from tests.verdict.array_experiments import EXPERIMENTS, collapses, drawn, samples_of

from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import ERROR_RATES
from outweigh.verdict.gate_tests_on_arrays import SimulatedGate
from outweigh.verdict.looks_on_arrays import decide_at_looks
from outweigh.verdict.planned_looks import look_rates, prospects
from outweigh.verdict.rule_on_arrays import CURRENT_RULE, decide_many


def end_alone(gates: list[SimulatedGate], place: int, plan: LookPlan) -> tuple[Decision, int]:
    """How one experiment ends when the rule itself looks at it, and after how many tasks."""
    for look, size in enumerate(plan.sizes):
        tests, rates = examine_candidate(samples_of(gates, place, size)), look_rates(plan, look, ERROR_RATES)
        (finding,) = apply_rule([tests], rates)
        collapsed = collapses(gates[0], place, size, rates.task_alarm)
        decision = Decision.REGRESSED if collapsed else finding.decision
        (prospect,) = prospects([tests], plan, look, ERROR_RATES, apply_rule)
        if decision is not Decision.INCONCLUSIVE or prospect.futile:
            return decision, size
    return decision, size


@pytest.mark.parametrize(
    "gates",
    [drawn(60, 5, effect=0.5, shift=-0.1), drawn(60, 5), drawn(60, 5, effect=-0.8), drawn(60, 3, shift=0.25)],
    ids=["win", "alike", "loss", "dearer"],
)
def test_experiments_end_as_they_do_alone(gates: list[SimulatedGate]) -> None:
    plan = plan_even_looks([str(task) for task in range(60)], 5)

    ended = decide_at_looks(gates, plan, CURRENT_RULE)

    alone = [end_alone(gates, place, plan) for place in range(EXPERIMENTS)]
    found = [
        (next(decision for decision, flags in ended.decided.items() if flags[place]), int(ended.tasks[place]))
        for place in range(EXPERIMENTS)
    ]
    # Futility by sameness is read off t statistics here and off p-values there, which few tasks tell apart.
    assert sum(one == other for one, other in zip(found, alone, strict=True)) >= 0.9 * EXPERIMENTS
    assert np.mean([size for _, size in found]) == pytest.approx(np.mean([size for _, size in alone]), rel=0.05)


def test_every_experiment_ends_once_and_at_a_look() -> None:
    plan = plan_even_looks([str(task) for task in range(40)], 5)

    ended = decide_at_looks(drawn(40, 5, effect=0.3), plan, CURRENT_RULE)

    assert (np.sum(list(ended.decided.values()), axis=0) == 1).all()
    assert set(ended.tasks.tolist()) <= set(plan.sizes)


def test_a_plan_with_one_look_is_the_rule_itself() -> None:
    gates = drawn(50, 5, effect=0.4, shift=-0.1)
    plan = LookPlan(order=tuple(map(str, range(50))), sizes=(50,), repeats=5)

    ended = decide_at_looks(gates, plan, CURRENT_RULE)

    once = decide_many(gates)
    for decision in Decision:
        assert (ended.decided[decision] == once.decided[decision]).all()
