"""Which arms are compared when nobody names them: what the suite says, and never a guess."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.adapters.stores.experiment_file import Experiment, recall_suite
from outweigh.adapters.stores.jsonl import STANDARD_INPUT
from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError, name_some

SHOWN = 20


def experiment_behind(runs: Sequence[str]) -> Experiment | None:
    """The experiment of the only store among RUNS; None where there is none, or more than one."""
    known = [recall_suite(Path(path)) for path in dict.fromkeys(runs) if path != STANDARD_INPUT]
    found = [experiment for experiment in known if experiment is not None]
    return found[0] if len(found) == 1 else None


def baseline_of(experiment: Experiment | None, evidence: Evidence) -> str:
    """The suite's."""
    if experiment is None:
        raise _name_both(evidence)
    return experiment.baseline


def candidates_of(experiment: Experiment | None, evidence: Evidence, baseline: str, *, several: bool) -> Sequence[str]:
    """Every other arm, in the suite's order; more than one only where several can be judged together.

    An arm that the suite has and the records do not is among them: leaving it out would have to be asked for.
    """
    if experiment is None:
        raise _name_both(evidence)
    others = [name for name in dict.fromkeys((*experiment.arms, *evidence.arms)) if name != baseline]
    if len(others) == 1 or several:
        return others
    raise UsageError(f"name the arm to compare {baseline!r} with by --candidate: {name_some(others, SHOWN)}.")


def _name_both(evidence: Evidence) -> UsageError:
    held = name_some(list(evidence.arms), SHOWN)
    return UsageError(f"name both arms with --baseline and --candidate; the records hold {held}.")
