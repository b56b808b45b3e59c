"""Verdicts from datasets of columns, against what DuckDB and pandas take for the same figures from the same files."""

from pathlib import Path
from statistics import median

from benchmarks.launch import Cost
from benchmarks.measure import A_VERDICT, OUTWEIGH, PYTHON, Command, cost_of
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic_dataset import REPEATS, write_dataset

_ENGINES = Path(__file__).with_name("column_engines.py")
_INCONCLUSIVE = 3
_ROUNDS = 3
_MILLION, _TEN_MILLIONS, _HUNDRED_MILLIONS = 10**6, 10**7, 10**8


def measure(setting: Setting) -> list[Ratio]:
    """Processor time and peak memory of whole processes; more than a million runs only for long measurements.

    A hundred million runs of four arms take 4.5 GB on disk, and a quarter of an hour where other programs want the
    cores too.
    """
    if not setting.full:
        return _of_size(setting.folder, _MILLION)
    several = [ratio for size in (_MILLION, _TEN_MILLIONS) for ratio in _of_size(setting.folder, size)]
    return [*several, *_of_four_arms(setting.folder, _HUNDRED_MILLIONS)]


def _of_four_arms(folder: Path, runs: int) -> list[Ratio]:
    """A verdict on three candidates, once and without peers."""
    dataset = write_dataset(folder / f"dataset-{runs}", tasks=runs // (4 * REPEATS), arms=4)
    cost = cost_of((*OUTWEIGH, "verdict", str(dataset), "--baseline", "baseline"), (*A_VERDICT, _INCONCLUSIVE))
    return [
        Ratio(
            name=f"seconds of a verdict on {runs:,} runs of four arms, to 60 s",
            measured=cost.seconds / 60,
            target=1.0,
            better="lower",
            note=f"{cost.seconds:.0f} s, {cost.processor_seconds:.0f} s of a core",
        ),
        Ratio(
            name=f"peak memory of a verdict on {runs:,} runs of four arms, to 4 GB",
            measured=cost.peak_bytes / 4e9,
            target=1.0,
            better="lower",
            note=f"{cost.peak_bytes / 1e6:.0f} MB",
        ),
    ]


def _of_size(folder: Path, runs: int) -> list[Ratio]:
    dataset = write_dataset(folder / f"dataset-{runs}", tasks=runs // (2 * REPEATS), arms=2)
    commands: dict[str, Command] = {
        "outweigh verdict": (*OUTWEIGH, "verdict", str(dataset), "--baseline", "baseline"),
        "DuckDB": (*PYTHON, str(_ENGINES), "duckdb", str(dataset), "candidate-1"),
        "pandas": (*PYTHON, str(_ENGINES), "pandas", str(dataset), "candidate-1"),
    }
    costs = _costs(commands)
    ours = costs["outweigh verdict"]
    return [
        *(_ratio(f"{name} : outweigh verdict", runs, costs[name], ours) for name in ("DuckDB", "pandas")),
        Ratio(
            name=f"peak memory of a verdict on {runs:,} runs, to 1 GB",
            measured=ours.peak_bytes / 1e9,
            target=1.0,
            better="lower",
            note=", ".join(f"{name} {cost.peak_bytes / 1e6:.0f} MB" for name, cost in costs.items()),
        ),
    ]


def _ratio(name: str, runs: int, theirs: Cost, ours: Cost) -> Ratio:
    target = 3.0 if name.startswith("pandas") and runs == _TEN_MILLIONS else None
    if name.startswith("DuckDB") and runs == _MILLION:
        target = 0.5
    return Ratio(
        name=f"{name}, processor time on a dataset of {runs:,} runs",
        measured=theirs.processor_seconds / ours.processor_seconds,
        target=target,
        better="higher",
        note=f"{theirs.processor_seconds:.2f} s : {ours.processor_seconds:.2f} s",
    )


def _costs(commands: dict[str, Command]) -> dict[str, Cost]:
    """Medians over interleaved rounds, after one that compiles the modules."""
    seen: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(_ROUNDS + 1):
        for name, command in commands.items():
            cost = cost_of(command, (*A_VERDICT, _INCONCLUSIVE) if name.startswith("outweigh") else (0,))
            if number:
                seen[name].append(cost)
    return {name: Cost(*map(median, zip(*costs, strict=True))) for name, costs in seen.items()}
