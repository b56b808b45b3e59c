"""Where the tokens went: tool schemas against skills, and the share of every component."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.record.components import Component, ComponentTokens
from outweigh.record.pricing import PER_MILLION
from outweigh.stats.quantity import Quantity, known, unknown

NO_LEDGER = unknown("the agent does not expose its components")
SKILL_COMPONENTS = frozenset({Component.SKILL_PROMPT, Component.DOMAIN_EXPERTISE})

Ledger = Sequence[ComponentTokens]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentShare:
    """One component's part of a run, in tokens and in dollars."""

    component: Component
    tokens: int
    cost_usd: float
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


def component_breakdown(
    ledger: Ledger, *, input_usd_per_million: float, output_usd_per_million: float
) -> tuple[ComponentShare, ...]:
    """Tokens, cost and both shares of every component in the ledger, at the given list prices."""
    rows = [
        (
            component,
            sum(_tokens(line) for line in ledger if line.component is component),
            sum(
                (line.input_tokens * input_usd_per_million + line.output_tokens * output_usd_per_million) * PER_MILLION
                for line in ledger
                if line.component is component
            ),
        )
        for component in Component
        if any(line.component is component for line in ledger)
    ]
    all_tokens, all_usd = sum(row[1] for row in rows), sum(row[2] for row in rows)
    return tuple(
        ComponentShare(
            component=component,
            tokens=tokens,
            cost_usd=usd,
            token_share=known(tokens / all_tokens) if all_tokens else unknown("no tokens were used"),
            cost_share=known(usd / all_usd) if all_usd else unknown("nothing was paid"),
        )
        for component, tokens, usd in rows
    )


def _tokens(line: ComponentTokens) -> int:
    return line.input_tokens + line.output_tokens


def _skill_tokens(ledger: Ledger) -> int:
    return sum(_tokens(line) for line in ledger if line.component in SKILL_COMPONENTS)


def _schema_tokens(ledger: Ledger) -> int:
    return sum(_tokens(line) for line in ledger if line.component is Component.TOOL_SCHEMA)
