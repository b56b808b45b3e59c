"""What was measured between an agent and its model, and what the agent itself says."""

from math import isfinite

from outweigh.record.stored import Amount, Count, Name, Stored, require_finite
from outweigh.record.usage import Usage


class Metering(Stored, frozen=True):
    """The requests of a run as the gateway saw them; `time_to_first_token_seconds` is the median over requests."""

    requests: Count
    failed_requests: Count
    models: dict[Name, Usage]
    time_to_first_token_seconds: Amount | None
    model_seconds: Amount

    def __post_init__(self) -> None:
        """Only finite times are stored."""
        if not (isfinite(self.model_seconds) and isfinite(self.time_to_first_token_seconds or 0.0)):
            require_finite(
                "metering",
                model_seconds=self.model_seconds,
                time_to_first_token_seconds=self.time_to_first_token_seconds,
            )


class Reported(Stored, frozen=True):
    """The agent's own figures, kept beside the measured ones as a cross-check."""

    usage: Usage
    cost_usd: Amount | None
    requests: Count | None

    def __post_init__(self) -> None:
        """Only finite amounts are stored."""
        require_finite("reported", cost_usd=self.cost_usd)
