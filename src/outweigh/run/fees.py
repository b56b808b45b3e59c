"""What the attempts at one judgment came to together."""

from datetime import datetime

from outweigh.ports.judges import JudgeAnswer
from outweigh.record.cost import UNKNOWN_COST, Cost, CostProvenance, reported_cost
from outweigh.record.pricing import FirstKnown
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.failure import FailureKind
from outweigh.transcript.foreign import total_usage

_MAY_HAVE_COST = frozenset(
    {FailureKind.TIMEOUT, FailureKind.CUT_STREAM, FailureKind.CRASH, FailureKind.NO_RESULT, FailureKind.REFUSAL}
)
"""Failures after which somebody may have worked without telling; a request that was turned away is free."""


class Fees:
    """Adds up. What one attempt does not tell makes the whole unknown, unless it was turned away at the door."""

    def __init__(self, prices: FirstKnown, model: str | None, at: datetime) -> None:
        self._prices = prices
        self._model = model
        self._at = at
        self._usages: list[Usage] = []
        self._costs: list[Cost] = []

    @property
    def usage(self) -> Usage:
        """Tokens of all attempts."""
        return total_usage(self._usages)

    @property
    def cost(self) -> Cost:
        """Dollars of all attempts: as reported, or tokens times prices. Where all were turned away, it is nothing."""
        known = [cost.usd for cost in self._costs if cost.usd is not None]
        if len(known) < len(self._costs):
            return UNKNOWN_COST
        tables = sorted({cost.price_table for cost in self._costs if cost.price_table is not None})
        if not tables:
            return reported_cost(sum(known))
        return Cost(usd=sum(known), provenance=CostProvenance.PRICED, price_table=" and ".join(tables))

    def add(self, answer: JudgeAnswer) -> None:
        """One attempt."""
        silent = answer.usage == NO_USAGE and answer.cost.usd is None
        if silent and answer.failure is not None and answer.failure.kind not in _MAY_HAVE_COST:
            return
        self._usages.append(answer.usage)
        self._costs.append(answer.cost if answer.cost.usd is not None else self._priced(answer))

    def _priced(self, answer: JudgeAnswer) -> Cost:
        for model in filter(None, (answer.model, self._model)):
            priced, _ = self._prices.cost(model, answer.usage, self._at)
            if priced is not None:
                return priced
        return UNKNOWN_COST
