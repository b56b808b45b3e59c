"""What is promised, and whether the measurements bear it out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from calibration.cells import TOLERANCE, Measurement, Promise, Reading, share_of
from calibration.coverage import Coverage
from calibration.rates import Rates
from calibration.study import ORDINARY, Study
from calibration.worlds import NULLS
from outweigh.verdict.decision import Decision

LOWEST_COVERAGE, HIGHEST_COVERAGE = 0.94, 0.965
MOST_FALSE_IMPROVED, MOST_FALSE_REGRESSED = 0.02, 0.07
MOST_ON_THE_MARGIN = 0.05
MOST_AFTER_LOOKS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One number with where it was measured."""

    where: str
    reading: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A promise with the cell that comes nearest to breaking it. `distance` is from the limit, bad when positive."""

    sentence: str
    worst: Measured
    cells: int
    distance: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether simulation error alone could explain what lies beyond the limit."""
        return self.distance <= TOLERANCE * self.error

    @property
    def within(self) -> bool:
        """Whether nothing lies beyond the limit at all."""
        return self.distance <= 0


def claims(study: Study) -> list[Claim]:
    """Every promise."""
    return [*_false_decisions(study), *_sections(study.cells), *_coverage(study), *_power(study)]


def _sections(found: Sequence[Measurement]) -> Iterator[Claim]:
    """For every limit of every section, the cell that comes nearest to breaking it."""
    limits: dict[tuple[str, Promise], list[Measurement]] = {}
    for measured in found:
        for promise in measured.cell.promises:
            limits.setdefault((measured.section, promise), []).append(measured)
    for (section, promise), cells in limits.items():
        worst = max(cells, key=lambda cell: promise.excess(cell.readings[promise.reading]))
        reading = worst.readings[promise.reading]
        yield Claim(
            sentence=f"{section}: {promise.sentence(share=reading.share)}",
            worst=Measured(where=worst.cell.name, reading=reading),
            cells=len(cells),
            distance=promise.excess(reading),
            error=reading.error,
        )


def _false_decisions(study: Study) -> Iterator[Claim]:
    for decision, limit in ((Decision.IMPROVED, MOST_FALSE_IMPROVED), (Decision.REGRESSED, MOST_FALSE_REGRESSED)):
        cells = [_decided(cell, decision) for cell in study.nulls]
        yield _at_most(f"identical arms are called {decision.value} in at most {_percent(limit)}", cells, limit)
    yield from _wider(study)
    cells = [_decided(cell, Decision.IMPROVED) for cell in study.margins]
    yield _at_most(
        f"worse by the whole margin, but cheaper, is called improved in at most {_percent(MOST_ON_THE_MARGIN)}",
        cells,
        MOST_ON_THE_MARGIN,
    )
    nulls = {world.name for world in NULLS}
    cells = [
        Measured(where=f"{cell.world}, R = {cell.repeats}", reading=_reading(cell.firm, cell.draws))
        for cell in study.looks
        if cell.rule == "sequential" and cell.world in nulls
    ]
    yield _at_most(
        f"20 sequential looks at identical arms end in a false decision in at most {_percent(MOST_AFTER_LOOKS)}",
        cells,
        MOST_AFTER_LOOKS,
    )


def _wider(study: Study) -> Iterator[Claim]:
    asked = [cell for cell in study.wider if cell.question.promised]
    for what, share, limit in (
        ("any of several equal candidates is called improved", "any_improved", MOST_FALSE_IMPROVED),
        ("each of them is called regressed", "regressed", MOST_FALSE_REGRESSED),
    ):
        cells = [
            Measured(
                where=f"{cell.question.name}, T = {cell.tasks}, R = {cell.repeats}",
                reading=_reading(getattr(cell, share), cell.draws),
            )
            for cell in asked
        ]
        yield _at_most(f"with a fourth gate, families or company, {what} in at most {_percent(limit)}", cells, limit)


def _coverage(study: Study) -> Iterator[Claim]:
    ordinary = {world.name for world in ORDINARY}
    cells = [
        Measured(where=f"{cell.statistic}, {_place(cell)}", reading=_reading(cell.covered, cell.intervals))
        for cell in study.coverage
        if cell.world in ordinary and cell.tasks >= 20
    ]
    yield _at_least(
        f"95 % intervals hold the truth in at least {_percent(LOWEST_COVERAGE)} from 20 tasks on",
        cells,
        LOWEST_COVERAGE,
    )
    yield _at_most(f"… and in at most {_percent(HIGHEST_COVERAGE)}", cells, HIGHEST_COVERAGE)


def _power(study: Study) -> Iterator[Claim]:
    """Both tables are simulated, so both errors count."""
    for what, measured, published in (
        ("improved", "improved_by_version_1", "improved"),
        ("regressed", "regressed_by_version_1", "regressed"),
    ):
        gaps = [
            (abs(getattr(cell, measured) - getattr(cell.published, published)), cell, getattr(cell, measured))
            for cell in study.power
        ]
        errors = [sqrt(2 * max(share * (1 - share), 1 / cell.draws) / cell.draws) for _, cell, share in gaps]
        (gap, cell, share), error = max(zip(gaps, errors, strict=True), key=lambda pair: pair[0][0] / pair[1])
        line = cell.published
        was = 100 * float(getattr(line, published))
        where = f"{line.world.name}, T = {line.tasks}, R = {line.repeats}; published {was:.1f}"
        yield Claim(
            sentence=f"version 1 says {what} as often as in its published table",
            worst=Measured(where=where, reading=_reading(share, cell.draws)),
            cells=len(gaps),
            distance=gap,
            error=error,
        )


def _at_most(sentence: str, cells: Iterable[Measured], limit: float) -> Claim:
    known = list(cells)
    worst = max(known, key=lambda cell: cell.reading.value)
    return _claim(sentence, worst, len(known), worst.reading.value - limit)


def _at_least(sentence: str, cells: Iterable[Measured], limit: float) -> Claim:
    known = list(cells)
    worst = min(known, key=lambda cell: cell.reading.value)
    return _claim(sentence, worst, len(known), limit - worst.reading.value)


def _claim(sentence: str, worst: Measured, cells: int, distance: float) -> Claim:
    return Claim(sentence=sentence, worst=worst, cells=cells, distance=distance, error=worst.reading.error)


def _decided(cell: Rates, decision: Decision) -> Measured:
    return Measured(where=_place(cell), reading=_reading(cell.of(decision), cell.draws))


def _reading(share: float, draws: int) -> Reading:
    return share_of(share * draws, draws)


def _place(cell: Rates | Coverage) -> str:
    return f"{cell.world}, T = {cell.tasks}, R = {cell.repeats}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
