"""Choose the cheapest tasks that keep most of what a suite can tell, by other runs than those that will judge.

Tasks that are chosen by the runs that judge them favour what those runs showed by chance. So a choice is made by arms
that are not judged, or by every other repeat, and what it was made by is written down: those runs never count for a
verdict on the chosen tasks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from outweigh.app.chosen_suite import WrittenSelection, write_selection
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.compare.evidence import Evidence
from outweigh.compare.task_outcomes import TaskOutcomes, tabulate_outcomes
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.task_list import ChosenTasks, TaskList
from outweigh.report.prune_page import PrunedSuite
from outweigh.score.run_score import Score
from outweigh.stats.task_information import Counts, Values, estimate_information, kept_share
from outweigh.stats.task_selection import Fold, HeldOut, HeldOutRuns, TaskOrder, folds_of_arms, order_tasks
from outweigh.verdict.evidence_settings import MINIMUM_TASKS

STEPS = 40
"""In so many steps more tasks are kept, where runs that were held out show less than is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest:
    """What to choose by and how much to keep: a share of the t statistic, or a number of tasks, not both.

    `judged` are the arms that these records are to judge. `suite` is the suite to make a smaller one of.
    """

    evidence: EvidenceRequest
    output: Path
    keep_power: float
    tasks: int | None = None
    judged: tuple[str, ...] = ()
    suite: str | None = None
    seed: int = 0


def prune_suite(request: PruneRequest) -> tuple[PrunedSuite, WrittenSelection]:
    """Choose, and write down what was chosen and how."""
    evidence = read_evidence(request.evidence)
    runs = _choose_runs(evidence, request.judged)
    outcomes = tabulate_outcomes(evidence, runs.arms, runs.wanted)
    pruned = _choose(outcomes, _folds(evidence, outcomes, runs), request, runs)
    chosen = ChosenTasks(
        of=len(outcomes.tasks),
        arms=list(runs.arms),
        by_repeats="odd" if runs.odd_only else "all",
        at=datetime.now(UTC),
        expected_share=round(pruned.expected, 4),
        measured_share=None if pruned.measured is None else max(0.0, round(pruned.measured.share, 4)),
    )
    written = write_selection(
        TaskList(tasks=list(pruned.kept), chosen=chosen),
        request.output,
        suite=request.suite,
        experiment=request.evidence.stores.experiment,
    )
    return pruned, written


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChoosingRuns:
    """By which runs tasks are chosen, and which arms the others can judge."""

    arms: tuple[str, ...]
    judged: tuple[str, ...]
    odd_only: bool

    def wanted(self, score: Score) -> bool:
        return not self.odd_only or score.repeat % 2 == 1


def _choose_runs(evidence: Evidence, judged: Sequence[str]) -> _ChoosingRuns:
    """Other arms than those to be judged; where there are none, every other repeat of the same.

    Two arms are taken for those to be judged. More, of which none is named, are judged by new runs.
    """
    if len(set(judged)) < len(judged):
        raise UsageError("--judge names an arm twice.")
    for name in judged:
        evidence.arm(name)
    arms = tuple(evidence.arms)
    if len(arms) < 2:
        raise EvidenceError(
            f"the records hold only {arms[0]!r}, and which tasks tell arms apart takes two arms or more. Run or import "
            "another one and name its records too."
        )
    others = tuple(name for name in arms if name not in judged)
    if others and (judged or len(arms) > 2):
        return _ChoosingRuns(arms=others, judged=tuple(judged), odd_only=False)
    repeated = all({score.repeat % 2 for score in evidence.arm(name)} == {0, 1} for name in arms)
    if judged and not repeated:
        raise EvidenceError(
            "--judge names all arms of the records, and they have one repeat, so no run is left to choose tasks by. "
            "Name records of other arms too, or leave --judge out and run the chosen tasks again."
        )
    return _ChoosingRuns(arms=arms, judged=arms if repeated else (), odd_only=repeated)


def _folds(evidence: Evidence, outcomes: TaskOutcomes, runs: _ChoosingRuns) -> list[Fold]:
    """Parts of the choosing runs to choose by and to measure by: pairs of arms, else halves of the repeats."""
    folds = list(folds_of_arms(outcomes.passes, outcomes.runs))
    if folds or len(runs.arms) < 2 or runs.odd_only:
        return folds
    even, odd = (_half(evidence, outcomes, runs, parity) for parity in (0, 1))
    if even is None or odd is None:
        return []
    return [
        Fold(passes=one.passes, runs=one.runs, held_out_passes=other.passes, held_out_runs=other.runs)
        for one, other in ((even, odd), (odd, even))
    ]


def _half(evidence: Evidence, outcomes: TaskOutcomes, runs: _ChoosingRuns, parity: int) -> TaskOutcomes | None:
    """Every other repeat; None where it does not have all tasks."""
    try:
        half = tabulate_outcomes(evidence, runs.arms, lambda score: score.repeat % 2 == parity)
    except EvidenceError:
        return None
    return half if half.tasks == outcomes.tasks else None


def _choose(outcomes: TaskOutcomes, folds: list[Fold], request: PruneRequest, runs: _ChoosingRuns) -> PrunedSuite:
    if not 0 < outcomes.passes.sum() < outcomes.runs.sum():
        raise EvidenceError(
            f"every run of {quote_names(outcomes.arms, 10)} {'passed' if outcomes.passes.any() else 'failed'}, so no "
            "task tells anything and there is nothing to choose by. Add records of weaker or stronger arms."
        )
    # Ties are broken at random and repeatably, not by the names of tasks.
    mixed = np.random.default_rng(request.seed).permutation(len(outcomes.tasks))
    outcomes = _take_rows(outcomes, mixed)
    folds = [_take_fold(fold, mixed) for fold in folds]
    prices = np.ones(len(mixed)) if request.tasks is not None else _prices(outcomes)
    information = estimate_information(outcomes.passes, outcomes.runs, outcomes.strata)
    order = order_tasks(information, prices, outcomes.strata)
    held_out = HeldOutRuns(folds, prices, outcomes.strata)

    def expected(size: int) -> float:
        return kept_share(information, order.keep(size))

    size = request.tasks or _find_size(order, expected, held_out.measure, request.keep_power)
    _refuse_size(size, order, outcomes)
    kept = order.keep(size)
    return PrunedSuite(
        kept=tuple(sorted(outcomes.tasks[row] for row in kept)),
        dropped=tuple(sorted(set(outcomes.tasks) - {outcomes.tasks[row] for row in kept})),
        expected=expected(size),
        measured=held_out.measure(size),
        cost_share=_cost_share(outcomes, kept),
        arms=runs.arms,
        judged=runs.judged,
        odd_only=runs.odd_only,
        families=_count_families(outcomes, kept),
        without_outcome=outcomes.without_outcome,
        asked=None if request.tasks is not None else request.keep_power,
    )


def _find_size(
    order: TaskOrder, expected: Callable[[int], float], measure: Callable[[int], HeldOut | None], wanted: float
) -> int:
    """The fewest tasks that are expected to keep enough, and that do so on runs that were held out."""
    total = len(order.places)
    least = min(total, max(order.fewest, MINIMUM_TASKS))
    size = total
    while size > least and expected(size - 1) >= wanted:
        size -= 1
    step = max(1, total // STEPS)
    while size < total and (found := measure(size)) is not None and found.share < wanted:
        size = min(total, size + step)
    return size


def _refuse_size(size: int, order: TaskOrder, outcomes: TaskOutcomes) -> None:
    total = len(outcomes.tasks)
    if size > total:
        raise UsageError(f"--tasks {size} is more than the {total} tasks that the records have outcomes of.")
    if size < order.fewest:
        families = len({name for name in outcomes.strata if name is not None})
        raise UsageError(
            f"--tasks {size} is too few to keep a task of each of the {families} families; keep {order.fewest} or more."
        )


def _prices(outcomes: TaskOutcomes) -> Values:
    """What a run of each task costs; the mean of the others where that is unknown, and the same where all are."""
    known = outcomes.cost[np.isfinite(outcomes.cost) & (outcomes.cost > 0)]
    if len(known) == 0:
        return np.ones(len(outcomes.tasks))
    usual = float(known.mean())
    return np.where(np.isfinite(outcomes.cost) & (outcomes.cost > 0), outcomes.cost, usual)


def _cost_share(outcomes: TaskOutcomes, kept: Counts) -> float | None:
    """The part of the whole suite's price that the kept tasks cost; None where no cost is known."""
    if not np.isfinite(outcomes.cost).any():
        return None
    prices = _prices(outcomes)
    return float(prices[kept].sum() / prices.sum())


def _count_families(outcomes: TaskOutcomes, kept: Counts) -> dict[str, tuple[int, int]]:
    """Kept and all tasks of every family, where families group the tasks."""
    names = sorted({name for name in outcomes.strata if name is not None})
    chosen = {int(row) for row in kept}

    def rows(name: str) -> Iterator[int]:
        return (row for row, family in enumerate(outcomes.strata) if family == name)

    return {name: (sum(row in chosen for row in rows(name)), sum(1 for _ in rows(name))) for name in names}


def _take_rows(outcomes: TaskOutcomes, rows: Counts) -> TaskOutcomes:
    return replace(
        outcomes,
        tasks=tuple(outcomes.tasks[row] for row in rows),
        families=tuple(outcomes.families[row] for row in rows),
        passes=outcomes.passes[rows],
        runs=outcomes.runs[rows],
        cost=outcomes.cost[rows],
        spent=outcomes.spent[rows],
        seconds=outcomes.seconds[rows],
    )


def _take_fold(fold: Fold, rows: Counts) -> Fold:
    return Fold(
        passes=fold.passes[rows],
        runs=fold.runs[rows],
        held_out_passes=fold.held_out_passes[rows],
        held_out_runs=fold.held_out_runs[rows],
    )
