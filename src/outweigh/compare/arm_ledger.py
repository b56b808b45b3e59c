"""Where the tokens of an arm went, component by component, and by which models. Ledgers of parts of an arm merge."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Self

from msgspec import Struct

from outweigh.model.pricing import ModelPrices, PriceTables
from outweigh.model.usage import Component, ComponentTokens
from outweigh.score.resource_usage import ComponentShare, component_breakdown

TokenSums = Mapping[Component, Sequence[int]]
"""Tokens by component: those that it sent, and those that it received."""


def add_lines(sums: dict[Component, list[int]], lines: Iterable[ComponentTokens]) -> None:
    """Add the tokens of some lines up."""
    for line in lines:
        if (found := sums.get(line.component)) is None:
            found = sums[line.component] = [0, 0]
        found[0] += line.input_tokens
        found[1] += line.output_tokens


class ArmLedger(Struct, frozen=True, kw_only=True):
    """The tokens of the counted runs that say where they went. `models` made these runs, None an unknown one."""

    lines: tuple[ComponentTokens, ...]
    models: tuple[str | None, ...]

    @classmethod
    def of(cls, sums: TokenSums, models: Collection[str | None]) -> Self:
        """The ledger of sums of tokens."""
        lines = (
            ComponentTokens(component=part, input_tokens=sent, output_tokens=got) for part, (sent, got) in sums.items()
        )
        return cls(lines=tuple(lines), models=tuple(sorted(models, key=lambda model: model or "")))

    @classmethod
    def merged(cls, ledgers: Iterable["ArmLedger"]) -> Self:
        """One ledger of everything that several are of."""
        sums: dict[Component, list[int]] = {}
        models: set[str | None] = set()
        for ledger in ledgers:
            models.update(ledger.models)
            add_lines(sums, ledger.lines)
        return cls.of(sums, models)

    def breakdown(self, prices: PriceTables) -> tuple[ComponentShare, ...]:
        """Every component's share, priced where all runs used one model whose prices are known."""
        return component_breakdown(self.lines, self._prices(prices))

    def _prices(self, prices: PriceTables) -> ModelPrices | None:
        model, *others = self.models
        return None if model is None or others else prices.prices(model)
