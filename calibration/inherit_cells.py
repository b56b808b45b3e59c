"""Arms that inherit the best of lower tiers where no tier is better: how much the chosen arm seems to gain."""

import numpy as np
from msgspec.structs import replace
from numpy.random import Generator
from numpy.typing import NDArray

from calibration.cells import Cell, Promise, Readings, Section, at_least, at_most, mean_of
from outweigh.compare.choose_best import choose_best
from outweigh.compare.held_out import shrink_means
from outweigh.model.tiers import InheritSpec
from outweigh.score.run_score import Score
from outweigh.testing.builders import a_run, evidence_of

HELD_OUT, SAME_RUNS, SHRUNKEN = "held out", "same runs", "same runs, shrunken"

TASK_DEVIATION, RUN_DEVIATION = 0.15, 0.3
"""How far the judge scores of tasks differ, and those of runs of one task and arm."""
TOKEN_SPREAD = 0.3

Runs = NDArray[np.float64]
"""One number for every arm, task and repeat."""


def inherited_gains(arms: int, tasks: int, repeats: int, inherit: InheritSpec, draws: int, seed: int) -> Readings:
    """How far the chosen arm seems to be above the mean of all arms, none of which is better than another.

    Runs that the choice has not seen are reported, or those that it was made by, as they are and shrunken.
    """
    dice = np.random.default_rng(seed)
    template = next(iter(evidence_of(a_run("task", "arm")).arms.values()))[0]
    gains: dict[str, list[float]] = {HELD_OUT: [], SAME_RUNS: [], SHRUNKEN: []}
    for _ in range(draws):
        figures = _draw(arms, tasks, 2 * repeats, inherit, dice)
        tokens = np.exp(dice.normal(0, TOKEN_SPREAD, arms))
        choosing, held_out = figures[..., :repeats], figures[..., repeats:]
        chosen = choose_best(_scores(choosing, tokens, inherit, template), inherit).chosen
        if chosen is None:
            continue
        place = int(chosen)
        means = {
            HELD_OUT: held_out.mean(axis=(1, 2)),
            SAME_RUNS: choosing.mean(axis=(1, 2)),
            SHRUNKEN: shrink_means(choosing.mean(axis=2)),
        }
        for name, each in means.items():
            gains[name].append(float(each[place] - each.mean()))
    return {name: mean_of(values, share=True) for name, values in gains.items()}


def _draw(arms: int, tasks: int, repeats: int, inherit: InheritSpec, dice: Generator) -> Runs:
    """Scores of judges between 0 and 1, or passes."""
    levels = dice.normal(0.6, TASK_DEVIATION, tasks)[None, :, None]
    shape = (arms, tasks, repeats)
    if inherit.by == "median-judge":
        return np.clip(levels + dice.normal(0, RUN_DEVIATION, shape), 0, 1)
    return (dice.random(shape) < np.clip(levels, 0.05, 0.95)).astype(np.float64)


def _scores(figures: Runs, tokens: Runs, inherit: InheritSpec, template: Score) -> dict[str, list[Score]]:
    """The runs as the choice takes them; arms are called by their places."""
    judged = inherit.by == "median-judge"
    found: dict[str, list[Score]] = {}
    for place, of_arm in enumerate(figures):
        arm = replace(template, arm=str(place), total_tokens=float(tokens[place]))
        found[str(place)] = [
            replace(arm, task_id=f"task-{task}", repeat=repeat, judge_score=value if judged else None, passed=value)
            for task, of_task in enumerate(of_arm.tolist())
            for repeat, value in enumerate(of_task, start=1)
        ]
    return found


def _cell(tiers: int, by: str, margin: float, *promises: Promise) -> Cell:
    return Cell(
        name=f"best of {tiers} tiers × 3 arms by {by}, margin {margin:g}, 12 × 5",
        measure=inherited_gains,
        arguments=(3 * tiers, 12, 5, InheritSpec(best_of=[0], by=by, margin=margin)),  # type: ignore[arg-type]
        draws=2_000,
        promises=(at_most(HELD_OUT, 0.01), at_least(HELD_OUT, -0.01), *promises),
    )


_OPTIMISTIC = at_least(SAME_RUNS, 0.03)

INHERIT_SECTIONS = (
    Section(
        title="Inheriting the best of equal arms",
        words="No arm is better than another, one is chosen, and the figure is how far it seems to be above the mean "
        "of all arms, in points of the pass rate or the judge score; the truth is 0. *Held out* reports as many "
        "repeats again as the choice was made by, *same runs* reports those that chose (`held_out = false`), and "
        "*shrunken* keeps the share 1 − 1/F of that. With `evidence`, arms that the tasks do not tell apart count as "
        "equal and the fewest tokens decide, so the choice hardly follows the luck of the figures.",
        cells=(
            _cell(6, "median-judge", 0.05, _OPTIMISTIC),
            _cell(6, "median-judge", 0.0, _OPTIMISTIC),
            _cell(2, "median-judge", 0.0, _OPTIMISTIC),
            _cell(6, "evidence", 0.05),
            _cell(2, "evidence", 0.05),
        ),
    ),
)
