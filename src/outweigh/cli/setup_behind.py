"""What the store among RUNS says about the set-up of its arms."""

from collections.abc import Sequence

from outweigh.cli.suite_behind import experiment_behind
from outweigh.report.setup_view import Setup


def setup_behind(runs: Sequence[str], baseline: str, candidates: Sequence[str]) -> Setup | None:
    """The set-up of these arms; None where no single store is read, or it says nothing about files."""
    experiment = experiment_behind(runs)
    if experiment is None or not (experiment.overlays or experiment.notes):
        return None
    return Setup(
        baseline=baseline,
        candidates=tuple(candidates),
        overlays=experiment.overlays,
        origins=experiment.origins,
        notes=experiment.notes,
    )
