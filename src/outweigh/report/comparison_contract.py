"""The JSON of `outweigh compare`. Keys are added, never renamed, within a schema version."""

from collections.abc import Iterator
from dataclasses import asdict
from math import isinf

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.compare.delta import Delta
from outweigh.compare.inference import Inference, Population
from outweigh.compare.judge_panel import JudgePanel
from outweigh.report.judges_contract import panel_payload
from outweigh.report.payload import Payload, finite, never_passes
from outweigh.report.sightings_contract import sightings_payload
from outweigh.stats.estimate import Interval
from outweigh.stats.quantity import Quantity


def comparison_payload(comparison: Comparison, inference: Inference, panel: JudgePanel | None) -> Payload:
    """`compare --format json`."""
    return {
        "schema": "outweigh.comparison/1",
        "baseline": comparison.baseline.name,
        "candidate": comparison.candidate.name,
        "profile": comparison.profile.name,
        "infer": inference.population.value,
        "seed": inference.seed,
        "evidence_sha256": comparison.evidence_sha256,
        "arms": {arm.name: _arm(arm, inference) for arm in (comparison.baseline, comparison.candidate)},
        "pairs": {
            "tasks": len(comparison.tasks),
            "paired": comparison.pairing.pairs,
            "unpaired": [run._asdict() for run in comparison.pairing.unpaired],
        },
        "deltas": {name: _delta(delta, inference) for name, delta in comparison.deltas.items()},
        "ratios": {
            name: {"ratio": finite(ratio.point), "interval": _interval(ratio.interval)}
            for name, ratio in inference.ratios.items()
        },
        "tests": {
            "mcnemar": {**asdict(comparison.discordance), "p_value": inference.mcnemar.p_value},
            "sign_flip": {"p_value": inference.sign_flip.p_value, "method": inference.sign_flip.method},
        },
        "judges": panel_payload(panel),
        "sightings": sightings_payload(comparison),
        "warnings": [
            *comparison.warnings,
            *comparison.composite_warnings,
            *_null_reasons(comparison.baseline),
            *_null_reasons(comparison.candidate),
            *_interval_reasons(comparison, inference),
        ],
    }


def _arm(arm: ArmSummary, inference: Inference) -> Payload:
    metrics = arm.metrics
    return {
        "runs": arm.runs,
        "tasks": arm.tasks,
        "excluded": {status.value: number for status, number in arm.excluded.items()},
        "successes": arm.successes,
        "pass_rate": arm.pass_rate.value,
        "pass_rate_interval": _interval(inference.pass_rates[arm.name].interval),
        "total_cost_usd": arm.total_cost_usd.value,
        "known_cost_usd": arm.known_cost_usd,
        "paid_usd": arm.paid_usd.value,
        "known_paid_usd": arm.known_paid_usd,
        "mean_cost_usd": metrics["cost_usd"].mean,
        "median_cost_usd": metrics["cost_usd"].median,
        "median_duration_seconds": metrics["duration_seconds"].median,
        "median_total_tokens": metrics["total_tokens"].median,
        "median_non_cache_tokens": metrics["non_cache_tokens"].median,
        "solved_per_dollar": arm.solved_per_dollar.value,
        "cost_of_pass_usd": finite(arm.cost_of_pass_usd.value),
        "cost_of_pass_interval": _interval(inference.costs_of_pass[arm.name].interval),
        "never_passes": never_passes(arm),
        "pass_at_k": {str(k): value for k, value in arm.pass_at_k.items()},
        "pass_hat_k": {str(k): value for k, value in arm.pass_hat_k.items()},
        "pass_at_k_intervals": {str(k): _interval(one) for k, one in inference.pass_at_k[arm.name].items()},
        "pass_hat_k_intervals": {str(k): _interval(one) for k, one in inference.pass_hat_k[arm.name].items()},
        "metrics": {name: asdict(description) for name, description in metrics.items()},
        "components": [
            {
                "component": part.component.value,
                "tokens": part.tokens,
                "token_share": part.token_share.value,
                "cost_usd": part.cost_usd.value,
                "cost_share": part.cost_share.value,
            }
            for part in arm.components
        ],
        "grade": arm.grade,
        "change_fail_percentage": arm.change_fail_percentage.value,
        "pr_revert_rate": arm.pr_revert_rate.value,
    }


def _delta(delta: Delta, inference: Inference) -> Payload:
    inferred = inference.deltas[delta.metric.delta]
    chosen = inferred.over_tasks if inference.population is Population.TASKS else inferred.on_suite
    return {
        "n": delta.n,
        "mean": finite(delta.mean),
        "median": finite(delta.median),
        "task_mean": finite(delta.task_mean),
        "interval": _interval(chosen.interval),
        "task_median": finite(inferred.median_of_tasks.point),
        "task_median_interval": _interval(inferred.median_of_tasks.interval),
        "dominance": finite(inferred.dominance.point),
        "standard_error": inferred.over_tasks.standard_error,
        "suite_standard_error": inferred.on_suite.standard_error,
    }


def _interval(interval: Interval | None) -> Payload | None:
    """An end that the data cannot bound is null."""
    if interval is None:
        return None
    return asdict(interval) | {"low": finite(interval.low), "high": finite(interval.high)}


def _interval_reasons(comparison: Comparison, inference: Inference) -> Iterator[str]:
    for name, delta in comparison.deltas.items():
        inferred = inference.deltas[name]
        chosen = inferred.over_tasks if inference.population is Population.TASKS else inferred.on_suite
        if delta.n:
            yield from (f"{name}: {warning}." for warning in chosen.warnings)
    for name, ratio in inference.ratios.items():
        yield from (f"ratio of {name}: {warning}." for warning in ratio.warnings)
    for name, cost in inference.costs_of_pass.items():
        yield from (f"{name}: cost of a pass: {warning}." for warning in cost.warnings)
    for test in (inference.mcnemar, inference.sign_flip):
        yield from (f"{test.method}: {warning}." for warning in test.warnings)


def _null_reasons(arm: ArmSummary) -> Iterator[str]:
    named: tuple[tuple[str, Quantity], ...] = (
        ("pass_rate", arm.pass_rate),
        ("total_cost_usd", arm.total_cost_usd),
        ("paid_usd", arm.paid_usd),
        ("solved_per_dollar", arm.solved_per_dollar),
        ("cost_of_pass_usd", arm.cost_of_pass_usd),
        ("change_fail_percentage", arm.change_fail_percentage),
        ("pr_revert_rate", arm.pr_revert_rate),
    )
    for name, quantity in named:
        if quantity.reason is not None:
            yield f"{arm.name}: {name} is null: {quantity.reason}."
    if (price := arm.cost_of_pass_usd.value) is not None and isinf(price):
        yield f"{arm.name}: cost_of_pass_usd is null: it never passes."
    if arm.components and arm.components[0].cost_usd.reason is not None:
        yield f"{arm.name}: the cost of its components is null: {arm.components[0].cost_usd.reason}."
    if not arm.pass_at_k:
        yield f"{arm.name}: pass_at_k and pass_hat_k are empty: a task has no run that knows whether it passed."
    if arm.grade is None:
        yield f"{arm.name}: grade is null: it needs the even composite, which needs judge scores."
    for metric, description in arm.metrics.items():
        if description.unknown:
            reason = arm.unknown_because.get(metric, "a part of it is unknown")
            yield f"{arm.name}: {metric} is unknown for {description.unknown} of {arm.runs} runs: {reason}."
