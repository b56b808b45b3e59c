"""Tables: from a line of JSON to a validated run, against reading that line as JSON and no more.

Records are read from memory by both sides, tables from the same file: to find the lines is part of reading one.
"""

from collections import deque
from collections.abc import Iterable
from pathlib import Path

import msgspec
import orjson

from benchmarks.measure import median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import lines
from outweigh.adapters.importers.table import Table
from outweigh.ports import ImportNotes
from outweigh.record.codec import decode_lines, refuse
from outweigh.testing.importer_contract import import_request

_ROWS = 50_000
_RECORDS = 5_000
_ROUNDS = 9
_TARGET = 2.5


def measure(setting: Setting) -> list[Ratio]:
    """Records as outweigh writes them, then a table of others with all the columns that one can have."""
    records = lines(_RECORDS, steps=0)
    table = setting.folder / "table.jsonl"
    table.write_bytes(b"".join(map(_row, range(_ROWS))))
    seconds = median_seconds(
        {
            "records": lambda: deque(decode_lines(records, "lines", refuse), maxlen=0),
            "records as JSON": lambda: _only_json(records),
            "rows": lambda: _read(table),
            "rows as JSON": lambda: _only_json_of(table),
        },
        _ROUNDS,
    )
    return [_ratio("records", len(records), seconds), _ratio("rows", _ROWS, seconds)]


def _ratio(what: str, count: int, seconds: dict[str, float]) -> Ratio:
    ours, theirs = (1e6 * seconds[name] / count for name in (what, f"{what} as JSON"))
    shown = {"records": "a record, validated", "rows": "a row of a table as a run"}[what]
    note = f"{ours:.1f} µs : {theirs:.1f} µs, {1e6 / ours:,.0f}/s"
    return Ratio(name=f"{shown} : orjson.loads", measured=ours / theirs, target=_TARGET, better="lower", note=note)


def _read(path: Path) -> None:
    notes = ImportNotes()
    found = deque(enumerate(Table().read(import_request(path), notes), start=1), maxlen=1)
    if found[0][0] != _ROWS or notes.unreadable:
        raise ValueError(f"{path}: not every row was read")


def _only_json_of(path: Path) -> None:
    with path.open("rb") as stream:
        _only_json(stream)


def _only_json(batch: Iterable[bytes]) -> None:
    for line in batch:
        orjson.loads(line)


def _row(number: int) -> bytes:
    """Every field that the quick way knows, and two more; what differs from run to run differs here too."""
    arm = number % 2
    row = {
        "task_id": f"task-{number // 2 % 500:04}",
        "arm": ("plain", "skill")[arm],
        "repeat": 1 + number // 1000,
        "run_id": f"run-{number:07}",
        "success": number % 3 > 0,
        "started_at": f"2026-01-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:{number % 59:02}Z",
        "duration_seconds": round(61 + 0.001 * number, 3),
        "cost_usd": round(0.1 + 0.00001 * number, 5),
        "input_tokens": 1200 + number,
        "output_tokens": 340 + 7 * number,
        "cache_read_tokens": 90_000 + 3 * number,
        "cache_write_tokens": 4_000 + number % 977,
        "step_count": 12 + number % 31,
        "tool_call_count": 30 + number % 47,
        "model": ("claude-opus-4-5", "gpt-5-codex")[arm],
        "agent": ("claude-code", "codex")[arm],
        "commit": f"{number * 2654435761 % 2**64:016x}aa384ceb51c1c3e31254d3b8",
        "note": "nightly",
    }
    return msgspec.json.encode(row) + b"\n"
