"""How a run ended, and whose doing that was."""

from enum import StrEnum


class Status(StrEnum):
    """Completed, ended by the agent's fault, or never a fair attempt."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    BUDGET_EXCEEDED = "budget_exceeded"
    AGENT_ERROR = "agent_error"
    INFRA_ERROR = "infra_error"
    NOT_RUN = "not_run"
    ARM_NOT_APPLIED = "arm_not_applied"


EXCLUDED = frozenset({Status.INFRA_ERROR, Status.NOT_RUN, Status.ARM_NOT_APPLIED})
"""Statuses that say nothing about the arm; such runs are listed and left out, never counted as failures."""
