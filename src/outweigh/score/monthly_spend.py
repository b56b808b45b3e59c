"""What runs and judges cost, month by month: every attempt, whether it counts or not, and every answer of a judge.

A cost that is not known is counted, never taken for zero. The same record in two stores, as in a copy, is one.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import fsum
from typing import NamedTuple

from msgspec import Struct

from outweigh.model.codec import Record
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.run_record import REUSED_LABEL, AgentKind, RunRecord, amount_paid


class _Expense(NamedTuple):
    """One attempt or one answer. `month` is None where no date was recorded, `usd` where the cost is unknown."""

    month: str | None
    usd: float | None
    is_judging: bool
    is_estimated: bool


class MonthSpend(Struct, frozen=True, kw_only=True):
    """One month, by UTC; None where no date was recorded. Amounts are of known costs, and None where none is known."""

    month: str | None
    runs: int
    run_usd: float | None
    judge_answers: int
    judging_usd: float | None
    unknown_costs: int
    estimated_costs: int

    @property
    def known_usd(self) -> float | None:
        """What is known to have been spent."""
        known = [amount for amount in (self.run_usd, self.judging_usd) if amount is not None]
        return fsum(known) if known else None


class SpendTally:
    """The costs of records, each counted once.

    Runs that were reused were paid for elsewhere, simulated ones nowhere.
    """

    def __init__(self) -> None:
        self._expenses: dict[bytes, _Expense] = {}
        self._simulated: set[bytes] = set()

    @classmethod
    def merged(cls, tallies: Iterable["SpendTally"]) -> "SpendTally":
        """The costs of all of them; a record that several have counts once."""
        found = cls()
        for each in tallies:
            found._expenses |= each._expenses
            found._simulated |= each._simulated
        return found

    @property
    def simulated_runs(self) -> int:
        """Runs that only pretend to cost something."""
        return len(self._simulated)

    def add(self, record: Record, digest: bytes) -> None:
        """Count a record, which is known again by its digest."""
        if isinstance(record, RunRecord):
            if record.agent.kind is AgentKind.SCRIPTED:
                self._simulated.add(digest)
            elif REUSED_LABEL not in record.extra:
                self._note(digest, record.started_at, amount_paid(record), is_judging=False, record=record)
        elif isinstance(record, Judgment | Preference):
            self._note(digest, record.judged_at, record.cost.usd, is_judging=True, record=record)

    def _note(
        self,
        digest: bytes,
        moment: datetime | None,
        usd: float | None,
        *,
        is_judging: bool,
        record: RunRecord | Judgment | Preference,
    ) -> None:
        month = None if moment is None else f"{moment.astimezone(UTC):%Y-%m}"
        self._expenses[digest] = _Expense(month, usd, is_judging, record.cost.is_estimated)

    def months(self) -> tuple[MonthSpend, ...]:
        """Every month in which anything was made, in order; what has no date is last."""
        by_month: dict[str | None, list[_Expense]] = defaultdict(list)
        for each in self._expenses.values():
            by_month[each.month].append(each)
        order = sorted(by_month, key=lambda month: (month is None, month or ""))
        return tuple(_sum(month, by_month[month]) for month in order)

    def total(self) -> MonthSpend:
        """All months together."""
        return _sum(None, [*self._expenses.values()])


def _sum(month: str | None, expenses: Sequence[_Expense]) -> MonthSpend:
    runs = [each.usd for each in expenses if not each.is_judging]
    answers = [each.usd for each in expenses if each.is_judging]
    return MonthSpend(
        month=month,
        runs=len(runs),
        run_usd=_known(runs),
        judge_answers=len(answers),
        judging_usd=_known(answers),
        unknown_costs=sum(each.usd is None for each in expenses),
        estimated_costs=sum(each.usd is not None and each.is_estimated for each in expenses),
    )


def _known(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return fsum(known) if known else None
