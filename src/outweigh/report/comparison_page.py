"""The page and the JSON of `outweigh compare`: two arms with their paired deltas, ratios and intervals."""

from collections.abc import Callable, Iterator
from math import isinf

from msgspec.structs import asdict

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import Delta
from outweigh.compare.inference import Inference, Population
from outweigh.compare.judge_agreement import PanelAgreement, summarise_judges
from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.comparison_tables import arms_table
from outweigh.report.document import Block, BulletList, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import (
    SAME,
    SIMULATED,
    UNIT_FORMATS,
    UNKNOWN,
    count_of,
    describe_direction,
    format_change,
)
from outweigh.report.json_output import Payload, finite_or_none, interval_payload, never_passes, observed_setup_payload
from outweigh.report.judge_agreement import panel_payload
from outweigh.report.judge_tables import judge_blocks
from outweigh.stats.estimate import Estimate, Interval, Quantity, excludes
from outweigh.verdict.composite_policy import net_gain


def comparison_payload(comparison: Comparison, inference: Inference, panel: PanelAgreement | None) -> Payload:
    """`compare --format json`."""
    return {
        "schema": "outweigh.comparison/1",
        "baseline": comparison.baseline.name,
        "candidate": comparison.candidate.name,
        "profile": comparison.profile.name,
        "infer": inference.population.value,
        "seed": inference.seed,
        "evidence_sha256": comparison.evidence_sha256,
        "evidence_hash_version": HASH_VERSION,
        "arms": {arm.name: _arm_payload(arm, inference) for arm in (comparison.baseline, comparison.candidate)},
        "pairs": {
            "tasks": len(comparison.tasks),
            "paired": comparison.pairing.pairs,
            "unpaired": [run._asdict() for run in comparison.pairing.unpaired],
        },
        "deltas": {name: _delta_payload(delta, inference) for name, delta in comparison.deltas.items()},
        "ratios": {
            name: {"ratio": finite_or_none(ratio.point), "interval": interval_payload(ratio.interval)}
            for name, ratio in inference.ratios.items()
        },
        "tests": {
            "mcnemar": {**asdict(comparison.discordance), "p_value": inference.mcnemar.p_value},
            "sign_flip": {"p_value": inference.sign_flip.p_value, "method": inference.sign_flip.method},
            "wilcoxon": {
                "p_value": inference.wilcoxon.p_value,
                "statistic": inference.wilcoxon.statistic,
                "method": inference.wilcoxon.method,
            },
        },
        "net_gain": net_gain(comparison).value,
        "judges": panel_payload(panel),
        "sightings": observed_setup_payload(comparison),
        "warnings": [
            *comparison.warnings,
            *comparison.composite_warnings,
            *_null_warnings(comparison.baseline),
            *_null_warnings(comparison.candidate),
            *_interval_warnings(comparison, inference),
        ],
    }


def _arm_payload(arm: ArmSummary, inference: Inference) -> Payload:
    metrics = arm.metrics
    return {
        "runs": arm.runs,
        "tasks": arm.tasks,
        "excluded": {status.value: number for status, number in arm.excluded.items()},
        "successes": arm.successes,
        "pass_rate": arm.pass_rate.value,
        "pass_rate_interval": interval_payload(inference.pass_rates[arm.name].interval),
        "total_cost_usd": arm.total_cost_usd.value,
        "known_cost_usd": arm.known_cost_usd,
        "estimated_runs": arm.estimated_runs,
        "estimated_costs": arm.estimated_costs,
        "total_cost_low_usd": arm.total_cost_usd.value if arm.total_cost_ends is None else arm.total_cost_ends[0],
        "total_cost_high_usd": arm.total_cost_usd.value if arm.total_cost_ends is None else arm.total_cost_ends[1],
        "paid_usd": arm.paid_usd.value,
        "known_paid_usd": arm.known_paid_usd,
        "mean_cost_usd": metrics["cost_usd"].mean,
        "median_cost_usd": metrics["cost_usd"].median,
        "median_duration_seconds": metrics["duration_seconds"].median,
        "median_total_tokens": metrics["total_tokens"].median,
        "median_non_cache_tokens": metrics["non_cache_tokens"].median,
        "solved_per_dollar": arm.solved_per_dollar.value,
        "cost_of_pass_usd": finite_or_none(arm.cost_of_pass_usd.value),
        "cost_of_pass_interval": interval_payload(inference.costs_of_pass[arm.name].interval),
        "never_passes": never_passes(arm),
        "pass_at_k": {str(k): value for k, value in arm.pass_at_k.items()},
        "pass_hat_k": {str(k): value for k, value in arm.pass_hat_k.items()},
        "pass_at_k_intervals": {str(k): interval_payload(one) for k, one in inference.pass_at_k[arm.name].items()},
        "pass_hat_k_intervals": {str(k): interval_payload(one) for k, one in inference.pass_hat_k[arm.name].items()},
        "metrics": {name: description.figures() for name, description in metrics.items()},
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


def _delta_payload(delta: Delta, inference: Inference) -> Payload:
    inferred = inference.deltas[delta.metric.delta]
    chosen = inferred.over_tasks if inference.population is Population.TASKS else inferred.on_suite
    return {
        "n": delta.n,
        "mean": finite_or_none(delta.mean),
        "median": finite_or_none(delta.median),
        "task_mean": finite_or_none(delta.task_mean),
        "interval": interval_payload(chosen.interval),
        "task_median": finite_or_none(inferred.median_of_tasks.point),
        "task_median_interval": interval_payload(inferred.median_of_tasks.interval),
        "dominance": finite_or_none(inferred.dominance.point),
        "standard_error": inferred.over_tasks.standard_error,
        "suite_standard_error": inferred.on_suite.standard_error,
    }


def _interval_warnings(comparison: Comparison, inference: Inference) -> Iterator[str]:
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


def _null_warnings(arm: ArmSummary) -> Iterator[str]:
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
        yield f"{arm.name}: pass_at_k and pass_hat_k are empty: a task has no run with a known result."
    if arm.grade is None:
        yield f"{arm.name}: grade is null: it needs the even composite, which needs judge scores."
    for metric, description in arm.metrics.items():
        if description.unknown:
            reason = arm.unknown_because.get(metric, "a part of it is unknown")
            yield f"{arm.name}: {metric} is unknown for {description.unknown} of {arm.runs} runs: {reason}."


MEDIAN_NOTE = "* the median of pairs depends on how the repeats happen to be numbered; decisions rest on tasks."
TILDE_NOTE = "~ means that the interval includes no change. `outweigh verdict` decides."
READING_NOTES = (MEDIAN_NOTE, TILDE_NOTE)


def comparison_report(comparison: Comparison, inference: Inference) -> Report:
    """The page of `outweigh compare`."""
    before, after = comparison.baseline, comparison.candidate
    size = f"{count_of(len(comparison.tasks), 'task')}, {count_of(comparison.pairing.pairs, 'pair')} of runs"
    headline = f"{after.name} against {before.name}: {size}"
    panel = summarise_judges(comparison.judging)
    blocks: list[Block] = [
        arms_table(comparison),
        _delta_table(comparison, inference),
        _ratio_table(inference),
        *unpaired_runs(comparison),
        *judge_blocks(panel),
        *optional_bullets("Notes", READING_NOTES),
        *optional_bullets("Warnings", comparison_warnings(comparison)),
    ]
    return Report(
        headline=headline,
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload=comparison_payload(comparison, inference, panel),
    )


def unpaired_runs(comparison: Comparison) -> list[Block]:
    """The runs that no delta is made of, where there are any."""
    return [_unpaired_bullets(comparison)] if comparison.pairing.unpaired else []


def comparison_warnings(comparison: Comparison) -> tuple[str, ...]:
    """What to keep in mind while reading the figures."""
    return (*comparison.warnings, *comparison.composite_warnings, *_unrecorded_metrics(comparison))


def shown_deltas(comparison: Comparison) -> list[Delta]:
    """The differences that mean something: without checks nothing was scored by them."""
    vacuous = ("objective", "checks_passed") if comparison.without_checks else ()
    return [delta for delta in comparison.deltas.values() if delta.n and delta.metric.name not in vacuous]


def _delta_table(comparison: Comparison, inference: Inference) -> Table:
    rows = [_delta_row(delta, inference, simulated=comparison.simulated) for delta in shown_deltas(comparison)]
    about = "tasks like these" if inference.population is Population.TASKS else "these tasks only"
    return Table(
        title=f"Paired deltas, candidate minus baseline; 95 % intervals apply to {about}",
        columns=(
            "",
            "pairs",
            "mean",
            "median*",
            "mean of tasks",
            "95 % interval",
            "SE, tasks",
            "SE, suite",
            "is",
        ),
        rows=tuple(rows),
    )


def _delta_row(delta: Delta, inference: Inference, *, simulated: bool) -> tuple[str, ...]:
    inferred = inference.deltas[delta.metric.delta]
    chosen = chosen_estimate(delta, inference)
    direction = delta_direction(delta, chosen.interval)
    if simulated and delta.metric.unit == "dollars":
        return (delta.metric.title, str(delta.n), *[SIMULATED] * 4, "", "", direction)
    show = UNIT_FORMATS[delta.metric.unit].difference
    return (
        delta.metric.title,
        str(delta.n),
        show(delta.mean),
        show(delta.median),
        show(delta.task_mean),
        format_interval(chosen.interval, show),
        _format_error(inferred.over_tasks.standard_error, delta),
        _format_error(inferred.on_suite.standard_error, delta),
        direction,
    )


def chosen_estimate(delta: Delta, inference: Inference) -> Estimate:
    """The mean over tasks like these, or over the runs of these tasks, as the inference was asked for."""
    inferred = inference.deltas[delta.metric.delta]
    return inferred.over_tasks if inference.population is Population.TASKS else inferred.on_suite


def format_interval(interval: Interval | None, show: Callable[[float | None], str]) -> str:
    """Both ends, or that they are unknown."""
    if interval is None:
        return UNKNOWN
    return f"{show(interval.low)} to {show(interval.high)}"


def _format_error(value: float | None, delta: Delta) -> str:
    """A standard error in the unit of the difference, which has a sign that an error has not."""
    return UNKNOWN if value is None else UNIT_FORMATS[delta.metric.unit].difference(value).removeprefix("+")


def delta_direction(delta: Delta, interval: Interval | None) -> str:
    """Better or worse only where the interval leaves no doubt about the sign."""
    return describe_direction(delta.task_mean, delta.metric.better) if excludes(interval, 0.0) else SAME


def _ratio_table(inference: Inference) -> Table:
    rows = [
        (
            name.replace("_", " "),
            f"{format_change(ratio.point - 1)} %",
            format_interval(ratio.interval, _format_relative),
            _ratio_direction(ratio),
        )
        for name, ratio in inference.ratios.items()
        if ratio.point is not None
    ]
    title = "Relative change of the means, candidate against baseline"
    return Table(title=title, columns=("", "change", "95 % interval", "is"), rows=tuple(rows))


def _format_relative(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else f"{format_change(ratio - 1)} %"


def _ratio_direction(ratio: Estimate) -> str:
    return describe_direction((ratio.point or 1.0) - 1.0, -1) if excludes(ratio.interval, 1.0) else SAME


def _unpaired_bullets(comparison: Comparison) -> BulletList:
    runs = comparison.pairing.unpaired
    shown = [f"{run.task_id}, {run.arm}, repeat {run.repeat}: {run.why}" for run in runs[:10]]
    more = [f"and {len(runs) - 10} more (the JSON lists them all)"] if len(runs) > 10 else []
    return BulletList(title=f"Runs without a partner ({len(runs)})", items=(*shown, *more), tone=Tone.UNSURE)


def _unrecorded_metrics(comparison: Comparison) -> tuple[str, ...]:
    """Metrics that were not reported, in one line instead of one each."""
    before, after = comparison.baseline.metrics, comparison.candidate.metrics
    missing = {
        metric.title: (before[metric.name].count == 0, after[metric.name].count == 0)
        for metric in comparison.baseline_table.metrics
    }
    nowhere = [title for title, sides in missing.items() if all(sides)]
    one_sided = [title for title, sides in missing.items() if any(sides) and not all(sides)]
    lines = []
    if nowhere:
        lines.append(f"not recorded in either arm: {', '.join(nowhere)}.")
    if one_sided:
        lines.append(f"recorded in one arm only, so not compared: {', '.join(one_sided)}.")
    return tuple(lines)
