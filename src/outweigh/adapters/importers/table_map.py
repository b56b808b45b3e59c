"""Which columns of a table are which fields of a run: what the user says, and what can be proposed."""

import re
from collections.abc import Iterator, Mapping
from shlex import quote
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

_LIKELY = {
    "task_id": "task taskname instanceid problemid caseid case testid test exampleid questionid itemid item",
    "arm": "configname config condition conditionid variant mode configuration system setup treatment group agentname",
    "repeat": "replicate runnumber trial trialindex epoch iteration repetition rep",
    "run_id": "id uuid trialid runname",
    "success": "passed pass resolved isresolved succeeded solved correct iscorrect reward",
    "started_at": "started starttime startedat start createdat timestamp trialstartedat",
    "finished_at": "finished ended endtime endedat finishedat completedat end trialendedat",
    "duration_ms": "durationms latencyms elapsedms tookms timems milliseconds",
    "duration_seconds": "duration durations seconds elapsed elapsedseconds walltime timeseconds latency took",
    "cost_usd": "totalcostusd cost totalcost costusd usd agentcost",
    "input_tokens_with_cache": "prompttokens totalinputtokens",
    "input_tokens": "tokensin uncachedinputtokens",
    "output_tokens": "completiontokens tokensout totaloutputtokens",
    "cache_read_tokens": "cachereads cachedtokens cachedinputtokens cachereadinputtokens",
    "cache_write_tokens": "cachewrites cachecreationtokens cachecreationinputtokens",
    "step_count": "steps turns numturns apicalls",
    "tool_call_count": "toolcalls",
    "model": "modelname modelnameorpath",
    "agent": "agentkind harness",
    "family": "category domain suite",
}

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


def proposal(sample: Mapping[str, Any]) -> dict[str, str]:
    """The likely column of each field, by its name alone; nothing that is proposed is used before a user says so."""
    plain = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in reversed(list(sample))}
    found: dict[str, str] = {}
    for field in READINGS:
        for likely in (field.replace("_", ""), *_LIKELY.get(field, "").split()):
            column = plain.get(likely)
            if column is not None and column not in found.values():
                found[field] = column
                break
    if "input_tokens_with_cache" in found and "cache_read_tokens" not in found:
        found.setdefault("input_tokens", found.pop("input_tokens_with_cache"))
    if "duration_ms" in found:
        found.pop("duration_seconds", None)
    elif in_milliseconds(found, sample):
        found["duration_ms"] = found.pop("duration_seconds")
    return found


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


def guide(path: str, sample: Mapping[str, Any], arm: str | None) -> str:
    """The columns with an example each, and the command that would read them as it seems they are meant."""
    likely = proposal(sample)
    width = max(map(len, sample), default=0)
    options = " ".join(f"--map {quote(f'{field}={column}')}" for field, column in likely.items() if field != column)
    lines = [f"{path}: which columns are the task and the arm? It has", *_examples(sample, width)]
    missing = [field for field in ("task_id", "arm", "success") if field not in likely and not (field == "arm" and arm)]
    if missing:
        options += "".join(f" --map {field}=COLUMN" for field in missing)
    lines += [
        "Going by their names, this might be meant; check it, units too, and run it:",
        f"  outweigh import table {quote(path)} -o RUNS {options}",
    ]
    return "\n".join(lines)


def _examples(sample: Mapping[str, Any], width: int) -> Iterator[str]:
    for name, value in sample.items():
        shown = str(value).replace("\n", " ")
        yield f"  {name:<{width}}  {shown[:50]}{'…' if len(shown) > 50 else ''}".rstrip()


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
