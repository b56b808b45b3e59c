"""The task bootstrap: one seeded matrix of task weights shared by every arm and metric, and intervals from its
draws.

A draw gives each task the number of times it was drawn, so any statistic of weighted sums is bootstrapped for all
arms and metrics by one matrix product, and differences between arms keep their pairing.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.distributions import normal_cdf, t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded only where random numbers are drawn

Floats = NDArray[np.float64]
Weights = NDArray[np.int64]

_CELLS_PER_BLOCK = 2**17
_CELLS_PER_PRODUCT = 2**20
_THREADS = 2


def bootstrap(statistic: Callable[[Weights], Floats], tasks: int, draws: int, seed: int) -> Floats:
    """Apply a statistic of the weights to every draw without ever holding the whole weight matrix."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - slow to import, and most verdicts draw nothing

    def of_block(place: tuple[int, int]) -> Floats:
        block, size = place
        return statistic(_weight_block(tasks, seed, block)[:size])

    # Every block has its own generator, so neither the number of threads nor their order changes a draw.
    with ThreadPoolExecutor(_THREADS) as threads:
        return np.concatenate(list(threads.map(of_block, enumerate(_block_sizes(tasks, draws)))))


def bootstrap_means(columns: ArrayLike, draws: int, seed: int) -> Floats:
    """Return the mean of every column in every draw (draws × columns) from one shared set of weights."""
    table = _round_for_exact_sums(_as_table(columns))
    return bootstrap(lambda weights: _mean_exactly(weights, table), len(table), draws, seed)


def _block_sizes(tasks: int, draws: int) -> list[int]:
    """How many draws each block holds: the size depends on the tasks alone, so more draws never change earlier ones."""
    if tasks < 1 or draws < 1:
        raise ValueError(f"a bootstrap needs at least one task and one draw, not {tasks} and {draws}")
    rows = _rows_per_block(tasks)
    return [min(rows, draws - start) for start in range(0, draws, rows)]


def _rows_per_block(tasks: int) -> int:
    return max(1, _CELLS_PER_BLOCK // tasks)


def _weight_block(tasks: int, seed: int, block: int) -> Weights:
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block,)))
    return _draw_weights(generator, _rows_per_block(tasks), tasks)


def _draw_weights(generator: "Generator", rows: int, tasks: int) -> Weights:
    # Counting drawn task numbers is the multinomial itself, several times faster than drawing binomials one by one;
    # sixteen random bits per drawn task halve the cost of drawing.
    drawn = generator.integers(tasks, size=(rows, tasks), dtype=np.uint16 if tasks <= 2**16 else np.uint32)
    cells = drawn + np.arange(0, rows * tasks, tasks, dtype=np.int64)[:, None]
    return np.bincount(cells.ravel(), minlength=rows * tasks).reshape(rows, tasks)


def _mean_exactly(weights: Weights, rounded: Floats) -> Floats:
    doubles = weights.astype(np.float64)
    # BLAS computes products this small on one core, so a busy second core delays nothing; eight rows fill a kernel.
    rows = 8 * max(1, _CELLS_PER_PRODUCT // max(1, 8 * rounded.size))
    sums: Floats = np.concatenate([doubles[row : row + rows] @ rounded for row in range(0, len(doubles), rows)])
    return sums / len(rounded)


def _round_for_exact_sums(table: Floats) -> Floats:
    """Round every column to so few bits that its weighted sums are exact, in whatever order they are added.

    The rounding is below 2⁻⁵² × tasks of the column's largest value: 1e-13 of it for a thousand tasks.
    """
    _, exponents = np.frexp(np.abs(table).max(axis=0))
    quanta = np.maximum(np.ldexp(1.0, exponents + math.ceil(math.log2(len(table))) - 53), np.finfo(np.float64).tiny)
    rounded: Floats = np.rint(table / quanta) * quanta
    return rounded


def _as_table(columns: ArrayLike) -> Floats:
    table = np.asarray(columns, dtype=np.float64)
    return table[:, None] if table.ndim == 1 else table


def expanded_percentile_interval(draws: ArrayLike, point: float, tasks: int, level: float = 0.95) -> Estimate:
    """Widen the percentile interval so that it covers at the nominal rate with few tasks, as the t interval does."""

    def ends(values: Floats) -> tuple[float, float, float]:
        tail = normal_cdf(-math.sqrt(tasks / (tasks - 1)) * t_quantile(0.5 + level / 2, tasks - 1))
        return *_central_quantiles(values, tail), tail

    return _estimate(draws, point, tasks, level, "expanded percentile task bootstrap", ends)


def percentile_interval(draws: ArrayLike, point: float, tasks: int, level: float = 0.95) -> Estimate:
    """Take the plain quantiles of the draws; too narrow with fewer than some fifty tasks."""

    def ends(values: Floats) -> tuple[float, float, float]:
        tail = (1 - level) / 2
        return *_central_quantiles(values, tail), tail

    return _estimate(draws, point, tasks, level, "percentile task bootstrap", ends)


def _central_quantiles(values: Floats, tail: float) -> tuple[float, float]:
    low, high = (_rank(len(values), probability) for probability in (tail, 1 - tail))
    parted = np.partition(values, (low, high))
    return float(parted[low]), float(parted[high])


def _rank(size: int, probability: float) -> int:
    exact = probability * (size - 1)
    return math.floor(exact) if probability < 0.5 else math.ceil(exact)


def _estimate(
    draws: ArrayLike,
    point: float,
    tasks: int,
    level: float,
    method: str,
    ends: Callable[[Floats], tuple[float, float, float]],
) -> Estimate:
    # One column of a table of draws is strided; everything below reads it several times.
    values = np.ascontiguousarray(draws, dtype=np.float64)
    error, interval = None, None
    warnings = _objections(values, point, tasks)
    if not warnings:
        error = _standard_error(values, tasks)
        low, high, tail = ends(values)
        if _is_rounding(low, high):
            warnings = ("the draws near both ends of the interval are the same, so its width is unknown",)
        else:
            interval = Interval(low=low, high=high, level=level, method=method)
            warnings = _reservations(values, tail)
    return Estimate(
        point=float(point) if math.isfinite(point) else None,
        interval=interval,
        standard_error=error,
        n=tasks,
        unit=Unit.TASK,
        method=method,
        warnings=warnings,
    )


def _objections(values: Floats, point: float, tasks: int) -> tuple[str, ...]:
    if not math.isfinite(point):
        return ("the statistic is not a finite number on the data itself",)
    if tasks < 2:
        return (f"a bootstrap interval needs at least 2 tasks, not {tasks}",)
    missing = int(np.isnan(values).sum())
    if missing or not len(values):
        return (f"the statistic cannot be computed in {missing} of {len(values)} draws",)
    if _is_rounding(float(values.min()), float(values.max())):
        return ("every draw gives the same value, so the data do not show how uncertain it is",)
    return ()


def _is_rounding(low: float, high: float) -> bool:
    """Say whether two ends differ by no more than the rounding of a sum, so that 0.1 repeated has no width."""
    if math.isinf(low) or math.isinf(high):
        return low == high
    return not high - low > 1e-12 * max(abs(low), abs(high))


def _reservations(values: Floats, tail: float) -> tuple[str, ...]:
    if tail * len(values) < 1:
        return ("the interval asks for rarer draws than were made; it ends at the most extreme draw",)
    return ()


def _standard_error(values: Floats, tasks: int) -> float | None:
    """Return the spread of the draws with Bessel's correction for the number of tasks, which resampling leaves out."""
    if not np.isfinite(values).all():
        return None
    return float(values.std()) * math.sqrt(tasks / (tasks - 1))
