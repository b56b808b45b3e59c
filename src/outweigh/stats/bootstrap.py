"""The task bootstrap: one seeded matrix of task weights, shared by every arm and every metric.

A draw gives each task the number of times it was drawn, so any statistic of weighted sums is bootstrapped for all
arms and metrics by one matrix product, and differences between arms keep their pairing.
"""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from numpy.random import Generator  # numpy loads its dice only when somebody names them

Floats = NDArray[np.float64]
Weights = NDArray[np.int64]

_CELLS_PER_BLOCK = 2**17
_CELLS_PER_PRODUCT = 2**20
_THREADS = 2


def weight_blocks(tasks: int, draws: int, seed: int) -> Iterator[Weights]:
    """Yield the weight matrix (draws × tasks) in blocks of rows; every row sums to the number of tasks."""
    for block, size in enumerate(_block_sizes(tasks, draws)):
        yield _weight_block(tasks, seed, block)[:size]


def task_weights(tasks: int, draws: int, seed: int) -> Weights:
    """Return the whole weight matrix, draws × tasks."""
    return np.concatenate(list(weight_blocks(tasks, draws, seed)))


def bootstrap(statistic: Callable[[Weights], Floats], tasks: int, draws: int, seed: int) -> Floats:
    """Apply a statistic of the weights to every draw without ever holding the whole weight matrix."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - slow to import, and most verdicts draw nothing

    def of_block(place: tuple[int, int]) -> Floats:
        block, size = place
        return statistic(_weight_block(tasks, seed, block)[:size])

    # Every block has its own generator, so neither the number of threads nor who comes first changes a draw.
    with ThreadPoolExecutor(_THREADS) as threads:
        return np.concatenate(list(threads.map(of_block, enumerate(_block_sizes(tasks, draws)))))


def bootstrap_means(columns: ArrayLike, draws: int, seed: int) -> Floats:
    """Return the mean of every column in every draw (draws × columns) from one shared set of weights."""
    table = _round_for_exact_sums(_as_table(columns))
    return bootstrap(lambda weights: _mean_exactly(weights, table), len(table), draws, seed)


def bootstrap_medians(values: ArrayLike, draws: int, seed: int) -> Floats:
    """Return the median of one column in every draw, from the same weights as the means with that seed."""
    column = np.asarray(values, dtype=np.float64)
    return bootstrap(lambda weights: weighted_medians(weights, column), len(column), draws, seed)


def weighted_means(weights: ArrayLike, columns: ArrayLike) -> Floats:
    """Return the mean of every column (tasks × columns) in every draw, the same on every machine.

    Each row of weights sums to the number of tasks; a missing value makes the means of its own column NaN.
    """
    return _mean_exactly(np.asarray(weights), _round_for_exact_sums(_as_table(columns)))


def weighted_medians(weights: ArrayLike, values: ArrayLike) -> Floats:
    """Return the median of the values, each repeated as often as its weight says, for every row of weights."""
    column = np.asarray(values, dtype=np.float64)
    if np.isnan(column).any():
        return np.full(len(np.asarray(weights)), np.nan)
    order = np.argsort(column, kind="stable")
    reached = np.cumsum(np.asarray(weights)[:, order], axis=1)
    total = reached[:, -1:]
    lower = np.argmax(reached >= (total + 1) // 2, axis=1)
    upper = np.argmax(reached >= total // 2 + 1, axis=1)
    ranked = column[order]
    medians: Floats = (ranked[lower] + ranked[upper]) / 2
    return medians


def jackknife_means(columns: ArrayLike) -> Floats:
    """Return the mean of every column with each task left out once (tasks × columns), in linear time."""
    table = _as_table(columns)
    left_out: Floats = (table.sum(axis=0) - table) / (len(table) - 1)
    return left_out


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


def _mean_exactly(weights: NDArray[np.generic], rounded: Floats) -> Floats:
    doubles = weights.astype(np.float64)
    # Products this small stay on one core, so that nothing waits for a busy second one; eight rows fill a BLAS kernel.
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
