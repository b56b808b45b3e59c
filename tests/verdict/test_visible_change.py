"""The smallest change that a size of experiment shows, against the rest of the plan and against the rule itself."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from outweigh.compare.comparison import compare_arms
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.experiment_plan import VISIBLE_STEP, ExperimentPlanner
from outweigh.verdict.pilot_gates import gates_without_pilot
from outweigh.verdict.planned_experiment import OfferedSizes
from outweigh.verdict.public_variation import public_populations
from outweigh.verdict.rule_on_arrays import CURRENT_RULE
from outweigh.verdict.weigh_evidence import weigh_evidence

GATES = ("pass_rate",)
TASKS, REPEATS, POWER = 20, 5, 0.8


def planner(effect: float = 0.05) -> ExperimentPlanner:
    limits = gates_without_pilot(GATES, evidence_settings(gates=GATES)).limits
    return ExperimentPlanner(public_populations(GATES), limits, {"pass_rate": effect}, CURRENT_RULE, None, seed=0)


def improved(effect: float) -> float:
    """What the table of the plan says about this effect at this size."""
    (size,) = planner(effect).sizes(OfferedSizes(tasks=(TASKS,), repeats=(REPEATS,)))
    return size.improved.value


def test_the_visible_gain_is_where_the_table_of_the_plan_reaches_the_wanted_chance() -> None:
    seen = planner().visible("pass_rate", TASKS, REPEATS, POWER)

    assert seen.gain is not None
    assert improved(seen.gain) >= POWER
    assert improved(seen.gain - 2 * VISIBLE_STEP) < POWER


def test_more_tasks_show_smaller_changes() -> None:
    small, large = (planner().visible("pass_rate", tasks, REPEATS, POWER) for tasks in (20, 80))

    assert small.gain is not None
    assert large.gain is not None
    assert small.loss is not None
    assert large.loss is not None
    assert large.gain < small.gain
    assert large.loss < small.loss


def test_where_no_gain_is_shown_often_enough_the_largest_has_its_chance() -> None:
    seen = planner().visible("pass_rate", 7, REPEATS, POWER)

    assert seen.gain is None
    assert seen.largest_gain == pytest.approx(0.5)
    assert 0 < seen.largest_chance < POWER


def test_experiments_with_the_visible_gain_are_called_improved_by_the_rule_as_often_as_said() -> None:
    """Independent: records drawn by scipy's logistic function, decided by the rule that decides verdicts."""
    seen = planner().visible("pass_rate", TASKS, REPEATS, POWER)
    assert seen.gain is not None
    variation = public_populations(GATES).estimate.variations[0]
    random, settings, draws = np.random.default_rng(5), evidence_settings(gates=GATES), 200
    levels, halves = (
        random.normal(0, variation.level_deviation, 200_000),
        random.normal(0, variation.effect_deviation / 2, 200_000),
    )
    wanted = 0.5 + seen.gain
    shift = float(brentq(lambda x: expit(levels + halves + x).mean() - wanted, 0, 20))
    found = 0
    for _ in range(draws):
        level, half = (
            random.normal(0, scale, TASKS) for scale in (variation.level_deviation, variation.effect_deviation / 2)
        )
        chances = {"old": expit(level - half), "new": expit(level + half + shift)}
        records = [
            a_run(f"task-{task}", arm, repeat, passed=bool(random.random() < chances[arm][task]))
            for arm in chances
            for task in range(TASKS)
            for repeat in range(1, REPEATS + 1)
        ]
        (weighed,) = weigh_evidence([compare_arms(evidence_of(records), "old", "new")], settings)
        found += weighed.decision is Decision.IMPROVED

    assert found / draws == pytest.approx(POWER, abs=0.1)
