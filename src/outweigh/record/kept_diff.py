"""What a run changed, as far as its store says so."""

from outweigh.record.run_record import RunRecord

DIFF = "diff.patch"


def changed_nothing(run: RunRecord) -> bool:
    """Whether a missing diff means that nothing changed: the engine keeps no empty artifacts of runs that it made.

    Only the engine counts the commands of checks. What another harness ran may have changed anything.
    """
    return DIFF not in run.artifacts and run.check_command_count is not None and run.setup_seconds is not None
