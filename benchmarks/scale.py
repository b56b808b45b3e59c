"""Scale: does one more record cost the default verdict the same when there are a hundred or a thousand times as many?

The records have runs that were lost, which the verdict must fill in both ways.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.launch import Cost
from benchmarks.measure import A_VERDICT, cost_of
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import write_records
from benchmarks.verdicts import verdict_command

Sizes = tuple[int, int, int]

_SIZES = (1_000, 10_000, 100_000)
_HUGE = 1_000_000
_ROUNDS = 5
_TARGET = 1.5


def measure(setting: Setting) -> list[Ratio]:
    """Processor time and memory of whole processes, per record added, from each size to the next.

    Differences between sizes leave out what starting costs, which would make every large file look better than a
    small one.
    """
    sizes = (*_SIZES, _HUGE) if setting.full else _SIZES
    costs = _costs(setting, sizes)
    seconds = {size: cost.processor_seconds for size, cost in costs.items()}
    megabytes = {size: cost.peak_bytes / 1e6 for size, cost in costs.items()}
    steps = list(zip(sizes, sizes[1:], sizes[2:], strict=False))
    return [
        *(_growth("processor time", step, seconds, target=_TARGET, digits=".2f", unit="s") for step in steps),
        *(_growth("peak memory", step, megabytes, target=None, digits=".0f", unit="MB") for step in steps),
    ]


def _growth(
    what: str, sizes: Sizes, amounts: Mapping[int, float], *, target: float | None, digits: str, unit: str
) -> Ratio:
    small, middle, large = sizes
    upper = (amounts[large] - amounts[middle]) / (large - middle)
    lower = (amounts[middle] - amounts[small]) / (middle - small)
    return Ratio(
        name=f"verdict with missing runs, {what} per record, {middle:,} to {large:,} : {small:,} to {middle:,}",
        measured=upper / lower,
        target=target,
        better="lower",
        note=", ".join(f"{amounts[size]:{digits}} {unit}" for size in sizes),
    )


def _costs(setting: Setting, sizes: Sequence[int]) -> dict[int, Cost]:
    """Medians over interleaved rounds; the longest is measured once, between runs of what it is compared with."""
    files = {size: write_records(setting.folder / f"{size}.jsonl", size) for size in sizes}
    seen: dict[int, list[Cost]] = {size: [] for size in sizes}
    # The first process also compiles the modules, which takes time and memory that no later one needs.
    cost_of(verdict_command(files[min(sizes)]), A_VERDICT)
    for number in range(_ROUNDS):
        for size, file in files.items():
            if size != _HUGE or number == _ROUNDS // 2:
                seen[size].append(cost_of(verdict_command(file), A_VERDICT))
    return {size: Cost(*map(median, zip(*costs, strict=True))) for size, costs in seen.items()}
