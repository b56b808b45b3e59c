"""The evidence policy beside the rules that others use, on the same experiments."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from calibration.cells import Cell, Promise, Readings, Section, at_least, at_most, share_of
from calibration.decision_cells import RARE_BREAKS, RUNAWAYS
from calibration.rates import decide, decide_together
from calibration.rival_rules import RIVAL_RULES, batch
from calibration.worlds import (
    FAMILIES,
    MIXED_EFFECTS,
    NULLS,
    ON_THE_MARGIN,
    PURE_GAIN,
    SMALL_WIN,
    TRAP,
    WIN,
    Draw,
    World,
    draw,
)
from outweigh.verdict.decision import Decision

EVIDENCE = "evidence"
_BLOCK = 100
_ANSWERS = {Decision.IMPROVED: 1, Decision.REGRESSED: -1}


def rival_readings(world: World, tasks: int, repeats: int, wanted: Decision, draws: int, seed: int) -> Readings:
    """How often each rule makes one decision, on the same experiments."""
    dice = np.random.default_rng(seed)
    hits: Counter[str] = Counter()
    for start in range(0, draws, _BLOCK):
        experiments = [draw(world, tasks, repeats, dice) for _ in range(min(_BLOCK, draws - start))]
        hits.update(dict(_hits(experiments, wanted)))
    return {rule: share_of(hits[rule], draws) for rule in (EVIDENCE, *RIVAL_RULES)}


def _hits(experiments: list[Draw], wanted: Decision) -> Iterator[tuple[str, int]]:
    # Only the form of the rule for single experiments knows families.
    alone = experiments[0].families is not None
    decisions = (
        [decide(each, with_cost=True) for each in experiments]
        if alone
        else decide_together(experiments, with_cost=True)
    )
    yield EVIDENCE, sum(decision is wanted for decision in decisions)
    many = batch(experiments)
    for name, rule in RIVAL_RULES.items():
        yield name, int((rule(many) == _ANSWERS[wanted]).sum())


def _cells(
    places: Iterable[tuple[World, tuple[int, int]]], wanted: Decision, promises: tuple[Promise, ...] = ()
) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            name=f"{world.name}, {tasks} × {repeats}",
            measure=rival_readings,
            arguments=(world, tasks, repeats, wanted),
            draws=1_000,
            promises=promises,
        )
        for world, (tasks, repeats) in places
    )


_NULLS = (
    (NULLS[0], (20, 5)),
    (NULLS[0], (50, 5)),
    (NULLS[2], (50, 5)),
    (NULLS[1], (50, 1)),
    (FAMILIES, (50, 5)),
)
_MIXED = ((MIXED_EFFECTS, (50, 5)), (MIXED_EFFECTS, (20, 10)))
_RULES = """*delta > 0*: whatever passes more often. *Pooled Fisher*: Fisher's exact test on all runs of both arms.
*McNemar on runs*: the exact test on pairs of runs with the same task and repeat. Both at 5 %, two-sided. *BCa with
margins*: a bootstrap over tasks; improved where every 95 % interval stays within its margin and one lies above zero.
`gates` and `composite` are the literal policies, the latter without judges."""

RIVAL_SECTIONS = (
    Section(
        title="Rules that others use: false improved",
        words=f"{_RULES} The arms are identical or equal on average.",
        cells=_cells((*_NULLS, *_MIXED), Decision.IMPROVED, (at_most(EVIDENCE, 0.02),)),
    ),
    Section(
        title="Rules that others use: false regressed",
        words="The same worlds. Where effects differ by task, some tasks really do get worse, and the evidence policy "
        "says so when it can tell; nothing is promised there.",
        cells=_cells(_NULLS, Decision.REGRESSED, (at_most(EVIDENCE, 0.07),)) + _cells(_MIXED, Decision.REGRESSED),
    ),
    Section(
        title="Rules that others use: harm called improved",
        words="The candidate is cheaper, and its bill is higher or it loses five points; the last row states the limit "
        "of every rule.",
        cells=_cells([(each, (100, 5)) for each in RUNAWAYS[:2]], Decision.IMPROVED, (at_most(EVIDENCE, 0.01),))
        + _cells([(each, (60, 5)) for each in ON_THE_MARGIN], Decision.IMPROVED, (at_most(EVIDENCE, 0.05),))
        + _cells([(RARE_BREAKS, (20, 5))], Decision.IMPROVED),
    ),
    Section(
        title="Rules that others use: gains found",
        words="How often a real gain is called improved. A rule that often calls identical arms improved finds gains "
        "easily.",
        cells=_cells([(SMALL_WIN, (50, 5)), (PURE_GAIN, (100, 5))], Decision.IMPROVED, (at_least(EVIDENCE, 0.70),))
        + _cells([(SMALL_WIN, (100, 5)), (WIN, (20, 5)), (WIN, (50, 5))], Decision.IMPROVED),
    ),
    Section(
        title="Rules that others use: losses found",
        words="How often a real loss of passes is called regressed, although the candidate is a fifth cheaper.",
        cells=_cells([(TRAP, (20, 5)), (TRAP, (50, 5)), (TRAP, (100, 5))], Decision.REGRESSED),
    ),
)
