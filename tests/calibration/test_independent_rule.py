"""The rule of the evidence policy, written again from its description with scipy, on simulated experiments."""

from math import log
from typing import Any

import numpy as np
import pytest
from calibration.decision_cells import DEARER_GAIN, RUNAWAYS, SLOWER_WITH_FEWER_TOKENS
from calibration.rates import decide, decide_together
from calibration.worlds import NULLS, PURE_GAIN, SMALL_WIN, TRAP, Draw, Runs, World, draw, world
from scipy import stats

from outweigh.verdict.decision import Decision

COLLAPSES = world("two tasks collapse", collapsed=2)
MARGIN, TOLERANCE, DEAREST_TOTAL = 0.05, 0.25, 0.10


def total_savings(before: Runs, after: Runs) -> Any:
    """Pseudo-values of minus the log ratio of means, one per task."""
    old, new = np.exp(before).mean(axis=0), np.exp(after).mean(axis=0)
    return -(np.log(new.mean() / old.mean()) + new / new.mean() - old / old.mean())


def above(values: Any, null: float) -> float:
    return float(stats.ttest_1samp(values, null, alternative="greater").pvalue)


def below(values: Any, null: float) -> float:
    return float(stats.ttest_1samp(values, null, alternative="less").pvalue)


def expected(experiment: Draw) -> Decision:
    quality = experiment.passes[1].mean(axis=0) - experiment.passes[0].mean(axis=0)
    resources = (experiment.times, experiment.tokens, experiment.costs)
    typical = [before.mean(axis=0) - after.mean(axis=0) for before, after in resources]
    totals = [total_savings(*arms) for arms in resources]
    if below(quality, 0) <= 0.05:
        return Decision.REGRESSED
    superior = above(quality, 0) <= 0.01
    # Holm rejects something exactly where Bonferroni does.
    if min(below(each, -log(1 + MARGIN)) for each in (*typical, *totals)) * 6 <= 0.02:
        return Decision.TRADE_OFF if superior else Decision.REGRESSED
    usable = [max(above(each, -log(1 + TOLERANCE)) for each in typical) <= 0.05]
    if superior and all(usable) and max(above(each, -log(1 + TOLERANCE)) for each in totals) <= 0.05:
        return Decision.IMPROVED
    together = sum(each / each.std(ddof=1) for each in (quality, *typical))
    cheap = max(above(each, -log(1 + DEAREST_TOTAL)) for each in totals) <= 0.05
    if above(together, 0) <= 0.01 and above(quality, -MARGIN) <= 0.05 and all(usable) and cheap:
        return Decision.IMPROVED
    same = all(
        max(above(each, -limit), below(each, limit)) <= 0.05
        for each, limit in ((quality, MARGIN), *((each, log(1 + MARGIN)) for each in (*typical, *totals)))
    )
    return Decision.NEUTRAL if same else Decision.INCONCLUSIVE


@pytest.mark.parametrize(
    "world",
    [NULLS[0], NULLS[2], SMALL_WIN, PURE_GAIN, TRAP, DEARER_GAIN, SLOWER_WITH_FEWER_TOKENS, *RUNAWAYS],
    ids=lambda world: world.name,
)
def test_an_independent_implementation_decides_alike(world: World) -> None:
    dice = np.random.default_rng(31)
    # With fewer than five repeats no single task can raise the alarm, which this implementation leaves out.
    experiments = [draw(world, tasks, 4, dice) for tasks in (30, 100, 400) for _ in range(10)]

    assert [decide(each, with_cost=True) for each in experiments] == [expected(each) for each in experiments]


@pytest.mark.parametrize("world", [*NULLS, SMALL_WIN, TRAP, DEARER_GAIN, COLLAPSES], ids=lambda world: world.name)
@pytest.mark.parametrize("size", [(10, 1), (30, 5), (60, 10)])
def test_deciding_together_is_deciding_one_by_one(world: World, size: tuple[int, int]) -> None:
    dice = np.random.default_rng(32)
    experiments = [draw(world, *size, dice) for _ in range(15)]

    for with_cost in (False, True):
        assert decide_together(experiments, with_cost=with_cost) == [
            decide(each, with_cost=with_cost) for each in experiments
        ]
