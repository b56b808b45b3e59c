"""Decisions in worlds that a release manager meets: the bill, trade-offs, small and pure gains, unknown gates."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from math import log

import msgspec
import numpy as np

from calibration.cells import FALSE_DECISIONS, Cell, Promise, Readings, Section, at_least, at_most, mean_of, share_of
from calibration.rates import decide, decide_together, decide_without_totals, decision_readings
from calibration.worlds import FAMILIES, NULLS, PURE_GAIN, SMALL_WIN, TRAP, Draw, World, draw, world
from outweigh.stats.hypothesis_tests import adjust_holm
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate

_LESS = log(0.8)
_CHEAPER = {"log_time": _LESS, "log_tokens": _LESS}
RUNAWAYS = (
    world("20 % cheaper, 3 % of runs take 20 times the dollars", runaways=0.03, **_CHEAPER),
    world("20 % cheaper, 3 % of runs take 20 times everything", runaways=0.03, runaway_resources=True, **_CHEAPER),
    world("20 % fewer dollars alone, 3 % of runs take 20 times the dollars", runaways=0.03, log_cost=_LESS),
)
# Baseline and candidate pass 57 % and 11 % of their runs.
COLLAPSE_OF_QUALITY = world("46 points lost", effect=-3.3728)
DEARER_GAIN = world("a win that takes 20 % more of everything", effect=0.8, log_time=log(1.2), log_tokens=log(1.2))
SLOWER_WITH_FEWER_TOKENS = world("12 % slower with 20 % fewer tokens", log_time=log(1.12), log_tokens=_LESS)
ONE_RESOURCE = (
    world("10 % fewer tokens, nothing else", log_tokens=log(0.9)),
    world("20 % fewer tokens, nothing else", log_tokens=_LESS),
    world("10 % fewer dollars, nothing else", log_cost=log(0.9)),
    world("20 % fewer dollars, nothing else", log_cost=_LESS),
)
RARE_BREAKS = world(
    "7 % of tasks lose 80 points, five points lost in all",
    logit_mean=log(0.9 / 0.1),
    logit_deviation=0.0,
    effect=0.073834,
    effect_deviation=0.0,
    lost=0.07,
    lost_logit=log(0.1 / 0.9),
    **_CHEAPER,
)
SKEWED = (
    world("7 % of tasks dearer by a factor of 5, the same on geometric average", skewed=0.07, skew=log(5)),
    world("7 % of tasks cheaper by a factor of 5, the same on geometric average", skewed=0.07, skew=-log(5)),
)
_ALIKE = world("identical arms, effects alike, time and tokens correlated", effect_deviation=0.0, correlation=0.9)
SMALL = (8, 12, 20, 30, 50)
PRICE = "power lost to the totals"


def price_of_totals(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """How many more experiments would be called improved if the totals were not tested, on the same experiments."""
    dice = np.random.default_rng(seed)
    found = [
        [rule(experiment) is Decision.IMPROVED for rule in (decide_with_cost, decide_without_totals)]
        for experiment in (draw(world, tasks, repeats, dice) for _ in range(draws))
    ]
    lost = mean_of([float(without) - float(whole) for whole, without in found], share=True)
    return {"improved": share_of(sum(whole for whole, _ in found), draws), PRICE: lost}


LOST_TO_SUM = "power lost to the sum"


def price_of_the_sum(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """Decisions with four gates, and how many more would be improved if gates were tested each and not their sum."""
    dice = np.random.default_rng(seed)
    experiments = [draw(world, tasks, repeats, dice) for _ in range(draws)]
    now = decide_together(experiments, with_cost=True)
    single = [decide_gate_by_gate(each) for each in experiments]
    more = [
        float(other is Decision.IMPROVED) - float(each is Decision.IMPROVED)
        for other, each in zip(single, now, strict=True)
    ]
    shares = {decision.value: share_of(now.count(decision), draws) for decision in Decision}
    return {**shares, LOST_TO_SUM: mean_of(more, share=True)}


def decide_gate_by_gate(experiment: Draw) -> Decision:
    """The decision if a gain on any gate, corrected by Holm over gates, stood in place of a gain of their sum."""
    tests = examine_candidate(experiment.gates(with_cost=True))
    gain = float(adjust_holm([test.superior for test in tests.gates]).min())
    (finding,) = apply_rule([msgspec.structs.replace(tests, gain=gain)])
    return finding.decision


def decide_with_cost(experiment: Draw) -> Decision:
    """The decision with all four gates."""
    return decide(experiment, with_cost=True)


def _cell(
    world: World,
    size: tuple[int, int],
    draws: int,
    promises: Iterable[Promise] = (),
    *,
    with_cost: bool = True,
    unknown: tuple[str, ...] = (),
) -> Cell:
    tasks, repeats = size
    return Cell(
        name=f"{world.name}, {tasks} × {repeats}" + ("" if with_cost else ", three gates"),
        measure=decision_readings,
        arguments=(world, tasks, repeats, with_cost, unknown),
        draws=draws,
        promises=tuple(promises),
    )


BILL = Section(
    title="The bill",
    words="A candidate that is a fifth cheaper on nearly all runs and runs away on the rest: the typical run is 12.5 % "
    "cheaper and the total 26 % higher. Four gates.",
    cells=tuple(_cell(world, (100, 5), 2_000, [at_most("improved", 0.01)]) for world in RUNAWAYS),
)
GAINS = Section(
    title="Gains that must be found",
    words="Four gates. A small win is +0.3 on the logit with a tenth less time and tokens; a pure gain is +0.5 on the "
    "logit with resources unchanged.",
    cells=(
        _cell(SMALL_WIN, (50, 5), 2_000, [at_least("improved", 0.70)]),
        _cell(PURE_GAIN, (100, 5), 2_000, [at_least("improved", 0.70)]),
        Cell(
            name="small win, 50 × 5, with and without the totals",
            measure=price_of_totals,
            arguments=(SMALL_WIN, 50, 5),
            draws=2_000,
            promises=(at_most(PRICE, 0.03),),
        ),
    ),
)
ALARMS = Section(
    title="Losses and trade-offs",
    words="Four gates. A loss of quality must be called regressed although tokens are unknown, and a gain of quality "
    "that costs more beyond the margin must be called a trade-off. A loss stays a loss, however cheap it is.",
    cells=(
        _cell(COLLAPSE_OF_QUALITY, (80, 5), 500, [at_least("regressed", 0.99)], unknown=("non_cache_tokens",)),
        _cell(DEARER_GAIN, (100, 5), 500, [at_least("trade_off", 0.95)]),
        _cell(TRAP, (100, 5), 500, [at_least("regressed", 0.95), at_most("trade_off", 0.01)]),
    ),
)
_LARGE = ((50, 5), (100, 10), (300, 10))
IDENTICAL = Section(
    title="Identical arms, larger and with four gates",
    words="Where nothing differs, every improved and every regressed is false. In families of five the candidate's "
    "effect differs by family, and it is equal on average only: with ten repeats, single tasks are seen to collapse "
    "that really do, so nothing is promised about regressed there.",
    cells=(
        *(_cell(each, size, 2_000, FALSE_DECISIONS) for each, size in product((NULLS[0], NULLS[2], _ALIKE), _LARGE)),
        *(_cell(NULLS[2], size, 2_000, FALSE_DECISIONS, with_cost=False) for size in _LARGE),
        *(_cell(FAMILIES, (tasks, 5), 1_500, FALSE_DECISIONS) for tasks in (50, 100)),
        *(_cell(FAMILIES, (tasks, 10), 1_000, FALSE_DECISIONS[:1]) for tasks in (100, 300)),
    ),
)
SINGLE = Section(
    title="One resource alone, and one for another",
    words="Four gates. What a candidate gets that saves one resource alone, or that trades time for tokens. The sum "
    "of all gates dilutes a gain on one: *power lost to the sum* is how many more would be called improved if every "
    "gate were tested by itself, corrected by Holm; negative where the sum finds more. Nothing is promised here.",
    cells=tuple(
        replace(_cell(each, size, 1_000), measure=price_of_the_sum, arguments=(each, *size))
        for each in (*ONE_RESOURCE, SLOWER_WITH_FEWER_TOKENS)
        for size in ((50, 5), (100, 5))
    ),
)
LIMITS = Section(
    title="What no test sees",
    words="Four gates. Breaks so rare that a sample may hold none of them, beside resources that fall by a fifth; and "
    "resources whose tasks are skewed, so that a few tasks move the mean of few tasks. Nothing is promised here: no "
    "test sees breaks that it has not sampled.",
    cells=(
        *(_cell(RARE_BREAKS, (tasks, 5), 2_000) for tasks in SMALL),
        *(_cell(each, (tasks, 5), 2_000) for each in SKEWED for tasks in (12, 30, 100)),
    ),
)
DECISION_SECTIONS = (BILL, GAINS, ALARMS, IDENTICAL, SINGLE, LIMITS)
