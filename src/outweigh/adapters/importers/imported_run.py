"""A run that somebody else made: what its source says, and unknown for everything that it does not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeVar

import msgspec

from outweigh.ports.importers import FieldOrigin
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.record.status import Status
from outweigh.record.stored import Json
from outweigh.record.trial import Trial
from outweigh.record.usage import NO_USAGE

Kind = TypeVar("Kind", bound=msgspec.Struct)

EXTRA_BYTES = 20_000
"""So much of a source's own fields is kept with a run; a longer value is left out and named."""

_ALWAYS = ("run_id", "trial", "attempt", "status", "agent")


def imported_run(*, run_id: str, task_id: str, arm: str, repeat: int, **known: Any) -> RunRecord:
    """A run record of a real agent. `known` are fields of RunRecord; what is not among them is unknown."""
    trial = Trial(task_id=task_id, arm=arm, repeat=repeat, seed=known.pop("seed", None))
    own: dict[str, Any] = {"artifacts": {}, "extra": {}}
    return RunRecord(run_id=run_id, trial=trial, **(_UNKNOWN | own | known))


def agent(name: str | None = None, version: str | None = None, model: str | None = None) -> AgentIdentity:
    """The agent behind an imported run: results of others' harnesses are of real agents."""
    return AgentIdentity(kind=AgentKind.REAL, name=name, version=version, model=model)


_UNKNOWN: dict[str, Any] = {
    "attempt": 1,
    "status": Status.COMPLETED,
    "status_detail": None,
    "agent": agent(),
    "arm_fingerprint": None,
    "task_checksum": None,
    "family": None,
    "position": None,
    "started_at": None,
    "duration_seconds": None,
    "setup_seconds": None,
    "checks_seconds": None,
    "usage": NO_USAGE,
    "cost": UNKNOWN_COST,
    "step_count": None,
    "tool_call_count": None,
    "check_command_count": None,
    "checks": None,
    "steps": None,
    "components": None,
    "milestones": None,
    "actions": None,
    "metering": None,
    "reported": None,
    "loaded": None,
    "warnings": (),
}


UNKNOWN_COLUMNS: dict[str, Iterable[Any]] = {
    "run_id": (),
    "trial": (),
    **{name: repeat(value) for name, value in _UNKNOWN.items()},
    "artifacts": iter(dict, None),
    "extra": iter(dict, None),
}
"""Of many runs, what no source says of any of them; the first two have to be said."""


def built(kind: type[Kind], columns: Mapping[str, Iterable[Any]]) -> list[Kind]:
    """Structures of columns, each with the values of all its fields, until the first column ends.

    What is given by its place costs half of what is given by its name, which counts where there are many.
    """
    return [*map(kind, *(columns[name] for name in kind.__struct_fields__))]


def outcome(name: str, passed: bool | None, detail: str | None = None, *, required: bool = True) -> CheckResult:
    """What a harness says came out, as one check; None where it could not tell."""
    return CheckResult(
        name=name,
        required=required,
        passed=passed,
        cases_passed=None,
        cases_total=None,
        exit_code=None,
        detail=detail,
    )


def kept_fields(raw: Mapping[str, Any]) -> Json:
    """A source's own fields for `extra`, without the unknown ones; what is too long is named instead of kept."""
    known = {name: value for name, value in raw.items() if value is not None}
    if _size(known) <= EXTRA_BYTES:
        return known
    kept: Json = {}
    left_out: list[str] = []
    room = EXTRA_BYTES
    for name, value in known.items():
        size = _size(value)
        if size > room:
            left_out.append(name)
        else:
            kept[name] = value
            room -= size
    return kept | {"left_out": left_out} if left_out else kept


def kept_rows(columns: Mapping[str, Sequence[Any]], size: int) -> list[Json]:
    """`kept_fields` of so many sources at once; most columns are known of all of them or of none."""
    unknown = {name: column.count(None) for name, column in columns.items()}
    full = {name: columns[name] for name, missing in unknown.items() if not missing}
    if any(missing not in (0, size) for missing in unknown.values()):
        return [kept_fields(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    if not full:
        return [{} for _ in range(size)]
    rows: list[Json] = [dict(zip(full, row)) for row in zip(*full.values(), strict=True)]  # noqa: B905 - it is slower
    return rows if max(map(_size, rows)) <= EXTRA_BYTES else [*map(kept_fields, rows)]


def origins(*, reported: str, derived: str = "") -> Mapping[str, FieldOrigin]:
    """An importer's `fields`, from names with spaces between them; all others are unknown."""
    return dict(_origins(reported.split(), derived.split()))


def _origins(reported: list[str], derived: list[str]) -> Iterator[tuple[str, FieldOrigin]]:
    strangers = {*reported, *derived} - set(RunRecord.__struct_fields__)
    if strangers:
        raise ValueError(f"no fields of a run record: {sorted(strangers)}")
    for name in RunRecord.__struct_fields__:
        if name in reported:
            yield name, FieldOrigin.REPORTED
        elif name in derived or name in _ALWAYS:
            yield name, FieldOrigin.DERIVED
        else:
            yield name, FieldOrigin.UNKNOWN


def _size(value: object) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return EXTRA_BYTES + 1
