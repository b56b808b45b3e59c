"""`outweigh plan` over a pilot and over stated variances."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from statsmodels.stats.power import TTestPower

Rows = list[dict[str, Any]]
RECORDED = str(Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl")
ARMS = ("--baseline", "T0-plain", "--candidate", "T1-skill")
STATED = ("--components", "true=0.05,runs=0.1")


def rows(arm: str, *outcomes: str, **fields: Any) -> Rows:
    return [
        {
            "task_id": f"task-{task}",
            "arm": arm,
            "repeat": repeat,
            "success": mark == "+",
            "duration_seconds": 5.0,
            **fields,
        }
        for task, marks in enumerate(outcomes)
        for repeat, mark in enumerate(marks, start=1)
    ]


PILOT = rows("T0-plain", "+-", "--", "+-", "-+", "--", "++") + rows("T1-skill", "++", "-+", "+-", "++", "--", "++")


def refusal(answer: Any, code: int) -> str:
    assert answer.code == code
    assert answer.out == ""
    assert answer.err.startswith("outweigh: ")
    assert answer.err.count("\n") == 1, "one paragraph"
    assert "Traceback" not in answer.err
    message: str = answer.err
    return message


def test_the_json_has_every_promised_key(outweigh: Any) -> None:
    answer = outweigh("plan", RECORDED, *ARMS, "--format", "json")

    plan = answer.json()
    assert answer.code == 0
    assert plan["schema"] == "outweigh.plan/1"
    promised = "metric scale alpha power components tasks repeats detectable designs target advice warnings"
    assert plan.keys() >= {*promised.split(), "baseline", "candidate", "evidence_sha256"}
    assert plan["components"].keys() == {
        "true_deltas",
        "candidate_runs",
        "baseline_runs",
        "share_between_tasks",
        "at_repeats",
    }
    assert {frozenset(cell) for cell in plan["detectable"]} == {frozenset({"tasks", "repeats", "effect", "cost_usd"})}
    assert plan["target"].keys() == {"effect", "tasks", "repeats", "cost_usd", "power"}
    assert (plan["metric"], plan["scale"], plan["alpha"], plan["power"]) == ("pass_rate", "points", 0.05, 0.8)
    assert (plan["tasks"], plan["repeats"], plan["target"]["effect"]) == (6, 5, 0.05)
    assert len(plan["detectable"]) == 5 * 4


def test_a_cell_follows_from_the_components_and_the_costs_of_the_pilot(outweigh: Any) -> None:
    plan = outweigh("plan", RECORDED, *ARMS, "--tasks", "40", "--repeats", "3", "--format", "json").json()
    arms = outweigh("compare", RECORDED, *ARMS, "--format", "json").json()["arms"]

    parts, (cell,) = plan["components"], plan["detectable"]
    deviation = (parts["true_deltas"] + (parts["candidate_runs"] + parts["baseline_runs"]) / 3) ** 0.5
    assert TTestPower().power(cell["effect"] / deviation, 40, 0.05) == pytest.approx(0.8, abs=1e-6)
    pair = sum(arm["mean_cost_usd"] for arm in arms.values())
    assert cell["cost_usd"] == pytest.approx(40 * 3 * pair)
    assert plan["target"]["cost_usd"] == pytest.approx(plan["target"]["tasks"] * plan["target"]["repeats"] * pair)


def test_the_page_answers_what_to_buy(outweigh: Any) -> None:
    page = outweigh("plan", "--components", "true=0.115,runs=0.06675", "--tasks", "80,200", "--run-cost", "0.5").out

    assert page.startswith("plan for pass_rate: to see 5.0 points with 80 % power, take ")
    assert "Smallest effect seen with 80 % power at two-sided alpha 0.05\n" in page
    assert "80 tasks   15.8 points  12.7 points  11.9 points  11.4 points\n" in page
    assert "Buy tasks, not repeats: 46.3 % of the variance at 1 repeat lies between tasks" in page
    assert "the effect that a pilot happened to show plays no part" in page
    assert "a promotion takes at least 5 repeats: the cheapest such design is" in page


def test_the_golden_design_is_971_tasks(outweigh: Any) -> None:
    # The normal formula says 969; the t test, whose variance is estimated too, takes two more.
    plan = outweigh("plan", "--components", "true=0.1111111111,runs=0", "--effect", "0.03", "--format", "json").json()

    assert (plan["target"]["tasks"], plan["target"]["cost_usd"]) == (971, None)


def test_variances_may_be_stated_for_each_arm_and_need_no_records(outweigh: Any) -> None:
    plan = outweigh(
        "plan", "--components", "true=0.1,candidate=0.05,baseline=0.2", "--metric", "cost", "--format", "json"
    ).json()

    parts = plan["components"]
    assert (parts["true_deltas"], parts["candidate_runs"], parts["baseline_runs"]) == (0.1, 0.05, 0.2)
    assert (plan["tasks"], plan["repeats"], plan["baseline"], plan["evidence_sha256"]) == (None, None, None, None)
    assert plan["scale"] == "ratio"
    assert {cell["cost_usd"] for cell in plan["detectable"]} == {None}
    assert any("--run-cost USD" in warning for warning in plan["warnings"])


def test_dear_tasks_are_repeated(outweigh: Any) -> None:
    plan = outweigh("plan", *STATED, "--run-cost", "0.1", "--task-cost", "40", "--format", "json").json()

    assert plan["target"]["repeats"] == 10
    assert plan["advice"].startswith("Buy repeats before tasks: a new task costs $40.0000 before it is run")


def test_a_ratio_is_shown_as_a_relative_change(outweigh: Any) -> None:
    page = outweigh("plan", RECORDED, *ARMS, "--metric", "non_cache_tokens", "--effect", "0.25").out

    assert "non_cache_tokens, T1-skill against T0-plain: to see 25.0 % with 80 % power" in page
    assert "an effect of 25.0 % is a ratio of 1.25; the fall that is as easy to see is 20.0 %." in page


def test_what_judges_say_is_planned_in_points(outweigh: Any) -> None:
    page = outweigh("plan", RECORDED, *ARMS, "--metric", "judge_score").out

    assert "plan for judge_score, T1-skill against T0-plain: to see 5.0 points" in page


def test_judges_that_nobody_asked_plan_nothing(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    answer = outweigh("plan", collected(PILOT), *ARMS, "--metric", "judge_score")

    assert answer.code == 3
    assert "tasks that know judge_score in both arms: 0" in answer.err


def test_unknown_costs_leave_the_effects_and_can_be_stated(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    path = collected(PILOT)

    unpriced = outweigh("plan", path, *ARMS, "--format", "json").json()
    priced = outweigh("plan", path, *ARMS, "--run-cost", "2", "--format", "json").json()

    assert unpriced["target"]["cost_usd"] is None
    assert any("no run of T0-plain knows its cost" in warning for warning in unpriced["warnings"])
    assert [cell["effect"] for cell in unpriced["detectable"]] == [cell["effect"] for cell in priced["detectable"]]
    assert priced["detectable"][0]["cost_usd"] == 10 * 2 * 2.0


def test_one_repeat_shows_one_column_and_says_why(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    path = collected(rows("T0-plain", *"+-+--+-+") + rows("T1-skill", *"++++--++"))

    plan = outweigh("plan", path, *ARMS, "--format", "json").json()
    page = outweigh("plan", path, *ARMS).out

    parts = plan["components"]
    assert (parts["true_deltas"], parts["candidate_runs"], parts["share_between_tasks"]) == (None, None, None)
    assert {cell["repeats"]: cell["effect"] is None for cell in plan["detectable"]} == {
        1: False,
        3: True,
        5: True,
        10: True,
    }
    assert plan["target"]["repeats"] == 1
    assert any("repeat noise cannot be told" in warning for warning in plan["warnings"])
    assert plan["advice"].startswith("Buy tasks: from 8 tasks × 1 repeat")
    assert "unknown after 1 repeat" in page


def test_every_format_is_offered(outweigh: Any) -> None:
    assert outweigh("plan", *STATED, "--format", "markdown").out.startswith("#")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "name the pilot's RUNS, or state its variances with --components"),
        ((RECORDED,), "name both arms with --baseline and --candidate"),
        ((RECORDED, *ARMS, "--candidate", "T2-skill-and-tools"), "takes one --candidate"),
        ((RECORDED, "--baseline", "T0-plain", "--candidate", "T9"), "no arm 'T9'"),
        ((RECORDED, *ARMS, "--metric", "happiness"), "--help"),
        ((RECORDED, *STATED), "leave out RUNS, or --components"),
        ((*STATED, *ARMS), "leave out --baseline, --candidate"),
        ((*STATED, "--skip-invalid"), "leave out --skip-invalid"),
        ((*STATED, "--effect", "0"), "'0' is not a number from 0.0001 to 1"),
        ((*STATED, "--effect", "5"), "'5' is not a number from 0.0001 to 1"),
        ((*STATED, "--effect", "nan"), "'nan' is not a number"),
        ((*STATED, "--power", "1"), "'1' is not a number from 0.5 to 0.999"),
        ((*STATED, "--power", "0.3"), "'0.3' is not a number from 0.5"),
        ((*STATED, "--alpha", "0"), "'0' is not a number from 0.001 to 0.4"),
        ((*STATED, "--alpha", "0.5"), "'0.5' is not a number from 0.001"),
        ((*STATED, "--tasks", "1,10"), "whole numbers from 2"),
        ((*STATED, "--tasks", "10,10"), "different whole numbers"),
        ((*STATED, "--tasks", ","), "whole numbers from 2"),
        ((*STATED, "--tasks", "9" * 5000), "whole numbers from 2"),
        ((*STATED, "--tasks", ",".join(map(str, range(2, 40)))), "up to 20"),
        ((*STATED, "--repeats", "0"), "whole numbers from 1"),
        ((*STATED, "--repeats", "three"), "whole numbers from 1"),
        ((*STATED, "--task-cost", "-1"), "amount"),
        ((*STATED, "--run-cost", "inf"), "amount"),
        (("--components", "0.1"), "write true=X,runs=Y"),
        (("--components", ""), "write true=X,runs=Y"),
        (("--components", "true=0.1"), "does not name every variance once"),
        (("--components", "true=0.1,runs=0.1,runs=0.2"), "does not name every variance once"),
        (("--components", "true=0.1,runs=0.1,baseline=0.2"), "does not name every variance once"),
        (("--components", "true=0.1,runs=-0.1"), "'runs=-0.1' is not a variance"),
        (("--components", "true=0.1,runs=nan"), "'runs=nan' is not a variance"),
        (("--components", "true=0.1,walks=0.1"), "'walks=0.1' is not a variance"),
        (("--components", "true=0.1,runs=25"), "the variance runs is at most 0.5, not 25"),
        (("--components", "true=0,runs=1e300", "--metric", "cost"), "the variance runs is at most 100"),
        (("--components", "true=0,runs=0"), "leaves nothing to plan for"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(outweigh: Any, arguments: tuple[str, ...], expected: str) -> None:
    assert expected in refusal(outweigh("plan", *arguments), 2)


@pytest.mark.parametrize(
    ("pilot", "options", "expected"),
    [
        (rows("T0-plain", "+-") + rows("T1-skill", "++"), (), "in both arms: 1"),
        (rows("T0-plain", "++", "++") + rows("T1-skill", "++", "++"), (), "the same amount on every task"),
        (rows("T0-plain", "+-", "++") + rows("T1-skill", "+", "-"), (), "one arm ran every task once"),
        (rows("T0-plain", "+", "+") + rows("T1-skill", "+", "-"), ("--repeats", "3"), "Add 1 to --repeats"),
        (PILOT, ("--metric", "duration"), "duration_seconds differs by the same amount"),
        (PILOT, ("--metric", "cost"), "tasks that know cost_usd in both arms: 0"),
    ],
)
def test_records_that_cannot_carry_a_plan_are_refused(
    outweigh: Any, collected: Callable[[Rows], str], pilot: Rows, options: tuple[str, ...], expected: str
) -> None:
    assert expected in refusal(outweigh("plan", collected(pilot), *ARMS, *options), 3)


SUITE = str(Path(__file__).resolve().parents[2] / "examples" / "demo")


def test_a_suite_that_has_not_run_is_planned_by_what_public_benchmarks_show(outweigh: Any) -> None:
    plan = outweigh("plan", "-c", SUITE, "--format", "json").json()

    row = next(cell for cell in plan["detectable"] if (cell["tasks"], cell["repeats"]) == (12, 5))
    assert 0.3 < row["effect"] < 0.36
    assert any("a pilot would tell" in warning for warning in plan["warnings"])


def test_stated_variances_of_a_suite_are_not_doubted(outweigh: Any) -> None:
    plan = outweigh("plan", "-c", SUITE, *STATED, "--format", "json").json()

    assert not any("benchmarks" in warning for warning in plan["warnings"])


def test_a_suite_that_goes_by_its_judges_is_planned_by_what_they_say(outweigh: Any, tmp_path: Path) -> None:
    suite = a_judged_suite(tmp_path)

    plan = outweigh("plan", "-c", suite, "--format", "json").json()

    assert plan["metric"] == "judge_score"
    assert any("scores of judges" in warning for warning in plan["warnings"])
    assert outweigh("plan", "-c", suite, "--metric", "pass_rate", "--format", "json").json()["metric"] == "pass_rate"


def test_a_suite_of_one_task_is_planned_larger(outweigh: Any, tmp_path: Path) -> None:
    plan = outweigh("plan", "-c", a_judged_suite(tmp_path), "--tasks", "6,12", "--format", "json").json()

    assert {cell["tasks"] for cell in plan["detectable"]} == {6, 12}


def test_a_pilot_of_such_a_suite_is_planned_by_what_they_say(outweigh: Any, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert outweigh("run", "-c", a_judged_suite(tmp_path), "-o", store).code == 0

    answer = outweigh("plan", store)

    assert "tasks that know judge_score in both arms: 0" in refusal(answer, 3), "no judge could be asked"


def a_judged_suite(folder: Path) -> str:
    """One task, two arms, and a judge that is not there."""
    task = folder / "suite" / "task"
    task.mkdir(parents=True)
    (task / "instruction.md").write_text("Say something.\n")
    (task / "task.toml").write_text(
        '[[metadata.outweigh.rubric.criteria]]\ntype = "binary"\nname = "kind"\ndescription = "It is kind."\n'
    )
    (folder / "suite" / "suite.toml").write_text(
        'name = "judged"\ntasks = ["task"]\nbaseline = "a"\nrepeats = 1\n[policy]\ngates = ["judge_score"]\n'
        '[[judges]]\nname = "nobody"\nbackend = "command"\noptions = { command = ["/no/such/program"] }\n'
        '[sandbox]\nkind = "local"\n'
        '[arms.a]\nagent = "noop"\n[arms.b]\nagent = "shell"\noptions = { command = "true" }\n'
    )
    return str(folder / "suite")


def test_a_suite_and_a_pilot_at_once_are_refused(outweigh: Any) -> None:
    assert "leave out RUNS" in outweigh("plan", "-c", SUITE, "runs.jsonl").err
    assert "state its variances" in outweigh("plan", "-c", SUITE, "--metric", "cost").err
