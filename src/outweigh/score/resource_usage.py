"""What a run consumed: tokens, dollars, and the share of every component (tool schemas, skills …)."""

from collections.abc import Mapping, Sequence
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from outweigh.model.bill import price_bills
from outweigh.model.pricing import PER_MILLION, ModelPrices, PriceTables
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import (
    UNKNOWN_COST,
    BilledUsage,
    Component,
    ComponentTokens,
    Cost,
    CostProvenance,
    Usage,
    unmetered_use,
    usage_ends,
)
from outweigh.stats.estimate import Quantity, known, unknown


def total_tokens(usage: Usage) -> Quantity:
    """input + output + cache_read + cache_write."""
    sent, got, read, written = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )
    if sent is None or got is None or read is None or written is None:
        return _not_reported(usage, "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return known(sent + got + read + written)


def non_cache_tokens(usage: Usage) -> Quantity:
    """input + output, where input excludes the cache."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return _not_reported(usage, "input_tokens", "output_tokens")
    return known(usage.input_tokens + usage.output_tokens)


def cache_read_share(usage: Usage) -> Quantity:
    """cache_read / (input + cache_read + cache_write): how much of the prompt came from the cache."""
    sent, read, written = usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens
    if sent is None or read is None or written is None:
        return _not_reported(usage, "input_tokens", "cache_read_tokens", "cache_write_tokens")
    prompt = sent + read + written
    return known(read / prompt) if prompt else unknown("nothing was sent")


def _not_reported(usage: Usage, *kinds: str) -> Quantity:
    """Unknown because of the first of these kinds that is."""
    return unknown(f"{next(kind for kind in kinds if getattr(usage, kind) is None)} is not reported")


def run_cost(run: RunRecord, prices: PriceTables) -> tuple[Cost, str]:
    """The recorded cost where there is one, else tokens times prices; the reason is empty when it is known."""
    if run.metering is not None and (beyond := unmetered_use(run.metering, run.reported)) is not None:
        return UNKNOWN_COST, _not_the_whole(beyond)
    if run.cost.usd is not None:
        return run.cost, ""
    charge = price_bills(_bills(run), prices, run.started_at)
    if charge.usd is None:
        return run.cost, charge.explanation
    cost = Cost(usd=charge.usd, provenance=CostProvenance.PRICED, price_table=" and ".join(charge.tables))
    return _with_range(cost, run, prices), ""


def _with_range(cost: Cost, run: RunRecord, prices: PriceTables) -> Cost:
    """The cost with the least and the most that it can be, where some of the tokens are estimated."""
    if cost.usd is None or run.metering is None or not run.metering.estimated:
        return cost
    low = high = cost.usd
    for model, ends in run.metering.estimated.items():
        likely = _list_usd(model, run.metering.models[model], run, prices)
        low -= max(0.0, likely - _list_usd(model, ends.low, run, prices))
        high += max(0.0, _list_usd(model, ends.high, run, prices) - likely)
    return replace(cost, low_usd=max(0.0, low), high_usd=high)


def _list_usd(model: str, usage: Usage, run: RunRecord, prices: PriceTables) -> float:
    """Tokens at list prices; where reading from the cache has no price, the provider has none, and they are fresh."""
    cost, _ = prices.cost(model, usage, run.started_at)
    if cost is None and usage.cache_read_tokens:
        fresh = replace(usage, input_tokens=(usage.input_tokens or 0) + usage.cache_read_tokens, cache_read_tokens=0)
        cost, _ = prices.cost(model, fresh, run.started_at)
    return 0.0 if cost is None else cost.usd or 0.0


def estimated_ranges(run: RunRecord, cost: Cost) -> Mapping[str, tuple[float, float]]:
    """The least and the most of every metric that is estimated; empty where nothing is."""
    if cost.low_usd is None and (run.metering is None or not run.metering.estimated):
        return NO_RANGES
    found: dict[str, tuple[float, float]] = {}
    if cost.low_usd is not None and cost.high_usd is not None:
        found["cost_usd"] = (cost.low_usd, cost.high_usd)
    if (ends := usage_ends(run.metering)) is not None:
        for name, count in (("total_tokens", total_tokens), ("non_cache_tokens", non_cache_tokens)):
            low, likely, high = (count(usage).value for usage in (ends[0], run.usage, ends[1]))
            if low is not None and likely is not None and high is not None:
                found[name] = (min(low, likely), max(high, likely))
    return found or NO_RANGES


NO_RANGES: Mapping[str, tuple[float, float]] = {}
"""Of a run whose every amount was counted; shared, because most runs are."""


_NOT_METERED = unknown("the run was not metered, so what each model read from its cache is not known")


def cache_normalised_cost(run: RunRecord, prices: PriceTables) -> Quantity:
    """What a metered run would have cost without a prompt cache: every prompt token at the price of fresh input."""
    if run.metering is None:
        return _NOT_METERED
    if (beyond := unmetered_use(run.metering, run.reported)) is not None:
        return unknown(_not_the_whole(beyond))
    total = 0.0
    for model, usage in run.metering.models.items():
        listed = prices.prices(model)
        sent, read, written = usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        if listed is None or usage.output_tokens is None or sent is None or read is None or written is None:
            return unknown("the tokens or the prices are unknown")
        total += (
            (sent + read + written) * listed.input_usd_per_million + usage.output_tokens * listed.output_usd_per_million
        ) * PER_MILLION
    return known(total)


def _not_the_whole(beyond: str) -> str:
    return f"the agent reports {beyond}, so part of the run was not measured"


def _bills(run: RunRecord) -> Sequence[BilledUsage]:
    """The bills as responses stated them; else every model's own tokens, or all of them as those of the agent's model.

    Where the size of each request is not known, they are taken for ordinary ones.
    """
    stated = run.reported.billed if run.metering is None and run.reported is not None else ()
    if billed := stated if run.metering is None else run.metering.billed:
        return billed
    if run.metering is None or not run.metering.models:
        return [BilledUsage(model=run.agent.model, usage=run.usage, requests=None)]
    uses = [run.metering.hosted_uses, *({} for _ in run.metering.models)]
    return [
        BilledUsage(model=model, usage=usage, requests=None, hosted_uses=hosted)
        for (model, usage), hosted in zip(run.metering.models.items(), uses, strict=False)
    ]


def cost_of_pass(cost_usd: float | None, pass_rate: float | None) -> Quantity:
    """cost / pass rate, for one run (rate 0 or 1) or an arm; infinite when it never passes."""
    if cost_usd is None:
        return unknown("the cost is unknown")
    if pass_rate is None:
        return unknown("whether it passes is unknown")
    return known(inf if pass_rate == 0 else cost_usd / pass_rate)


NO_LEDGER = unknown("the agent does not expose its components")
NO_PRICES = unknown("the prices of the model are not known")
SKILL_COMPONENTS = frozenset({Component.SKILL_PROMPT, Component.DOMAIN_EXPERTISE})
_TOOL_SCHEMA = Component.TOOL_SCHEMA  # members are slow to look up, and every run is asked for it

ComponentLedger = Sequence[ComponentTokens]


class ComponentShare(Struct, frozen=True, kw_only=True):
    """One component's part of a run or an arm, in tokens and in dollars; dollars need prices."""

    component: Component
    tokens: int
    cost_usd: Quantity
    token_share: Quantity
    cost_share: Quantity


def schema_overhead(ledger: ComponentLedger | None) -> Quantity:
    """Σ tokens of tool schemas."""
    return NO_LEDGER if ledger is None else known(_skill_and_schema_tokens(ledger)[1])


def skill_efficiency(ledger: ComponentLedger | None) -> Quantity:
    """skill / (skill + schema)."""
    if ledger is None:
        return NO_LEDGER
    skill, schema = _skill_and_schema_tokens(ledger)
    return known(skill / (skill + schema)) if skill + schema else unknown("neither skill nor schema tokens were used")


def token_efficiency_ratio(ledger: ComponentLedger | None) -> Quantity:
    """schema / skill."""
    if ledger is None:
        return NO_LEDGER
    skill, schema = _skill_and_schema_tokens(ledger)
    return known(schema / skill) if skill else unknown("no skill tokens were used")


def component_breakdown(ledger: ComponentLedger | None, prices: ModelPrices | None) -> tuple[ComponentShare, ...]:
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


def _present(ledger: ComponentLedger) -> list[Component]:
    named = {line.component for line in ledger}
    return [component for component in Component if component in named]


def _sums(ledger: ComponentLedger | None, component: Component) -> tuple[int, int]:
    lines = [line for line in ledger or () if line.component is component]
    return sum(line.input_tokens for line in lines), sum(line.output_tokens for line in lines)


def _list_price(sent: int, got: int, prices: ModelPrices) -> float:
    return (sent * prices.input_usd_per_million + got * prices.output_usd_per_million) * PER_MILLION


def _cost_share(sent: int, got: int, prices: ModelPrices | None, all_usd: float) -> Quantity:
    if prices is None:
        return NO_PRICES
    return known(_list_price(sent, got, prices) / all_usd) if all_usd else unknown("nothing was paid")


def _skill_and_schema_tokens(ledger: ComponentLedger) -> tuple[int, int]:
    skill = schema = 0
    for line in ledger:
        if line.component is _TOOL_SCHEMA:
            schema += line.input_tokens + line.output_tokens
        elif line.component in SKILL_COMPONENTS:
            skill += line.input_tokens + line.output_tokens
    return skill, schema
