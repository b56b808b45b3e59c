"""Where the tokens of an arm went, component by component, and by which models. Ledgers of parts of an arm merge."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Self

from msgspec import Struct

from outweigh.model.pricing import ModelPrices, PriceTables
from outweigh.model.usage import Component, ComponentTokens
from outweigh.score.resource_usage import ComponentShare, component_breakdown

TokenSums = Mapping[tuple[Component, str], int]
"""Tokens by component and by direction, "input" or "output"."""


class ArmLedger(Struct, frozen=True, kw_only=True):
    """The tokens of the counted runs that say where they went. `models` made these runs, None an unknown one."""

    lines: tuple[ComponentTokens, ...]
    models: tuple[str | None, ...]

    @classmethod
    def of(cls, sums: TokenSums, models: Collection[str | None]) -> Self:
        """The ledger of sums of tokens."""
        lines = (
            ComponentTokens(component=part, input_tokens=sums[part, "input"], output_tokens=sums[part, "output"])
            for part in dict.fromkeys(part for part, _ in sums)
        )
        return cls(lines=tuple(lines), models=tuple(sorted(models, key=lambda model: model or "")))

    @classmethod
    def merged(cls, ledgers: Iterable["ArmLedger"]) -> Self:
        """One ledger of everything that several are of."""
        sums: Counter[tuple[Component, str]] = Counter()
        models: set[str | None] = set()
        for ledger in ledgers:
            models.update(ledger.models)
            for line in ledger.lines:
                sums[line.component, "input"] += line.input_tokens
                sums[line.component, "output"] += line.output_tokens
        return cls.of(sums, models)

    def breakdown(self, prices: PriceTables) -> tuple[ComponentShare, ...]:
        """Every component's share, priced where all runs used one model whose prices are known."""
        return component_breakdown(self.lines, self._prices(prices))

    def _prices(self, prices: PriceTables) -> ModelPrices | None:
        model, *others = self.models
        return None if model is None or others else prices.prices(model)
