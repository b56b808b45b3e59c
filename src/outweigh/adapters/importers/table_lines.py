"""Rows of JSON Lines whose cells are what they should be, read and checked in one go.

Most tables were written by programs: texts are texts, numbers are numbers. Such a row is decoded straight into a
structure made for its columns. Any other is given back, to be read cell by cell; both ways give the same run.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec

from outweigh.adapters.importers.imported_run import agent, imported_run, outcome
from outweigh.adapters.importers.source_time import moment
from outweigh.adapters.importers.table_map import Column
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import AgentIdentity, RunRecord
from outweigh.record.stored import Amount, Count
from outweigh.record.trial import Trial
from outweigh.record.usage import Usage
from outweigh.transcript.foreign import LONGEST_NAME

LONGEST_LINE = 10_000
"""All of a shorter row's other columns fit into `extra`."""

_Label = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)] | None
_TYPES: dict[str, Any] = {
    "task_id": _Label,
    "arm": _Label,
    "run_id": _Label,
    "repeat": Count | None,
    "success": bool | None,
    "started_at": Any,
    "duration_seconds": Amount | None,
    "cost_usd": Amount | None,
    "input_tokens": Count | None,
    "output_tokens": Count | None,
    "cache_read_tokens": Count | None,
    "cache_write_tokens": Count | None,
    "step_count": Count | None,
    "tool_call_count": Count | None,
    "model": _Label,
    "agent": _Label,
    "agent_version": _Label,
}
_UNUSUAL = re.compile(r'["\\\x00-\x1f]')
_NOTHING = (None, "")


_FILLED = frozenset({*_TYPES, "trial", "usage", "cost", "checks", "artifacts", "extra"})

ReadLine = Callable[[bytes, int], RunRecord | None]


def line_reader(columns: Sequence[Column], names: Collection[str], arm: str | None) -> ReadLine | None:
    """Reads a line as a run, or gives None for one that wants a closer look. `names` are all columns of a row.

    There is no such reader where a field takes more than one column, or is to be computed.
    """
    mapped = {column.field: column.paths for column in columns}
    if not mapped.keys() <= _TYPES.keys() or any(len(paths) > 1 or len(paths[0]) > 1 for paths in mapped.values()):
        return None
    others = sorted(set(names) - {paths[0][0] for paths in mapped.values()})
    row_type = _row_type({field: paths[0][0] for field, paths in mapped.items()}, others)
    if row_type is None:
        return None
    decode, as_tuple = msgspec.json.Decoder(row_type).decode, msgspec.structs.astuple
    checks = {passed: (outcome("success", passed),) for passed in (True, False, None)} if "success" in mapped else {}
    size = len(_TYPES)
    template = imported_run(run_id="-", task_id="-", arm="-", repeat=0)
    constant = {name: getattr(template, name) for name in RunRecord.__struct_fields__ if name not in _FILLED}
    counted = "repeat" in mapped

    def read(line: bytes, number: int) -> RunRecord | None:
        if len(line) >= LONGEST_LINE:
            return None
        try:
            cells = as_tuple(decode(line))
        except (ValueError, msgspec.MsgspecError, RecursionError):
            return None
        task_id, named, run_id, repeat, success, started = cells[:6]
        ran, who, started_at = named or arm, _agent(cells[15], cells[16], cells[14]), moment(started)
        if (
            not task_id
            or not ran
            or who is None
            or (counted and repeat is None)
            or (started_at is None) != (started is None)
        ):
            return None
        if task_id.strip() != task_id or ran.strip() != ran or (run_id or "").strip() != (run_id or ""):
            return None
        if run_id is None:
            run_id = f"{task_id}/{ran}/{repeat}" if counted else f"{task_id}/{ran}/row {number:07}"
            if len(run_id) > LONGEST_NAME:
                return None
        return RunRecord(
            run_id=run_id,
            trial=Trial(task_id=task_id, arm=ran, repeat=repeat or 0, seed=None),
            agent=who,
            started_at=started_at,
            duration_seconds=cells[6],
            usage=Usage(
                input_tokens=cells[8],
                output_tokens=cells[9],
                cache_read_tokens=cells[10],
                cache_write_tokens=cells[11],
            ),
            cost=reported_cost(cells[7]),
            step_count=cells[12],
            tool_call_count=cells[13],
            checks=checks.get(success),
            artifacts={},
            extra={name: cell for name, cell in zip(others, cells[size:], strict=True) if cell not in _NOTHING},
            **constant,
        )

    return read


@lru_cache(maxsize=1000)
def _agent(name: str | None, version: str | None, model: str | None) -> AgentIdentity | None:
    """Who ran; None where a name has to be trimmed."""
    given = [label for label in (name, version, model) if label is not None]
    return agent(name, version, model) if all(label.strip() == label for label in given) else None


def _row_type(mapped: dict[str, str], others: Sequence[str]) -> type[msgspec.Struct] | None:
    """Every field in its place, mapped or not; a row with a column that was not seen before is no such row.

    There is none where one column is two fields, or has a name that cannot be looked for.
    """
    fields: list[tuple[str, Any, Any]] = [(field, kind, None) for field, kind in _TYPES.items()]
    fields += [(f"other_{number}", Any, None) for number in range(len(others))]
    called = {field: mapped.get(field, f"({field} is not mapped)") for field in _TYPES}
    called |= {f"other_{number}": name for number, name in enumerate(others)}
    if len(set(called.values())) < len(called) or any(_UNUSUAL.search(name) for name in called.values()):
        return None
    return msgspec.defstruct("Row", fields, rename=called, forbid_unknown_fields=True, frozen=True, gc=False)
