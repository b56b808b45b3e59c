"""Values that are missing for a reason: identical arms, of which one lost its dearest costs or its worst runs."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibration.cells import FALSE_DECISIONS, Cell, Readings, Section, share_of
from calibration.records import comparison_of
from calibration.worlds import NULLS, Draw, Runs, draw
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.weigh_evidence import weigh_evidence

Spoil = Callable[[Draw], Draw]


def without_dearest_costs(experiment: Draw) -> Draw:
    """The candidate's dearest 5 % of runs do not know their cost."""
    before, after = experiment.costs
    return replace(experiment, costs=(before, np.where(_largest(after, 0.05), np.nan, after)))


def without_dearest_runs(experiment: Draw) -> Draw:
    """The candidate's dearest 15 % of runs are lost."""
    before, after = experiment.passes
    return replace(experiment, passes=(before, np.where(_largest(experiment.costs[1], 0.15), np.nan, after)))


def without_failed_runs(experiment: Draw) -> Draw:
    """As many of the candidate's failed runs are lost as make up 15 % of all."""
    before, after = experiment.passes
    failed = np.cumsum(after.ravel() == 0).reshape(after.shape)
    lost = (after == 0) & (failed <= 0.15 * after.size)
    return replace(experiment, passes=(before, np.where(lost, np.nan, after)))


def missing_readings(spoil: Spoil, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """Decisions of the whole policy about records of identical arms, of which one was spoilt."""
    dice = np.random.default_rng(seed)
    settings = evidence_settings()
    decisions = Counter(
        weigh_evidence([comparison_of(spoil(draw(NULLS[0], tasks, repeats, dice)))], settings)[0].decision
        for _ in range(draws)
    )
    return {decision.value: share_of(decisions[decision], draws) for decision in Decision}


def _largest(values: Runs, share: float) -> NDArray[np.bool_]:
    marked = np.zeros(values.size, dtype=bool)
    marked[np.argsort(values, axis=None)[values.size - int(share * values.size) :]] = True
    return marked.reshape(values.shape)


def _cell(name: str, spoil: Spoil, tasks: int) -> Cell:
    return Cell(
        name=f"{name}, {tasks} × 5",
        measure=missing_readings,
        arguments=(spoil, tasks, 5),
        draws=300,
        promises=FALSE_DECISIONS,
    )


MISSING_SECTIONS = (
    Section(
        title="Missing values",
        words="Identical arms as records, of which the candidate lacks the cost of its most expensive runs, or lost "
        "runs. A decision that the missing values could turn must not be made.",
        cells=(
            _cell("dearest 5 % of costs unknown", without_dearest_costs, 200),
            _cell("dearest 15 % of runs lost", without_dearest_runs, 200),
            _cell("failed runs lost, 15 % of all", without_failed_runs, 200),
            _cell("dearest 5 % of costs unknown", without_dearest_costs, 50),
        ),
    ),
)
