"""Columns of scores are what the scores say, however they are held, and nobody can change one that is kept."""

from datetime import UTC, datetime
from random import Random

import numpy as np
import pytest

from outweigh.compare.run_columns import (
    ChosenRuns,
    JoinedRuns,
    count_values,
    find_tasks,
    join_runs,
    names_of,
    numbers_of,
)
from outweigh.compare.run_scores import ScoredRuns, has_any
from outweigh.model.failure import Status
from outweigh.score.run_score import Score
from outweigh.testing.builders import a_run, evidence_of

NUMBERS = ("passed", "cost_usd", "vacuous", "repeat", "judge_score")
NAMES = ("task_id", "status", "family", "task_checksum", "attempt", "passed")


def some_scores(seed: int, runs: int = 60) -> list[Score]:
    random = Random(seed)
    records = [
        a_run(
            f"task-{number % 7}",
            repeat=number,
            passed=random.choice([True, False, None]),
            status=random.choice([Status.COMPLETED, Status.TIMEOUT, Status.INFRA_ERROR]),
            family=random.choice([None, "one", "two"]),
            task_checksum=random.choice([None, "a" * 64]),
            checks=random.choice([(), a_run().checks]),
        )
        for number in range(runs)
    ]
    return list(evidence_of(records).arms["baseline"])


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_are_kept_are_those_of_the_same_scores_in_a_list(seed: int) -> None:
    scores = some_scores(seed)
    kept = ScoredRuns(scores)
    for field in NUMBERS:
        np.testing.assert_array_equal(numbers_of(kept, field), numbers_of(scores, field))
        np.testing.assert_array_equal(
            numbers_of(kept, field), [np.nan if (value := getattr(run, field)) is None else value for run in scores]
        )
    for field in NAMES:
        names = names_of(kept, field)
        assert [names.values[code] for code in names.codes] == [getattr(run, field) for run in scores]
        assert list(names.values) == list(dict.fromkeys(getattr(run, field) for run in scores))
        assert list(count_values(kept, field).items()) == list(count_values(scores, field).items())


@pytest.mark.parametrize("seed", range(5))
def test_joined_runs_have_the_columns_of_all_their_scores(seed: int) -> None:
    scores, more = some_scores(seed), some_scores(seed + 100, 9)
    joined = join_runs(ScoredRuns(scores), more)
    assert isinstance(joined, JoinedRuns)
    assert list(joined) == [*scores, *more]
    for field in NUMBERS:
        np.testing.assert_array_equal(numbers_of(joined, field), numbers_of([*scores, *more], field))
    for field in NAMES:
        names = names_of(joined, field)
        assert [names.values[code] for code in names.codes] == [getattr(run, field) for run in joined]
        assert count_values(joined, field) == count_values(list(joined), field)


def test_a_column_is_made_once_and_cannot_be_written_into() -> None:
    kept = ScoredRuns(some_scores(1))
    assert ScoredRuns(kept) is kept
    column, names = numbers_of(kept, "cost_usd"), names_of(kept, "task_id")
    assert numbers_of(kept, "cost_usd") is column
    assert names_of(kept, "task_id") is names
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        names.codes[0] = 1


def test_runs_that_count_stand_apart_from_those_that_do_not_in_the_same_order() -> None:
    kept = ScoredRuns(some_scores(2))
    counted, excluded = kept.apart
    assert counted == tuple(run for run in kept if run.counted)
    assert excluded == tuple(run for run in kept if not run.counted)
    assert counted
    assert excluded
    assert counted.apart == (counted, ())


def test_moments_are_in_seconds() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    records = [a_run(repeat=1, started_at=moment), a_run(repeat=2)]
    runs = evidence_of(records).arms["baseline"]
    np.testing.assert_array_equal(numbers_of(runs, "started_at"), [moment.timestamp(), np.nan])


def test_a_field_that_only_some_run_has_is_found() -> None:
    runs = ScoredRuns(some_scores(3))
    assert has_any(runs, "family")
    assert not has_any(runs, "judge_opinions")
    assert not has_any([], "family")


@pytest.mark.parametrize("tasks", [("a", "b", "d"), ("d", "a", "b")])
def test_a_few_tasks_are_found_among_many_in_any_order(tasks: tuple[str, ...]) -> None:
    found = find_tasks(tasks, ["a", "c", "d", "e"])

    assert found == [tasks.index("a"), None, tasks.index("d"), None]


def test_chosen_runs_have_the_columns_of_those_that_were_chosen() -> None:
    runs = evidence_of([a_run(repeat=repeat) for repeat in (1, 2, 3)]).arms["baseline"]
    chosen = ChosenRuns(runs, np.array([True, False, True]))

    assert numbers_of(chosen, "repeat").tolist() == [1.0, 3.0]
    assert [run.repeat for run in chosen] == [1, 3]
    assert count_values(chosen, "repeat") == {1: 1, 3: 1}
