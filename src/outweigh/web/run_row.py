"""The row that lists keep of each run, small enough to hold a hundred thousand of them in memory."""

import sys
from typing import NamedTuple

import msgspec

from outweigh.model.run_record import AgentKind, RunRecord, amount_paid
from outweigh.report.formatting import NO_CHECKS
from outweigh.score.objective import passed
from outweigh.score.resource_usage import total_tokens


class LineLocation(NamedTuple):
    """Where a record is: the number of its file, the first byte of its line and that line's length, and which of the
    records it is that are packed into the line.
    """

    file: int
    start: int
    length: int
    row: int = 0


class RunRow(msgspec.Struct, frozen=True, gc=False):
    """A run in a list. `search_text` is what a search looks through; `passed` is None if the outcome is unknown.

    `paid_usd` is what this store paid for the run, which is nothing where it was reused. A `simulated` run only
    pretends to cost something. Tokens and cost of an `is_estimated` run are estimated in part.
    """

    run_id: str
    task_id: str
    arm: str
    repeat: int
    attempt: int
    status: str
    passed: bool | None
    cost_usd: float | None
    paid_usd: float | None
    simulated: bool
    duration_seconds: float | None
    tokens: float | None
    model: str | None
    started_at: float | None
    search_text: str
    file: int
    start: int
    length: int
    row: int = 0
    without_checks: bool = False
    is_estimated: bool = False

    @property
    def location(self) -> LineLocation:
        """Where the whole record is."""
        return LineLocation(self.file, self.start, self.length, self.row)

    @property
    def outcome(self) -> str:
        """`passed`, `failed`, `no checks` or `unknown`."""
        if self.passed is None and self.without_checks:
            return NO_CHECKS
        return "unknown" if self.passed is None else "passed" if self.passed else "failed"


def make_run_row(run: RunRecord, location: LineLocation) -> RunRow:
    """The row of a record; names that occur often are interned."""
    outcome = passed(run).value
    model = run.agent.model or run.agent.name
    search_text = " ".join(filter(None, (run.run_id, run.trial.task_id, run.trial.arm, run.status.value, model)))
    return RunRow(
        run_id=run.run_id,
        task_id=sys.intern(run.trial.task_id),
        arm=sys.intern(run.trial.arm),
        repeat=run.trial.repeat,
        attempt=run.attempt,
        status=sys.intern(run.status.value),
        passed=None if outcome is None else outcome == 1,
        cost_usd=run.cost.usd,
        paid_usd=amount_paid(run),
        simulated=run.agent.kind is AgentKind.SCRIPTED,
        duration_seconds=run.duration_seconds,
        tokens=total_tokens(run.usage).value,
        model=None if model is None else sys.intern(model),
        started_at=None if run.started_at is None else run.started_at.timestamp(),
        search_text=search_text.casefold(),
        file=location.file,
        start=location.start,
        length=location.length,
        row=location.row,
        without_checks=run.checks is not None and not run.checks,
        is_estimated=run.metering is not None and bool(run.metering.estimated),
    )
