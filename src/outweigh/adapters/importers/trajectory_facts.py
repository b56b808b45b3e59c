"""What a trajectory says about its run: steps, tokens, dollars, time."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from outweigh.adapters.importers.source_time import moment, seconds_between
from outweigh.record.cost import reported_cost
from outweigh.record.usage import Usage
from outweigh.transcript.atif import AtifMetrics, AtifStep, AtifTrajectory
from outweigh.transcript.atif_usage import usage_of_metrics
from outweigh.transcript.foreign import amount, count, mapping, total_usage
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.token_counts import is_empty, storable, unless_empty, without
from outweigh.transcript.tool_calls import own_steps

TRAJECTORY = "trajectory.json"
"""The name of the artifact, as for runs of our own."""

_WRITTEN = "total_cache_creation_input_tokens"


def trajectory_facts(chain: list[AtifTrajectory]) -> Mapping[str, Any]:
    """Fields of a RunRecord from a trajectory and its continuations, in order.

    Totals of a continuation include what went before, so the last ones count; they also include sub-agents, which the
    steps do not. Where nobody totalled, the steps are added up.
    """
    steps = [step for part in chain for step in own_steps(part.steps)]
    usage, cost_usd = _totals(chain[-1], steps)
    if is_empty(usage) and not cost_usd:
        # No request is free and empty: zeros alone say that nobody counted.
        cost_usd = None
    return {
        "started_at": _started(steps),
        "duration_seconds": seconds_between(*_ends(steps)),
        "usage": unless_empty(usage),
        "cost": reported_cost(cost_usd),
        "step_count": sum(step.source == "agent" for step in steps),
        "tool_call_count": sum(len(step.tool_calls or ()) for step in steps),
        "steps": record_steps(steps),
    }


def _totals(last: AtifTrajectory, steps: list[AtifStep]) -> tuple[Usage, float | None]:
    final = last.final_metrics
    measured = [step.metrics for step in steps if step.metrics is not None]
    if final is None or (final.total_prompt_tokens, final.total_completion_tokens) == (None, None):
        costs = [amount(metrics.cost_usd) for metrics in measured]
        known = [cost for cost in costs if cost is not None]
        summed = amount(sum(known)) if known and len(known) == len(costs) else None
        stated = None if final is None else amount(final.total_cost_usd)
        return storable(total_usage(list(map(_step_usage, measured)))), stated if stated is not None else summed
    extra = mapping(final.extra)
    read = count(final.total_cached_tokens)
    written = count(extra.get(_WRITTEN))
    usage = Usage(
        # Prompts include the cache: without a word about what was read from it, nobody can say what was not.
        input_tokens=without(count(final.total_prompt_tokens), read, written if _WRITTEN in extra else 0),
        output_tokens=count(final.total_completion_tokens),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return usage, amount(final.total_cost_usd)


def _step_usage(metrics: AtifMetrics) -> Usage:
    """A step's tokens; its input is unknown where it does not say how much of the prompt was cached."""
    usage = usage_of_metrics(metrics)
    return usage if usage.cache_read_tokens is not None else msgspec.structs.replace(usage, input_tokens=None)


def _ends(steps: list[AtifStep]) -> tuple[str | None, str | None]:
    stamps = [step.timestamp for step in steps if step.timestamp is not None]
    return (stamps[0], stamps[-1]) if len(stamps) > 1 else (None, None)


def _started(steps: list[AtifStep]) -> datetime | None:
    return next((found for step in steps if (found := moment(step.timestamp)) is not None), None)
