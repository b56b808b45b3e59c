"""What the agent did, step by step, and how that compares with what was hoped for."""

from enum import StrEnum
from math import isfinite

from outweigh.record.stored import Amount, Count, Fraction, Name, Stored, require_finite
from outweigh.record.usage import Usage


class Source(StrEnum):
    """Who spoke in a step."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"


class ToolCall(Stored, frozen=True):
    """One tool invocation; `succeeded` is None where the agent does not say."""

    name: Name
    succeeded: bool | None


class Step(Stored, frozen=True):
    """One turn of the trajectory. Long texts live in artifacts; `message` is a short excerpt."""

    index: Count
    source: Source
    message: str | None
    tool_calls: tuple[ToolCall, ...]
    usage: Usage | None
    cost_usd: Amount | None
    duration_seconds: Amount | None

    def __post_init__(self) -> None:
        """Only finite amounts are stored."""
        if not (isfinite(self.cost_usd or 0.0) and isfinite(self.duration_seconds or 0.0)):
            require_finite("step", cost_usd=self.cost_usd, duration_seconds=self.duration_seconds)


class Milestone(Stored, frozen=True):
    """A step the task expects, and whether the trajectory reached it."""

    name: Name
    weight: Amount
    achieved: bool

    def __post_init__(self) -> None:
        """Only finite weights are stored."""
        require_finite("milestone", weight=self.weight)


class AlignedAction(Stored, frozen=True):
    """An action of the agent with how far it served the goal."""

    name: Name
    alignment: Fraction
    weight: Amount

    def __post_init__(self) -> None:
        """Only finite weights are stored."""
        require_finite("action", alignment=self.alignment, weight=self.weight)
