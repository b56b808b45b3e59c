"""Run records of runs that another harness made: their ids, repeat numbers and fields.

Ids and fingerprints are the same whenever the same source is read. A repeat that has no number in the source is
numbered in order of time, and marked as arbitrary. A field that the source does not state is unknown.
"""

import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import repeat
from math import inf
from typing import Any, NamedTuple

import msgspec

from outweigh.model.base import Json
from outweigh.model.failure import Status
from outweigh.model.run_record import (
    ARBITRARY_REPEAT,
    REPEAT_LABEL,
    AgentIdentity,
    AgentKind,
    CheckResult,
    RunRecord,
    Trial,
)
from outweigh.model.untrusted_json import NAME_LENGTH_LIMIT
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST
from outweigh.ports.importers import FieldOrigin

_encoder = msgspec.json.Encoder(order="deterministic")


def fingerprint(value: Any) -> str:
    """The hash of a JSON value; the order of its keys does not matter."""
    return sha256(_encoder.encode(value)).hexdigest()


def decode_file_name(path: str) -> str:
    """The name of a file or folder as valid text; older programs on Windows wrote names in cp1252."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path).decode("cp1252", "replace")
    return path


def stable_id(*parts: object) -> str:
    """A run's id from its coordinates in the source; a long one is cut and made unique by its hash."""
    whole = "/".join(map(str, parts))
    if len(whole) <= NAME_LENGTH_LIMIT:
        return whole
    return f"{whole[: NAME_LENGTH_LIMIT - 17]}-{sha256(whole.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"


def stable_ids(wholes: list[str]) -> list[str]:
    """The same for many ids that are already joined."""
    return wholes if max(map(len, wholes)) <= NAME_LENGTH_LIMIT else [*map(stable_id, wholes)]


EXTRA_BYTES = 20_000
"""How many bytes of a source's own fields are kept with a run; longer values are left out and named."""

_ALWAYS_DERIVED = ("run_id", "trial", "attempt", "status", "agent")


def imported_run(*, run_id: str, task_id: str, arm: str, repeat: int, **known: Any) -> RunRecord:
    """A run record of a real agent. `known` are fields of RunRecord; all others are unknown."""
    trial = Trial(task_id=task_id, arm=arm, repeat=repeat, seed=known.pop("seed", None))
    own: dict[str, Any] = {"artifacts": {}, "extra": {}}
    return RunRecord(run_id=run_id, trial=trial, **(_UNKNOWN_FIELDS | own | known))


def real_agent(name: str | None = None, version: str | None = None, model: str | None = None) -> AgentIdentity:
    """The agent of an imported run, which is taken for a real one."""
    return AgentIdentity(kind=AgentKind.REAL, name=name, version=version, model=model)


_UNKNOWN_FIELDS: dict[str, Any] = {
    "attempt": 1,
    "status": Status.COMPLETED,
    "status_detail": None,
    "agent": real_agent(),
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
    "simulated_user": None,
}


UNKNOWN_COLUMNS: dict[str, Iterable[Any]] = {
    "run_id": (),
    "trial": (),
    **{name: repeat(value) for name, value in _UNKNOWN_FIELDS.items()},
    "artifacts": iter(dict, None),
    "extra": iter(dict, None),
}
"""Columns of unknown values for many runs at once; `run_id` and `trial` must be replaced."""


def outcome_check(name: str, passed: bool | None, detail: str | None = None, *, required: bool = True) -> CheckResult:
    """The outcome that a harness states, as one check; `passed` is None if it could not tell."""
    return CheckResult(
        name=name,
        required=required,
        passed=passed,
        cases_passed=None,
        cases_total=None,
        exit_code=None,
        detail=detail,
    )


def extra_fields(raw: Mapping[str, Any]) -> Json:
    """A source's own fields for `extra`, without unknown ones; values that are too long are named instead."""
    known = {name: value for name, value in raw.items() if value is not None}
    if _json_size(known) <= EXTRA_BYTES:
        return known
    kept: Json = {}
    left_out: list[str] = []
    bytes_left = EXTRA_BYTES
    for name, value in known.items():
        size = _json_size(value)
        if size > bytes_left:
            left_out.append(name)
        else:
            kept[name] = value
            bytes_left -= size
    return kept | {"left_out": left_out} if left_out else kept


def extra_rows(columns: Mapping[str, Sequence[Any]], size: int) -> list[Json]:
    """`extra_fields` for many rows at once; most columns are known in all rows or in none."""
    unknown = {name: column.count(None) for name, column in columns.items()}
    full = {name: columns[name] for name, missing in unknown.items() if not missing}
    if any(missing not in (0, size) for missing in unknown.values()):
        return [extra_fields(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    if not full:
        return [{} for _ in range(size)]
    rows: list[Json] = [dict(zip(full, row)) for row in zip(*full.values(), strict=True)]  # noqa: B905 - it is slower
    return rows if max(map(_json_size, rows)) <= EXTRA_BYTES else [*map(extra_fields, rows)]


def field_origins(*, reported: str, derived: str = "") -> Mapping[str, FieldOrigin]:
    """An importer's `fields`, from names separated by spaces; all others are unknown."""
    return dict(_each_origin(reported.split(), derived.split()))


def _each_origin(reported: list[str], derived: list[str]) -> Iterator[tuple[str, FieldOrigin]]:
    strangers = {*reported, *derived} - set(RunRecord.__struct_fields__)
    if strangers:
        raise ValueError(f"no fields of a run record: {sorted(strangers)}")
    for name in RunRecord.__struct_fields__:
        if name in reported:
            yield name, FieldOrigin.REPORTED
        elif name in derived or name in _ALWAYS_DERIVED:
            yield name, FieldOrigin.DERIVED
        else:
            yield name, FieldOrigin.UNKNOWN


def _json_size(value: object) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return EXTRA_BYTES + 1


LATEST_TIME = datetime.max.replace(tzinfo=UTC)
_SPOOL_BYTES = 16 * 2**20


class UnnumberedRun(NamedTuple):
    """What is needed to number a run's repeat."""

    run_id: str
    task_id: str
    arm: str
    started_at: datetime | None


class RepeatNumber(NamedTuple):
    """A repeat's number. It is `arbitrary` if we numbered several runs of one trial."""

    repeat: int
    arbitrary: bool

    @classmethod
    def of(cls, number: int) -> "RepeatNumber":
        """From `number_runs`."""
        return cls(abs(number), arbitrary=number < 0)

    def extra(self) -> Json:
        """What a run's `extra` says about its number."""
        return {REPEAT_LABEL: ARBITRARY_REPEAT} if self.arbitrary else {}


def number_repeats(runs: Iterable[UnnumberedRun]) -> Mapping[str, RepeatNumber]:
    """Number the repeats of each task and arm from 1, in order of time, then of ids; by run id.

    Repeat 2 of one arm has nothing but the number in common with repeat 2 of another. A trial with a single run needs
    no numbering.
    """
    ordered = sorted(runs, key=lambda run: (run.started_at or LATEST_TIME, run.run_id))
    size = Counter((run.task_id, run.arm) for run in ordered)
    seen: Counter[tuple[str, str]] = Counter()
    numbers: dict[str, RepeatNumber] = {}
    for run in ordered:
        key = (run.task_id, run.arm)
        seen[key] += 1
        numbers[run.run_id] = RepeatNumber(seen[key], arbitrary=size[key] > 1)
    return numbers


def with_repeat_numbers(runs: Iterable[RunRecord]) -> Iterator[RunRecord]:
    """The same runs with their repeats numbered.

    The first number may depend on the last run, so all runs are spooled to a temporary file first.
    """
    import pickle  # noqa: PLC0415 - only imports need these two, not the detection of formats
    from tempfile import SpooledTemporaryFile  # noqa: PLC0415

    with SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:

        def dump() -> Iterator[UnnumberedRun]:
            for run in runs:
                pickle.dump(run, spool)
                yield UnnumberedRun(run.run_id, run.trial.task_id, run.trial.arm, run.started_at)

        numbers = number_repeats(dump())
        end = spool.tell()
        spool.seek(0)
        while spool.tell() < end:
            # Safe to unpickle: this process wrote it a moment ago, to a file that nobody else can open.
            run: RunRecord = pickle.load(spool)
            number = numbers[run.run_id]
            trial = msgspec.structs.replace(run.trial, repeat=number.repeat)
            yield msgspec.structs.replace(run, trial=trial, extra=run.extra | number.extra())


class _RowGroup:
    """The runs of one task and arm, in the order of their rows."""

    def __init__(self) -> None:
        self.rows = array("q")
        self.times = array("d")
        self.names: list[str] = []

    def numbers(self) -> Iterator[tuple[int, int]]:
        """Rows and their repeat numbers; rows with the same run id are one run."""
        order = sorted(range(len(self.names)), key=lambda place: (self.times[place], self.names[place]))
        by_name = {self.names[place]: number for number, place in enumerate(order, start=1)}
        return ((row, by_name[name]) for row, name in zip(self.rows, self.names, strict=True))


def number_rows(runs: Iterable[RunRecord]) -> Iterator[RepeatNumber]:
    """The repeat number of each run, in order."""
    keys = (UnnumberedRun(run.run_id, run.trial.task_id, run.trial.arm, run.started_at) for run in runs)
    return map(RepeatNumber.of, number_runs(keys))


def number_runs(runs: Iterable[UnnumberedRun]) -> "array[int]":
    """The repeat number of each run, in order; a negative one marks one of several runs."""
    groups: dict[tuple[str, str], _RowGroup] = {}
    total = 0
    for total, (run_id, task_id, arm, started_at) in enumerate(runs, start=1):
        key = (task_id, arm)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _RowGroup()
        group.rows.append(total - 1)
        group.times.append(inf if started_at is None else started_at.timestamp())
        group.names.append(run_id)
    found = array("q", bytes(8 * total))
    while groups:
        _, group = groups.popitem()
        several = -1 if len(group.names) > 1 else 1
        for row, number in group.numbers():
            found[row] = several * number
    return found
