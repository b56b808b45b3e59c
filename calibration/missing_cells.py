"""Values that are missing for a reason: identical arms, of which one lost its dearest costs or its worst runs. And
values that are estimated: identical arms with runs that were stopped in the middle of an answer.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from msgspec.structs import replace as replace_field
from numpy.typing import NDArray

from calibration.cells import FALSE_DECISIONS, Cell, Readings, Section, share_of
from calibration.records import ARMS, comparison_of, records_of
from calibration.worlds import NULLS, Draw, Runs, draw
from outweigh.compare.comparison import compare_arms
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Metering, UsageRange
from outweigh.testing.builders import evidence_of
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


def stopped_readings(
    share: float, ends: tuple[float, float], tasks: int, repeats: int, draws: int, seed: int
) -> Readings:
    """Decisions about identical arms with this share of stopped runs, whose tokens and cost are estimated.

    The ends of an estimate are these multiples of the truth, and the likely amount is anywhere between them.
    """
    dice = np.random.default_rng(seed)
    settings = evidence_settings()
    decisions: Counter[Decision] = Counter()
    for _ in range(draws):
        runs = (
            _stopped(run, ends, dice) if dice.random() < share else run
            for run in records_of(draw(NULLS[0], tasks, repeats, dice))
        )
        comparison = compare_arms(evidence_of(runs), *ARMS)
        decisions[weigh_evidence([comparison], settings)[0].decision] += 1
    return {decision.value: share_of(decisions[decision], draws) for decision in Decision}


def _stopped(run: RunRecord, ends: tuple[float, float], dice: np.random.Generator) -> RunRecord:
    """The same run as if its last answer had been stopped."""
    usd, tokens, off = run.cost.usd or 0.0, run.usage.input_tokens or 0, float(dice.uniform(*ends))
    low, likely, high = (replace_field(run.usage, input_tokens=round(tokens * end)) for end in (ends[0], off, ends[1]))
    metering = Metering(
        requests=1,
        failed_requests=0,
        models={"model": likely},
        time_to_first_token_seconds=None,
        model_seconds=1.0,
        estimated={"model": UsageRange(requests=1, low=low, high=high)},
    )
    cost = replace_field(run.cost, usd=usd * off, low_usd=usd * ends[0], high_usd=usd * ends[1])
    return replace_field(run, usage=likely, cost=cost, metering=metering)


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


def _stopped_cell(ends: tuple[float, float], tasks: int) -> Cell:
    return Cell(
        name=f"20 % stopped, {100 * ends[0]:.0f} % to {100 * ends[1]:.0f} % of the truth, {tasks} × 5",
        measure=stopped_readings,
        arguments=(0.2, ends, tasks, 5),
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
    Section(
        title="Stopped runs",
        words="Identical arms as records, with a fifth of the runs stopped in the middle of an answer. Their tokens "
        "and cost are estimated: between 80 % and 130 % of the truth, or between 30 % and 300 %.",
        cells=(_stopped_cell((0.8, 1.3), 50), _stopped_cell((0.3, 3.0), 50), _stopped_cell((0.8, 1.3), 200)),
    ),
)
