"""Tables: from a line of JSON to a validated run, against reading that line as JSON and no more."""

from collections import deque
from collections.abc import Sequence
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

_ROWS = 20_000
_ROUNDS = 9
_TARGET = 2.5


def measure(setting: Setting) -> list[Ratio]:
    """Records as outweigh writes them, then a table of others with all the columns that one can have."""
    records = lines(_ROWS // 4, steps=0)
    table = setting.folder / "table.jsonl"
    table.write_bytes(b"".join(map(_row, range(_ROWS))))
    rows = table.read_bytes().splitlines()
    seconds = median_seconds(
        {
            "records": lambda: deque(decode_lines(records, "lines", refuse), maxlen=0),
            "records as JSON": lambda: _only_json(records),
            "rows": lambda: _read(table),
            "rows as JSON": lambda: _only_json(rows),
        },
        _ROUNDS,
    )
    return [_ratio("records", len(records), seconds), _ratio("rows", len(rows), seconds)]


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


def _only_json(batch: Sequence[bytes]) -> None:
    for line in batch:
        orjson.loads(line)


def _row(number: int) -> bytes:
    row = {
        "task_id": f"task-{number % 500:04}",
        "arm": ("plain", "skill")[number % 2],
        "repeat": number // 1000,
        "run_id": f"run-{number:07}",
        "success": number % 3 > 0,
        "started_at": "2026-01-02T03:04:05Z",
        "duration_seconds": 61.25 + number % 7,
        "cost_usd": 0.125,
        "input_tokens": 1200 + number,
        "output_tokens": 340,
        "cache_read_tokens": 90_000,
        "cache_write_tokens": 4_000,
        "step_count": 12,
        "tool_call_count": 30,
        "model": "claude-opus-4-5",
        "agent": "claude-code",
        "commit": "64d178d53aa384ceb51c1c3e31254d3bb8f90b95",
        "note": "nightly",
    }
    return msgspec.json.encode(row) + b"\n"
