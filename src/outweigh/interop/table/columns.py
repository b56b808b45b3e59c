"""Which columns of a table are which fields of a run, as the user says; and one row as a run."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from outweigh.errors import UsageError, quote_names
from outweigh.interop import field_values as cell
from outweigh.interop.column_names import FIRM_NAMES, NO_UNIT, match_name
from outweigh.interop.field_values import seconds_between
from outweigh.interop.imported_run import extra_fields, imported_run, outcome_check, real_agent, stable_id
from outweigh.interop.row_batch import FIELDS, LOOSE, BatchReader, RowRules, make_row_reader
from outweigh.interop.table_rows import TableRow, cell_at
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage, reported_cost

COLUMN_JOINER = "+"
"""Joins columns that form one name, such as `task_id=suite+case`."""

LABEL_FIELDS = ("task_id", "arm", "run_id", "model", "agent", "agent_version", "family")

FIELD_READERS: Mapping[str, cell.CellReader] = {
    **dict.fromkeys(LABEL_FIELDS, cell.read_label),
    "repeat": cell.unless_unknown(cell.read_count),
    "success": cell.unless_unknown(cell.read_outcome),
    "status": cell.unless_unknown(cell.read_status),
    "started_at": cell.unless_unknown(cell.read_time_or_unknown),
    "finished_at": cell.unless_unknown(cell.read_time_or_unknown),
    "duration_seconds": cell.unless_unknown(cell.read_amount),
    "duration_ms": cell.unless_unknown(cell.read_amount),
    "cost_usd": cell.unless_unknown(cell.read_dollars),
    "input_tokens": cell.unless_unknown(cell.read_count),
    "input_tokens_with_cache": cell.unless_unknown(cell.read_count),
    "output_tokens": cell.unless_unknown(cell.read_count),
    "cache_read_tokens": cell.unless_unknown(cell.read_count),
    "cache_write_tokens": cell.unless_unknown(cell.read_count),
    "step_count": cell.unless_unknown(cell.read_count),
    "tool_call_count": cell.unless_unknown(cell.read_count),
}
"""Every field that a column can be mapped to, and how its cells are read."""

_ENDING = cell.unless_unknown(cell.read_ending)
"""How a column is read that says whether a run passed and, of some runs, how they ended instead."""

CellPaths = tuple[tuple[str, ...], ...]


class MappedColumn(NamedTuple):
    """A field, its column or columns, and how they are read."""

    field: str
    shown: str
    paths: CellPaths
    reading: cell.CellReader

    def read(self, cells: Mapping[str, Any]) -> Any:
        """The cell's value; a ValueError names the column and says what is wrong."""
        values = [cell_at(cells, path) for path in self.paths]
        try:
            if self.field not in LABEL_FIELDS:
                return self.reading(values[0])
            parts = [self.reading(value) for value in values]
        except ValueError as fault:
            raise ValueError(f"{self.shown} is {str(values[0])[:60]!r}, {fault} ({self.field})") from None
        return None if None in parts else stable_id(*parts)


def columns_of(spec: str, sample: Mapping[str, Any]) -> list[str]:
    """The columns that a field is made of, as the user wrote them."""
    threshold = None if spec in sample else cell.parse_threshold(spec)
    if threshold is not None:
        return [threshold.column]
    return [spec] if spec in sample or not spec else spec.split(COLUMN_JOINER)


def threshold_of(spec: str, sample: Mapping[str, Any]) -> float | None:
    """From which score on a run passed, where the user says so."""
    threshold = None if spec in sample else cell.parse_threshold(spec)
    return None if threshold is None else threshold.limit


def resolve_fields(asked: Mapping[str, str]) -> dict[str, str]:
    """The user's mapping by the fields' own names: `passed` is `success`, `cost` is `cost_usd`.

    A name means a field here if a column of that name would. UsageError for a name that means none, and for two names
    of one field with different columns.
    """
    found: dict[str, str] = {}
    for name, column in asked.items():
        for field in (name,) if name in FIELD_READERS else _meant_fields(name, column):
            if found.setdefault(field, column) != column:
                raise UsageError(f"--map gives {field} two columns, {found[field]!r} and {column!r}; name one.")
    return found


def _meant_fields(name: str, column: str) -> Sequence[str]:
    """The field that another name means; a duration has the unit that its column states."""
    meant = [match.field for match in match_name(name) if match.rank < 2]
    if meant == [NO_UNIT]:
        units = ("duration_seconds", "duration_ms")
        stated = [match.field for match in match_name(column) if match.field in units]
        if column and not stated:
            ways = " or ".join(f"--map {unit}={column}" for unit in units)
            raise UsageError(f"--map {name}={column}: column {column!r} does not say its unit. Write {ways}.")
        return stated or units
    if len(meant) != 1:
        known = FIRM_NAMES | {field: field for field in FIELD_READERS}
        near = get_close_matches(name.lower(), known, n=1, cutoff=0.7)
        hint = f" Did you mean {known[near[0]]}?" if near else ""
        fields = ", ".join(FIELD_READERS)
        raise UsageError(f"--map {name}={column}: there is no such field; there is {fields}.{hint}")
    return meant


def map_columns(asked: Mapping[str, str], sample: Mapping[str, Any]) -> list[MappedColumn]:
    """The user's mapping, and columns that have the name of a field and are not used for another.

    A field with an empty name is left out, also where a column is named like it.
    """
    asked = resolve_fields(asked)
    used = {part for spec in asked.values() for part in (spec, *columns_of(spec, sample))}
    own = {field: field for field in FIELD_READERS if field in sample and field not in asked and field not in used}
    chosen = {**own, **asked}
    outcome = chosen.get("success", "")
    if isinstance(sample.get(outcome), str):
        chosen.setdefault("status", outcome)
    columns = [_map_column(field, spec, sample) for field, spec in chosen.items() if spec]
    return [
        column._replace(reading=_ENDING) if column.field == "status" and column.shown == outcome else column
        for column in columns
    ]


def undecided_outcome(run: RunRecord, cells: Mapping[str, Any], columns: Sequence[MappedColumn]) -> Any:
    """What stands for the outcome of a run that is over, where it does not say whether the run passed; else None."""
    if run.status is not Status.COMPLETED or run.checks is None or run.checks[0].passed is not None:
        return None
    column = next(column for column in columns if column.field == "success")
    return cell.unless_unknown(lambda found: found)(cell_at(cells, column.paths[0]))


def unread_times(cells: Mapping[str, Any], columns: Sequence[MappedColumn]) -> Iterator[tuple[str, Any]]:
    """Columns of times whose cells are not empty and no times, with what they hold."""
    for column in columns:
        if column.field in _TIMES and column.read(cells) is None:
            value = cell_at(cells, column.paths[0])
            if cell.unless_unknown(lambda found: found)(value) is not None:
                yield column.shown, value


_TIMES = ("started_at", "finished_at")


def looks_like_milliseconds(columns: Mapping[str, str], sample: Mapping[str, Any]) -> bool:
    """Whether a duration in seconds is a thousand times the time between start and end."""
    took, start, end = (
        sample.get(columns.get(field, "")) for field in ("duration_seconds", "started_at", "finished_at")
    )
    try:
        stated, elapsed = cell.read_amount(took), cell.read_time(end) - cell.read_time(start)
    except ValueError:
        return False
    seconds = elapsed.total_seconds()
    return seconds > 0 and 500 < stated / seconds < 2000


def _map_column(field: str, spec: str, sample: Mapping[str, Any]) -> MappedColumn:
    threshold = cell.parse_threshold(spec) if field == "success" and spec not in sample else None
    if threshold is not None:
        score = _map_column("duration_seconds", threshold.column, sample)
        return score._replace(field=field, reading=cell.unless_unknown(threshold.is_pass))
    names = [spec] if spec in sample or field not in LABEL_FIELDS else spec.split(COLUMN_JOINER)
    for name in names:
        if not any(each == name or each.startswith(f"{name}.") for each in sample):
            near = get_close_matches(name, sample, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(
                f"--map {field}={spec}: there is no column {name!r}; there is {quote_names(sample, 30)}.{hint}"
            )
    return MappedColumn(field, spec, tuple(tuple(name.split(".")) for name in names), FIELD_READERS[field])


def make_batch_reader(
    columns: Sequence[MappedColumn], names: Collection[str], arm: str | None, rules: RowRules = LOOSE
) -> BatchReader | None:
    """A reader of many rows at once; `names` are all columns that may occur, `arm` is for rows that name none.

    None if a field consists of several columns or must be computed, such as a pass from a score.
    """
    mapped = {column.field: column.paths for column in columns}
    if any(column.reading is not FIELD_READERS[column.field] for column in columns):
        return None
    if not mapped.keys() <= FIELDS or any(len(paths) > 1 or len(paths[0]) > 1 for paths in mapped.values()):
        return None
    return make_row_reader({field: paths[0][0] for field, paths in mapped.items()}, names, arm, rules)


def make_row_run(row: TableRow, columns: Sequence[MappedColumn], arm: str | None) -> RunRecord:
    """The run of a row; ValueError for a value that cannot be right. A missing repeat is 0 until it is numbered."""
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
        agent=real_agent(name=said.get("agent"), version=said.get("agent_version"), model=said.get("model")),
        family=said.get("family"),
        started_at=said.get("started_at"),
        duration_seconds=_row_duration(said),
        usage=_row_usage(said),
        cost=reported_cost(said.get("cost_usd")),
        step_count=said.get("step_count"),
        tool_call_count=said.get("tool_call_count"),
        checks=(outcome_check("success", said["success"]),) if "success" in said else None,
        extra=_unmapped_cells(row.cells, columns),
    )


def _row_duration(said: Mapping[str, Any]) -> float | None:
    if (seconds := said.get("duration_seconds")) is not None:
        found: float = seconds
        return found
    if (milliseconds := said.get("duration_ms")) is not None:
        return float(milliseconds) / 1000
    return seconds_between(said.get("started_at"), said.get("finished_at"))


def _row_usage(said: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=_uncached_input(said) if "input_tokens_with_cache" in said else said.get("input_tokens"),
        output_tokens=said.get("output_tokens"),
        cache_read_tokens=said.get("cache_read_tokens"),
        cache_write_tokens=said.get("cache_write_tokens"),
    )


def _uncached_input(said: Mapping[str, Any]) -> int | None:
    """Input tokens without the cache; None if no column says how much was read from it."""
    whole, read = said["input_tokens_with_cache"], said.get("cache_read_tokens")
    if whole is None or read is None:
        return None
    rest: int = whole - read - (said.get("cache_write_tokens") or 0)
    if rest < 0:
        raise ValueError(
            "more tokens were cached than there were; map input_tokens instead of input_tokens_with_cache?"
        )
    return rest


def _unmapped_cells(cells: Mapping[str, Any], columns: Sequence[MappedColumn]) -> dict[str, Any]:
    """The cells that no field uses, up to the size limit."""
    taken = {path[0] for column in columns for path in column.paths} | {column.shown for column in columns}
    return extra_fields({name: value for name, value in cells.items() if name not in taken and value != ""})
