import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.stats.sample import describe, mean, median, population_variance

finite = st.floats(-1e6, 1e6, allow_nan=False)


def test_eight_passes_of_ten_are_described_as_the_source_describes_them() -> None:
    block = describe([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])

    assert (block.median, block.mean, block.mode, block.min, block.max) == (1.0, 0.8, 1.0, 0.0, 1.0)
    assert block.population_std == pytest.approx(0.4)
    assert block.sample_std == pytest.approx(0.421637, abs=1e-6)
    assert (block.count, block.unknown) == (10, 0)


def test_unknown_values_are_counted_and_left_out() -> None:
    block = describe([2.0, None, 4.0])

    assert block.mean == 3.0
    assert (block.count, block.unknown) == (2, 1)


def test_nothing_known_gives_nothing_rather_than_zero() -> None:
    block = describe([None, None])

    assert block.mean is block.median is block.mode is block.min is block.max is None
    assert block.population_std is block.sample_std is None
    assert (block.count, block.unknown) == (0, 2)


def test_one_value_has_no_sample_deviation() -> None:
    assert describe([3.0]).sample_std is None
    assert describe([3.0]).population_std == 0.0


def test_the_mode_is_the_smallest_of_ties_after_rounding_to_six_decimals() -> None:
    assert describe([3.0, 1.0, 3.0, 1.0, 2.0]).mode == 1.0
    assert describe([0.1234561, 0.1234559, 9.0]).mode == pytest.approx(0.123456)


def test_an_empty_sample_has_no_median_mean_or_variance() -> None:
    assert median([]).value is mean([]).value is population_variance([]).value is None
    assert median([]).reason == "no values"


@given(st.lists(finite, min_size=2, max_size=40))
def test_the_block_agrees_with_the_standard_library(values: list[float]) -> None:
    block = describe(values)

    assert block.median == pytest.approx(statistics.median(values), abs=1e-9)
    assert block.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert block.population_std == pytest.approx(statistics.pstdev(values), abs=1e-4)
    assert block.sample_std == pytest.approx(statistics.stdev(values), abs=1e-4)


@given(st.lists(finite, min_size=1, max_size=40), st.randoms())
def test_the_order_of_runs_does_not_matter(values: list[float], dice: object) -> None:
    shuffled = sorted(values)

    assert describe(shuffled).median == describe(values).median
    assert describe(shuffled).mode == describe(values).mode
