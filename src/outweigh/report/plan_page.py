"""The page and the JSON of `outweigh plan`: detectable effects, designs, their costs, and whether to buy tasks or
repeats.
"""

from collections.abc import Iterator

from outweigh.compare.sample_plan import PlanGoal, PlannedSize, SamplePlan
from outweigh.report.document import Block, BulletList, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import UNKNOWN, format_dollars, format_percent
from outweigh.report.json_output import Payload
from outweigh.stats.power import Design
from outweigh.verdict.blockers import MINIMUM_REPEATS

# Repeats in place of tasks cost a factor √(1 + share) in the effect: at this share, 5 %.
NEARLY_AS_GOOD = 0.1


def advise(plan: SamplePlan) -> str:
    """Whether to buy tasks or repeats, and why."""
    step, share = plan.step, plan.step.share_between_tasks
    repeats = format_detectable(step.twice_the_repeats, plan)
    doubling = (
        f"from {pluralize(step.start.tasks, 'task')} × {pluralize(step.start.repeats, 'repeat')}, "
        f"doubling the tasks takes the smallest visible effect from {format_detectable(step.start, plan)} "
        f"to {format_detectable(step.twice_the_tasks, plan)}"
    )
    if share is None:
        return (
            f"Buy tasks: {doubling}. How much repeats would do is unknown after 1 repeat, but for as many runs they "
            "never do more than tasks."
        )
    split = f"{format_percent(share)} of the variance at {pluralize(step.start.repeats, 'repeat')} lies between tasks"
    if step.buy_repeats and plan.prices is not None:
        return (
            f"Buy repeats before tasks: a new task costs {format_dollars(plan.prices.task_usd)} before it is run, and "
            f"only {split}, where repeats do not reach; {doubling}, "
            f"doubling the repeats to {repeats} without new tasks."
        )
    why = (
        f"Buy tasks, though repeats are nearly as good: only {split}"
        if share < NEARLY_AS_GOOD
        else f"Buy tasks, not repeats: {split}"
    )
    return f"{why}, where repeats do not reach; {doubling}, doubling the repeats, for as many runs, to {repeats}."


def repeat_warnings(plan: SamplePlan) -> Iterator[str]:
    """A warning where the cheapest design could be judged, but nothing could be promoted on it."""
    if plan.target is None or plan.target.repeats >= MINIMUM_REPEATS:
        return
    enough = [design for design in plan.designs if design.repeats >= MINIMUM_REPEATS]
    cheapest = min(enough, key=lambda design: design.cost_usd, default=None)
    way_out = "" if cheapest is None else f": the cheapest such design is {describe_design(cheapest, plan)}"
    yield f"a promotion takes at least {MINIMUM_REPEATS} repeats{way_out}."


def describe_design(design: Design, plan: SamplePlan) -> str:
    """What a design consists of."""
    cost = design_cost(design, plan)
    price = "" if cost is None else f", {format_dollars(cost)}"
    return f"{pluralize(design.tasks, 'task')} × {pluralize(design.repeats, 'repeat')} in each arm{price}"


def design_cost(design: Design, plan: SamplePlan) -> float | None:
    """A design's price, where prices are known."""
    return None if plan.prices is None else design.cost_usd


def format_detectable(cell: PlannedSize, plan: SamplePlan) -> str:
    """The smallest effect that a size would likely see."""
    if cell.effect.value is not None:
        return format_effect(cell.effect.value, plan.goal)
    hidden = plan.components.true_deltas is None and cell.repeats > 1
    return UNKNOWN if hidden else f"over {100 * plan.goal.largest:g} {_effect_unit(plan.goal)}"


def format_effect(value: float, goal: PlanGoal) -> str:
    """An effect in its unit."""
    return f"{100 * value:.1f} {_effect_unit(goal)}"


def pluralize(number: int, thing: str) -> str:
    """One thing, or several."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _effect_unit(goal: PlanGoal) -> str:
    return "%" if goal.relative else "points"


ALPHA_NOTE = (
    "alpha is two-sided; the evidence policy shows non-inferiority one-sided at 0.05, which --alpha 0.1 plans for."
)
VARIANCE_NOTE = "a plan rests on variances alone: the effect that a pilot happened to show plays no part in it."
RATIO_NOTE = "an effect of {rise} is a ratio of {ratio:.3g}; the fall that is as easy to see is {fall}."


def plan_report(plan: SamplePlan) -> Report:
    """The page of `outweigh plan`."""
    payload = plan_payload(plan)
    blocks: list[Block] = [_detectable_table(plan)]
    if plan.prices is not None:
        blocks.append(_cost_table(plan))
    if plan.designs:
        blocks.append(_design_table(plan))
    blocks += [_variance_table(plan), BulletList(title="Advice", items=(payload["advice"],), tone=Tone.PLAIN)]
    blocks.extend(optional_bullets("Notes", tuple(_reading_notes(plan))))
    blocks.extend(optional_bullets("Warnings", tuple(payload["warnings"])))
    return Report(headline=_headline(plan), tone=Tone.PLAIN, blocks=tuple(blocks), payload=payload)


def plan_payload(plan: SamplePlan) -> Payload:
    """`plan --format json`."""
    goal, pilot, components, target = plan.goal, plan.pilot, plan.components, plan.target
    return {
        "schema": "outweigh.plan/1",
        "baseline": None if pilot is None else pilot.baseline,
        "candidate": None if pilot is None else pilot.candidate,
        "metric": goal.metric,
        "scale": "ratio" if goal.relative else "points",
        "alpha": goal.alpha,
        "power": goal.power,
        "components": {
            "true_deltas": components.true_deltas,
            "candidate_runs": components.candidate_runs,
            "baseline_runs": components.baseline_runs,
            "share_between_tasks": plan.step.share_between_tasks,
            "at_repeats": plan.step.start.repeats,
        },
        "tasks": None if pilot is None else pilot.tasks,
        "repeats": None if pilot is None else pilot.repeats,
        "detectable": [_cell_payload(cell) for cell in plan.detectable],
        "designs": [_design_payload(design, plan) for design in plan.designs],
        "target": None if target is None else {"effect": goal.effect, **_design_payload(target, plan)},
        "advice": advise(plan),
        "evidence_sha256": None if pilot is None else pilot.evidence_sha256,
        "warnings": [*plan.warnings, *repeat_warnings(plan)],
    }


def _cell_payload(cell: PlannedSize) -> Payload:
    return {"tasks": cell.tasks, "repeats": cell.repeats, "effect": cell.effect.value, "cost_usd": cell.cost_usd}


def _design_payload(design: Design, plan: SamplePlan) -> Payload:
    return {
        "tasks": design.tasks,
        "repeats": design.repeats,
        "cost_usd": design_cost(design, plan),
        "power": design.power,
    }


def _headline(plan: SamplePlan) -> str:
    about = "" if plan.pilot is None else f", {plan.pilot.candidate} against {plan.pilot.baseline}"
    wanted, target = format_effect(plan.goal.effect, plan.goal), plan.target
    answer = (
        f"no offered design sees {wanted}"
        if target is None
        else f"to see {wanted} with {100 * plan.goal.power:g} % power, take {describe_design(target, plan)}"
    )
    return f"plan for {plan.goal.metric}{about}: {answer}"


def _detectable_table(plan: SamplePlan) -> Table:
    return _grid(
        f"Smallest effect seen with {100 * plan.goal.power:g} % power at two-sided alpha {plan.goal.alpha:g}",
        plan,
        {(cell.tasks, cell.repeats): format_detectable(cell, plan) for cell in plan.detectable},
    )


def _cost_table(plan: SamplePlan) -> Table:
    return _grid(
        "Cost, both arms", plan, {(cell.tasks, cell.repeats): format_dollars(cell.cost_usd) for cell in plan.detectable}
    )


def _grid(title: str, plan: SamplePlan, content: dict[tuple[int, int], str]) -> Table:
    repeats = list(dict.fromkeys(cell.repeats for cell in plan.detectable))
    return Table(
        title=title,
        columns=("", *(pluralize(number, "repeat") for number in repeats)),
        rows=tuple(
            (f"{tasks:,} tasks", *(content[tasks, number] for number in repeats))
            for tasks in dict.fromkeys(cell.tasks for cell in plan.detectable)
        ),
    )


def _design_table(plan: SamplePlan) -> Table:
    return Table(
        title=f"Fewest tasks that see {format_effect(plan.goal.effect, plan.goal)}",
        columns=("", "tasks", "runs, both arms", "cost", "power"),
        rows=tuple(
            (
                pluralize(design.repeats, "repeat"),
                f"{design.tasks:,}",
                f"{2 * design.tasks * design.repeats:,}",
                format_dollars(design_cost(design, plan)),
                format_percent(design.power),
            )
            for design in plan.designs
        ),
    )


def _variance_table(plan: SamplePlan) -> Table:
    repeats, parts = plan.step.start.repeats, plan.components
    whole = parts.delta_variance(repeats, repeats)

    def row(name: str, variance: float | None, divisor: int) -> tuple[str, ...]:
        share = None if variance is None or not whole else variance / divisor / whole
        return (name, UNKNOWN if variance is None else f"{variance:.4g}", format_percent(share))

    return Table(
        title="Where the variance of a task's delta comes from",
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


def _reading_notes(plan: SamplePlan) -> Iterator[str]:
    yield VARIANCE_NOTE
    yield ALPHA_NOTE
    if plan.goal.relative:
        rise = plan.goal.effect
        fall = rise / (1 + rise)
        yield RATIO_NOTE.format(
            rise=format_effect(rise, plan.goal), ratio=1 + rise, fall=format_effect(fall, plan.goal)
        )
