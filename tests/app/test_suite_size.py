"""How many tasks a question takes is said before there is any run, and agrees with `outweigh plan`."""

from outweigh.app.suite_size import points_to_see, tasks_to_see
from outweigh.verdict.evidence_settings import MINIMUM_TASKS


def test_a_smaller_difference_takes_more_tasks() -> None:
    needed = [tasks_to_see(points, 5) for points in (20, 10, 5)]
    assert None not in needed
    assert needed == sorted(needed, key=lambda each: each or 0)
    assert (needed[0] or 0) < (needed[2] or 0) / 4


def test_fewer_repeats_take_more_tasks() -> None:
    assert (tasks_to_see(10, 1) or 0) > (tasks_to_see(10, 5) or 0)


def test_the_tasks_that_a_difference_takes_show_about_that_difference() -> None:
    """Both are simulated, so that they agree within a few points rather than exactly."""
    tasks = tasks_to_see(10, 5) or 0
    assert abs((points_to_see(tasks, 5) or 0) - 10) < 2


def test_too_few_tasks_show_nothing() -> None:
    assert points_to_see(MINIMUM_TASKS - 1, 5) is None
