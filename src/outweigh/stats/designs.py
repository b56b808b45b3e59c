"""Two-level designs as matrices: one row for each arm, one column for each factor, true where the arm has the factor.

Plackett–Burman designs come from Hadamard matrices (R. L. Plackett and J. P. Burman, Biometrika 33, 1946): those of
Paley's two constructions over prime fields, and their doubles. Supersaturated designs have fewer arms than factors and
are searched for among random columns (K. H. V. Booth and D. R. Cox, Technometrics 4, 1962).
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

Levels = tuple[tuple[bool, ...], ...]
"""Rows are arms, columns are factors."""

_LARGEST_SIZE = 104
_CANDIDATES = 200
_FEWEST_SUPERSATURATED = 6


def leave_one_out(factors: int) -> Levels:
    """All factors, then all but one."""
    return tuple(tuple(place != out for place in range(factors)) for out in (None, *range(factors)))


def add_one(factors: int) -> Levels:
    """No factor, then one at a time."""
    return tuple(tuple(place == only for place in range(factors)) for only in (None, *range(factors)))


def full_factorial(factors: int) -> Levels:
    """Every combination, the first factor changing fastest; no factor first, all of them last."""
    return tuple(row[::-1] for row in product((False, True), repeat=factors))


def plackett_burman_size(factors: int) -> int:
    """How many arms a Plackett–Burman design for these factors has: at least one more than factors."""
    size = next((size for size in range(4, _LARGEST_SIZE + 1, 4) if size > factors and _hadamard(size)), None)
    if size is None:
        raise ValueError(f"there is no design for {factors} factors; the largest is for {_LARGEST_SIZE - 1}")
    return size


def plackett_burman(factors: int) -> Levels:
    """The smallest Plackett–Burman design: main effects are uncorrelated, and the last arm has no factor.

    Each main effect is mixed with interactions of other factors.
    """
    if factors < 1:
        raise ValueError("a design needs at least one factor")
    signs = _hadamard(plackett_burman_size(factors)) or ()
    return tuple(tuple(sign > 0 for sign in row[1 : factors + 1]) for row in signs)


def fold_over(levels: Levels) -> Levels:
    """The design and its opposite: twice the arms, and no main effect is mixed with a two-way interaction."""
    return (*levels, *(tuple(not level for level in row) for row in levels))


Shuffle = Callable[[Sequence[int]], Sequence[int]]
"""Puts numbers into random order."""


def supersaturated(factors: int, arms: int, shuffle: Shuffle) -> Levels:
    """A design with fewer arms than it takes to estimate every factor, for ranking them.

    Every factor is in half of the arms, and no two factors are always together or always apart. Columns are chosen
    from random ones so that the largest correlation with the others is small. `arms` is even.
    """
    if arms < _FEWEST_SUPERSATURATED or arms % 2:
        raise ValueError(f"a supersaturated design needs an even number of arms, at least {_FEWEST_SUPERSATURATED}")
    half = [1] * (arms // 2) + [-1] * (arms // 2)
    columns: list[Sequence[int]] = []
    while len(columns) < factors:
        offered = [shuffle(half) for _ in range(_CANDIDATES)]
        best = min(offered, key=lambda column: _closeness(column, columns))
        if columns and _closeness(best, columns)[0] == arms:
            raise ValueError(f"{arms} arms are too few to tell {factors} factors apart")
        columns.append(best)
    return tuple(tuple(column[row] > 0 for column in columns) for row in range(arms))


def _closeness(column: Sequence[int], others: Sequence[Sequence[int]]) -> tuple[int, int]:
    products = [sum(map(int.__mul__, column, other)) for other in others]
    return max(map(abs, products), default=0), sum(each * each for each in products)


@cache
def _hadamard(size: int) -> tuple[tuple[int, ...], ...] | None:
    """A Hadamard matrix whose first column is +1 and whose last row is -1 but for that; None where none is known here.

    For size - 1 a prime the other columns are Plackett and Burman's: the first row, shifted by one place in each row.
    """
    if _is_prime(size - 1) and size % 4 == 0:
        first = _residue_signs(size - 1)
        order = size - 1
        rows = [(1, *(first[(place - row) % order] or 1 for place in range(order))) for row in range(order)]
        return (*rows, (1, *[-1] * order))
    if size % 4 == 0 and _is_prime(size // 2 - 1) and (size // 2 - 1) % 4 == 1:
        return _normalize(_second_paley(size // 2 - 1))
    half = _hadamard(size // 2) if size % 8 == 0 else None
    return (
        None
        if half is None
        else _normalize([*((*row, *row) for row in half), *((*row, *map(int.__neg__, row)) for row in half)])
    )


def _second_paley(prime: int) -> list[tuple[int, ...]]:
    """The construction for a prime that leaves 1 when divided by 4, of twice the size of its conference matrix."""
    signs = _residue_signs(prime)
    inner = [[1, *(signs[(row - place) % prime] for place in range(prime))] for row in range(prime)]
    conference = [[0, *[1] * prime], *inner]
    plus = [[value + (row == place) for place, value in enumerate(line)] for row, line in enumerate(conference)]
    minus = [[value - (row == place) for place, value in enumerate(line)] for row, line in enumerate(conference)]
    top = [(*one, *other) for one, other in zip(plus, minus, strict=True)]
    return [*top, *((*one, *map(int.__neg__, other)) for one, other in zip(minus, plus, strict=True))]


def _normalize(rows: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The same matrix with signs turned so that the first column is +1 and the last row -1 but for that."""
    turned = [[value * row[0] for value in row] for row in rows]
    last = turned[-1]
    return tuple((row[0], *(-value * sign for value, sign in zip(row[1:], last[1:], strict=True))) for row in turned)


def _residue_signs(prime: int) -> list[int]:
    """For every remainder: 0 for 0, 1 for a square, -1 for any other."""
    squares = {number * number % prime for number in range(1, prime)}
    return [0, *(1 if number in squares else -1 for number in range(1, prime))]


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
