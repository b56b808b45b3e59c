"""Which tasks still have open trials, also for a thread that asks while trials end."""

from outweigh.engine.open_tasks import OpenTasks


def test_a_task_is_open_until_the_last_of_its_trials_has_ended() -> None:
    tasks = OpenTasks(["x", "x", "y"])

    ended = [tasks.count_down("x"), "x" in tasks, tasks.count_down("x"), "x" in tasks]

    assert ended == [False, True, True, False]
    assert (set(tasks), len(tasks)) == ({"y"}, 1)


def test_going_through_the_tasks_is_not_disturbed_by_one_that_ends_meanwhile() -> None:
    tasks = OpenTasks(["x", "y", "z"])
    seen = []

    for task in tasks:
        seen.append(task)
        tasks.count_down(task)

    assert seen == ["x", "y", "z"]
    assert not tasks
