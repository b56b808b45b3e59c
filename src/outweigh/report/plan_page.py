"""The page and the JSON of `outweigh plan`: how often each size would be decided, its price, what the obstacle is, and
whether to buy tasks or repeats.
"""

from collections.abc import Iterator
from math import ceil

from msgspec.structs import asdict

from outweigh.report.document import Block, BulletList, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import SIMULATED, UNKNOWN, format_change, format_dollars, format_percent, pluralize
from outweigh.report.json_output import Payload
from outweigh.verdict.blockers import PromotionMinimum
from outweigh.verdict.evidence_settings import FEWEST_FOR_A_GAIN, GATED_METRICS, MINIMUM_TASKS, EffectScale, gate_title
from outweigh.verdict.planned_experiment import (
    Chance,
    ExperimentPlan,
    LookEndings,
    LookForecast,
    PlanGoal,
    PlannedDesign,
    PlannedSize,
)
from outweigh.verdict.rule_on_arrays import GAIN

NOTES = (
    "every chance is a share of simulated experiments, decided by the rule that decides verdicts; its range says how "
    "far the variation in the pilot leaves it open, and is wide where the pilot is small.",
    "improved and decided are for the effects that are stated. False is an experiment with arms that are alike and is "
    "called improved, regressed or a trade-off.",
)
PILOT_NOTE = (
    "as in the pilot: an improvement if the true effects are those that the pilot shows, averaged over what they could "
    "be instead."
)


def plan_report(plan: ExperimentPlan) -> Report:
    """The page of `outweigh plan`."""
    payload = plan_payload(plan)
    blocks: list[Block] = [_size_table(plan)]
    if plan.designs:
        blocks.append(_design_table(plan))
    if plan.looks is not None:
        blocks.append(_look_table(plan, plan.looks))
    blocks += [_variance_table(plan), BulletList(title="Advice", items=(payload["advice"],), tone=Tone.PLAIN)]
    notes = (*NOTES, PILOT_NOTE) if plan.pilot is not None else NOTES
    blocks.extend(optional_bullets("Notes", notes))
    blocks.extend(optional_bullets("Warnings", tuple(payload["warnings"])))
    return Report(headline=_headline(plan), tone=Tone.PLAIN, lead=_lead(plan), blocks=tuple(blocks), payload=payload)


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


def _headline(plan: ExperimentPlan) -> str:
    return _describe_target(plan) if plan.suite_tasks is None else describe_visible(plan)


def describe_visible(plan: ExperimentPlan) -> str:
    """What the suite can show as it is: `7 tasks × 5 repeats: a difference of 48 points or more`."""
    seen = plan.visible
    if seen is None:
        tasks = pluralize(plan.suite_tasks or 0, "task")
        gain = f"and a better pass rate alone at least {FEWEST_FOR_A_GAIN}"
        return f"{tasks}: no difference, however large; a verdict needs at least {MINIMUM_TASKS} tasks, {gain}"
    size = f"{pluralize(seen.tasks, 'task')} × {pluralize(seen.repeats, 'repeat')}"
    if seen.gain is not None:
        return f"{size}: a difference of {_amount(seen.gain, plan.goal)} or more"
    if seen.loss is not None:
        return f"{size}: a difference of {_amount(seen.loss, plan.goal)} or more, if it is a loss"
    return f"{size}: no difference is shown reliably"


def _lead(plan: ExperimentPlan) -> str:
    """How the visible difference is meant, what the suite costs, and what more would buy."""
    if plan.suite_tasks is None:
        return ""
    target, wanted = plan.target, describe_effects(plan.goal)
    chance = f"{100 * plan.goal.power:g} %"
    more = f"no offered size is enough to call {wanted} improved in {chance}"
    if target is not None:
        more = f"to call {wanted} improved in {chance}, take {describe_design(target, simulated=plan.simulated)}"
    return " ".join((*_explain_visible(plan), f"What more would buy: {more}."))


def _explain_visible(plan: ExperimentPlan) -> Iterator[str]:
    seen, goal = plan.visible, plan.goal
    if seen is None:
        return
    often, title = f"{100 * goal.power:g} % of experiments", gate_title(goal.metric)
    if seen.gain is None:
        largest, chance = _amount(seen.largest_gain, goal), _whole_percent(seen.largest_chance)
        yield f"No gain of the {title} is called improved in {often}; the largest possible, {largest}, is in {chance}."
    else:
        yield f"A gain of the {title} of {_amount(seen.gain, goal)} is called improved in {often}."
    if seen.loss is not None:
        yield f"A loss of {_amount(seen.loss, goal)} is called regressed in {often}."
    if plan.prices is not None:
        cost = format_dollars(plan.prices.cost_usd(seen.tasks, seen.repeats))
        yield f"Running it costs about {cost} with one candidate."


def _amount(change: float, goal: PlanGoal) -> str:
    """Rounded up to whole points or percent, so that what is said can be shown."""
    return f"{ceil(100 * change - 1e-9)} {'%' if goal.relative else 'points'}"


def _describe_target(plan: ExperimentPlan) -> str:
    about = "" if plan.pilot is None else f", {plan.pilot.candidate} against {plan.pilot.baseline}"
    wanted, target = describe_effects(plan.goal), plan.target
    chance = f"{100 * plan.goal.power:g} %"
    answer = (
        f"no offered design is called improved in {chance}"
        if target is None
        else f"to be called improved in {chance}, take {describe_design(target, simulated=plan.simulated)}"
    )
    return f"plan for {wanted}{about}: {answer}"


def describe_effects(goal: PlanGoal) -> str:
    """The stated effects, such as `pass rate +5 points, cost -10 %`."""
    units = {name: "%" if GATED_METRICS[name].scale is EffectScale.RATIO else "points" for name in goal.effects}
    return ", ".join(
        f"{gate_title(name)} {format_change(change)} {units[name]}" for name, change in goal.effects.items()
    )


def describe_design(design: PlannedDesign, *, simulated: bool = False) -> str:
    """What a design consists of, and its price unless that is only simulated."""
    price = "" if design.cost_usd is None or simulated else f", {format_dollars(design.cost_usd)}"
    return f"{pluralize(design.tasks, 'task')} × {pluralize(design.repeats, 'repeat')} in each arm{price}"


def _format_price(plan: ExperimentPlan, cost_usd: float | None) -> str:
    if cost_usd is None:
        return UNKNOWN
    return SIMULATED if plan.simulated else format_dollars(cost_usd)


def _size_table(plan: ExperimentPlan) -> Table:
    pilot = () if plan.pilot is None else ("as in the pilot",)
    return Table(
        title=f"How often the rule would decide, if the effects are {describe_effects(plan.goal)}",
        columns=(
            "tasks × repeats",
            "cost",
            "improved",
            "decided",
            *pilot,
            "same if alike",
            "false if alike",
            "obstacle",
        ),
        rows=tuple(
            (
                f"{size.tasks:,} × {size.repeats:,}",
                _format_price(plan, size.cost_usd),
                format_chance(size.improved),
                format_chance(size.decided),
                *(() if size.as_pilot is None else (format_chance(size.as_pilot),)),
                _whole_percent(size.same),
                _whole_percent(size.false),
                _in_the_way(size),
            )
            for size in plan.sizes
        ),
    )


def format_chance(chance: Chance) -> str:
    """A chance with its range."""
    if chance.low is None or chance.high is None:
        return _whole_percent(chance.value)
    return f"{_whole_percent(chance.value)} ({100 * chance.low:.0f}–{100 * chance.high:.0f})"


def _whole_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _in_the_way(size: PlannedSize) -> str:
    """What keeps most of the undecided experiments from an improvement."""
    if not size.in_the_way:
        return "nothing"
    name = max(size.in_the_way, key=lambda gate: size.in_the_way[gate])
    return f"{'no gain shown' if name == GAIN else gate_title(name)} ({_whole_percent(size.in_the_way[name])})"


def _design_table(plan: ExperimentPlan) -> Table:
    return Table(
        title=f"Fewest tasks that are called improved in {100 * plan.goal.power:g} %",
        columns=("", "tasks", "runs, both arms", "cost"),
        rows=tuple(
            (
                pluralize(design.repeats, "repeat"),
                f"{design.tasks:,}",
                f"{design.runs:,}",
                _format_price(plan, design.cost_usd),
            )
            for design in plan.designs
        ),
    )


def _look_table(plan: ExperimentPlan, forecast: LookForecast) -> Table:
    design = forecast.design
    return Table(
        title=f"The cheapest design with {pluralize(forecast.looks, 'planned look')} (run --until-decided)",
        columns=("", "improved", "ends early", "tasks on average", "cost on average"),
        rows=tuple(
            (
                name,
                _whole_percent(endings.improved),
                _whole_percent(endings.ends_early),
                f"{endings.tasks:.0f} of {design.tasks:,}",
                _format_price(plan, endings.cost_usd),
            )
            for name, endings in (("with these effects", forecast.stated), ("if the arms are alike", forecast.alike))
        ),
    )


def _variance_table(plan: ExperimentPlan) -> Table:
    repeats, parts = plan.doubling.repeats, plan.components
    whole = parts.delta_variance(repeats, repeats)

    def row(name: str, variance: float | None, divisor: int) -> tuple[str, ...]:
        share = None if variance is None or not whole else variance / divisor / whole
        return (name, UNKNOWN if variance is None else f"{variance:.4g}", format_percent(share))

    return Table(
        title=f"Where the variance of a task's {gate_title(plan.goal.metric)} delta comes from",
        columns=("", "variance", f"share at {pluralize(repeats, 'repeat')}"),
        rows=(
            row("true deltas between tasks", parts.true_deltas, 1),
            row("a run of the candidate", parts.candidate_runs, repeats),
            row("a run of the baseline", parts.baseline_runs, repeats),
            row(
                f"a task's delta at {pluralize(repeats, 'repeat')}",
                parts.observed_deltas if whole is None else whole,
                1,
            ),
        ),
    )


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
        f"{start}, twice the tasks take the chance of an improved verdict from {_whole_percent(step.improved)} to "
        f"{_whole_percent(step.twice_the_tasks)}"
    )
    if step.twice_the_repeats is None:
        return f"Buy tasks: {doubling}. What repeats would do is unknown after 1 repeat."
    repeats = f"twice the repeats to {_whole_percent(step.twice_the_repeats)}"
    task_usd = 0.0 if plan.prices is None else plan.prices.task_usd
    target = plan.target
    if task_usd > 0 and target is not None and target.repeats > step.repeats:
        return (
            f"Buy repeats before tasks: a new task costs {format_dollars(task_usd)} before it is run, and the cheapest "
            f"design is {describe_design(target, simulated=plan.simulated)}; {doubling}, {repeats} without new tasks."
        )
    return f"Buy tasks, not repeats: {doubling}, and {repeats} for as many runs."


def _promotion_warnings(plan: ExperimentPlan) -> Iterator[str]:
    """Where the cheapest design could be judged, but nothing could be promoted on it."""
    if plan.target is not None:
        for reason in PromotionMinimum().lacking(plan.target.tasks, plan.target.repeats):
            yield f"the cheapest design allows no promotion: {reason}"
