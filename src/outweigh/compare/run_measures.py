"""What is measured of runs and is no metric: their phases in seconds, and their tokens by component. Needs no numpy."""

from collections.abc import Iterable, Mapping, Sequence

from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Component

ArmMeasures = Mapping[str, Mapping[str, tuple[float, int]]]
"""By name and task of one arm, the sum and the number of runs that know it."""

COMPONENT_TOKENS = "tokens_of_"
"""What the name of a component's tokens begins with."""
ALL_COMPONENTS = f"{COMPONENT_TOKENS}all_components"


_NAMES = {component: f"{COMPONENT_TOKENS}{component}" for component in Component}


class RunMeasures:
    """Adds up the measures of one arm's runs."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[str, list[float]]] = {}

    def add(self, runs: Sequence[RunRecord]) -> None:
        """Add what some runs know."""
        found: dict[str, list[tuple[str, float]]] = {
            "setup_seconds": [(run.trial.task_id, run.setup_seconds) for run in runs if run.setup_seconds is not None],
            "checks_seconds": [
                (run.trial.task_id, run.checks_seconds) for run in runs if run.checks_seconds is not None
            ],
        }
        for run in runs:
            if run.components:
                task, whole = run.trial.task_id, 0
                for line in run.components:
                    tokens = line.input_tokens + line.output_tokens
                    whole += tokens
                    found.setdefault(_NAMES[line.component], []).append((task, tokens))
                found.setdefault(ALL_COMPONENTS, []).append((task, whole))
        for name, values in found.items():
            self._note(name, values)

    def add_judging(self, task: str, spent: Iterable[float | None]) -> None:
        """Add the time that all judges of a run took together, where all of them say it."""
        seconds = list(spent)
        known = [each for each in seconds if each is not None]
        if known and len(known) == len(seconds):
            self._note("judging_seconds", [(task, sum(known))])

    def _note(self, name: str, values: Sequence[tuple[str, float]]) -> None:
        if not values:
            return
        by_task = self._sums.setdefault(name, {})
        for task, value in values:
            if (sums := by_task.get(task)) is None:
                by_task[task] = [0.0 + value, 1]
            else:
                sums[0] += value
                sums[1] += 1

    def by_name(self) -> ArmMeasures:
        """All sums so far."""
        return {
            name: {task: (total, int(runs)) for task, (total, runs) in by_task.items()}
            for name, by_task in self._sums.items()
        }


def mean_by_task(arms: Iterable[ArmMeasures], name: str) -> dict[str, float]:
    """The mean of one measure over the runs of several arms, by task.

    A run whose ledger does not name a component spent no tokens on it.
    """
    sums: dict[str, tuple[float, int]] = {}
    for measures in arms:
        found = measures.get(name, {})
        counts = measures.get(ALL_COMPONENTS, {}) if name.startswith(COMPONENT_TOKENS) else found
        for task, (_, runs) in counts.items():
            total, before = sums.get(task, (0.0, 0))
            sums[task] = (total + found.get(task, (0.0, 0))[0], before + runs)
    return {task: total / runs for task, (total, runs) in sums.items()}
