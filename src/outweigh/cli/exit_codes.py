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


EXIT_CODE_MEANINGS = {
    ExitCode.SATISFIED: "satisfied",
    ExitCode.NOT_SATISFIED: "not satisfied",
    ExitCode.USAGE: "usage",
    ExitCode.UNUSABLE_EVIDENCE: "inconclusive or unusable evidence",
    ExitCode.BUDGET_EXHAUSTED: "budget exhausted",
    ExitCode.OUR_BUG: "a bug in outweigh",
    ExitCode.INTERRUPTED: "interrupted",
}
"""As the help and the manual page say them."""

REQUIREMENT_CODES = {True: ExitCode.SATISFIED, False: ExitCode.NOT_SATISFIED, None: ExitCode.UNUSABLE_EVIDENCE}
"""By whether a requirement is met; None where nothing was decided."""
