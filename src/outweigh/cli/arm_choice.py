"""Which arms are compared when nobody names them: what the suite says, and never a guess."""

from collections.abc import Sequence

from outweigh.adapters.stores.experiment_file import Experiment
from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError, name_some

SHOWN = 20


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
