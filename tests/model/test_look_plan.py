"""When an experiment is looked at."""

from typing import Any

import msgspec
import pytest

from outweigh.model.look_plan import LookPlan, plan_even_looks


def tasks(number: int) -> list[str]:
    return [f"t{place}" for place in range(number)]


@pytest.mark.parametrize(
    ("number", "sizes"),
    [
        (100, tuple(range(10, 101, 5))),
        (40, (6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40)),
        (8, (6, 7, 8)),
        (6, (6,)),
        (3, (3,)),
    ],
)
def test_looks_are_even_and_none_comes_before_six_tasks(number: int, sizes: tuple[int, ...]) -> None:
    assert plan_even_looks(tasks(number), 5).sizes == sizes


@pytest.mark.parametrize("number", [1, 2, 7, 19, 33, 101, 1000])
def test_there_are_at_most_twenty_looks_and_the_last_is_at_all_tasks(number: int) -> None:
    plan = plan_even_looks(tasks(number), 1)

    assert len(plan.sizes) <= 20
    assert plan.tasks_at(len(plan.sizes) - 1) == tuple(tasks(number))
    assert plan.fractions[-1] == 1.0


def test_the_first_tasks_of_the_order_count_at_a_look() -> None:
    plan = plan_even_looks(["z", "b", "y", "a", "x", "c", "w"], 1)

    assert plan.tasks_at(0) == ("z", "b", "y", "a", "x", "c")
    assert plan.fractions == (6 / 7, 1.0)


@pytest.mark.parametrize(
    "edit",
    [{"sizes": []}, {"sizes": [2]}, {"sizes": [2, 2, 3]}, {"order": ["a", "a", "b"]}, {"repeats": 0}, {"exponent": 0}],
)
def test_a_plan_that_makes_no_sense_is_not_read(edit: dict[str, Any]) -> None:
    written = {"order": ["a", "b", "c"], "sizes": [2, 3], "repeats": 1, **edit}

    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(written), type=LookPlan)
