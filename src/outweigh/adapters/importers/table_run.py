"""One row of a table as a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from outweigh.adapters.importers.identity import stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.source_time import seconds_between
from outweigh.adapters.importers.table_map import Column
from outweigh.adapters.importers.table_source import TableRow
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.record.usage import Usage


def row_run(row: TableRow, columns: Sequence[Column], arm: str | None) -> RunRecord:
    """What the row says; a ValueError where it says something that cannot be meant. A missing repeat is 0 for now."""
    said = {column.field: column.read(row.cells) for column in columns}
    task_id, arm = said.get("task_id"), said.get("arm") or arm
    if task_id is None or arm is None:
        raise ValueError(f"it does not say its {'task' if task_id is None else 'arm'}")
    repeat = said.get("repeat")
    if repeat is None and "repeat" in said:
        raise ValueError("it does not say its repeat")
    arm = stable_id(arm)
    return imported_run(
        run_id=said.get("run_id") or stable_id(task_id, arm, row.label if repeat is None else repeat),
        task_id=task_id,
        arm=arm,
        repeat=repeat or 0,
        status=said.get("status") or Status.COMPLETED,
        agent=agent(name=said.get("agent"), version=said.get("agent_version"), model=said.get("model")),
        family=said.get("family"),
        started_at=said.get("started_at"),
        duration_seconds=_duration(said),
        usage=_usage(said),
        cost=reported_cost(said.get("cost_usd")),
        step_count=said.get("step_count"),
        tool_call_count=said.get("tool_call_count"),
        checks=(outcome("success", said["success"]),) if "success" in said else None,
        extra=_others(row.cells, columns),
    )


def _duration(said: Mapping[str, Any]) -> float | None:
    if (seconds := said.get("duration_seconds")) is not None:
        found: float = seconds
        return found
    if (milliseconds := said.get("duration_ms")) is not None:
        return float(milliseconds) / 1000
    return seconds_between(said.get("started_at"), said.get("finished_at"))


def _usage(said: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=_uncached(said) if "input_tokens_with_cache" in said else said.get("input_tokens"),
        output_tokens=said.get("output_tokens"),
        cache_read_tokens=said.get("cache_read_tokens"),
        cache_write_tokens=said.get("cache_write_tokens"),
    )


def _uncached(said: Mapping[str, Any]) -> int | None:
    """What was not in the cache; unknown where nobody says how much was read from it."""
    whole, read = said["input_tokens_with_cache"], said.get("cache_read_tokens")
    if whole is None or read is None:
        return None
    rest: int = whole - read - (said.get("cache_write_tokens") or 0)
    if rest < 0:
        raise ValueError(
            "more tokens were cached than there were; map input_tokens instead of input_tokens_with_cache?"
        )
    return rest


def _others(cells: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """What no field has taken, as far as there is room."""
    taken = {path[0] for column in columns for path in column.paths} | {column.shown for column in columns}
    return kept_fields({name: value for name, value in cells.items() if name not in taken and value != ""})
