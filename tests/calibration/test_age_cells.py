"""A baseline that drifted before it was reused: what the cells of the study measure, on a few draws."""

import pytest
from calibration.age_cells import age_readings, faster_now, random_drift, slower_now
from calibration.cells import Readings


def shares(readings: Readings) -> dict[str, float]:
    return {name: reading.value for name, reading in readings.items()}


def much_faster_now(_: object) -> float:
    return 0.5


@pytest.mark.parametrize("drift", [faster_now, slower_now, random_drift])
def test_a_stale_baseline_with_half_of_it_made_anew_is_not_told_from_the_candidate(drift: object) -> None:
    found = shares(age_readings(drift, 0.5, 30.0, True, 30, 5, 12, 5))  # type: ignore[arg-type]

    assert found["improved"] == 0
    assert found["regressed"] <= 1 / 12
    assert found["inconclusive"] >= 11 / 12


def test_the_same_drift_is_an_improvement_where_nothing_corrects_it() -> None:
    young = shares(age_readings(much_faster_now, 1.0, 6.0, True, 100, 5, 6, 5))
    anchored = shares(age_readings(much_faster_now, 0.5, 30.0, True, 100, 5, 6, 5))

    assert young["improved"] >= 0.5
    assert anchored["improved"] == 0


@pytest.mark.parametrize("reused", [True, False])
def test_without_runs_made_anew_no_drift_improves_or_raises_the_alarm(reused: bool) -> None:
    much_slower = shares(age_readings(slower_now, 1.0, 30.0, reused, 30, 5, 12, 6))

    assert much_slower["improved"] == 0
    assert much_slower["regressed"] <= 1 / 12
