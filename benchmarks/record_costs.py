"""Records: what one costs a verdict, start to end, and what DuckDB takes to read and reduce the same lines.

Processor time of whole processes, their start included, divided by the number of records.
"""

import sys
from pathlib import Path
from statistics import median

from benchmarks.measure import A_DECISION, OUTWEIGH, Command, cost_of
from benchmarks.ratio import Ratio
from benchmarks.record_shapes import SHAPES, write_shape
from benchmarks.setting import Setting
from benchmarks.synthetic import BASELINE
from benchmarks.verdicts import DEFAULT_POLICY

_RECORDS = 100_000
_ROUNDS = 3
_TARGET = 25.0
"""Microseconds of a core."""

_POLICIES = (DEFAULT_POLICY, "gates")
_SQL = """
set threads = 1;
select trial.arm, count(*), avg(duration_seconds), stddev(duration_seconds), median(duration_seconds),
  avg(usage.input_tokens + usage.output_tokens), stddev(usage.input_tokens + usage.output_tokens),
  median(usage.input_tokens + usage.output_tokens), avg(cost.usd), stddev(cost.usd), median(cost.usd)
from read_json('{file}', format = 'newline_delimited', maximum_object_size = 1000000)
where status <> 'infra_error' group by all
"""


def measure(setting: Setting) -> list[Ratio]:
    """Every shape by every policy; each file is removed before the next is written."""
    return [ratio for shape in SHAPES for ratio in _of_shape(setting.folder, shape)]


def _of_shape(folder: Path, shape: str) -> list[Ratio]:
    file = write_shape(folder, shape, _RECORDS)
    commands: dict[str, Command] = {
        policy: (*OUTWEIGH, "verdict", str(file), "--policy", policy, "--baseline", BASELINE) for policy in _POLICIES
    }
    commands["DuckDB"] = (sys.executable, "-c", f"import duckdb; duckdb.sql({_SQL.format(file=file)!r}).fetchall()")
    seen: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(_ROUNDS):
        for name, command in commands.items():
            seen[name].append(1e6 * cost_of(command, A_DECISION).processor_seconds / _RECORDS)
    micros = {name: median(found) for name, found in seen.items()}
    size = file.stat().st_size / _RECORDS
    file.unlink()
    return [
        Ratio(
            name=f"verdict by {policy}, {_RECORDS:,} records of shape {shape!r} : {_TARGET:g} µs a record",
            measured=micros[policy] / _TARGET,
            target=1.0,
            better="lower",
            note=f"{micros[policy]:.1f} µs; DuckDB {micros['DuckDB']:.1f} µs; {size:,.0f} bytes",
        )
        for policy in _POLICIES
    ]
