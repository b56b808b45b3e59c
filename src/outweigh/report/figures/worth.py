"""Figure of a gain in passes that costs money: what it is worth, by the value of one solved task."""

from collections.abc import Sequence
from functools import partial

from outweigh.compare.comparison import Comparison
from outweigh.report.axis import dollar_tick
from outweigh.report.document import Block, Figure
from outweigh.report.formatting import without_negative_zero
from outweigh.verdict.decision import BreakEven, Verdict
from outweigh.verdict.worth import WorthAtValue, worth_over_values

VALUES = 21
REACH = 3.0
"""The picture goes to so many times the break-even value, and always beyond the upper end of its interval."""

WORTH_CAPTION = (
    "What the candidate is worth more per task (value times passes, less dollars), for every value that a solved task "
    "may have; the band is the 90 % interval. It breaks even where the line crosses zero. Beyond the value where the "
    "band leaves zero, the gain is worth its money."
)


def worth_figures(verdict: Verdict, comparison: Comparison) -> list[Block]:
    """One figure, where the candidate passes more often and costs more."""
    price = verdict.break_even
    if price is None or price.usd is None or not price.usd > 0:
        return []
    far = max(REACH * price.usd, 1.25 * (price.high or 0.0), 1.25 * (_stated_value(verdict) or 0.0))
    values = [far * place / (VALUES - 1) for place in range(VALUES)]
    points = worth_over_values(comparison.baseline_table, comparison.candidate_table, values)
    if not points:
        return []
    title = "What the gain is worth, by the value of one solved task"
    return [
        Figure(
            title=title,
            draw=partial(_draw, title, points, price),
            caption=WORTH_CAPTION,
            text_lines=(price.detail, *(_describe(point) for point in points[5::5])),
        )
    ]


def _stated_value(verdict: Verdict) -> float | None:
    value = verdict.settings.get("value_usd")
    return value if isinstance(value, int | float) else None


def _describe(point: WorthAtValue) -> str:
    span = f"90 % interval {_signed(point.low)} to {_signed(point.high)}"
    return f"at {_dollars(point.value_usd)} for a solved task: {_signed(point.worth_usd)} per task ({span})"


def _draw(title: str, points: Sequence[WorthAtValue], price: BreakEven) -> str:
    # Imported here: a report in text or JSON draws nothing.
    from outweigh.report.svg.lines import LimitLine, LineAxes, LineBand, LineSeries, draw_lines  # noqa: PLC0415

    line = LineSeries(
        name="worth",
        places=[(point.value_usd, point.worth_usd) for point in points],
        label=f"breaks even at {_dollars(price.usd or 0.0)}",
    )
    area = LineBand(
        places=[(point.value_usd, point.low, point.high) for point in points], description="90 % interval of the worth"
    )
    axes = LineAxes(show_x=dollar_tick, show_y=_tick, x_title="value of one solved task →")
    return draw_lines(title, [line], axes, area=area, limits=[LimitLine(level=0.0, description="breaks even")])


def _tick(value: float | None) -> str:
    amount = value or 0.0
    return f"-{dollar_tick(-amount)}" if amount < 0 else dollar_tick(amount)


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.4f}"


def _signed(amount: float) -> str:
    shown = f"${abs(amount):,.2f}" if abs(amount) >= 0.1 else f"${abs(amount):.4f}"
    return without_negative_zero(f"-{shown}") if amount < 0 else f"+{shown}"
