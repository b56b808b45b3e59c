"""Many runs in one line: what they have in common once, and the columns of what differs.

    {"schema":"outweigh.runs/1","alike":{…},"columns":{"run_id":["1","2"],…},"own":{},"crc32":"1c291ca3"}

The records of such a line are byte for byte those that were packed into it. An import of many rows keeps them so,
because a record of which a table fills five fields takes nine times the room of its row.
"""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from outweigh.model.base import Amount, Count, Json, Moment, Name, RunId, Stored
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import AgentIdentity, RunRecord
from outweigh.model.usage import Cost


class _Columns(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    gc=False,
    rename=lambda name: name.replace("__", "."),
):
    """The columns that a line can have, with what their values must be like; two underscores stand for a point."""

    run_id: list[RunId]
    trial__task_id: list[Name]
    trial__arm: list[Name]
    trial__repeat: list[Count]
    agent: list[AgentIdentity] | UnsetType = UNSET
    family: list[str | None] | UnsetType = UNSET
    started_at: list[Moment | None] | UnsetType = UNSET
    duration_seconds: list[Amount | None] | UnsetType = UNSET
    usage__input_tokens: list[Count | None] | UnsetType = UNSET
    usage__output_tokens: list[Count | None] | UnsetType = UNSET
    usage__cache_read_tokens: list[Count | None] | UnsetType = UNSET
    usage__cache_write_tokens: list[Count | None] | UnsetType = UNSET
    cost: list[Cost] | UnsetType = UNSET
    cost__usd: list[Amount] | UnsetType = UNSET
    step_count: list[Count | None] | UnsetType = UNSET
    tool_call_count: list[Count | None] | UnsetType = UNSET
    checks__passed: list[bool | None] | UnsetType = UNSET
    extra: list[Json] | UnsetType = UNSET


class PackedRuns(Stored, frozen=True, tag_field="schema", tag="outweigh.runs/1"):
    """The line. `alike` has the names of the first run; `own` has the columns of what a table says besides."""

    alike: RunRecord
    columns: _Columns
    own: dict[str, list[Any]]


_FIELDS = dict(zip(_Columns.__struct_encode_fields__, _Columns.__struct_fields__, strict=True))
_NAMES = ("run_id", "trial.task_id", "trial.arm", "trial.repeat")
_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(PackedRuns)


def pack_runs(runs: RunColumns) -> bytes | None:
    """The runs as one canonical line, without a checksum; None where a column has no place in one."""
    if not runs.columns.keys() <= _FIELDS.keys():
        return None
    run_id, task_id, arm, repeat = (runs.columns[place][0] for place in _NAMES)
    alike = replace(runs.alike, run_id=run_id, trial=replace(runs.alike.trial, task_id=task_id, arm=arm, repeat=repeat))
    columns = _Columns(**{_FIELDS[place]: [*column] for place, column in runs.columns.items()})
    own = {name: [*column] for name, column in runs.own.items()}
    return _encoder.encode(PackedRuns(alike=alike, columns=columns, own=own))


def unpack_runs(content: bytes) -> RunColumns:
    """The inverse; ValueError for a line that is not as it was written."""
    packed = _decoder.decode(content)
    if _encoder.encode(packed) != content:
        raise ValueError("the runs that are packed into the line are not as they were written: it was changed")
    columns = {
        place: column for place, name in _FIELDS.items() if (column := getattr(packed.columns, name)) is not UNSET
    }
    if len({len(column) for column in (*columns.values(), *packed.own.values())}) > 1:
        raise ValueError("the columns of the line are not equally long")
    checks = packed.alike.checks
    if "checks.passed" in columns and (checks is None or len(checks) != 1):
        raise ValueError("the line has results of one check, and its runs do not have one")
    return RunColumns(packed.alike, columns, packed.own)
