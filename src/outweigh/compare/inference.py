"""How sure the numbers of a comparison are: intervals, ratios and tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from outweigh.compare.arm_inference import cost_of_pass_estimate, pass_rate_estimate, reliability_intervals
from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.delta import task_deltas
from outweigh.compare.delta_inference import DeltaInference, Method, infer_deltas, infer_ratios
from outweigh.stats.alternative import Alternative
from outweigh.stats.estimate import Estimate, Interval, Significance, Unit
from outweigh.stats.paired_tests import mcnemar_exact
from outweigh.stats.sign_flip import sign_flip_test
from outweigh.stats.unknown import unknown_significance


class Population(StrEnum):
    """What the numbers speak of: tasks like these, or this very suite."""

    TASKS = "tasks"
    RUNS = "runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """Everything uncertain about a comparison."""

    population: Population
    deltas: Mapping[str, DeltaInference]
    ratios: Mapping[str, Estimate]
    pass_rates: Mapping[str, Estimate]
    costs_of_pass: Mapping[str, Estimate]
    pass_at_k: Mapping[str, Mapping[int, Interval | None]]
    pass_hat_k: Mapping[str, Mapping[int, Interval | None]]
    mcnemar: Significance
    sign_flip: Significance
    seed: int


def infer(comparison: Comparison, *, population: Population, method: Method, seed: int) -> Inference:
    """Put an interval or a p-value on everything that can carry one."""
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    arms = (baseline, candidate)
    return Inference(
        population=population,
        deltas=infer_deltas(baseline, candidate, method, seed),
        ratios=infer_ratios(baseline, candidate),
        pass_rates={arm.name: pass_rate_estimate(arm) for arm in arms},
        costs_of_pass={arm.name: cost_of_pass_estimate(arm) for arm in arms},
        pass_at_k={arm.name: reliability_intervals(arm, seed, every=False) for arm in arms},
        pass_hat_k={arm.name: reliability_intervals(arm, seed, every=True) for arm in arms},
        mcnemar=_mcnemar(comparison),
        sign_flip=_sign_flip(baseline, candidate, seed),
        seed=seed,
    )


def _mcnemar(comparison: Comparison) -> Significance:
    table = comparison.discordance
    if table.unit != "task":
        return unknown_significance(
            "repeats of a task are not independent, so McNemar's test needs one run per task; sign_flip uses tasks",
            n=comparison.pairing.pairs,
            unit=Unit.PAIR,
            method="McNemar, exact",
        )
    return mcnemar_exact(table.only_candidate, table.only_baseline, alternative=Alternative.TWO_SIDED, unit=Unit.TASK)


def _sign_flip(baseline: ArmTable, candidate: ArmTable, seed: int) -> Significance:
    deltas = task_deltas("passed", baseline, candidate)
    return sign_flip_test(deltas, alternative=Alternative.TWO_SIDED, rng=np.random.default_rng(seed), unit=Unit.TASK)
