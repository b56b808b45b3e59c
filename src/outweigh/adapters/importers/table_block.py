"""Many rows of a table as runs, column by column: a step for a whole column costs little more than one for a row."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, reduce
from itertools import repeat
from operator import iconcat
from typing import Any

import msgspec

from outweigh.adapters.importers.imported_run import UNKNOWN_COLUMNS, agent, built, outcome
from outweigh.adapters.importers.source_time import moments
from outweigh.record.cost import Cost, CostProvenance, reported_cost
from outweigh.record.run_record import AgentIdentity, RunRecord
from outweigh.record.stored import Json
from outweigh.record.trial import Trial
from outweigh.record.usage import Usage
from outweigh.transcript.foreign import LONGEST_NAME

Cells = Mapping[str, Sequence[Any]]
"""Cells by their fields, those of a row at the same place everywhere. What the table does not have is absent."""

_AS_THEY_ARE = ("family", "duration_seconds", "step_count", "tool_call_count")
_IDENTITY = ("agent", "agent_version", "model")
_CHECKS = {passed: (outcome("success", passed),) for passed in (True, False, None)}


class TableBlocks:
    """Makes runs of rows that have been decoded. `fields` are what a row holds, the last of them its `others`."""

    def __init__(self, fields: Sequence[str], others: Sequence[str], arm: str | None) -> None:
        self._fields = fields
        self._others = _Others(others)
        self._own = len(fields) - len(others)
        self._arm = arm

    def runs(self, rows: Iterable[msgspec.Struct], first: int) -> list[RunRecord]:
        """A run for every row; a ValueError where one of them wants a closer look.

        No row is held: the next one gets its memory, which the processor still has at hand.
        """
        flat: list[Any] = reduce(iconcat, map(msgspec.structs.astuple, rows), [])
        width = len(self._fields)
        columns = [flat[place::width] for place in range(width)]
        size = len(columns[0])
        cells: dict[str, Sequence[Any]] = dict(zip(self._fields, columns, strict=True))
        if self._arm is not None:
            cells["arm"] = [named or self._arm for named in cells.get("arm", (None,) * size)]
        known = {
            "run_id": _run_ids(cells, first),
            "trial": _trials(cells),
            "extra": self._others.extras(columns[self._own :], size),
        }
        return built(RunRecord, UNKNOWN_COLUMNS | dict(_figures(cells)) | known)


def _figures(cells: Cells) -> Iterator[tuple[str, Iterable[Any]]]:
    """The fields of a run that a table may have."""
    for name in _AS_THEY_ARE:
        if name in cells:
            yield name, cells[name]
    if any(name in cells for name in Usage.__struct_fields__):
        yield "usage", built(Usage, {name: cells.get(name, repeat(None)) for name in Usage.__struct_fields__})
    if any(name in cells for name in _IDENTITY):
        yield "agent", map(_agent, *(cells.get(name, repeat(None)) for name in _IDENTITY))
    if "started_at" in cells:
        yield "started_at", _moments(cells["started_at"])
    if "cost_usd" in cells:
        yield "cost", _costs(cells["cost_usd"])
    if "success" in cells:
        yield "checks", map(_CHECKS.__getitem__, cells["success"])
    if "family" in cells:
        _require_trimmed(cells["family"])


def _trials(cells: Cells) -> list[Trial]:
    _require_trimmed({*cells["task_id"]})
    _require_trimmed({*cells["arm"]})
    repeats = cells.get("repeat", repeat(0))
    return built(Trial, {"task_id": cells["task_id"], "arm": cells["arm"], "repeat": repeats, "seed": repeat(None)})


def _run_ids(cells: Cells, first: int) -> Sequence[str]:
    """The rows' own, or their places."""
    given = cells.get("run_id")
    if given is not None and None not in given:
        _require_trimmed(given)
        return given
    tasks, arms, repeats = cells["task_id"], cells["arm"], cells.get("repeat")
    places = [f"row {number:07}" for number in range(first, first + len(tasks))] if repeats is None else repeats
    made = [f"{task}/{arm}/{place}" for task, arm, place in zip(tasks, arms, places, strict=True)]
    if max(map(len, made)) > LONGEST_NAME:
        raise ValueError("a name that has to be cut")
    if given is None:
        return made
    _require_trimmed(given)
    return [own or place for own, place in zip(given, made, strict=True)]


def _moments(column: Sequence[Any]) -> Sequence[datetime | None]:
    found = moments(column)
    if None in found and any(read is None and value is not None for value, read in zip(column, found, strict=True)):
        raise ValueError("no moment")
    return found


def _costs(column: Sequence[float | None]) -> list[Cost]:
    if None in column:
        return [*map(reported_cost, column)]
    return built(Cost, {"usd": column, "provenance": repeat(CostProvenance.REPORTED), "price_table": repeat(None)})


class _Others:
    """The columns that no field has taken."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        plain = all(name.isidentifier() and not name.startswith("_") for name in names)
        self._kind = msgspec.defstruct("Others", names) if names and plain else None

    def extras(self, columns: Sequence[Sequence[Any]], size: int) -> list[Json]:
        """What each of so many rows says in them, where it says anything."""
        if not columns:
            return [{} for _ in range(size)]
        if self._kind is not None and not any(None in column or "" in column for column in columns):
            return [*map(msgspec.structs.asdict, map(self._kind, *columns))]
        return [
            {name: cell for name, cell in zip(self._names, row, strict=True) if cell is not None and cell != ""}
            for row in zip(*columns, strict=True)
        ]


def _require_trimmed(labels: Iterable[str | None]) -> None:
    given = [*filter(None, labels)]
    if [*map(str.strip, given)] != given:
        raise ValueError("a name that has to be trimmed")


@lru_cache(maxsize=1000)
def _agent(name: str | None, version: str | None, model: str | None) -> AgentIdentity:
    """Who ran; there are few, and each is looked at once."""
    _require_trimmed((name, version, model))
    return agent(name, version, model)
