"""What a plan says in words: its sizes, its effects, and what to buy."""

from collections.abc import Iterator

from outweigh.compare.plan import Cell, Goal, Plan
from outweigh.report.wording import UNKNOWN, dollars, percent
from outweigh.stats.design import Design
from outweigh.verdict.blockers import MINIMUM_REPEATS

# Repeats in place of tasks cost a factor √(1 + share) in the effect: at this share, 5 %.
NEARLY_AS_GOOD = 0.1


def advice(plan: Plan) -> str:
    """Whether to buy tasks or repeats, and why."""
    step, share = plan.step, plan.step.share_between_tasks
    repeats = effect(step.twice_the_repeats, plan)
    doubling = (
        f"from {counted(step.start.tasks, 'task')} × {counted(step.start.repeats, 'repeat')}, doubling the tasks takes "
        f"the smallest visible effect from {effect(step.start, plan)} to {effect(step.twice_the_tasks, plan)}"
    )
    if share is None:
        return (
            f"Buy tasks: {doubling}. How much repeats would do is unknown after 1 repeat, but for as many runs they "
            "never do more than tasks."
        )
    split = f"{percent(share)} of the variance at {counted(step.start.repeats, 'repeat')} lies between tasks"
    if step.buy_repeats and plan.prices is not None:
        return (
            f"Buy repeats before tasks: a new task costs {dollars(plan.prices.task_usd)} before it is run, and only "
            f"{split}, where repeats do not reach; {doubling}, doubling the repeats to {repeats} without new tasks."
        )
    why = (
        f"Buy tasks, though repeats are nearly as good: only {split}"
        if share < NEARLY_AS_GOOD
        else f"Buy tasks, not repeats: {split}"
    )
    return f"{why}, where repeats do not reach; {doubling}, doubling the repeats, for as many runs, to {repeats}."


def promotion(plan: Plan) -> Iterator[str]:
    """A warning where the cheapest design could be judged, but nothing could be promoted on it."""
    if plan.target is None or plan.target.repeats >= MINIMUM_REPEATS:
        return
    enough = [design for design in plan.designs if design.repeats >= MINIMUM_REPEATS]
    cheapest = min(enough, key=lambda design: design.cost_usd, default=None)
    way_out = "" if cheapest is None else f": the cheapest such design is {size(cheapest, plan)}"
    yield f"a promotion takes at least {MINIMUM_REPEATS} repeats{way_out}."


def size(design: Design, plan: Plan) -> str:
    """What a design consists of."""
    cost = cost_of(design, plan)
    price = "" if cost is None else f", {dollars(cost)}"
    return f"{counted(design.tasks, 'task')} × {counted(design.repeats, 'repeat')} in each arm{price}"


def cost_of(design: Design, plan: Plan) -> float | None:
    """A design's price, where prices are known."""
    return None if plan.prices is None else design.cost_usd


def effect(cell: Cell, plan: Plan) -> str:
    """The smallest effect that a size would likely see."""
    if cell.effect.value is not None:
        return amount(cell.effect.value, plan.goal)
    hidden = plan.components.true_deltas is None and cell.repeats > 1
    return UNKNOWN if hidden else f"over {100 * plan.goal.largest:g} {_unit(plan.goal)}"


def amount(value: float, goal: Goal) -> str:
    """An effect in its unit."""
    return f"{100 * value:.1f} {_unit(goal)}"


def counted(number: int, thing: str) -> str:
    """One thing, or several."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _unit(goal: Goal) -> str:
    return "%" if goal.relative else "points"
