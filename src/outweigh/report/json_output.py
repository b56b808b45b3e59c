"""What the JSON of all pages shares: its type, finite numbers, the observed set-up of the arms, and the writer.

Keys are added, never renamed, within a schema version.
"""

from math import isfinite
from typing import Any

import msgspec

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.compare.setup_summary import SetupSummary
from outweigh.report.document import Report
from outweigh.stats.estimate import Interval

Payload = dict[str, Any]


def finite_or_none(value: float | None) -> float | None:
    """JSON has no infinity; what is not finite is null."""
    return value if value is not None and isfinite(value) else None


def interval_payload(interval: Interval | None) -> Payload | None:
    """An end that the data cannot bound is null."""
    if interval is None:
        return None
    return msgspec.structs.asdict(interval) | {
        "low": finite_or_none(interval.low),
        "high": finite_or_none(interval.high),
    }


def never_passes(arm: ArmSummary) -> bool:
    """Whether the arm's runs are known never to have passed."""
    return arm.pass_rate.value == 0 and arm.metrics["passed"].unknown == 0


def observed_setup_payload(comparison: Comparison) -> Payload:
    """`sightings` of `compare` and `verdict --format json`, by arm."""
    return {arm: _observed_setup(setup) for arm, setup in comparison.setups.items()}


def _observed_setup(setup: SetupSummary) -> Payload:
    return {
        "agents": [{**msgspec.to_builtins(agent), "runs": runs} for agent, runs in setup.agents.items()],
        "proven": setup.with_setup,
        "pieces": [{**item._asdict(), "runs": runs} for item, runs in sorted(setup.items.items())],
        "models": [{"name": name, **msgspec.to_builtins(use)} for name, use in setup.models.items()],
        "warned": setup.warned,
        "warnings": [{"words": words, "runs": runs} for words, runs in sorted(setup.warnings.items())],
        "past_gateway": setup.past_gateway,
        "setbacks": [{**attempt._asdict(), "status": attempt.status.value} for attempt in setup.excluded_attempts],
    }


class JsonReporter:
    """Writes the payload; its keys are promised in docs/cli.md."""

    def render(self, report: Report) -> str:
        """Indented, one document."""
        return msgspec.json.format(msgspec.json.encode(report.payload), indent=2).decode() + "\n"
