"""Results that cannot be known: never a zero, always a reason."""

from outweigh.stats.estimate import Estimate, Significance, Unit


def unknown_estimate(reason: str, *, n: int, unit: Unit, method: str, point: float | None) -> Estimate:
    """An estimate without an interval; `point` is given where the data at least show one."""
    return Estimate(point=point, interval=None, standard_error=None, n=n, unit=unit, method=method, warnings=(reason,))


def unknown_significance(reason: str, *, n: int, unit: Unit, method: str) -> Significance:
    """A test that could not be made; its missing p-value is not evidence of anything."""
    return Significance(p_value=None, statistic=None, n=n, unit=unit, method=method, warnings=(reason,))
