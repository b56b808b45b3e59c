from typing import Any

import pytest

from outweigh.compare.comparison import compare_arms
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.unusable import cost_confounded


def reason(before: list[RunRecord], after: list[RunRecord]) -> str | None:
    compared = compare_arms(evidence_of(before, after), "old", "new")
    return cost_confounded(compared.baseline_table, compared.candidate_table)


def arm(name: str, **fields: Any) -> list[RunRecord]:
    return [a_run(f"task-{task}", name, repeat, **fields) for task in range(8) for repeat in (1, 2)]


def placed(name: str, start: int, step: int) -> list[RunRecord]:
    return [
        a_run(run.trial.task_id, name, run.trial.repeat, position=start + step * index)
        for index, run in enumerate(arm(name))
    ]


def cached(name: str, read: int, written: int, step: int = 3) -> list[RunRecord]:
    return [
        a_run(
            run.trial.task_id,
            name,
            run.trial.repeat,
            usage=Usage(
                input_tokens=10,
                output_tokens=10,
                cache_read_tokens=read + step * index,
                cache_write_tokens=written,
            ),
        )
        for index, run in enumerate(arm(name))
    ]


def test_interleaved_arms_are_not_confounded() -> None:
    assert reason(placed("old", 0, 2), placed("new", 1, 2)) is None


@pytest.mark.parametrize(("first", "second"), [(0, 100), (100, 0)])
def test_arms_run_one_after_the_other_are(first: int, second: int) -> None:
    why = reason(placed("old", first, 1), placed("new", second, 1))

    assert why is not None
    assert "interleave the arms" in why


def test_an_unknown_order_speaks_neither_way() -> None:
    assert reason(arm("old"), arm("new")) is None


def test_a_cold_cache_in_one_arm_is_told() -> None:
    why = reason(cached("old", 100, 900), cached("new", 900, 100))

    assert why is not None
    assert "state of the cache" in why


def test_a_cold_cache_that_is_the_same_on_every_task_is_told() -> None:
    why = reason(cached("old", 100, 900, step=0), cached("new", 900, 100, step=0))

    assert why is not None
    assert "differs by +80 points" in why


def test_a_longer_prompt_with_equal_cache_state_is_no_confounding() -> None:
    assert reason(cached("old", 900, 100), cached("new", 9000, 1000)) is None
