"""Which columns of a table are which fields of a run, as the user says."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from outweigh.adapters.importers import table_cell as cell
from outweigh.adapters.importers.identity import stable_id
from outweigh.errors import EvidenceError, name_some

JOINT = "+"
"""Between columns that make up one name together, such as `task_id=suite+case`."""

LABELS = ("task_id", "arm", "run_id", "model", "agent", "agent_version", "family")

READINGS: Mapping[str, cell.Reading] = {
    **dict.fromkeys(LABELS, cell.label),
    "repeat": cell.known(cell.whole_number),
    "success": cell.known(cell.truth),
    "status": cell.known(cell.status),
    "started_at": cell.known(cell.time),
    "finished_at": cell.known(cell.time),
    "duration_seconds": cell.known(cell.quantity),
    "duration_ms": cell.known(cell.quantity),
    "cost_usd": cell.known(cell.dollars),
    "input_tokens": cell.known(cell.whole_number),
    "input_tokens_with_cache": cell.known(cell.whole_number),
    "output_tokens": cell.known(cell.whole_number),
    "cache_read_tokens": cell.known(cell.whole_number),
    "cache_write_tokens": cell.known(cell.whole_number),
    "step_count": cell.known(cell.whole_number),
    "tool_call_count": cell.known(cell.whole_number),
}
"""Every field that a column may be, and how its cells are read."""

Paths = tuple[tuple[str, ...], ...]


class Column(NamedTuple):
    """A field, where a row has it, and how it is read there."""

    field: str
    shown: str
    paths: Paths
    reading: cell.Reading

    def read(self, cells: Mapping[str, Any]) -> Any:
        """The cell's value; a ValueError names the column and says what is wrong."""
        values = [_at(cells, path) for path in self.paths]
        try:
            if self.field not in LABELS:
                return self.reading(values[0])
            parts = [self.reading(value) for value in values]
        except ValueError as fault:
            raise ValueError(f"{self.shown} is {str(values[0])[:60]!r}, {fault} ({self.field})") from None
        return None if None in parts else stable_id(*parts)


def columns_by_field(asked: Mapping[str, str], sample: Mapping[str, Any]) -> list[Column]:
    """What the user says; beside that, columns that bear a field's own name and are not used for another."""
    for field in asked:
        if field not in READINGS:
            raise EvidenceError(f"--map {field}=…: there is no such field; there is {', '.join(READINGS)}.")
    used = {part for spec in asked.values() for part in (spec, *spec.split(JOINT))}
    own = {field: field for field in READINGS if field in sample and field not in asked and field not in used}
    return [_column(field, spec, sample) for field, spec in {**own, **asked}.items()]


def in_milliseconds(columns: Mapping[str, str], sample: Mapping[str, Any]) -> bool:
    """Whether what is called seconds is a thousand times what lies between both ends of a run."""
    took, start, end = (
        sample.get(columns.get(field, "")) for field in ("duration_seconds", "started_at", "finished_at")
    )
    try:
        stated, elapsed = cell.quantity(took), cell.time(end) - cell.time(start)
    except ValueError:
        return False
    seconds = elapsed.total_seconds()
    return seconds > 0 and 500 < stated / seconds < 2000


def _column(field: str, spec: str, sample: Mapping[str, Any]) -> Column:
    names = [spec] if spec in sample or field not in LABELS else spec.split(JOINT)
    for name in names:
        if not any(each == name or each.startswith(f"{name}.") for each in sample):
            raise EvidenceError(f"--map {field}={spec}: there is no column {name!r}; there is {name_some(sample, 30)}.")
    return Column(field, spec, tuple(tuple(name.split(".")) for name in names), READINGS[field])


def _at(cells: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    whole = ".".join(path)
    if whole in cells:
        return cells[whole]
    value: Any = cells
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value
