"""The page of `outweigh plan`, and its summary.

How often each size would be decided, its price, what the obstacle is, and whether to buy tasks or repeats.
"""

from collections.abc import Iterator, Sequence
from math import ceil

from outweigh.report.document import Block, BulletList, KeyPoints, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import SIMULATED, UNKNOWN, format_change, format_dollars, format_percent, pluralize
from outweigh.report.plan_json import describe_design, plan_payload, whole_percent
from outweigh.verdict.evidence_settings import FEWEST_FOR_A_GAIN, GATED_METRICS, MINIMUM_TASKS, EffectScale, gate_title
from outweigh.verdict.planned_experiment import (
    Chance,
    ExperimentPlan,
    LookForecast,
    PlanGoal,
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
        largest, chance = _amount(seen.largest_gain, goal), whole_percent(seen.largest_chance)
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
                whole_percent(size.same),
                whole_percent(size.false),
                _in_the_way(size),
            )
            for size in plan.sizes
        ),
    )


def format_chance(chance: Chance) -> str:
    """A chance with its range."""
    if chance.low is None or chance.high is None:
        return whole_percent(chance.value)
    return f"{whole_percent(chance.value)} ({100 * chance.low:.0f}–{100 * chance.high:.0f})"


def _in_the_way(size: PlannedSize) -> str:
    """What keeps most of the undecided experiments from an improvement."""
    if not size.in_the_way:
        return "nothing"
    name = max(size.in_the_way, key=lambda gate: size.in_the_way[gate])
    return f"{'no gain shown' if name == GAIN else gate_title(name)} ({whole_percent(size.in_the_way[name])})"


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
                whole_percent(endings.improved),
                whole_percent(endings.ends_early),
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


MOST_SIZES = 8
MOST_WARNING_LINES = 2


def plan_summary(plan: ExperimentPlan, *, verbose_command: str) -> Report:
    """What it prints by default, one screen: the answer, the sizes on offer and the advice.

    `verbose_command` prints the whole page.
    """
    whole = plan_report(plan)
    sizes = next(block for block in whole.blocks if isinstance(block, Table))
    shown = [row for row, size in zip(sizes.rows, plan.sizes, strict=True) if size in _shown_sizes(plan)]
    rows = tuple(_summary_rows(whole, hidden=len(sizes.rows) - len(shown)))
    points = KeyPoints(rows=rows, commands={"More": verbose_command}, most_lines={"Warning": MOST_WARNING_LINES})
    table = Table(title=sizes.title, columns=sizes.columns, rows=tuple(shown))
    return Report(headline=whole.headline, tone=Tone.PLAIN, lead=whole.lead, blocks=(table, points), payload={})


def _shown_sizes(plan: ExperimentPlan) -> Sequence[PlannedSize]:
    """All sizes, or where those are many, the ones with as many repeats as the pilot or the suite has, or nearly."""
    if len(plan.sizes) <= MOST_SIZES:
        return plan.sizes
    nearest = min((size.repeats for size in plan.sizes), key=lambda repeats: abs(repeats - plan.doubling.repeats))
    return [size for size in plan.sizes if size.repeats == nearest][:MOST_SIZES]


def _summary_rows(whole: Report, *, hidden: int) -> Iterator[tuple[str, str]]:
    yield "Advice", whole.payload["advice"]
    if warnings := whole.payload["warnings"]:
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        yield "Warning", warnings[0].removesuffix(".") + more
    sizes = f"{hidden} more sizes, " if hidden > 0 else ""
    yield "More", f"{sizes}designs, planned looks, where the variance comes from, notes and all warnings"
