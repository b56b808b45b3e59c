"""What people write about a plan: effects and variances, read and checked."""

from collections.abc import Mapping, Sequence
from math import isfinite

from outweigh.errors import UsageError
from outweigh.stats.variance import VarianceComponents
from outweigh.verdict.evidence_settings import GATED_METRICS, EffectScale

# What two passes or failures, or two tasks' deltas, can vary at most; for logs, runs that differ by a factor of e^10.
LARGEST_OF_RATES = {"true": 2.0, "runs": 0.25, "candidate": 0.25, "baseline": 0.25}
LARGEST_OF_LOGS = 100.0
SMALLEST_VARIANCE = 1e-12
COMPONENTS_FORM = "write true=X,runs=Y or true=X,candidate=Y,baseline=Z"
EFFECT_FORM = "write a number such as 0.05, or NAME=X,… such as pass_rate=0.05,cost=-0.1"


def parse_effects(text: str, metric: str, gates: Sequence[str]) -> Mapping[str, float]:
    """A number is a gain of the metric: points more, or so much less of a resource. Named ones have a sign."""
    number = parse_finite(text)
    if number is not None:
        relative = GATED_METRICS[metric].scale is EffectScale.RATIO
        return {metric: _check_effect(metric, -number if relative else number, text)}
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        change = parse_finite(value)
        if change is None or name not in gates or name in found:
            known = ", ".join(gates)
            raise UsageError(f"--effect {text}: {part!r} is not an effect on one of {known}; {EFFECT_FORM}.")
        found[name] = _check_effect(name, change, text)
    return found


def _check_effect(name: str, change: float, text: str) -> float:
    relative = GATED_METRICS[name].scale is EffectScale.RATIO
    low, high = (-0.99, 9.0) if relative else (-0.99, 0.99)
    if not low <= change <= high:
        raise UsageError(
            f"--effect {text}: {change:g} is not a change of {name} from {low:g} to {high:g}; {EFFECT_FORM}."
        )
    return change


def state_components(true_deltas: float, candidate_runs: float, baseline_runs: float) -> VarianceComponents:
    """Components that somebody states."""
    return VarianceComponents(
        true_deltas=true_deltas,
        candidate_runs=candidate_runs,
        baseline_runs=baseline_runs,
        observed_deltas=None,
        tasks=0,
        warnings=(),
    )


def parse_components(text: str, metric: str) -> VarianceComponents:
    """Variances of a metric, as `--components` states them."""
    named = [_parse_component(part, text, metric) for part in text.split(",")]
    parts = dict(named)
    if len(parts) < len(named) or parts.keys() not in ({"true", "runs"}, {"true", "candidate", "baseline"}):
        raise UsageError(f"--components {text} does not name every variance once; {COMPONENTS_FORM}.")
    if sum(parts.values()) < SMALLEST_VARIANCE:
        raise UsageError(f"--components {text} leaves nothing to plan for: without variance no run errs.")
    runs = parts.get("runs", 0.0)
    return state_components(parts["true"], parts.get("candidate", runs), parts.get("baseline", runs))


def _parse_component(part: str, whole: str, metric: str) -> tuple[str, float]:
    name, _, text = part.strip().partition("=")
    number = parse_finite(text)
    if name not in LARGEST_OF_RATES or number is None or number < 0:
        raise UsageError(f"--components {whole}: {part!r} is not a variance; {COMPONENTS_FORM}.")
    rate = GATED_METRICS[metric].scale is EffectScale.POINTS
    largest = LARGEST_OF_RATES[name] if rate else LARGEST_OF_LOGS
    if number > largest:
        unit = "a rate from 0 to 1" if rate else "logs"
        raise UsageError(
            f"--components {whole}: {metric} is measured as {unit}, so the variance {name} is at most {largest:g}, "
            f"not {number:g}."
        )
    return name, number


def parse_finite(text: str) -> float | None:
    """The number that a text is; None where it is none, or none that could be reckoned with."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
