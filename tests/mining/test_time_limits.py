"""Limits follow what tests of the same history take, so that those which never end are given up soon."""

import pytest

from outweigh.mining.time_limits import GreenTimes, ProofLimits

LIMITS = ProofLimits(longest_seconds=600.0, least_seconds=120.0, times_measured=20.0)


@pytest.mark.parametrize(("usual", "limit"), [(None, 600.0), (0.5, 120.0), (10.0, 200.0), (100.0, 600.0)])
def test_the_first_run_is_limited_by_the_usual_one(usual: float | None, limit: float) -> None:
    assert LIMITS.first(usual) == limit


@pytest.mark.parametrize(("seconds", "limit"), [(0.5, 120.0), (10.0, 200.0), (100.0, 2000.0)])
def test_later_runs_are_limited_by_the_first(seconds: float, limit: float) -> None:
    assert LIMITS.after(seconds) == limit


def test_a_few_runs_do_not_tell_what_is_usual() -> None:
    times = GreenTimes([1.0])
    times.add(9.0)
    assert times.usual() is None

    times.add(2.0)
    assert times.usual() == 2.0
