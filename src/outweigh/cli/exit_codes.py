"""The exit codes of the process. Every failure is non-zero."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Every failure is non-zero."""

    SATISFIED = 0
    NOT_SATISFIED = 1
    USAGE = 2
    UNUSABLE_EVIDENCE = 3
    BUDGET_EXHAUSTED = 4
    OUR_BUG = 70
    INTERRUPTED = 130


REQUIREMENT_CODES = {True: ExitCode.SATISFIED, False: ExitCode.NOT_SATISFIED, None: ExitCode.UNUSABLE_EVIDENCE}
"""By whether a requirement is met; None where nothing was decided."""
