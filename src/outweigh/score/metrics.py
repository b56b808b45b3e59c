"""The table of metrics. A metric is added here and nowhere else: one entry in METRICS.

Scoring, comparison, report, CSV and JSON all read this table. What an entry cannot say belongs to one page only, such
as the few metrics that the table of arms shows.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

from msgspec import Struct

from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import RunRecord
from outweigh.score.judge_scores import NOT_JUDGED
from outweigh.score.objective import Objective, edit_fail_rate, passed, r_prog, skill_used, strategic_drift
from outweigh.score.resource_usage import (
    cache_normalised_cost,
    cache_read_share,
    non_cache_tokens,
    schema_overhead,
    skill_efficiency,
    token_efficiency_ratio,
    total_tokens,
)
from outweigh.stats.estimate import Quantity, known, unknown

MetricUnit = Literal["share", "score", "dollars", "seconds", "count"]
"""What the numbers are, and so how they are written. A share is written in percent, a score as a plain number."""


class FormulaInput(Struct, frozen=True, gc=False):
    """What a formula may read of one run. `cost` and `checks` are computed once, because several metrics need them."""

    record: RunRecord
    prices: PriceTables
    cost: Quantity
    checks: Objective


Formula = Callable[[FormulaInput], Quantity]


class FieldFormula(Struct, frozen=True):
    """The formula of a number that the record states: `field` says where. It is unknown where it was not reported."""

    field: str

    def __call__(self, run: FormulaInput) -> Quantity:
        """What the record states."""
        return reported(attrgetter(self.field)(run.record))


class PartFormula(Struct, frozen=True):
    """A formula that needs one part of the record only; what it says of a missing part is the same for all runs."""

    part: str
    formula: Callable[[Any], Quantity]

    def __call__(self, run: FormulaInput) -> Quantity:
        """What follows from that part."""
        return self.formula(attrgetter(self.part)(run.record))


class Metric(Struct, frozen=True, kw_only=True):
    """One row of the table.

    `name` is the attribute of Score, the key in JSON and the column in CSV; `delta` is the key of its difference.
    `better` is +1 where more is better, −1 where less is, 0 where neither is. `formula` is None for a composite, which
    needs the arm that the run is compared with. A `charted` metric is in the figure of all changes,
    provided that one way is better.
    """

    name: str
    formula: Formula | None
    unit: MetricUnit
    better: Literal[+1, -1, 0]
    title: str
    delta: str
    charted: bool = True


NOT_REPORTED = unknown("not reported")


def reported(value: float | None) -> Quantity:
    """A number of the record; unknown where it was not reported."""
    return NOT_REPORTED if value is None else known(value)


METRICS = (
    Metric(
        name="passed",
        formula=lambda run: passed(run.record),
        unit="share",
        better=+1,
        title="pass rate",
        delta="pass_delta",
    ),
    Metric(
        name="objective",
        formula=attrgetter("checks.share"),
        unit="score",
        better=+1,
        title="objective",
        delta="objective_delta",
    ),
    Metric(
        name="checks_passed",
        formula=attrgetter("checks.passed"),
        unit="count",
        better=+1,
        title="checks passed",
        delta="checks_passed_delta",
        charted=False,
    ),
    Metric(
        name="judge_score",
        # Judgments are stored apart from the run; `with_judgments` puts their score in.
        formula=lambda _: NOT_JUDGED.score,
        unit="score",
        better=+1,
        title="judge score",
        delta="judge_score_delta",
    ),
    Metric(name="composite", formula=None, unit="score", better=+1, title="composite", delta="composite_delta"),
    Metric(
        name="composite_even",
        formula=None,
        unit="score",
        better=+1,
        title="composite (even)",
        delta="composite_even_delta",
        charted=False,
    ),
    Metric(
        name="cost_usd",
        formula=attrgetter("cost"),
        unit="dollars",
        better=-1,
        title="cost",
        delta="cost_delta_usd",
    ),
    Metric(
        name="cache_normalised_cost_usd",
        formula=lambda run: cache_normalised_cost(run.record, run.prices),
        unit="dollars",
        better=-1,
        title="cost without cache",
        delta="cache_normalised_cost_delta_usd",
    ),
    Metric(
        name="duration_seconds",
        formula=FieldFormula("duration_seconds"),
        unit="seconds",
        better=-1,
        title="duration",
        delta="duration_delta_seconds",
    ),
    Metric(
        name="total_tokens",
        formula=PartFormula("usage", total_tokens),
        unit="count",
        better=-1,
        title="total tokens",
        delta="token_delta",
    ),
    Metric(
        name="non_cache_tokens",
        formula=PartFormula("usage", non_cache_tokens),
        unit="count",
        better=-1,
        title="non-cache tokens",
        delta="non_cache_token_delta",
    ),
    Metric(
        name="cache_read_tokens",
        formula=FieldFormula("usage.cache_read_tokens"),
        unit="count",
        better=0,
        title="cache-read tokens",
        delta="cache_read_token_delta",
    ),
    Metric(
        name="cache_write_tokens",
        formula=FieldFormula("usage.cache_write_tokens"),
        unit="count",
        better=0,
        title="cache-write tokens",
        delta="cache_write_token_delta",
    ),
    Metric(
        name="cache_read_share",
        formula=PartFormula("usage", cache_read_share),
        unit="share",
        better=0,
        title="cache-read share",
        delta="cache_read_share_delta",
    ),
    Metric(
        name="steps",
        formula=FieldFormula("step_count"),
        unit="count",
        better=-1,
        title="steps",
        delta="step_delta",
    ),
    Metric(
        name="tool_calls",
        formula=FieldFormula("tool_call_count"),
        unit="count",
        better=-1,
        title="tool calls",
        delta="tool_call_delta",
    ),
    Metric(
        name="check_commands",
        formula=FieldFormula("check_command_count"),
        unit="count",
        better=0,
        title="check commands",
        delta="check_command_delta",
    ),
    Metric(
        name="r_prog",
        formula=PartFormula("milestones", r_prog),
        unit="score",
        better=+1,
        title="progress (r_prog)",
        delta="r_prog_delta",
        charted=False,
    ),
    Metric(
        name="strategic_drift",
        formula=PartFormula("actions", strategic_drift),
        unit="score",
        better=-1,
        title="strategic drift",
        delta="strategic_drift_delta",
        charted=False,
    ),
    Metric(
        name="edit_fail_rate",
        formula=PartFormula("steps", edit_fail_rate),
        unit="share",
        better=-1,
        title="edit fail rate",
        delta="edit_fail_rate_delta",
        charted=False,
    ),
    Metric(
        name="skill_used",
        formula=PartFormula("loaded", skill_used),
        unit="score",
        better=0,
        title="skill used",
        delta="skill_used_delta",
    ),
    Metric(
        name="schema_overhead",
        formula=PartFormula("components", schema_overhead),
        unit="count",
        better=-1,
        title="schema overhead",
        delta="schema_overhead_delta",
        charted=False,
    ),
    Metric(
        name="skill_efficiency",
        formula=PartFormula("components", skill_efficiency),
        unit="score",
        better=+1,
        title="skill efficiency",
        delta="skill_efficiency_delta",
        charted=False,
    ),
    Metric(
        name="token_efficiency_ratio",
        formula=PartFormula("components", token_efficiency_ratio),
        unit="score",
        better=-1,
        title="token efficiency ratio",
        delta="token_efficiency_ratio_delta",
        charted=False,
    ),
)
METRICS_BY_NAME = {metric.name: metric for metric in METRICS}
