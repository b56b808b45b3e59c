"""Which runs of an arm are reported where another arm was chosen by its runs, and what the choice does to figures.

The best of several arms was partly lucky, so the runs that it was chosen by flatter it. They are set aside, and runs
that the choice has not seen are reported. Where a suite does without those, its figures are optimistic, and are shown
shrunken towards the mean of the arms as well.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from outweigh.errors import quote_names
from outweigh.model.choice import ChoiceRecord
from outweigh.score.run_score import Score
from outweigh.stats.sample import Sample

SHOWN_ARMS = 5


class ReportedRepeats(Struct, frozen=True, kw_only=True):
    """The repeats of an arm that are reported: from `first` on. `reason` is None where all of them are, as usual.

    `is_optimistic` says that the arm was chosen by the runs that are reported.
    """

    first: int = 1
    is_optimistic: bool = False
    reason: str | None = None


def reported_repeats(choosing_repeats: Mapping[str, int], optimistic: Collection[str]) -> dict[str, ReportedRepeats]:
    """What is special about the reported repeats of these arms; all repeats of any other arm are reported."""
    held_out = {
        arm: ReportedRepeats(
            first=last + 1, reason=f"repeats 1 to {last} are for choosing; the repeats after them are held out"
        )
        for arm, last in choosing_repeats.items()
    }
    reused = {
        arm: ReportedRepeats(
            is_optimistic=True,
            reason="an arm is chosen by the same runs that are reported, so its figures are optimistic",
        )
        for arm in optimistic
    }
    return reused | held_out


def shrink_means(table: Sample) -> Sample:
    """The means of arms (rows) over tasks (columns), shrunken towards their common mean by what chance explains.

    The share that is kept is 1 - 1/F, with the F of the arms in the two-way layout of arms and tasks: nothing where
    they differ no more than chance lets them.
    """
    arms, tasks = table.shape
    means: Sample = table.mean(axis=1)
    if arms < 2 or tasks < 2:
        return means
    residuals = table - means[:, None] - table.mean(axis=0)[None, :] + table.mean()
    within = float((residuals**2).sum()) / ((arms - 1) * (tasks - 1))
    between = tasks * float(means.var(ddof=1))
    kept = 0.0 if between <= 0 else max(0.0, 1.0 - within / between)
    shrunken: Sample = means.mean() + kept * (means - means.mean())
    return shrunken


def describe_choices(
    choices: Mapping[str, ChoiceRecord], set_aside: Mapping[str, int], arms: Mapping[str, Sequence[Score]]
) -> Iterator[str]:
    """What a reader must know about choices: runs that are set aside, arms that were not run, optimistic figures."""
    if set_aside:
        yield (
            f"{sum(set_aside.values())} runs of {quote_names(sorted(set_aside), SHOWN_ARMS)} were made to choose which "
            "arm others are built on. They are set aside; the held-out repeats are reported."
        )
    for choice in choices.values():
        if choice.chosen is None:
            yield f"{choice.arm!r} was not run: {choice.reason}."
        elif not choice.inherit.held_out and choice.chosen not in set_aside:
            yield _describe_optimism(choice.chosen, choice, arms)


def _describe_optimism(chosen: str, choice: ChoiceRecord, arms: Mapping[str, Sequence[Score]]) -> str:
    said = (
        f"{chosen!r} was chosen for {choice.arm!r} by the runs that are reported (held_out = false), so its figures "
        "are optimistic"
    )
    names = [each.arm for each in choice.candidates if each.value is not None and each.arm in arms]
    table = _pass_rates({name: arms[name] for name in names})
    if chosen not in names or table is None:
        return f"{said}."
    gains = [means[names.index(chosen)] - means.mean() for means in (table.mean(axis=1), shrink_means(table))]
    seen, left = (100 * float(gain) for gain in gains)
    return (
        f"{said}: {seen:+.0f} points above the mean of the {len(names)} arms, {left:+.0f} when shrunken for the choice."
    )


def _pass_rates(arms: Mapping[str, Sequence[Score]]) -> Sample | None:
    """Pass rates by arm and task, on the tasks that all arms have results for; None where there are none."""
    found: dict[str, dict[str, list[float]]] = {arm: defaultdict(list) for arm in arms}
    for arm, scores in arms.items():
        for score in scores:
            if score.counted and score.passed is not None:
                found[arm][score.task_id].append(score.passed)
    tasks = sorted(set.intersection(*(set(each) for each in found.values()))) if found else []
    if not tasks:
        return None
    return np.array([[float(np.mean(each[task])) for task in tasks] for each in found.values()])
