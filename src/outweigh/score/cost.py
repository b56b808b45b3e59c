"""What one run cost, and what a pass cost."""

from collections.abc import Mapping
from math import inf

from outweigh.record.cost import UNKNOWN_COST, Cost, CostProvenance
from outweigh.record.past_gateway import past_gateway
from outweigh.record.pricing import PER_MILLION, FirstKnown
from outweigh.record.run_record import RunRecord
from outweigh.record.usage import Usage
from outweigh.stats.quantity import Quantity, known, unknown


def run_cost(run: RunRecord, prices: FirstKnown) -> tuple[Cost, str]:
    """The recorded cost where there is one, else tokens times prices; the reason is empty when it is known."""
    if (beyond := past_gateway(run.metering, run.reported)) is not None:
        return UNKNOWN_COST, _not_the_whole(beyond)
    if run.cost.usd is not None:
        return run.cost, ""
    total, reason = 0.0, ""
    tables: dict[str, None] = {}
    for model, usage in _usage_by_model(run).items():
        priced, reason = prices.cost(model, usage, run.started_at)
        if priced is None or priced.usd is None:
            return run.cost, reason
        total += priced.usd
        tables[priced.price_table or ""] = None
    return Cost(usd=total, provenance=CostProvenance.PRICED, price_table=" and ".join(tables)), ""


def cache_normalised_cost(run: RunRecord, prices: FirstKnown) -> Quantity:
    """What a metered run would have cost without a prompt cache: every prompt token at the price of fresh input."""
    if run.metering is None:
        return unknown("the run was not metered, so what each model read from its cache is not known")
    if (beyond := past_gateway(run.metering, run.reported)) is not None:
        return unknown(_not_the_whole(beyond))
    total = 0.0
    for model, usage in run.metering.models.items():
        listed = prices.prices(model)
        sent = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        if listed is None or usage.output_tokens is None or None in sent:
            return unknown("the tokens or the prices are unknown")
        prompt = sum(tokens or 0 for tokens in sent)
        total += (
            prompt * listed.input_usd_per_million + usage.output_tokens * listed.output_usd_per_million
        ) * PER_MILLION
    return known(total)


def _not_the_whole(beyond: str) -> str:
    return f"the agent reports {beyond}, so nobody measured the whole run"


def _usage_by_model(run: RunRecord) -> Mapping[str | None, Usage]:
    """Every model's own tokens where they were metered; else all of them are taken for the agent's model."""
    if run.metering is not None and run.metering.models:
        return {model: usage for model, usage in run.metering.models.items()}  # noqa: C416 - other keys are allowed
    return {run.agent.model: run.usage}


def cost_of_pass(cost_usd: float | None, pass_rate: float | None) -> Quantity:
    """cost / pass rate, for one run (rate 0 or 1) or an arm; infinite when it never passes."""
    if cost_usd is None:
        return unknown("the cost is unknown")
    if pass_rate is None:
        return unknown("whether it passes is unknown")
    return known(inf if pass_rate == 0 else cost_usd / pass_rate)
