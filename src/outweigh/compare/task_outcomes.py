"""The outcomes of all arms task by task, and what each task tells about arms: dead, contrary, flaky, slow or dear."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct

from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, quote_names
from outweigh.model.run_record import AgentKind
from outweigh.score.run_score import Score
from outweigh.stats.distributions import normal_quantile
from outweigh.stats.task_information import Counts, Values, estimate_information

CONTRARY_LEVEL = 0.05
"""Of tasks on which arms do not differ, this part is called contrary by chance."""

FLAKY_FROM = 1 / 3
OUTLYING = 3.0
"""A task is slow or dear from so many times the median task on."""


class TaskOutcomes(Struct, frozen=True, kw_only=True):
    """Passes and runs of every task (row) and arm (column), and what a run of the task costs and lasts on average.

    NaN where no run says so. `spent` are the dollars of all attempts at a task, whatever became of them; `unpriced` is
    how many attempts have no known cost. `without_outcome` are tasks of which no run passed or failed.
    """

    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    families: tuple[str | None, ...]
    passes: Counts
    runs: Counts
    cost: Values
    spent: Values
    seconds: Values
    unpriced: int
    without_outcome: tuple[str, ...]
    simulated: bool

    @property
    def strata(self) -> tuple[str | None, ...]:
        """The families, where they group the tasks: not where all tasks have one, or each has its own."""
        named = {name for name in self.families if name is not None}
        return self.families if 1 < len(named) < len(self.tasks) else (None,) * len(self.tasks)


def tabulate_outcomes(
    evidence: Evidence, arms: Sequence[str], wanted: Callable[[Score], bool] | None = None
) -> TaskOutcomes:
    """Count the runs of these arms that say whether they passed; `wanted` may leave some of them out."""
    attempts = [
        score
        for arm in arms
        for score in (*evidence.arm(arm), *evidence.superseded.get(arm, ()), *evidence.stale.get(arm, ()))
        if wanted is None or wanted(score)
    ]
    counted = [score for score in attempts if score.counted and score.passed is not None and not score.vacuous]
    tasks = sorted({score.task_id for score in counted})
    if not tasks:
        raise EvidenceError(
            f"no run of {quote_names(arms, 10)} says whether it passed, so nothing is known about what the tasks tell. "
            "Tasks need checks, and imported results a column such as `passed`."
        )
    place = {task: row for row, task in enumerate(tasks)}
    column = {arm: number for number, arm in enumerate(arms)}
    passes, runs = (np.zeros((len(tasks), len(arms)), dtype=np.intp) for _ in range(2))
    for score in counted:
        cell = place[score.task_id], column[score.arm]
        runs[cell] += 1
        passes[cell] += score.passed == 1
    known = [score for score in attempts if score.task_id in place]
    families = {score.task_id: score.family for score in counted}
    return TaskOutcomes(
        tasks=tuple(tasks),
        arms=tuple(arms),
        families=tuple(families[task] for task in tasks),
        passes=passes,
        runs=runs,
        cost=_means(tasks, ((score.task_id, score.cost_usd) for score in counted)),
        spent=_sums(tasks, ((score.task_id, score.cost_usd) for score in known)),
        seconds=_means(tasks, ((score.task_id, score.duration_seconds) for score in counted)),
        unpriced=sum(score.cost_usd is None for score in known),
        without_outcome=tuple(sorted({score.task_id for score in attempts} - place.keys())),
        simulated=all(score.agent_kind is AgentKind.SCRIPTED for score in attempts),
    )


def _by_task(amounts: Iterable[tuple[str, float | None]]) -> Mapping[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for task, amount in amounts:
        if amount is not None:
            found[task].append(amount)
    return found


def _means(tasks: Sequence[str], amounts: Iterable[tuple[str, float | None]]) -> Values:
    found = _by_task(amounts)
    return np.array([float(np.mean(found[task])) if task in found else np.nan for task in tasks])


def _sums(tasks: Sequence[str], amounts: Iterable[tuple[str, float | None]]) -> Values:
    found = _by_task(amounts)
    return np.array([sum(found[task]) if task in found else np.nan for task in tasks])


class TaskFlag(StrEnum):
    """What is remarkable about a task.

    Dead: all runs of all arms passed, or none. Contrary: better arms do worse, beyond what chance explains. Flaky: two
    runs of one arm disagree often, and at least as often as those of different arms, although the arms differ on the
    whole suite. Slow and dear: three times the median task or more.
    """

    DEAD = "dead"
    CONTRARY = "contrary"
    FLAKY = "flaky"
    SLOW = "slow"
    DEAR = "dear"


CANNOT_TELL = frozenset({TaskFlag.DEAD, TaskFlag.CONTRARY, TaskFlag.FLAKY})
"""Tasks with one of these did not help to tell the arms apart."""


class TaskFigures(Struct, frozen=True, kw_only=True):
    """One task, with NaN-free figures: None is what the records do not say.

    `discrimination` is how many points the task's pass rate rises when arms are one point better on the other tasks.
    `information` is the task's part of what the whole suite tells. `flakiness` is the chance that two runs of one arm
    disagree, `disagreement` the chance that runs of two different arms do.
    """

    task: str
    family: str | None
    rates: Mapping[str, float | None]
    runs: int
    discrimination: float | None
    discrimination_error: float | None
    information: float
    information_per_usd: float | None
    flakiness: float | None
    disagreement: float | None
    cost_usd: float | None
    spent_usd: float | None
    seconds: float | None
    flags: tuple[TaskFlag, ...]

    @property
    def can_tell(self) -> bool:
        """Whether the task helps to tell arms apart."""
        return not CANNOT_TELL.intersection(self.flags)


def check_tasks(outcomes: TaskOutcomes) -> tuple[TaskFigures, ...]:
    """Every task with its figures and what is remarkable about it."""
    information = estimate_information(outcomes.passes, outcomes.runs, outcomes.strata)
    shares = information.shares
    slow, dear = (_outlying(amounts) for amounts in (outcomes.seconds, outcomes.cost))
    checked = []
    for row, task in enumerate(outcomes.tasks):
        passes, runs = outcomes.passes[row], outcomes.runs[row]
        within, between = flakiness(passes, runs), disagreement(passes, runs)
        slope, error = _known(information.slope[row]), _known(information.slope_error[row])
        cost = _known(outcomes.cost[row])
        flags = _flags(passes, runs, (slope, error), (within, between), slow=bool(slow[row]), dear=bool(dear[row]))
        checked.append(
            TaskFigures(
                task=task,
                family=outcomes.families[row],
                rates={
                    arm: float(passes[place] / runs[place]) if runs[place] else None
                    for place, arm in enumerate(outcomes.arms)
                },
                runs=int(runs.sum()),
                discrimination=slope,
                discrimination_error=error,
                information=float(shares[row]),
                information_per_usd=float(shares[row]) / cost if cost else None,
                flakiness=within,
                disagreement=between,
                cost_usd=cost,
                spent_usd=_known(outcomes.spent[row]),
                seconds=_known(outcomes.seconds[row]),
                flags=tuple(flags),
            )
        )
    return tuple(checked)


def flakiness(passes: Counts, runs: Counts) -> float | None:
    """The chance that two runs of one arm disagree, as a mean over arms with two runs or more; None where none has."""
    several = runs > 1
    if not several.any():
        return None
    made, passed = runs[several], passes[several]
    return float(np.mean(2 * passed * (made - passed) / (made * (made - 1))))


def disagreement(passes: Counts, runs: Counts) -> float | None:
    """The chance that runs of two different arms disagree, as a mean over pairs of arms; None without two arms."""
    rates = passes[runs > 0] / runs[runs > 0]
    arms = len(rates)
    if arms < 2:
        return None
    # Over ordered pairs: p (1 - q) + (1 - p) q, without an arm and itself.
    differing = 2 * (rates.sum() * (1 - rates).sum() - (rates * (1 - rates)).sum())
    return float(differing / (arms * (arms - 1)))


def _flags(
    passes: Counts,
    runs: Counts,
    slope: tuple[float | None, float | None],
    chances: tuple[float | None, float | None],
    *,
    slow: bool,
    dear: bool,
) -> Iterator[TaskFlag]:
    value, error = slope
    within, between = chances
    if passes.sum() in (0, runs.sum()):
        yield TaskFlag.DEAD
    elif value is not None and error is not None and value < -error * normal_quantile(1 - CONTRARY_LEVEL):
        yield TaskFlag.CONTRARY
    elif value is not None and within is not None and within >= max(FLAKY_FROM, between or 0.0):
        yield TaskFlag.FLAKY
    if slow:
        yield TaskFlag.SLOW
    if dear:
        yield TaskFlag.DEAR


def _outlying(amounts: Values) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    known = amounts[np.isfinite(amounts)]
    if len(known) == 0 or float(np.median(known)) <= 0:
        return np.zeros(len(amounts), dtype=bool)
    return np.nan_to_num(amounts) >= OUTLYING * float(np.median(known))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
