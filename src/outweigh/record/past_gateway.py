"""Whether an agent used more of a model than came through the gateway: then nobody measured the whole of its run."""

from collections.abc import Iterator

from outweigh.record.metering import Metering, Reported
from outweigh.record.usage import Usage

PROMPT = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
"""Agents tell cached and fresh tokens apart in their own ways, so only the sum shows whether one knows of more."""


def past_gateway(metering: Metering | None, reported: Reported | None) -> str | None:
    """What the agent knows of beyond what was metered, in words; None where it knows of no more.

    That it knows of less is usual: most agents leave requests on the side out of their counts.
    """
    if metering is None or reported is None:
        return None
    if not metering.requests:
        spoken = reported.cost_usd or reported.usage.output_tokens or _least(reported.usage)
        return "use of a model, and no request came through the gateway" if spoken else None
    return " and ".join(_beyond(metering, reported)) or None


def _beyond(metering: Metering, reported: Reported) -> Iterator[str]:
    metered = metering.models.values()
    pairs = (
        ("tokens of prompts", _least(reported.usage), [getattr(usage, part) for usage in metered for part in PROMPT]),
        ("output tokens", reported.usage.output_tokens, [usage.output_tokens for usage in metered]),
        ("requests", reported.requests, [metering.requests]),
    )
    for name, told, came in pairs:
        known = [amount for amount in came if amount is not None]
        # What an answer left unknown could be all that is missing.
        if told is not None and len(known) == len(came) and told > sum(known):
            yield f"{told:,} {name} where {sum(known):,} came through the gateway"


def _least(usage: Usage) -> int:
    """The least that the prompts took, by a word that may leave out some kinds of tokens."""
    return sum(getattr(usage, part) or 0 for part in PROMPT)
