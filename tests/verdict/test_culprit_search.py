"""The search for the step that made it worse: what it asks for, when it ends, and what it names."""

import numpy as np
import pytest
from calibration.culprit_cells import BREAKS, NOTHING, REPEATS, SHIFT, TASKS, TWO_BREAKS, draw_world, search_world

from outweigh.verdict.culprit_search import (
    FIRST_REPEATS,
    CulpritResult,
    SearchEnd,
    SearchRound,
    next_round,
    search_limits,
)

STEPS = 8
LIMITS = search_limits(STEPS + 1, TASKS, REPEATS)
SEEDS = range(20)


def test_both_ends_are_run_on_every_task_first() -> None:
    empty = np.zeros((5, 3), dtype=np.int64)
    asked = next_round(empty, empty, search_limits(5, 3, 2))

    assert isinstance(asked, SearchRound)
    assert sorted(asked.runs) == sorted(
        (step, task) for step in (0, 4) for task in range(3) for _ in range(FIRST_REPEATS)
    )


def test_ends_that_differ_are_followed_by_the_step_in_the_middle_beside_the_good_end() -> None:
    passes, runs = np.zeros((9, 4), dtype=np.int64), np.zeros((9, 4), dtype=np.int64)
    runs[[0, -1]] = 4
    passes[0] = 4
    asked = next_round(passes, runs, search_limits(9, 4, 5))

    assert isinstance(asked, SearchRound)
    assert {step for step, _ in asked.runs} == {0, 4}


def test_ends_that_are_the_same_get_no_run_between_them() -> None:
    runs = np.zeros((9, 4), dtype=np.int64)
    runs[[0, -1]] = 3
    asked = next_round(runs, runs, search_limits(9, 4, 5))

    assert isinstance(asked, SearchRound)
    assert {step for step, _ in asked.runs} == {0, 8}


def test_a_single_step_is_named_as_soon_as_the_ends_differ() -> None:
    found = next_round(np.array([[5] * 4, [0] * 4]), np.full((2, 4), 5), search_limits(2, 4, 5))

    assert isinstance(found, CulpritResult)
    assert (found.end, found.step) == (SearchEnd.FOUND, 1)


def test_no_round_exceeds_the_runs_that_are_allowed() -> None:
    runs = np.full((2, 30), 2, dtype=np.int64)
    asked = next_round(runs, runs, search_limits(2, 30, 5, most_runs=125))

    assert isinstance(asked, SearchRound)
    assert len(asked.runs) == 5


def test_used_up_runs_leave_the_steps_that_it_may_be() -> None:
    passes, runs = np.zeros((4, 4), dtype=np.int64), np.zeros((4, 4), dtype=np.int64)
    runs[[0, -1]] = passes[0] = 5
    passes[-1] = 0
    found = next_round(passes, runs, search_limits(4, 4, 5, most_runs=40))

    assert isinstance(found, CulpritResult)
    assert (found.end, found.step, found.likely) == (SearchEnd.UNDECIDED, None, (1, 2, 3))


def test_a_smaller_error_asks_for_more() -> None:
    passes, runs = np.array([[2, 2], [0, 0]]), np.full((2, 2), 2)

    ends = {error: next_round(passes, runs, search_limits(2, 2, 5, error=error)) for error in (0.4, 0.01)}

    assert isinstance(ends[0.4], CulpritResult)
    assert isinstance(ends[0.01], SearchRound)


def searches(kind: str, steps: int = STEPS) -> list[tuple[CulpritResult, int, tuple[int, ...]]]:
    """One search for each of the fixed seeds, with its runs and the true steps."""
    limits, found = search_limits(steps + 1, TASKS, REPEATS), []
    for seed in SEEDS:
        dice = np.random.default_rng(seed)
        world = draw_world(kind, steps, dice)
        found.append((*search_world(world, limits, dice), world.culprits))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BREAKS, SHIFT])
def test_the_step_is_found_in_nine_of_ten_with_half_the_runs_of_testing_every_step(kind: str) -> None:
    results = searches(kind)

    right = [result.step is not None and result.step in culprits for result, _, culprits in results]
    assert sum(right) >= 18
    assert sum(runs for _, runs, _ in results) <= len(SEEDS) * (STEPS + 1) * TASKS * REPEATS / 2


@pytest.mark.slow
def test_nothing_is_named_where_nothing_changed() -> None:
    assert {result.step for result, _, _ in searches(NOTHING, 4)} == {None}


@pytest.mark.slow
def test_two_culprits_are_named_one_by_one_or_reported_as_several_and_never_as_another_step() -> None:
    results = searches(TWO_BREAKS)

    assert all(result.step is None or result.step in culprits for result, _, culprits in results)
    assert sum(result.end is SearchEnd.SEVERAL for result, _, _ in results) >= 4
