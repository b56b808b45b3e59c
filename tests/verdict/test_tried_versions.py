"""How many candidates a version counts as: enough that trying many of them does not make a lucky one."""

from math import pi

import pytest

from outweigh.verdict.tried_versions import candidates_to_count


def test_a_first_candidate_is_corrected_for_nothing() -> None:
    assert candidates_to_count(1) == 1


@pytest.mark.parametrize(("place", "candidates"), [(2, 4), (3, 9), (10, 100)])
def test_later_ones_are_corrected_for_more_than_were_tried(place: int, candidates: int) -> None:
    assert candidates_to_count(place) == candidates


def test_the_errors_of_any_number_of_versions_add_up_to_less_than_1_65_times_that_of_one() -> None:
    total = sum(1 / candidates_to_count(place) for place in range(1, 100_001))

    assert total < pi**2 / 6 < 1.65
