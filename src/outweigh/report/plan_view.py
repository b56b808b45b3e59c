"""The next experiment before it is paid for."""

from collections.abc import Iterator

from outweigh.compare.plan import Cell, Plan
from outweigh.report.document import Block, Bullets, Report, Table, Tone, notes
from outweigh.report.payload import Payload
from outweigh.report.plan_wording import advice, amount, cost_of, counted, effect, promotion, size
from outweigh.report.wording import UNKNOWN, dollars, percent
from outweigh.stats.design import Design

ALPHA = "alpha is two-sided; the evidence policy shows non-inferiority one-sided at 0.05, which --alpha 0.1 plans for."
FORESIGHT = "a plan rests on variances alone: the effect that a pilot happened to show plays no part in it."
RATIO = "an effect of {rise} is a ratio of {ratio:.3g}; the fall that is as easy to see is {fall}."


def plan_report(plan: Plan) -> Report:
    """The page of `outweigh plan`."""
    payload = plan_payload(plan)
    blocks: list[Block] = [_detectable(plan)]
    if plan.prices is not None:
        blocks.append(_costs(plan))
    if plan.designs:
        blocks.append(_designs(plan))
    blocks += [_components(plan), Bullets(title="Advice", items=(payload["advice"],), tone=Tone.PLAIN)]
    blocks.extend(notes("Notes", tuple(_notes(plan))))
    blocks.extend(notes("Warnings", tuple(payload["warnings"])))
    return Report(headline=_headline(plan), tone=Tone.PLAIN, blocks=tuple(blocks), payload=payload)


def plan_payload(plan: Plan) -> Payload:
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
        "detectable": [_cell(cell) for cell in plan.detectable],
        "designs": [_design(design, plan) for design in plan.designs],
        "target": None if target is None else {"effect": goal.effect, **_design(target, plan)},
        "advice": advice(plan),
        "evidence_sha256": None if pilot is None else pilot.evidence_sha256,
        "warnings": [*plan.warnings, *promotion(plan)],
    }


def _cell(cell: Cell) -> Payload:
    return {"tasks": cell.tasks, "repeats": cell.repeats, "effect": cell.effect.value, "cost_usd": cell.cost_usd}


def _design(design: Design, plan: Plan) -> Payload:
    return {
        "tasks": design.tasks,
        "repeats": design.repeats,
        "cost_usd": cost_of(design, plan),
        "power": design.power,
    }


def _headline(plan: Plan) -> str:
    about = "" if plan.pilot is None else f", {plan.pilot.candidate} against {plan.pilot.baseline}"
    wanted, target = amount(plan.goal.effect, plan.goal), plan.target
    answer = (
        f"no offered design sees {wanted}"
        if target is None
        else f"to see {wanted} with {100 * plan.goal.power:g} % power, take {size(target, plan)}"
    )
    return f"plan for {plan.goal.metric}{about}: {answer}"


def _detectable(plan: Plan) -> Table:
    return _grid(
        f"Smallest effect seen with {100 * plan.goal.power:g} % power at two-sided alpha {plan.goal.alpha:g}",
        plan,
        {(cell.tasks, cell.repeats): effect(cell, plan) for cell in plan.detectable},
    )


def _costs(plan: Plan) -> Table:
    return _grid(
        "Cost, both arms", plan, {(cell.tasks, cell.repeats): dollars(cell.cost_usd) for cell in plan.detectable}
    )


def _grid(title: str, plan: Plan, content: dict[tuple[int, int], str]) -> Table:
    repeats = list(dict.fromkeys(cell.repeats for cell in plan.detectable))
    return Table(
        title=title,
        columns=("", *(counted(number, "repeat") for number in repeats)),
        rows=tuple(
            (f"{tasks:,} tasks", *(content[tasks, number] for number in repeats))
            for tasks in dict.fromkeys(cell.tasks for cell in plan.detectable)
        ),
    )


def _designs(plan: Plan) -> Table:
    return Table(
        title=f"Fewest tasks that see {amount(plan.goal.effect, plan.goal)}",
        columns=("", "tasks", "runs, both arms", "cost", "power"),
        rows=tuple(
            (
                counted(design.repeats, "repeat"),
                f"{design.tasks:,}",
                f"{2 * design.tasks * design.repeats:,}",
                dollars(cost_of(design, plan)),
                percent(design.power),
            )
            for design in plan.designs
        ),
    )


def _components(plan: Plan) -> Table:
    repeats, parts = plan.step.start.repeats, plan.components
    whole = parts.delta_variance(repeats, repeats)

    def row(name: str, variance: float | None, divisor: int) -> tuple[str, ...]:
        share = None if variance is None or not whole else variance / divisor / whole
        return (name, UNKNOWN if variance is None else f"{variance:.4g}", percent(share))

    return Table(
        title="Where the variance of a task's delta comes from",
        columns=("", "variance", f"share at {counted(repeats, 'repeat')}"),
        rows=(
            row("true deltas between tasks", parts.true_deltas, 1),
            row("a run of the candidate", parts.candidate_runs, repeats),
            row("a run of the baseline", parts.baseline_runs, repeats),
            row(
                f"a task's delta at {counted(repeats, 'repeat')}", parts.observed_deltas if whole is None else whole, 1
            ),
        ),
    )


def _notes(plan: Plan) -> Iterator[str]:
    yield FORESIGHT
    yield ALPHA
    if plan.goal.relative:
        rise = plan.goal.effect
        fall = rise / (1 + rise)
        yield RATIO.format(rise=amount(rise, plan.goal), ratio=1 + rise, fall=amount(fall, plan.goal))
