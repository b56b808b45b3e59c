"""Tokens and dollars of a run: usage, cost and its source, by component, and as metered by the gateway.

`unmetered_use` says when an agent reports more than the gateway saw, so that part of a run is not taken for the whole.
"""

from collections.abc import Iterator
from enum import StrEnum
from math import isfinite

from outweigh.model.base import Amount, Count, Name, Ordinal, Stored, require_finite


class Usage(Stored, frozen=True):
    """Token counts by kind. `input_tokens` excludes what was read from or written to the prompt cache."""

    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_write_tokens: Count | None


NO_USAGE = Usage(input_tokens=None, output_tokens=None, cache_read_tokens=None, cache_write_tokens=None)
"""Nothing is known about the tokens of a run."""

ZERO_USAGE = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)
"""No tokens were used."""


def sum_usage(parts: list[Usage]) -> Usage:
    """The sum of each kind of tokens, unknown where one part does not know it; without parts, all are unknown."""
    if not parts:
        return NO_USAGE

    def total(kind: str) -> int | None:
        known = [getattr(part, kind) for part in parts]
        return None if None in known else sum(known)

    return Usage(
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
        cache_read_tokens=total("cache_read_tokens"),
        cache_write_tokens=total("cache_write_tokens"),
    )


class UsageRange(Stored, frozen=True):
    """The two ends of a usage that is estimated in part: `requests` had no final count of their own.

    `low` has the fewest tokens, with as much of the prompts read from the cache as possible; `high` has the most, and
    of estimated prompts nothing from the cache.
    """

    requests: Ordinal
    low: Usage
    high: Usage


class CostProvenance(StrEnum):
    """Where the cost of a run comes from, most trusted first.

    `plan` is metered, too: what the tokens cost at list prices, where a subscription paid for them.
    """

    METERED = "metered"
    PLAN = "plan"
    PROVIDER = "provider"
    REPORTED = "reported"
    PRICED = "priced"
    UNKNOWN = "unknown"

    @property
    def phrase(self) -> str:
        """The source as a reader should see it beside an amount."""
        if self is CostProvenance.PLAN:
            return "list price, paid by a plan"
        return "reported by provider" if self is CostProvenance.PROVIDER else self.value

    @property
    def kind(self) -> "CostProvenance":
        """The source that it can be compared with: the gateway reads both tokens and a provider's cost in responses."""
        return CostProvenance.METERED if self in (CostProvenance.PLAN, CostProvenance.PROVIDER) else self


# Looked up once: reading a cost checks these, and enum members are slow to look up by name.
_METERED, _PRICED, _UNKNOWN = CostProvenance.METERED, CostProvenance.PRICED, CostProvenance.UNKNOWN
_AT_LIST_PRICES = (_METERED, CostProvenance.PLAN)


class Cost(Stored, frozen=True, omit_defaults=True):
    """An amount and its source; `price_table` names the table that priced it, or that priced metered tokens.

    `low_usd` and `high_usd` are given where `usd` is the likely amount of an estimate: the least and the most that it
    can be.
    """

    usd: Amount | None
    provenance: CostProvenance
    price_table: str | None
    low_usd: Amount | None = None
    high_usd: Amount | None = None

    def __post_init__(self) -> None:
        """An unknown cost has no amount, and only an unknown one."""
        if not isfinite(self.usd or 0.0):
            require_finite("cost", usd=self.usd)
        if self.low_usd is not None or self.high_usd is not None:
            self._check_range()
        if (self.usd is None) != (self.provenance is _UNKNOWN):
            raise ValueError("cost.usd is null exactly when cost.provenance is 'unknown'")
        if self.provenance not in _AT_LIST_PRICES and ((self.price_table is None) == (self.provenance is _PRICED)):
            raise ValueError(
                "cost.price_table is given when cost.provenance is 'priced', and else only when it is 'metered' or "
                "'plan'"
            )

    @property
    def is_estimated(self) -> bool:
        """Whether `usd` is the likely amount within a range."""
        return self.low_usd is not None

    def _check_range(self) -> None:
        require_finite("cost", low_usd=self.low_usd, high_usd=self.high_usd)
        if self.usd is None or self.low_usd is None or self.high_usd is None:
            raise ValueError("cost.low_usd and cost.high_usd are given together, and only beside cost.usd")
        if not self.low_usd <= self.usd <= self.high_usd:
            raise ValueError("cost.usd must lie between cost.low_usd and cost.high_usd")


UNKNOWN_COST = Cost(usd=None, provenance=CostProvenance.UNKNOWN, price_table=None)
"""No cost was reported; it may still be computed from the tokens."""


def reported_cost(usd: float | None) -> Cost:
    """The cost that an agent or harness reported, unknown where it is None."""
    return UNKNOWN_COST if usd is None else Cost(usd=usd, provenance=CostProvenance.REPORTED, price_table=None)


def provider_cost(usd: float | None) -> Cost:
    """The cost that a provider itself states, such as a router; unknown where it is None."""
    return UNKNOWN_COST if usd is None else Cost(usd=usd, provenance=CostProvenance.PROVIDER, price_table=None)


class BilledUsage(Stored, frozen=True):
    """What responses state about their bill: of one request, or of several that differ in nothing but their size.

    `model` is the one that answered. `requests` is None where their number is not known. `smallest_prompt_tokens` and
    `largest_prompt_tokens` are the prompts of the smallest and the largest request, cached tokens included, because
    some models cost more per token in long requests. `hour_write_tokens` are the tokens that the cache keeps for an
    hour. `service_tier`, `speed` and `region` are the provider's own words. `hosted_uses` counts what the provider
    itself ran. `provider_usd` is the amount that the provider, such as a router, says it charged.
    """

    model: Name | None
    usage: Usage
    requests: Ordinal | None = 1
    smallest_prompt_tokens: Count | None = None
    largest_prompt_tokens: Count | None = None
    hour_write_tokens: Count = 0
    service_tier: Name | None = None
    speed: Name | None = None
    region: Name | None = None
    hosted_uses: dict[Name, Count] = {}  # noqa: RUF012 - msgspec copies defaults
    provider_usd: Amount | None = None

    def __post_init__(self) -> None:
        """Only finite amounts are stored."""
        require_finite("billed", provider_usd=self.provider_usd)


class Component(StrEnum):
    """The parts of an agent's set-up that consume tokens."""

    SYSTEM_PROMPT = "system_prompt"
    SKILL_PROMPT = "skill_prompt"
    DOMAIN_EXPERTISE = "domain_expertise"
    TOOL_SCHEMA = "tool_schema"
    TOOL_CALL = "tool_call"
    TOOL_RESPONSE = "tool_response"
    ORCHESTRATOR = "orchestrator"
    SUB_AGENT = "sub_agent"
    MONITOR = "monitor"
    EVALUATOR = "evaluator"


class ComponentTokens(Stored, frozen=True):
    """The tokens that a component sent to the model and received from it."""

    component: Component
    input_tokens: Count
    output_tokens: Count


class Metering(Stored, frozen=True):
    """The requests of a run as the gateway saw them; `time_to_first_token_seconds` is the median over requests.

    `hosted_uses` counts what the provider itself ran, such as its searches, which it bills beside tokens. `providers`
    are those that served the requests, by the suite's name for them, each with its host. `estimated` has the ends of
    the usage of each model some of whose requests had no final count; `models` has the likely one. `billed` is what the
    responses state about their bill, one entry for all that differ only in size.
    """

    requests: Count
    failed_requests: Count
    models: dict[Name, Usage]
    time_to_first_token_seconds: Amount | None
    model_seconds: Amount
    hosted_uses: dict[Name, Count] = {}  # noqa: RUF012 - records of earlier releases have none
    providers: dict[Name, Name] = {}  # noqa: RUF012 - likewise
    estimated: dict[Name, UsageRange] = {}  # noqa: RUF012 - records of earlier releases have none
    billed: tuple[BilledUsage, ...] = ()  # records of earlier releases have none

    def __post_init__(self) -> None:
        """Only finite times are stored."""
        if not (isfinite(self.model_seconds) and isfinite(self.time_to_first_token_seconds or 0.0)):
            require_finite(
                "metering",
                model_seconds=self.model_seconds,
                time_to_first_token_seconds=self.time_to_first_token_seconds,
            )


def usage_ends(metering: Metering | None) -> tuple[Usage, Usage] | None:
    """The fewest and the most tokens of a metered run; None where every request had a count of its own."""
    if metering is None or not metering.estimated:
        return None
    ends = [(metering.estimated.get(model), usage) for model, usage in metering.models.items()]
    return (
        sum_usage([usage if found is None else found.low for found, usage in ends]),
        sum_usage([usage if found is None else found.high for found, usage in ends]),
    )


class ReportedUsage(Stored, frozen=True):
    """The agent's own figures, kept beside the measured ones as a cross-check.

    `billed` is what a transcript states about the bills of its requests.
    """

    usage: Usage
    cost_usd: Amount | None
    requests: Count | None
    billed: tuple[BilledUsage, ...] = ()  # records of earlier releases have none

    def __post_init__(self) -> None:
        """Only finite amounts are stored."""
        if not isfinite(self.cost_usd or 0.0):
            require_finite("reported", cost_usd=self.cost_usd)


PROMPT_TOKEN_KINDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
"""Agents split cached and fresh tokens differently, so only the sum can be compared."""


def unmetered_use(metering: Metering | None, reported: ReportedUsage | None) -> str | None:
    """What the agent reports beyond what was metered, as text; None where it reports no more.

    Reporting less is normal: most agents do not count side requests, such as those for titles.
    """
    if metering is None or reported is None:
        return None
    if not metering.requests:
        used = reported.cost_usd or reported.usage.output_tokens or _known_prompt_tokens(reported.usage)
        return "use of a model, and no request came through the gateway" if used else None
    if _covers(metering, reported):
        return None
    return " and ".join(_excesses(metering, reported)) or None


def _covers(metering: Metering, reported: ReportedUsage) -> bool:
    """Whether all that the agent reports is plainly within what was metered, as it is for nearly every run."""
    prompts = outputs = 0
    for usage in metering.models.values():
        sent, read, written = usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        if sent is None or read is None or written is None or usage.output_tokens is None:
            return False
        prompts += sent + read + written
        outputs += usage.output_tokens
    told = reported.usage
    return (
        not metering.estimated
        and (told.input_tokens or 0) + (told.cache_read_tokens or 0) + (told.cache_write_tokens or 0) <= prompts
        and (told.output_tokens or 0) <= outputs
        and (reported.requests or 0) <= metering.requests
    )


def _excesses(metering: Metering, reported: ReportedUsage) -> Iterator[str]:
    # An estimated request may have had as many tokens as the high end says.
    metered = {**metering.models, **{model: ends.high for model, ends in metering.estimated.items()}}.values()
    pairs = (
        (
            "tokens of prompts",
            _known_prompt_tokens(reported.usage),
            [getattr(usage, part) for usage in metered for part in PROMPT_TOKEN_KINDS],
        ),
        ("output tokens", reported.usage.output_tokens, [usage.output_tokens for usage in metered]),
        ("requests", reported.requests, [metering.requests]),
    )
    for name, reported_count, came in pairs:
        known = [amount for amount in came if amount is not None]
        # An unknown count could account for the difference.
        if reported_count is not None and len(known) == len(came) and reported_count > sum(known):
            yield f"{reported_count:,} {name} where {sum(known):,} came through the gateway"


def _known_prompt_tokens(usage: Usage) -> int:
    """The prompt tokens of a usage that may leave out some kinds: a lower bound."""
    return sum(getattr(usage, part) or 0 for part in PROMPT_TOKEN_KINDS)
