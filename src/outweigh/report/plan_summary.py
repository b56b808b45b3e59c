"""What `outweigh plan` prints by default: the answer, the sizes on offer and the advice. `--verbose` prints more."""

from collections.abc import Iterator, Sequence

from outweigh.report.document import KeyPoints, Report, Table, Tone
from outweigh.report.plan_page import plan_report
from outweigh.verdict.planned_experiment import ExperimentPlan, PlannedSize

MOST_SIZES = 8
MOST_WARNING_LINES = 2


def plan_summary(plan: ExperimentPlan, *, verbose_command: str) -> Report:
    """One screen; `verbose_command` prints the whole page."""
    whole = plan_report(plan)
    sizes = next(block for block in whole.blocks if isinstance(block, Table))
    shown = [row for row, size in zip(sizes.rows, plan.sizes, strict=True) if size in _shown_sizes(plan)]
    rows = tuple(_rows(whole, hidden=len(sizes.rows) - len(shown)))
    points = KeyPoints(rows=rows, commands={"More": verbose_command}, most_lines={"Warning": MOST_WARNING_LINES})
    table = Table(title=sizes.title, columns=sizes.columns, rows=tuple(shown))
    return Report(headline=whole.headline, tone=Tone.PLAIN, lead=whole.lead, blocks=(table, points), payload={})


def _shown_sizes(plan: ExperimentPlan) -> Sequence[PlannedSize]:
    """All sizes, or where those are many, the ones with as many repeats as the pilot or the suite has, or nearly."""
    if len(plan.sizes) <= MOST_SIZES:
        return plan.sizes
    nearest = min((size.repeats for size in plan.sizes), key=lambda repeats: abs(repeats - plan.doubling.repeats))
    return [size for size in plan.sizes if size.repeats == nearest][:MOST_SIZES]


def _rows(whole: Report, *, hidden: int) -> Iterator[tuple[str, str]]:
    yield "Advice", whole.payload["advice"]
    if warnings := whole.payload["warnings"]:
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        yield "Warning", warnings[0].removesuffix(".") + more
    sizes = f"{hidden} more sizes, " if hidden > 0 else ""
    yield "More", f"{sizes}designs, planned looks, where the variance comes from, notes and all warnings"
