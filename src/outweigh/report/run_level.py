"""A ladder counted by single runs, as JSON and as a table."""

from msgspec import to_builtins

from outweigh.compare.run_level import RunGroup, RunLevel, Spread, TierOfRuns
from outweigh.report.document import Table
from outweigh.report.formatting import UNKNOWN
from outweigh.report.json_output import Payload, interval_payload


def run_level_payload(level: RunLevel) -> Payload:
    """`run_level` of `ladder --format json`."""
    return {
        "score_of": level.score_of,
        "tiers": [
            {"tier": tier.number, "name": tier.name, "arms": tier.arms, **_group_payload(tier.runs)}
            for tier in level.tiers
        ],
        "arms": [{"arm": arm, **_group_payload(group)} for arm, group in level.arms.items()],
        "everything": _group_payload(level.everything),
        "omnibus": {metric: to_builtins(test) for metric, test in level.omnibus.items()},
        "steps": [to_builtins(step) for step in level.steps],
        "judges": to_builtins(level.judges),
    }


def _group_payload(group: RunGroup) -> Payload:
    return {
        "runs": group.runs,
        "pass_rate": group.pass_rate.point,
        "pass_rate_interval": interval_payload(group.pass_rate.interval),
        "score": _spread_payload(group.score),
        "implementation_rate": _spread_payload(group.implementation_rate),
        "consistency": group.consistency.value,
        "cost_usd": _spread_payload(group.cost_usd),
        "total_cost_usd": group.total_cost_usd.value,
        "cost_of_pass_usd": group.cost_of_pass_usd.value,
        "total_tokens": _spread_payload(group.total_tokens),
        "grades": dict(group.grades),
        "modal_grade": group.modal_grade,
    }


def _spread_payload(spread: Spread) -> Payload:
    return {
        **spread.description.figures(),
        "first_quartile": spread.first_quartile,
        "third_quartile": spread.third_quartile,
        "skewness": spread.skewness,
        "excess_kurtosis": spread.excess_kurtosis,
    }


def run_level_table(level: RunLevel) -> Table:
    """Every tier by its single runs, with as many digits as ProjectScylla prints."""
    return Table(
        title="Tiers by single runs, as ProjectScylla publishes them (runs of one task are not independent)",
        columns=("", "arms", "runs", "pass rate (95 %)", "score", "sd", "median", "consistency", "cost of a pass"),
        rows=tuple(_row(tier) for tier in level.tiers),
    )


def _row(tier: TierOfRuns) -> tuple[str, ...]:
    runs, score = tier.runs, tier.runs.score.description
    inside = runs.pass_rate.interval
    interval = "" if inside is None else f" ({inside.low:.3f} to {inside.high:.3f})"
    price = runs.cost_of_pass_usd.value
    return (
        tier.name,
        str(tier.arms),
        str(runs.runs),
        f"{_three_digits(runs.pass_rate.point)}{interval}",
        _three_digits(score.mean),
        _three_digits(score.sample_std),
        _three_digits(score.median),
        _three_digits(runs.consistency.value),
        UNKNOWN if price is None else f"${price:.2f}",
    )


def _three_digits(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"
