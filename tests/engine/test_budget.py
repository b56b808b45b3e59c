"""The budget of an experiment: nothing starts whose worst cost is not affordable."""

import pytest

from outweigh.engine.budget import Budget


def affordable(budget: Budget, most: int = 50) -> int:
    """How many runs may start together."""
    return sum(budget.reserve() for _ in range(most))


def test_without_a_cap_everything_is_affordable() -> None:
    assert affordable(Budget(None, 5.0)) == 50
    assert affordable(Budget(None, None, [None, 1e6])) == 50


def test_a_run_starts_only_when_the_worst_cost_of_all_running_ones_is_affordable() -> None:
    assert affordable(Budget(10.0, 3.0)) == 3
    assert affordable(Budget(2.99, 3.0)) == 0


def test_a_run_that_costs_less_than_reserved_frees_the_rest() -> None:
    budget = Budget(10.0, 3.0)
    assert affordable(budget) == 3

    budget.record_cost(0.5)

    assert affordable(budget) == 1


def test_the_last_cent_is_affordable_despite_rounding_errors() -> None:
    budget = Budget(0.3, 0.1)

    for _ in range(3):
        assert budget.reserve()
        budget.record_cost(0.1)

    assert not budget.reserve()


def test_an_unknown_cost_counts_at_the_cap_of_a_run() -> None:
    budget = Budget(10.0, 3.0)
    assert budget.reserve()
    budget.record_cost(None)

    assert affordable(budget) == 2


def test_without_a_cap_per_run_the_most_expensive_so_far_is_the_worst() -> None:
    budget = Budget(10.0, None, [1.0, 2.0])

    assert budget.worst_run_usd == 2.0
    assert affordable(budget) == 3


def test_an_unknown_cost_counts_as_the_most_expensive_run_even_a_later_one() -> None:
    budget = Budget(10.0, None, [1.0, None])
    assert budget.reserve()

    budget.record_cost(4.0)

    assert not budget.reserve()


@pytest.mark.parametrize("earlier", [[None], [None, 0.0]])
def test_nothing_is_affordable_when_all_costs_so_far_are_unknown(earlier: list[float | None]) -> None:
    blind = Budget(1000.0, None, earlier)

    assert not blind.reserve()
    assert blind.cost_is_unknown


def test_one_run_may_start_when_no_cost_is_known() -> None:
    budget = Budget(1.0, None)

    assert budget.reserve()
    assert not budget.cost_is_unknown


def test_what_earlier_engines_spent_counts() -> None:
    assert affordable(Budget(10.0, 3.0, [4.0, None])) == 1
