"""Where the tokens went: tool schemas against skills, and the share of every component."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.record.components import Component, ComponentTokens
from outweigh.record.pricing import PER_MILLION, ModelPrices
from outweigh.stats.quantity import Quantity, known, unknown

NO_LEDGER = unknown("the agent does not expose its components")
NO_PRICES = unknown("the prices of the model are not known")
SKILL_COMPONENTS = frozenset({Component.SKILL_PROMPT, Component.DOMAIN_EXPERTISE})

Ledger = Sequence[ComponentTokens]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentShare:
    """One component's part of a run or an arm, in tokens and in dollars; dollars need prices."""

    component: Component
    tokens: int
    cost_usd: Quantity
    token_share: Quantity
    cost_share: Quantity


def schema_overhead(ledger: Ledger | None) -> Quantity:
    """Σ tokens of tool schemas."""
    return NO_LEDGER if ledger is None else known(_schema_tokens(ledger))


def skill_efficiency(ledger: Ledger | None) -> Quantity:
    """skill / (skill + schema)."""
    if ledger is None:
        return NO_LEDGER
    skill, schema = _skill_tokens(ledger), _schema_tokens(ledger)
    return known(skill / (skill + schema)) if skill + schema else unknown("neither skill nor schema tokens were used")


def token_efficiency_ratio(ledger: Ledger | None) -> Quantity:
    """schema / skill."""
    if ledger is None:
        return NO_LEDGER
    skill = _skill_tokens(ledger)
    return known(_schema_tokens(ledger) / skill) if skill else unknown("no skill tokens were used")


def component_breakdown(ledger: Ledger | None, prices: ModelPrices | None) -> tuple[ComponentShare, ...]:
    """Tokens, cost and both shares of every component in the ledger, at list prices; empty without a ledger."""
    rows = [(component, *_sums(ledger, component)) for component in _present(ledger or ())]
    all_tokens = sum(sent + got for _, sent, got in rows)
    all_usd = sum(_list_price(sent, got, prices) for _, sent, got in rows) if prices else 0.0
    return tuple(
        ComponentShare(
            component=component,
            tokens=sent + got,
            cost_usd=known(_list_price(sent, got, prices)) if prices else NO_PRICES,
            token_share=known((sent + got) / all_tokens) if all_tokens else unknown("no tokens were used"),
            cost_share=_cost_share(sent, got, prices, all_usd),
        )
        for component, sent, got in rows
    )


def _present(ledger: Ledger) -> list[Component]:
    named = {line.component for line in ledger}
    return [component for component in Component if component in named]


def _sums(ledger: Ledger | None, component: Component) -> tuple[int, int]:
    lines = [line for line in ledger or () if line.component is component]
    return sum(line.input_tokens for line in lines), sum(line.output_tokens for line in lines)


def _list_price(sent: int, got: int, prices: ModelPrices) -> float:
    return (sent * prices.input_usd_per_million + got * prices.output_usd_per_million) * PER_MILLION


def _cost_share(sent: int, got: int, prices: ModelPrices | None, all_usd: float) -> Quantity:
    if prices is None:
        return NO_PRICES
    return known(_list_price(sent, got, prices) / all_usd) if all_usd else unknown("nothing was paid")


def _tokens(line: ComponentTokens) -> int:
    return line.input_tokens + line.output_tokens


def _skill_tokens(ledger: Ledger) -> int:
    return sum(_tokens(line) for line in ledger if line.component in SKILL_COMPONENTS)


def _schema_tokens(ledger: Ledger) -> int:
    return sum(_tokens(line) for line in ledger if line.component is Component.TOOL_SCHEMA)
