"""Figures along an axis, as short as they can be."""


def percent_tick(value: float | None) -> str:
    """A share of one."""
    return f"{100 * (value or 0.0):.4g} %"


def dollar_tick(value: float | None) -> str:
    """An amount of money."""
    return f"${value or 0.0:,.4g}" if (value or 0.0) < 1e4 else f"${value:,.0f}"


def second_tick(value: float | None) -> str:
    """A duration."""
    return f"{plain_tick(value)} s"


def plain_tick(value: float | None) -> str:
    """Any other number, large ones by the thousand or the million."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value or 0.0) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{(value or 0.0) / unit:.4g}{letter}"
    return f"{value or 0.0:,.4g}"
