"""Rules that promote noise, on plain arrays: averages of arms, any lost run, repeats counted as tasks."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibration.rates import decide
from calibration.worlds import Draw, World, draw
from outweigh.stats.estimate import Alternative, Unit, excludes
from outweigh.stats.hypothesis_tests import mcnemar_exact
from outweigh.stats.means import mean_interval
from outweigh.verdict.decision import Decision

Rule = Callable[[Draw], Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRates:
    """How often a rule makes a firm decision."""

    rule: str
    world: str
    tasks: int
    repeats: int
    draws: int
    improved: float
    regressed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """How often tests at 5 % find a difference, by what they count as one observation."""

    world: str
    tasks: int
    repeats: int
    draws: int
    mcnemar_on_runs: float
    t_on_runs: float
    t_on_tasks: float


def by_averages(experiment: Draw) -> Decision:
    """Seed 000: no worse in pass rate, median duration and median tokens; regressed when all three are worse."""
    worse = [
        experiment.passes[1].mean() < experiment.passes[0].mean(),
        np.median(experiment.times[1]) > np.median(experiment.times[0]),
        np.median(experiment.tokens[1]) > np.median(experiment.tokens[0]),
    ]
    if not any(worse):
        return Decision.IMPROVED
    return Decision.REGRESSED if all(worse) else Decision.INCONCLUSIVE


def by_any_drop(experiment: Draw) -> Decision:
    """Seed 001 on checks alone: any task with fewer passes is a regression; improved when the net gain exceeds .01."""
    before, after = experiment.passes
    deltas = np.round(after.mean(axis=0) - before.mean(axis=0), 6)
    if (deltas < 0).any():
        return Decision.REGRESSED
    return Decision.IMPROVED if deltas.sum() > 0.01 else Decision.NEUTRAL


RULES: dict[str, Rule] = {"averages": by_averages, "any drop": by_any_drop, "evidence": decide}


def rule_rates(world: World, tasks: int, repeats: int, draws: int, seed: int) -> list[RuleRates]:
    """All rules on the same experiments."""
    dice = np.random.default_rng(seed)
    decisions: Counter[tuple[str, Decision]] = Counter()
    for _ in range(draws):
        experiment = draw(world, tasks, repeats, dice)
        decisions.update((name, rule(experiment)) for name, rule in RULES.items())
    return [
        RuleRates(
            rule=name,
            world=world.name,
            tasks=tasks,
            repeats=repeats,
            draws=draws,
            improved=decisions[name, Decision.IMPROVED] / draws,
            regressed=decisions[name, Decision.REGRESSED] / draws,
        )
        for name in RULES
    ]


def rejections(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Rejections:
    """Test the same experiments with runs and with tasks as observations."""
    dice = np.random.default_rng(seed)
    tests = (mcnemar_on_runs, t_on_runs, t_on_tasks)
    found = np.zeros(len(tests))
    for _ in range(draws):
        experiment = draw(world, tasks, repeats, dice)
        found += [test(experiment) for test in tests]
    by_mcnemar, by_runs, by_tasks = (found / draws).tolist()
    return Rejections(
        world=world.name,
        tasks=tasks,
        repeats=repeats,
        draws=draws,
        mcnemar_on_runs=by_mcnemar,
        t_on_runs=by_runs,
        t_on_tasks=by_tasks,
    )


def mcnemar_on_runs(experiment: Draw) -> bool:
    """Whether McNemar's test on pairs of runs calls the arms different."""
    before, after = experiment.passes
    wins, losses = int((after > before).sum()), int((after < before).sum())
    p_value = mcnemar_exact(wins, losses, alternative=Alternative.TWO_SIDED, unit=Unit.PAIR).p_value
    return p_value is not None and p_value <= 0.05


def t_on_runs(experiment: Draw) -> bool:
    """Whether a t interval over all pairs of runs excludes 0, as if every run were a task of its own."""
    before, after = experiment.passes
    return excludes(mean_interval((after - before).ravel(), level=0.95, unit=Unit.PAIR).interval, 0.0)


def t_on_tasks(experiment: Draw) -> bool:
    """Whether the t interval over tasks excludes 0."""
    before, after = experiment.passes
    return excludes(mean_interval(after.mean(axis=0) - before.mean(axis=0), level=0.95, unit=Unit.TASK).interval, 0.0)
