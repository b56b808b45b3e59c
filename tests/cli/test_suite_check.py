"""`outweigh suite check` shows which tasks tell arms apart, from records of any arms."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store

from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.testing.builders import a_run

OUTCOMES = {
    "open-1": ("00000", "00011", "01111"),
    "open-2": ("00001", "00011", "11111"),
    "open-3": ("00001", "00111", "01111"),
    "open-4": ("00000", "00111", "11111"),
    "solved": ("11111", "11111", "11111"),
    "unsolved": ("00000", "00000", "00000"),
    "reversed": ("11111", "00011", "00000"),
    "noisy": ("00111", "00011", "00111"),
}
"""The outcomes of three arms, the weakest first, on every task."""
ARMS = ("weak", "middle", "strong")


def runs_of(outcomes: Mapping[str, tuple[str, ...]], **fields: Any) -> list[RunRecord]:
    return [
        a_run(task, arm, repeat, passed=mark == "1", **fields)
        for task, arms in outcomes.items()
        for arm, marks in zip(ARMS, arms, strict=False)
        for repeat, mark in enumerate(marks, start=1)
    ]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return write_store(tmp_path / "store", runs_of(OUTCOMES), ARMS)


def checked(outweigh: Any, *arguments: str) -> dict[str, Any]:
    answer = outweigh("suite", "check", *arguments, "--format", "json").json()
    return {**answer, "by_task": {task["task"]: task for task in answer["tasks"]}}


class TestTheFigures:
    def test_are_pass_rates_by_arm(self, outweigh: Any, store: str) -> None:
        tasks = checked(outweigh, store)["by_task"]

        assert tasks["open-1"]["pass_rates"] == {"weak": 0.0, "middle": 0.4, "strong": 0.8}
        assert tasks["open-1"]["runs"] == 15

    def test_name_what_tells_nothing(self, outweigh: Any, store: str) -> None:
        tasks = checked(outweigh, store)["by_task"]

        assert {name: task["flags"] for name, task in tasks.items() if task["flags"]} == {
            "solved": ["dead"],
            "unsolved": ["dead"],
            "reversed": ["contrary"],
            "noisy": ["flaky"],
        }
        assert tasks["reversed"]["discrimination"] < 0 < tasks["open-1"]["discrimination"]
        assert tasks["solved"]["flakiness"] == 0
        assert tasks["noisy"]["flakiness"] == pytest.approx(0.6)

    def test_say_what_share_of_the_money_told_nothing(self, outweigh: Any, tmp_path: Path) -> None:
        dear = {"cost": reported_cost(0.9)}
        others = {task: arms for task, arms in OUTCOMES.items() if task != "solved"}
        runs = [*runs_of(others), *runs_of({"solved": OUTCOMES["solved"]}, **dear)]
        answer = checked(outweigh, write_store(tmp_path / "s", runs, ARMS))

        assert answer["spent_usd"] == pytest.approx(7 * 1.5 + 13.5)
        assert answer["share_without_telling"] == pytest.approx((3 * 1.5 + 13.5) / (7 * 1.5 + 13.5))
        assert answer["by_task"]["solved"]["flags"] == ["dead", "dear"]

    def test_value_a_cheap_task_above_an_expensive_one(self, outweigh: Any, tmp_path: Path) -> None:
        runs = [
            *runs_of({"cheap": OUTCOMES["open-1"], "plain": OUTCOMES["open-2"]}),
            *runs_of({"dear": OUTCOMES["open-1"]}, cost=reported_cost(0.4), duration_seconds=600.0),
        ]
        answer = checked(outweigh, write_store(tmp_path / "s", runs, ARMS))
        cheap, dear = answer["by_task"]["cheap"], answer["by_task"]["dear"]

        assert cheap["information"] == pytest.approx(dear["information"])
        assert cheap["information_per_usd"] == pytest.approx(4 * dear["information_per_usd"])
        assert dear["flags"] == ["slow", "dear"]

    def test_do_not_make_up_costs(self, outweigh: Any, tmp_path: Path) -> None:
        answer = checked(outweigh, write_store(tmp_path / "s", runs_of(OUTCOMES, cost=UNKNOWN_COST), ARMS))

        assert answer["spent_usd"] is None
        assert answer["share_without_telling"] is None
        assert {task["information_per_usd"] for task in answer["tasks"]} == {None}

    def test_call_no_task_contrary_where_no_arm_is_better(self, outweigh: Any, tmp_path: Path) -> None:
        equal = {f"task-{number}": ("01", "10", "01")[number % 3 :] * 2 for number in range(9)}
        answer = checked(outweigh, write_store(tmp_path / "s", runs_of(equal), ARMS))

        assert {task["discrimination"] for task in answer["tasks"]} == {None}
        assert not any(task["flags"] for task in answer["tasks"])
        assert any("not known" in warning for warning in answer["warnings"])


class TestThePage:
    def test_lists_every_task_and_what_to_conclude(self, outweigh: Any, store: str) -> None:
        text = outweigh("suite", "check", store).out

        assert text.startswith("4 of 8 tasks tell 3 arms apart (120 runs)")
        for task in OUTCOMES:
            assert task in text
        assert "50 % of the money went to tasks that could not tell ($6.00 of $12.00)" in text
        assert "dead (2 tasks): 'solved', 'unsolved'" in text

    def test_reads_a_table_of_another_program(self, outweigh: Any, tmp_path: Path) -> None:
        rows = [
            f"{task},{arm},{repeat},{mark}"
            for task, arms in OUTCOMES.items()
            for arm, marks in zip(ARMS, arms, strict=True)
            for repeat, mark in enumerate(marks, start=1)
        ]
        (tmp_path / "runs.csv").write_text("\n".join(["task_id,arm,repeat,passed", *rows]) + "\n")

        answer = checked(outweigh, str(tmp_path / "runs.csv"))

        assert answer["by_task"]["solved"]["flags"] == ["dead"]

    def test_takes_the_arms_that_are_named(self, outweigh: Any, store: str) -> None:
        assert checked(outweigh, store, "--arm", "weak", "--arm", "strong")["arms"] == ["weak", "strong"]


class TestBadInput:
    def test_one_arm_is_not_enough(self, outweigh: Any, tmp_path: Path) -> None:
        only = write_store(tmp_path / "s", runs_of({name: arms[:1] for name, arms in OUTCOMES.items()}), ("weak",))

        answer = outweigh("suite", "check", only)

        assert answer.code == 3
        assert "the records hold only 'weak'" in answer.err

    def test_an_arm_that_does_not_exist(self, outweigh: Any, store: str) -> None:
        answer = outweigh("suite", "check", store, "--arm", "weka", "--arm", "strong")

        assert answer.code == 2
        assert "there is no arm 'weka'" in answer.err
        assert "Did you mean 'weak'?" in answer.err

    def test_runs_without_outcomes(self, outweigh: Any, tmp_path: Path) -> None:
        unknown = [a_run(f"task-{n}", arm, 1, passed=None) for n in range(3) for arm in ("a", "b")]

        answer = outweigh("suite", "check", write_store(tmp_path / "s", unknown, ("a", "b")))

        assert answer.code == 3
        assert "says whether it passed" in answer.err

    def test_no_run(self, outweigh: Any, tmp_path: Path) -> None:
        answer = outweigh("suite", "check", write_store(tmp_path / "s", [], ("a", "b")))

        assert answer.code in (2, 3)
        assert "Traceback" not in answer.err
