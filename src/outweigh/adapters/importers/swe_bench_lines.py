"""Result lines: one JSON object per instance with `resolved` and figures, as harnesses around SWE-bench write them."""

from collections.abc import Mapping
from typing import Any

from outweigh.adapters.importers.identity import stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.source_time import moment, seconds_of_milliseconds
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.usage import Usage
from outweigh.transcript.foreign import amount, count, mapping, name
from outweigh.transcript.token_counts import unless_empty

Raw = Mapping[str, Any]


def is_result_line(raw: Raw) -> bool:
    """Whether a line says of an instance that it was resolved, or not."""
    return _instance(raw) is not None and isinstance(raw.get("resolved"), bool)


def line_run(raw: Raw, arm: str | None) -> RunRecord:
    """The run of a line; input tokens are without cache where the cache has fields of its own."""
    instance, who, model = _instance(raw) or "", name(raw.get("agent")), name(raw.get("model"))
    named = stable_id(arm or " ".join(part for part in (who, model) if part) or "agent")
    calls = [count(times) for times in mapping(raw.get("toolCalls")).values()]
    known = [times for times in calls if times is not None]
    return imported_run(
        run_id=stable_id("swe-bench", named, instance),
        task_id=instance,
        arm=named,
        repeat=1,
        agent=agent(who, None, model),
        family=name(raw.get("repo")),
        started_at=moment(raw.get("timestamp")),
        duration_seconds=seconds_of_milliseconds(raw.get("durationMs")),
        usage=unless_empty(_usage(raw)),
        cost=reported_cost(amount(raw.get("costUsd"))),
        step_count=count(raw.get("numTurns")),
        tool_call_count=sum(known) if known and len(known) == len(calls) else None,
        checks=(outcome("resolved", raw.get("resolved") is True),),
        extra=kept_fields({key: raw.get(key) for key in ("commitHash", "toolCalls")}),
    )


def _usage(raw: Raw) -> Usage:
    read, written = count(raw.get("cacheReadTokens")), count(raw.get("cacheCreationTokens"))
    return Usage(
        input_tokens=None if read is None else count(raw.get("inputTokens")),
        output_tokens=count(raw.get("outputTokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _instance(raw: Raw) -> str | None:
    return name(raw.get("instanceId")) or name(raw.get("instance_id"))
