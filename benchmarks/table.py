"""Ratios as an aligned text table."""

from collections.abc import Iterable, Sequence

from benchmarks.ratio import Ratio

_HEADINGS = ("what", "measured", "target", "outcome", "details")
_NUMERIC = (1, 2)


def render(ratios: Iterable[Ratio]) -> str:
    """One row per ratio."""
    rows = [_HEADINGS, *map(_cells, ratios)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _cells(ratio: Ratio) -> tuple[str, ...]:
    return (ratio.name, f"{ratio.measured:.3g}", ratio.aim, ratio.outcome, ratio.note)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.rjust(width) if place in _NUMERIC else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()
