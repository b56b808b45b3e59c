"""A run that somebody else made: what its source says, and unknown for everything that it does not."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from outweigh.ports import FieldOrigin
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.record.status import Status
from outweigh.record.stored import Json
from outweigh.record.trial import Trial
from outweigh.record.usage import NO_USAGE

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
    kept: Json = {}
    left_out: list[str] = []
    room = EXTRA_BYTES
    for name, value in raw.items():
        if value is None:
            continue
        size = _size(value)
        if size > room:
            left_out.append(name)
        else:
            kept[name] = value
            room -= size
    return kept | {"left_out": left_out} if left_out else kept


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
