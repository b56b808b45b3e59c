"""A cell of the study: what is measured, in how many draws, and what is promised about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import fmean, stdev
from typing import Any
from zlib import crc32

TOLERANCE = 3.0
"""A promise is broken when a number lies beyond its limit by more than so many standard errors of the simulation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A measured number with the standard error of the simulation. Shares (0 to 1) are shown in per cent."""

    value: float
    error: float
    share: bool = True

    @property
    def shown(self) -> str:
        """The number as the page shows it."""
        return f"{100 * self.value:.1f}" if self.share else f"{self.value:.1f}"

    @property
    def shown_error(self) -> str:
        """Its standard error on the same scale."""
        return f"{100 * self.error:.2f}" if self.share else f"{self.error:.2f}"


Readings = Mapping[str, Reading]


def share_of(hits: float, draws: int) -> Reading:
    """The share of draws in which something happened."""
    share = hits / draws
    return Reading(value=share, error=sqrt(share * (1 - share) / draws))


def mean_of(values: Sequence[float], *, share: bool = False) -> Reading:
    """The mean of one number per draw, such as the tasks used, or a difference between two rules on the same draws."""
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else inf
    return Reading(value=fmean(values), error=error, share=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A limit for one of a cell's numbers, named as in its readings."""

    reading: str
    limit: float
    upper: bool

    def excess(self, reading: Reading) -> float:
        """How far beyond the limit a number lies; negative where it keeps the promise."""
        return reading.value - self.limit if self.upper else self.limit - reading.value

    def sentence(self, *, share: bool) -> str:
        """The promise in words."""
        limit = f"{100 * self.limit:g} %" if share else f"{self.limit:g}"
        return f"{self.reading} at {'most' if self.upper else 'least'} {limit}"


def at_most(reading: str, limit: float) -> Promise:
    """The number stays below a limit."""
    return Promise(reading=reading, limit=limit, upper=True)


def at_least(reading: str, limit: float) -> Promise:
    """The number stays above a limit."""
    return Promise(reading=reading, limit=limit, upper=False)


FALSE_DECISIONS = (at_most("improved", 0.02), at_most("regressed", 0.07))
"""What is promised wherever the arms are identical."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One row of a section. `measure` is called with the arguments, the number of draws and a seed.

    `measure` must be a function of a module, so that another process can run it.
    """

    name: str
    measure: Callable[..., Readings]
    arguments: tuple[Any, ...]
    draws: int
    promises: tuple[Promise, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Cells that answer one question: a heading and a table of the page, with what the reader must know about it."""

    title: str
    words: str
    cells: tuple[Cell, ...]

    def seed(self, cell: Cell) -> int:
        """A seed that depends on the names alone, so that a new cell changes no number of another."""
        return crc32(f"{self.title}: {cell.name}".encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What came out of one cell."""

    section: str
    cell: Cell
    draws: int
    readings: Readings


def measure(section: Section, cell: Cell, draws: int, seed: int) -> Measurement:
    """Measure one cell."""
    return Measurement(
        section=section.title, cell=cell, draws=draws, readings=cell.measure(*cell.arguments, draws, seed)
    )
