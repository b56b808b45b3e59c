"""The committed page against what the cells promise, read from its numbers and not from its words."""

from pathlib import Path

import pytest
from calibration.cells import TOLERANCE, Section
from calibration.sections import SECTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"


def rows_of(title: str) -> dict[str, dict[str, str]]:
    """The table of a section: the cells of every row by their heading, by the name of the row."""
    text = PAGE.read_text().split(f"\n## {title}\n", maxsplit=1)[1].split("\n## ", maxsplit=1)[0]
    headings, _, *rows = [
        [part.strip() for part in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| ")
    ]
    return {row[0]: dict(zip(headings, row, strict=True)) for row in rows}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_the_committed_page_has_every_cell_and_no_number_beyond_its_limit(section: Section) -> None:
    rows = rows_of(section.title)

    assert list(rows) == [cell.name for cell in section.cells]
    for cell in section.cells:
        row = rows[cell.name]
        for promise in cell.promises:
            value, error = map(float, row[promise.reading].split(" ± "))
            scale = 100 if promise.sentence(share=True) in row["promised"] else 1
            beyond = value - scale * promise.limit if promise.upper else scale * promise.limit - value
            # A tenth is what rounding may add.
            assert beyond <= TOLERANCE * error + 0.1, cell.name
