"""Runs numbered by the order of their rows get the same numbers as runs numbered by id."""

from datetime import UTC, datetime, timedelta
from random import Random

from outweigh.interop.imported_run import UnnumberedRun, imported_run, number_repeats, number_rows
from outweigh.model.run_record import RunRecord

START = datetime(2026, 1, 1, tzinfo=UTC)


def a_run(name: str, task: str, arm: str, started_at: datetime | None) -> RunRecord:
    return imported_run(run_id=name, task_id=task, arm=arm, repeat=0, started_at=started_at)


def by_name(runs: list[RunRecord]) -> list[tuple[int, bool]]:
    numbers = number_repeats(
        UnnumberedRun(run.run_id, run.trial.task_id, run.trial.arm, run.started_at) for run in runs
    )
    return [numbers[run.run_id] for run in runs]


def test_times_decide_then_names_and_unknown_times_come_last() -> None:
    rng = Random(0)
    names = [f"run {number}" for number in range(2000)]
    rng.shuffle(names)
    moments = [None, *(START + timedelta(microseconds=number) for number in range(20))]
    runs = [a_run(name, f"task {rng.randrange(60)}", rng.choice("ab"), rng.choice(moments)) for name in names]

    assert list(number_rows(runs)) == by_name(runs)


def test_a_row_that_stands_there_twice_is_one_run() -> None:
    runs = [a_run("one", "t", "a", START), a_run("two", "t", "a", START), a_run("one", "t", "a", START)]

    assert list(number_rows(runs)) == by_name(runs)


def test_what_is_alone_has_a_number_that_says_nothing() -> None:
    assert list(number_rows([a_run("one", "t", "a", None), a_run("two", "t", "b", None)])) == [(1, False), (1, False)]
    assert not list(number_rows([]))
