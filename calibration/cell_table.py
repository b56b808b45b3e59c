"""Sections of cells as tables of the page."""

from collections.abc import Iterator, Sequence

from calibration.cells import TOLERANCE, Measurement
from calibration.markdown import section, table
from calibration.sections import SECTIONS


def cell_sections(found: Sequence[Measurement]) -> Iterator[str]:
    """Every section that was measured, in the order of the page."""
    for part in SECTIONS:
        cells = [each for each in found if each.section == part.title]
        if cells:
            yield section(part.title, part.words, cell_table(cells))


def cell_table(cells: Sequence[Measurement]) -> str:
    """One row per cell: its numbers, those that are promised with their errors, and whether the promises hold."""
    names = list(dict.fromkeys(name for each in cells for name in each.readings))
    rows = [
        [
            each.cell.name,
            f"{each.draws:,}",
            *(_number(each, name) for name in names),
            "; ".join(_kept(each)) or "none",
        ]
        for each in cells
    ]
    return table(["cell", "draws", *names, "promised"], rows, numeric=range(1, 2 + len(names)))


def _number(measured: Measurement, name: str) -> str:
    reading = measured.readings.get(name)
    if reading is None:
        return ""
    promised = any(promise.reading == name for promise in measured.cell.promises)
    return f"{reading.shown} ± {reading.shown_error}" if promised else reading.shown


def _kept(measured: Measurement) -> Iterator[str]:
    for promise in measured.cell.promises:
        reading = measured.readings[promise.reading]
        kept = promise.excess(reading) <= TOLERANCE * reading.error
        yield promise.sentence(share=reading.share) + ("" if kept else " (**broken**)")
