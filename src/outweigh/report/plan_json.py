"""The JSON of `outweigh plan`, and its advice: whether to buy tasks or repeats."""

from collections.abc import Iterator

from msgspec.structs import asdict

from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.formatting import format_dollars, pluralize
from outweigh.report.json_output import Payload
from outweigh.verdict.blockers import PromotionMinimum
from outweigh.verdict.planned_experiment import (
    Chance,
    ExperimentPlan,
    LookEndings,
    LookForecast,
    PlannedDesign,
    PlannedSize,
)


def plan_payload(plan: ExperimentPlan) -> Payload:
    """`plan --format json`."""
    goal, pilot, components, target = plan.goal, plan.pilot, plan.components, plan.target
    return {
        "schema": "outweigh.plan/2",
        "baseline": None if pilot is None else pilot.baseline,
        "candidate": None if pilot is None else pilot.candidate,
        "metric": goal.metric,
        "scale": "ratio" if goal.relative else "points",
        "effects": dict(goal.effects),
        "power": goal.power,
        "policy_version": plan.version,
        "gates": list(plan.gates),
        "components": {
            "true_deltas": components.true_deltas,
            "candidate_runs": components.candidate_runs,
            "baseline_runs": components.baseline_runs,
            "share_between_tasks": _share_between_tasks(plan),
            "at_repeats": plan.doubling.repeats,
        },
        "tasks": None if pilot is None else pilot.tasks,
        "repeats": None if pilot is None else pilot.repeats,
        "sizes": [_size_payload(size) for size in plan.sizes],
        "designs": [_design_payload(design) for design in plan.designs],
        "target": None if target is None else _design_payload(target),
        "visible": None if plan.visible is None else asdict(plan.visible),
        "planned_looks": None if plan.looks is None else _looks_payload(plan.looks),
        "advice": advise(plan),
        "evidence_sha256": None if pilot is None else pilot.evidence_sha256,
        "evidence_hash_version": None if pilot is None else HASH_VERSION,
        "warnings": [*plan.warnings, *_promotion_warnings(plan)],
    }


def _size_payload(size: PlannedSize) -> Payload:
    return {
        "tasks": size.tasks,
        "repeats": size.repeats,
        "cost_usd": size.cost_usd,
        "improved": _chance_payload(size.improved),
        "decided": _chance_payload(size.decided),
        "as_pilot": None if size.as_pilot is None else _chance_payload(size.as_pilot),
        "same_if_alike": size.same,
        "false_if_alike": size.false,
        "in_the_way": dict(size.in_the_way),
    }


def _chance_payload(chance: Chance) -> Payload:
    return {"chance": chance.value, "low": chance.low, "high": chance.high}


def _design_payload(design: PlannedDesign) -> Payload:
    return {
        "tasks": design.tasks,
        "repeats": design.repeats,
        "cost_usd": design.cost_usd,
        "improved": design.improved,
    }


def _looks_payload(forecast: LookForecast) -> Payload:
    return {
        "tasks": forecast.design.tasks,
        "repeats": forecast.design.repeats,
        "looks": forecast.looks,
        "with_effects": _endings_payload(forecast.stated),
        "if_alike": _endings_payload(forecast.alike),
    }


def _endings_payload(endings: LookEndings) -> Payload:
    return {
        "improved": endings.improved,
        "ends_early": endings.ends_early,
        "mean_tasks": endings.tasks,
        "mean_cost_usd": endings.cost_usd,
    }


def _share_between_tasks(plan: ExperimentPlan) -> float | None:
    """The part of a delta's variance that repeats cannot reduce."""
    true, repeats = plan.components.true_deltas, plan.doubling.repeats
    whole = plan.components.delta_variance(repeats, repeats)
    return true / whole if true is not None and whole else None


def advise(plan: ExperimentPlan) -> str:
    """Whether to buy tasks or repeats, and why."""
    step = plan.doubling
    start = f"from {pluralize(step.tasks, 'task')} × {pluralize(step.repeats, 'repeat')}"
    doubling = (
        f"{start}, twice the tasks take the chance of an improved verdict from {whole_percent(step.improved)} to "
        f"{whole_percent(step.twice_the_tasks)}"
    )
    if step.twice_the_repeats is None:
        return f"Buy tasks: {doubling}. What repeats would do is unknown after 1 repeat."
    repeats = f"twice the repeats to {whole_percent(step.twice_the_repeats)}"
    task_usd = 0.0 if plan.prices is None else plan.prices.task_usd
    target = plan.target
    if task_usd > 0 and target is not None and target.repeats > step.repeats:
        return (
            f"Buy repeats before tasks: a new task costs {format_dollars(task_usd)} before it is run, and the cheapest "
            f"design is {describe_design(target, simulated=plan.simulated)}; {doubling}, {repeats} without new tasks."
        )
    return f"Buy tasks, not repeats: {doubling}, and {repeats} for as many runs."


def describe_design(design: PlannedDesign, *, simulated: bool = False) -> str:
    """What a design consists of, and its price unless that is only simulated."""
    price = "" if design.cost_usd is None or simulated else f", {format_dollars(design.cost_usd)}"
    return f"{pluralize(design.tasks, 'task')} × {pluralize(design.repeats, 'repeat')} in each arm{price}"


def whole_percent(share: float) -> str:
    """A chance as people read it."""
    return f"{100 * share:.0f} %"


def _promotion_warnings(plan: ExperimentPlan) -> Iterator[str]:
    """Where the cheapest design could be judged, but nothing could be promoted on it."""
    if plan.target is not None:
        for reason in PromotionMinimum().lacking(plan.target.tasks, plan.target.repeats):
            yield f"the cheapest design allows no promotion: {reason}"
