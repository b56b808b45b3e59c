"""The next command of a verdict, pasted as it is shown, reads the same records and decides in the same way."""

import re
import shlex
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.verdict.two_arms import experiment

from outweigh.model.codec import encode

ARMS = ("--baseline", "old", "--candidate", "new")
RECORDED = ("--gates", "pass_rate,duration,cost")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def store_records(gain: float, speed: float = 0.9, tasks: int = 40, *, end: bytes = b"") -> str:
    lines = [encode(record) + b"\n" for record in experiment(gain, speed=speed, tasks=tasks)]
    Path("runs.jsonl").write_bytes(b"".join(lines) + end)
    return "runs.jsonl"


def store_table(tasks: int, header: str = "task,arm,repeat,passed,duration_s,cost_usd") -> str:
    """Every task turns from failing to passing, at about the same speed and cost."""
    draw = Random(1)
    rows = [
        f"t{task},{arm},{repeat},{int(arm == 'new')},{draw.gauss(50, 1):.3f},{draw.gauss(0.1, 0.001):.5f}"
        for task in range(tasks)
        for arm in ("old", "new")
        for repeat in (1, 2, 3)
    ]
    Path("r.csv").write_text("\n".join([header, *rows]) + "\n")
    return "r.csv"


def next_command(shown: str) -> list[str]:
    """The words of the command below `Next`, which may be broken into several lines."""
    joined = re.sub(r" \\\n\s+", " ", shown)
    found = re.search(r"^Next .*\n(?:\s+(?!outweigh).*\n)*\s+(outweigh .*)$", joined, re.MULTILINE)
    assert found is not None, shown
    return shlex.split(found[1])


def decision_of(outweigh: Any, command: list[str]) -> str:
    """What a pasted `outweigh report` decides, from its JSON."""
    assert command[:2] == ["outweigh", "report"]
    assert outweigh(*command[1:-1], "report.json").code == 0
    assert outweigh(*command[1:]).code == 0
    found = re.search(r'"decision":\s*"(\w+)"', Path("report.json").read_text())
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    "options",
    [
        ("--gates", "pass_rate,duration"),
        ("--margin", "pass_rate=0.2"),
        ("--tolerance", "cost=0.6"),
        ("--value", "50"),
        ("--policy", "gates"),
        ("--profile", "even"),
        ("--policy-version", "1"),
        ("--infer", "runs"),
        ("--sequential", "--planned-tasks", "40"),
        ("--seed", "7"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(("gain", "speed"), [(0.25, 0.9), (0.0, 1.0)])
def test_a_report_follows_every_option_that_decides(
    outweigh: Any, options: tuple[str, ...], gain: float, speed: float
) -> None:
    asked = ("verdict", store_records(gain, speed), *ARMS, *options)

    command = next_command(outweigh(*asked).out)

    decided = outweigh(*asked, "--format", "json").json()["decision"]
    assert set(options) <= set(command)
    if command[1] == "report":
        assert decision_of(outweigh, command) == decided
    else:
        assert outweigh(*command[1:]).code in (0, 1, 3)


def test_the_gates_that_were_named_decide_in_the_report(outweigh: Any) -> None:
    command = next_command(outweigh("verdict", store_table(8), *ARMS, *RECORDED).out)

    assert command[-4:-2] == list(RECORDED)
    assert decision_of(outweigh, command) == "improved"


def test_columns_that_were_named_are_read_by_the_next_command(outweigh: Any) -> None:
    table = store_table(8, "thing,setup,round,fine,took_s,usd")
    fields = {"task_id": "thing", "arm": "setup", "repeat": "round", "success": "fine", "duration_seconds": "took_s"}
    columns = [word for field, column in fields.items() for word in ("--map", f"{field}={column}")]

    answer = outweigh("verdict", table, *ARMS, *columns, "--gates", "pass_rate,duration")

    assert decision_of(outweigh, next_command(answer.out)) == "improved"


def test_lines_that_were_skipped_are_skipped_by_the_next_command(outweigh: Any) -> None:
    records = store_records(0.25, end=b"{damaged\n")

    command = next_command(outweigh("verdict", records, *ARMS, "--skip-invalid").out)

    assert decision_of(outweigh, command) == "improved"


@pytest.mark.parametrize("option", [("--margin", "cost=0.02"), ("--tolerance", "cost=0.1"), ("--infer", "runs")])
def test_a_plan_is_not_suggested_where_it_cannot_follow_the_rule(outweigh: Any, option: tuple[str, str]) -> None:
    records = store_records(0.0, 1.0, tasks=12)

    assert next_command(outweigh("verdict", records, *ARMS).out)[1] == "plan"
    assert next_command(outweigh("verdict", records, *ARMS, *option).out)[1] == "report"


def test_a_plan_takes_the_gates_of_the_verdict(outweigh: Any) -> None:
    command = next_command(outweigh("verdict", store_records(0.0, 1.0, 12), *ARMS, "--gates", "pass_rate,cost").out)

    assert (command[1], command[-2:]) == ("plan", ["--gates", "pass_rate,cost"])
    assert outweigh(*command[1:]).code == 0


def test_records_without_variation_suggest_no_plan_that_would_be_refused(outweigh: Any) -> None:
    answer = outweigh("verdict", store_table(6), *ARMS, "--gates", "pass_rate")

    assert "about 1 more task (about $" in answer.out
    assert decision_of(outweigh, next_command(answer.out)) == "inconclusive"


@pytest.mark.parametrize(("tasks", "decision"), [(6, "inconclusive"), (7, "improved")])
def test_a_better_pass_rate_alone_is_called_improved_from_7_tasks_on(outweigh: Any, tasks: int, decision: str) -> None:
    answer = outweigh("verdict", store_table(tasks), *ARMS, *RECORDED, "--format", "json")

    assert answer.json()["decision"] == decision


def test_runs_of_a_table_are_not_compared_step_by_step(outweigh: Any) -> None:
    table = store_table(8)

    answer = outweigh("verdict", table, "--baseline", "new", "--candidate", "old", *RECORDED)

    assert decision_of(outweigh, next_command(answer.out)) == "regressed"
