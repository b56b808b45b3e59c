"""A run's tokens and dollars by model, in the terms of Inspect, whose counts have no word for unknown."""

from collections.abc import Mapping
from math import isclose
from typing import Any

from outweigh.record.pricing import FirstKnown
from outweigh.record.run_record import RunRecord
from outweigh.record.usage import Usage

ModelUsage = dict[str, Any]

UNKNOWN_MODEL = "unknown"
"""The format demands a model's name; agents do not always tell theirs."""


def model_usage(run: RunRecord, prices: FirstKnown) -> dict[str, ModelUsage] | None:
    """By model where the parts are known and add up to the whole; None where input or output is unknown."""
    whole = _counts(run.usage)
    if whole is None:
        return None
    parts = _parts(run)
    if len(parts) > 1:
        return _split(run, parts, prices)
    name = next(iter(parts), None) or run.agent.model or UNKNOWN_MODEL
    return {name: whole | _cost(run.cost.usd)}


def summed(usages: list[dict[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """The usage of a whole log; a part that one of them does not know is left out of the sum."""
    total: dict[str, ModelUsage] = {}
    for usage in usages:
        for name, counts in usage.items():
            before = total.get(name)
            total[name] = dict(counts) if before is None else _sum(before, counts)
    return total


def _parts(run: RunRecord) -> Mapping[str, Usage]:
    """What was metered of every model, unless something was used that the meter did not see."""
    if run.metering is None:
        return {}
    parts = run.metering.models
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    adds_up = all(
        sum(getattr(part, name) or 0 for part in parts.values()) == (getattr(run.usage, name) or 0) for name in names
    )
    return parts if adds_up and all(_counts(part) for part in parts.values()) else {}


def _split(run: RunRecord, parts: Mapping[str, Usage], prices: FirstKnown) -> dict[str, ModelUsage]:
    """Dollars belong to models only where the price lists agree with what the run cost as a whole."""
    priced = {name: prices.cost(name, part, run.started_at)[0] for name, part in parts.items()}
    dollars = {name: cost.usd for name, cost in priced.items() if cost is not None and cost.usd is not None}
    agree = (
        run.cost.usd is not None
        and len(dollars) == len(parts)
        and isclose(sum(dollars.values()), run.cost.usd, rel_tol=1e-6, abs_tol=1e-9)
    )
    return {name: (_counts(part) or {}) | _cost(dollars[name] if agree else None) for name, part in parts.items()}


def _counts(usage: Usage) -> ModelUsage | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = {
        "input_tokens_cache_read": usage.cache_read_tokens,
        "input_tokens_cache_write": usage.cache_write_tokens,
    }
    known = {name: tokens for name, tokens in cached.items() if tokens is not None}
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens + sum(known.values()),
        **known,
    }


def _cost(usd: float | None) -> ModelUsage:
    return {} if usd is None else {"total_cost": usd}


def _sum(one: ModelUsage, other: ModelUsage) -> ModelUsage:
    return {name: one[name] + other[name] for name in one if name in other}
