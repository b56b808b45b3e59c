"""Claims about the order of an experiment."""

from collections import Counter
from itertools import groupby

import pytest

from outweigh.engine.trial_plan import PlannedRun, add_arm_runs, plan_runs

TASKS = [f"t{number}" for number in range(6)]
ARMS = ["a", "b", "c"]


def order(plan: tuple[PlannedRun, ...]) -> list[tuple[str, str, int]]:
    return [(run.trial.task_id, run.trial.arm, run.trial.repeat) for run in plan]


@pytest.mark.parametrize("task_by_task", [False, True])
def test_every_block_holds_every_arm_of_one_task_and_repeat_once(task_by_task: bool) -> None:
    plan = plan_runs(TASKS, ARMS, 4, seed=1, task_by_task=task_by_task)

    blocks = [list(runs) for _, runs in groupby(plan, key=lambda run: run.block)]

    assert len(blocks) == len(TASKS) * 4
    for block in blocks:
        assert sorted(run.trial.arm for run in block) == ARMS
        assert len({(run.trial.task_id, run.trial.repeat) for run in block}) == 1


def test_every_trial_is_planned_once_and_knows_its_place() -> None:
    plan = plan_runs(TASKS, ARMS, 4, seed=1)

    assert len(set(order(plan))) == len(plan) == len(TASKS) * len(ARMS) * 4
    assert [run.position for run in plan] == list(range(len(plan)))
    assert {run.trial.repeat for run in plan} == {1, 2, 3, 4}


def test_the_same_seed_gives_the_same_plan_and_another_seed_another_order() -> None:
    first, second, other = (plan_runs(TASKS, ARMS, 4, seed=seed) for seed in (1, 1, 2))

    assert first == second
    assert order(first) != order(other)
    assert sorted(order(first)) == sorted(order(other))


def test_task_by_task_keeps_tasks_whole_in_an_order_that_depends_on_the_seed() -> None:
    plans = [plan_runs(TASKS, ARMS, 4, seed=seed, task_by_task=True) for seed in range(5)]

    orders = [[task for task, _ in groupby(run.trial.task_id for run in plan)] for plan in plans]

    assert all(sorted(tasks) == TASKS for tasks in orders)
    assert len({tuple(tasks) for tasks in orders}) > 1


def test_the_seed_of_a_trial_depends_on_the_trial_and_not_on_the_order() -> None:
    seeds = [
        {(run.trial.task_id, run.trial.arm, run.trial.repeat): run.trial.seed for run in plan}
        for plan in (
            plan_runs(TASKS, ARMS, 4, seed=1),
            plan_runs(TASKS, ARMS, 4, seed=1, task_by_task=True),
            plan_runs(TASKS[::-1], ARMS[::-1], 4, seed=1),
        )
    ]

    assert seeds[0] == seeds[1] == seeds[2]
    assert len(set(seeds[0].values())) == len(seeds[0])


def test_a_new_task_arm_or_repeat_leaves_the_seeds_of_the_others_alone() -> None:
    small = {run.trial for run in plan_runs(TASKS, ARMS, 2, seed=1)}
    large = {run.trial for run in plan_runs([*TASKS, "more"], [*ARMS, "d"], 3, seed=1)}

    assert small < large


def test_names_that_run_together_do_not_share_a_seed() -> None:
    trials = [run.trial for run in plan_runs(["a", "ab"], ["bc", "c"], 1, seed=1)]

    assert len({trial.seed for trial in trials}) == 4


def test_no_arm_is_favoured_by_its_place_in_the_block() -> None:
    places: Counter[tuple[str, int]] = Counter()
    for seed in range(50):
        for _, block in groupby(plan_runs(TASKS, ARMS, 10, seed=seed), key=lambda run: run.block):
            places.update((run.trial.arm, place) for place, run in enumerate(block))

    expected = 50 * len(TASKS) * 10 / len(ARMS)
    assert len(places) == len(ARMS) ** 2
    assert all(abs(count - expected) < 0.1 * expected for count in places.values())


def test_no_task_is_favored_by_its_place_in_time() -> None:
    places: dict[str, list[int]] = {task: [] for task in TASKS}
    for seed in range(200):
        for run in plan_runs(TASKS, ARMS, 10, seed=seed):
            places[run.trial.task_id].append(run.position)

    middle = (len(TASKS) * len(ARMS) * 10 - 1) / 2
    for positions in places.values():
        assert sum(positions) / len(positions) == pytest.approx(middle, rel=0.05)


class TestMoreRunsOfAnArm:
    PLAN = plan_runs(["t1", "t2"], ["a", "b"], 3, seed=1)

    def test_they_are_put_into_blocks_of_their_task(self) -> None:
        longer = add_arm_runs(self.PLAN, "a", {"t1": (4, 5), "t2": (4,)}, seed=1)

        added = [run for run in longer if run.trial.repeat > 3]
        assert sorted(run.trial.key for run in added) == [("t1", "a", 4), ("t1", "a", 5), ("t2", "a", 4)]
        for run in added:
            beside = {other.trial.task_id for other in longer if other.block == run.block}
            assert beside == {run.trial.task_id}

    def test_the_rest_of_the_plan_keeps_its_order_and_every_position_is_taken_once(self) -> None:
        longer = add_arm_runs(self.PLAN, "a", {"t1": (4, 5, 6, 7)}, seed=1)

        assert [run.trial for run in longer if run.trial.repeat <= 3] == [run.trial for run in self.PLAN]
        assert [run.position for run in longer] == list(range(len(self.PLAN) + 4))

    def test_a_run_that_is_planned_already_is_not_added_again(self) -> None:
        assert add_arm_runs(self.PLAN, "a", {"t1": (1, 2, 3), "unknown": (4,)}, seed=1) == self.PLAN
