"""Tables: from a line of JSON to a validated run, against reading that line as JSON and no more.

Records are read from memory by both sides, tables from the same file: to find the lines is part of reading one.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
import orjson

from benchmarks.launch import Cost
from benchmarks.measure import OUTWEIGH, PYTHON, cost_of, keep_bytecode, median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import lines
from outweigh.interop.table.importer import TableImporter
from outweigh.model.codec import decode_lines, refuse_invalid
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import import_request

_ROWS = 50_000
_RECORDS = 5_000
_ROUNDS = 15
_TARGET = 2.5


def measure(setting: Setting) -> list[Ratio]:
    """Records as outweigh writes them, then a table of others with all the columns that one can have."""
    records = lines(_RECORDS, steps=0)
    keep_bytecode(setting.folder)
    _imported(setting.folder, 10)  # the first process of each program compiles its modules
    table = setting.folder / "table.jsonl"
    table.write_bytes(b"".join(map(_row, range(_ROWS))))
    seconds = median_seconds(
        {
            "records": lambda: deque(decode_lines(records, "lines", refuse_invalid), maxlen=0),
            "records as JSON": lambda: _only_json(records),
            "rows": lambda: _read(table),
            "rows as JSON": lambda: _only_json_of(table),
        },
        _ROUNDS,
        process_time,
    )
    sizes = (100_000, 1_000_000) if setting.full else (10_000, 100_000)
    return [
        _ratio("records", len(records), seconds),
        _ratio("rows", _ROWS, seconds),
        _command(setting.folder, *sizes),
        *_beside_pandas(setting, sizes[1]),
    ]


def _ratio(what: str, size: int, seconds: dict[str, float]) -> Ratio:
    ours, theirs = (1e6 * seconds[name] / size for name in (what, f"{what} as JSON"))
    shown = {"records": "a record, validated", "rows": "a row of a table as a run"}[what]
    note = f"{ours:.1f} µs : {theirs:.1f} µs, {1e6 / ours:,.0f}/s"
    return Ratio(name=f"{shown} : orjson.loads", measured=ours / theirs, target=_TARGET, better="lower", note=note)


def _command(folder: Path, fewer: int, more: int) -> Ratio:
    """The whole command, from the table to a folder of sealed records: its memory, and its processor time by row."""
    one, other = (_imported(folder, rows) for rows in (fewer, more))
    added = (other.processor_seconds - one.processor_seconds) / (more - fewer)
    note = f"{other.peak_bytes / 1e6:.0f} MB : {one.peak_bytes / 1e6:.0f} MB, {1e6 * added:.1f} µs for each added row"
    name = f"peak memory of importing a table of {more:,} rows : of {fewer:,} rows"
    return Ratio(name=name, measured=other.peak_bytes / one.peak_bytes, target=1.5, better="lower", note=note)


def _imported(folder: Path, rows: int) -> Cost:
    table, runs = folder / f"table-{rows}.jsonl", folder / f"runs-{rows}"
    with table.open("wb") as stream:
        stream.writelines(map(_row, range(rows)))
    return cost_of((*OUTWEIGH, "import", "table", str(table), "-o", str(runs)))


def _beside_pandas(setting: Setting, rows: int) -> list[Ratio]:
    """The whole command, and pandas that reads and groups the same rows; nothing where pandas is not installed."""
    if find_spec("pandas") is None:
        return []
    narrow = ("task_id", "arm", "repeat", "success", "duration_seconds", "cost_usd")
    unnumbered = tuple(name for name in narrow if name != "repeat")
    found: list[Ratio] = []
    for size, names in ((rows, narrow), (rows, unnumbered), (rows // 5, tuple(_cells(0)))):
        table = setting.folder / f"table-{len(names)}-columns.jsonl"
        with table.open("wb") as stream:
            stream.writelines(_line({name: cells[name] for name in names}) for cells in map(_cells, range(size)))
        if not found:
            cost_of((*PYTHON, "-c", _PANDAS, str(table)))
        found.append(_ratio_to_pandas(setting.folder, table, f"{size:,} rows of {len(names)} columns"))
    return found


def _ratio_to_pandas(folder: Path, table: Path, what: str) -> Ratio:
    runs = folder / f"runs-{table.stem}"
    ours = cost_of((*OUTWEIGH, "import", "table", str(table), "-o", str(runs))).processor_seconds
    theirs = cost_of((*PYTHON, "-c", _PANDAS, str(table))).processor_seconds
    note = f"{ours:.2f} s : {theirs:.2f} s of processor time"
    name = f"import of {what} : pandas.read_json and groupby"
    return Ratio(name=name, measured=ours / theirs, target=1.0, better="lower", note=note)


_PANDAS = """
import sys, pandas
frame = pandas.read_json(sys.argv[1], lines=True)
frame.groupby(["task_id", "arm"])["success"].mean()
"""


def _read(path: Path) -> None:
    notes = ImportNotes()
    number = count()
    deque(zip(TableImporter().read(import_request(path), notes), number, strict=False), maxlen=0)
    if next(number) != _ROWS or notes.unreadable:
        raise ValueError(f"{path}: not every row was read")


def _only_json_of(path: Path) -> None:
    with path.open("rb") as stream:
        _only_json(stream)


def _only_json(batch: Iterable[bytes]) -> None:
    for line in batch:
        orjson.loads(line)


def _row(number: int) -> bytes:
    return _line(_cells(number))


def _line(cells: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(cells) + b"\n"


def _cells(number: int) -> dict[str, Any]:
    """Every field that the quick way knows, and two more; what differs from run to run differs here too."""
    arm = number % 2
    return {
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
