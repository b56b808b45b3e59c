"""`outweigh plan` over a pilot, over stated variances and over a suite that has not run."""

import re
from collections.abc import Callable
from contextlib import chdir
from math import ceil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.engine_fixtures import write_suite

from outweigh.app.plan_prices import TYPICAL_USAGE
from outweigh.model.run_record import POLICY_VERSION_LABEL
from outweigh.report.formatting import format_dollars
from outweigh.testing.builders import a_run

Rows = list[dict[str, Any]]
RECORDED = str(Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl")
ARMS = ("--baseline", "T0-plain", "--candidate", "T1-skill")
STATED = ("--components", "true=0.05,runs=0.1")
SIZE_KEYS = {"tasks", "repeats", "cost_usd", "improved", "decided", "as_pilot", "in_the_way"} | {
    "same_if_alike",
    "false_if_alike",
}
SMALL = ("--tasks", "20,40", "--repeats", "1,3")


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
    answer = outweigh("plan", RECORDED, *ARMS, *SMALL, "--format", "json")

    plan = answer.json()
    assert answer.code == 0
    assert plan["schema"] == "outweigh.plan/2"
    promised = "metric scale effects power gates components tasks repeats sizes designs target advice warnings"
    assert plan.keys() >= {*promised.split(), "baseline", "candidate", "evidence_sha256"}
    assert plan["components"].keys() == {
        "true_deltas",
        "candidate_runs",
        "baseline_runs",
        "share_between_tasks",
        "at_repeats",
    }
    assert {frozenset(size) for size in plan["sizes"]} == {
        frozenset(
            [
                "tasks",
                "repeats",
                "cost_usd",
                "improved",
                "decided",
                "as_pilot",
                "same_if_alike",
                "false_if_alike",
                "in_the_way",
            ]
        )
    }
    assert (plan["metric"], plan["scale"], plan["effects"], plan["power"]) == (
        "pass_rate",
        "points",
        {"pass_rate": 0.05},
        0.8,
    )
    assert (plan["tasks"], plan["repeats"]) == (6, 5)
    assert [(size["tasks"], size["repeats"]) for size in plan["sizes"]] == [(20, 1), (20, 3), (40, 1), (40, 3)]
    for size in plan["sizes"]:
        assert 0 <= size["improved"]["low"] <= size["improved"]["chance"] <= size["improved"]["high"] <= 1
        assert size["improved"]["chance"] <= size["decided"]["chance"]
    assert set(plan["gates"]) == {"pass_rate", "duration", "non_cache_tokens", "cost"}


def test_planned_looks_are_foreseen_for_the_cheapest_design(outweigh: Any) -> None:
    options = ("--run-cost", "0.5", "--effect", "0.15", "--gates", "pass_rate", "--tasks", "40", "--repeats", "3")
    plan = outweigh("plan", *STATED, *options, "--format", "json").json()
    page = outweigh("plan", *STATED, *options, "--verbose").out

    looks, target = plan["planned_looks"], plan["target"]
    assert (looks["tasks"], looks["repeats"]) == (target["tasks"], target["repeats"])
    for endings in (looks["with_effects"], looks["if_alike"]):
        assert 6 <= endings["mean_tasks"] <= target["tasks"]
        assert endings["mean_cost_usd"] == pytest.approx(endings["mean_tasks"] * 3 * 2 * 0.5)
    assert looks["with_effects"]["improved"] > 0.5 > looks["if_alike"]["improved"]
    assert "planned looks (run --until-decided)" in page


def test_a_pilot_under_version_1_is_planned_by_it_and_the_plan_says_so(outweigh: Any, tmp_path: Path) -> None:
    runs = [
        msgspec.structs.replace(
            a_run(row["task_id"], row["arm"], row["repeat"], passed=row["success"]), extra={POLICY_VERSION_LABEL: 1}
        )
        for row in PILOT
    ]
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, runs)))

    first = outweigh("plan", str(path), *ARMS, *SMALL, "--gates", "pass_rate", "--format", "json").json()
    second = outweigh(
        "plan", str(path), *ARMS, *SMALL, "--gates", "pass_rate", "--policy-version", "2", "--format", "json"
    ).json()

    assert (first["policy_version"], second["policy_version"]) == (1, 2)
    assert any("this plans for version 1 of the rule" in warning for warning in first["warnings"])
    assert not any("this plans for version" in warning for warning in second["warnings"])


def test_a_size_costs_what_the_runs_of_the_pilot_do(outweigh: Any) -> None:
    plan = outweigh("plan", RECORDED, *ARMS, "--tasks", "40", "--repeats", "3", "--format", "json").json()
    arms = outweigh("compare", RECORDED, *ARMS, "--format", "json").json()["arms"]

    (size,) = plan["sizes"]
    pair = sum(arm["mean_cost_usd"] for arm in arms.values())
    assert size["cost_usd"] == pytest.approx(40 * 3 * pair)
    if plan["target"] is not None:
        assert plan["target"]["cost_usd"] == pytest.approx(plan["target"]["tasks"] * plan["target"]["repeats"] * pair)


def test_the_page_answers_how_often_for_how_much_and_what_is_in_the_way(outweigh: Any) -> None:
    page = outweigh("plan", RECORDED, *ARMS, *SMALL, "--effect", "pass_rate=0.2,cost=-0.1").out

    assert page.startswith("plan for pass rate +20 points, cost -10 %, T1-skill against T0-plain: ")
    assert "How often the rule would decide, if the effects are pass rate +20 points, cost -10 %\n" in page
    for column in ("improved", "decided", "as in the pilot", "same if alike", "false if alike", "obstacle"):
        assert column in page
    assert "Buy tasks, not repeats: from 6 tasks × 5 repeats, twice the tasks take the chance" in page


def test_the_page_is_one_screen_and_names_the_command_that_prints_the_rest(outweigh: Any) -> None:
    brief = outweigh("plan", RECORDED, *ARMS, "--gates", "pass_rate").out
    offered = outweigh("plan", RECORDED, *ARMS, "--gates", "pass_rate", "--format", "json").json()["sizes"]

    shown = re.findall(r"^  (\d+ × \d+)", brief, re.MULTILINE)
    assert len(brief.splitlines()) <= 24
    assert shown == [f"{size['tasks']} × {size['repeats']}" for size in offered if size["repeats"] == 5]
    command = brief.split("notes and all\n         warnings\n")[1].replace("\\\n", " ").split()
    assert command[:2] == ["outweigh", "plan"]
    assert "--verbose" in command
    assert "Where the variance of a task's pass rate delta comes from" in outweigh(*command[1:]).out


def test_a_larger_effect_is_seen_more_often(outweigh: Any) -> None:
    small, large = (
        outweigh("plan", *STATED, "--tasks", "60", "--repeats", "3", "--effect", effect, "--format", "json").json()
        for effect in ("0.03", "0.2")
    )

    assert small["sizes"][0]["improved"]["chance"] + 0.3 < large["sizes"][0]["improved"]["chance"]


def test_variances_may_be_stated_for_each_arm_and_need_no_records(outweigh: Any) -> None:
    stated = ("--components", "true=0.1,candidate=0.05,baseline=0.2", "--metric", "cost")
    plan = outweigh("plan", *stated, *SMALL, "--format", "json").json()

    parts = plan["components"]
    assert (parts["true_deltas"], parts["candidate_runs"], parts["baseline_runs"]) == (0.1, 0.05, 0.2)
    assert (plan["tasks"], plan["repeats"], plan["baseline"], plan["evidence_sha256"]) == (None, None, None, None)
    assert (plan["scale"], plan["effects"]) == ("ratio", {"cost": -0.05})
    assert {size["cost_usd"] for size in plan["sizes"]} == {None}
    assert any("--run-cost USD" in warning for warning in plan["warnings"])
    assert any("the other gates vary as in public records" in warning for warning in plan["warnings"])


def test_dear_tasks_are_repeated(outweigh: Any) -> None:
    dear = ("--run-cost", "0.1", "--task-cost", "40", "--effect", "0.15", "--gates", "pass_rate")
    plan = outweigh("plan", *STATED, *dear, *SMALL, "--format", "json").json()

    assert plan["target"]["repeats"] == 3
    assert plan["advice"].startswith("Buy repeats before tasks: a new task costs $40.00 before it is run")


def test_a_gain_of_a_resource_is_a_fall(outweigh: Any) -> None:
    page = outweigh("plan", RECORDED, *ARMS, *SMALL, "--metric", "non_cache_tokens", "--effect", "0.25").out

    assert page.startswith("plan for non-cache tokens -25 %, T1-skill against T0-plain: ")


def test_what_judges_say_is_planned_in_points(outweigh: Any) -> None:
    page = outweigh("plan", RECORDED, *ARMS, *SMALL, "--metric", "judge_score").out

    assert page.startswith("plan for judge score +5 points, T1-skill against T0-plain: ")


def test_a_pass_rate_that_cannot_rise_so_far_is_remarked_on(outweigh: Any) -> None:
    plan = outweigh("plan", *STATED, *SMALL, "--effect", "0.7", "--format", "json").json()

    assert any("cannot change by +70 points" in warning for warning in plan["warnings"])


def test_a_gate_that_the_pilot_does_not_know_is_left_out_and_named(
    outweigh: Any, collected: Callable[[Rows], str]
) -> None:
    plan = outweigh("plan", collected(PILOT), *ARMS, *SMALL, "--format", "json").json()

    assert plan["gates"] == ["pass_rate"]
    assert any("gate duration is left out of the simulation" in warning for warning in plan["warnings"])


def test_judges_that_nobody_asked_plan_nothing(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    answer = outweigh("plan", collected(PILOT), *ARMS, "--metric", "judge_score")

    assert answer.code == 3
    assert "tasks with a known judge_score in both arms: 0" in answer.err


def test_a_resource_that_nobody_uses_is_in_nobodys_way(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    free = [row | {"cost_usd": 0.0} for row in PILOT]

    plan = outweigh("plan", collected(free), *ARMS, *SMALL, "--format", "json").json()

    assert not any("gate cost" in warning for warning in plan["warnings"])


@pytest.mark.parametrize("tasks", [2, 3])
def test_a_tiny_pilot_gives_a_plan_with_a_warning(outweigh: Any, collected: Callable[[Rows], str], tasks: int) -> None:
    pilot = rows("T0-plain", *["+-", "--", "-+"][:tasks]) + rows("T1-skill", *["++", "-+", "-+"][:tasks])

    answer = outweigh("plan", collected(pilot), *ARMS, *SMALL, "--format", "json")

    assert answer.code == 0
    assert any("is a rough estimate" in warning for warning in answer.json()["warnings"])


def test_unknown_costs_leave_the_chances_and_can_be_stated(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    path = collected(PILOT)

    unpriced = outweigh("plan", path, *ARMS, *SMALL, "--format", "json").json()
    priced = outweigh("plan", path, *ARMS, *SMALL, "--run-cost", "2", "--format", "json").json()

    assert any("no run of T0-plain has a known cost" in warning for warning in unpriced["warnings"])
    assert [size["improved"] for size in unpriced["sizes"]] == [size["improved"] for size in priced["sizes"]]
    assert [unpriced["sizes"][0]["cost_usd"], priced["sizes"][0]["cost_usd"]] == [None, 20 * 2 * 2.0]


def test_one_repeat_shows_what_one_repeat_would_do_and_says_why(
    outweigh: Any, collected: Callable[[Rows], str]
) -> None:
    path = collected(rows("T0-plain", *"+-+--+-+") + rows("T1-skill", *"++++--++"))

    plan = outweigh("plan", path, *ARMS, *SMALL, "--format", "json").json()

    parts = plan["components"]
    assert (parts["true_deltas"], parts["candidate_runs"], parts["share_between_tasks"]) == (None, None, None)
    assert {size["repeats"] for size in plan["sizes"]} == {1}
    assert any("repeat noise cannot be told" in warning for warning in plan["warnings"])
    assert any("nothing is said about more than 1 repeat" in warning for warning in plan["warnings"])
    assert plan["advice"].startswith("Buy tasks: from 8 tasks × 1 repeat")
    assert "unknown after 1 repeat" in plan["advice"]


def test_every_format_is_offered(outweigh: Any) -> None:
    assert outweigh("plan", *STATED, *SMALL, "--format", "markdown").out.startswith("#")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "name the pilot's RUNS, or state its variances with --components"),
        ((RECORDED, *ARMS, "--candidate", "T2-skill-and-tools"), "takes one --candidate"),
        ((RECORDED, "--baseline", "T0-plain", "--candidate", "T9"), "no arm 'T9'"),
        ((RECORDED, *ARMS, "--metric", "happiness"), "--help"),
        ((RECORDED, *STATED), "leave out RUNS, or --components"),
        ((*STATED, *ARMS), "leave out --baseline, --candidate"),
        ((*STATED, "--skip-invalid"), "leave out --skip-invalid"),
        ((*STATED, "--effect", "5"), "5 is not a change of pass_rate from -0.99 to 0.99"),
        ((*STATED, "--effect", "nan"), "'nan' is not an effect on one of pass_rate"),
        ((*STATED, "--effect", "speed=0.1"), "'speed=0.1' is not an effect on one of pass_rate"),
        ((*STATED, "--effect", "cost=-0.1,cost=-0.2"), "'cost=-0.2' is not an effect on one of"),
        ((*STATED, "--gates", "speed"), "no gate 'speed'"),
        ((*STATED, "--power", "1"), "'1' is not a number from 0.5 to 0.999"),
        ((*STATED, "--power", "0.3"), "'0.3' is not a number from 0.5"),
        ((*STATED, "--tasks", "5,10"), "whole numbers from 6"),
        ((*STATED, "--tasks", "10000", "--repeats", "10"), "ask for 100,000 runs per arm"),
        ((*STATED, "--tasks", "10,10"), "different whole numbers"),
        ((*STATED, "--tasks", ","), "whole numbers from 6"),
        ((*STATED, "--tasks", "9" * 5000), "whole numbers from 6"),
        ((*STATED, "--tasks", ",".join(map(str, range(6, 40)))), "up to 20"),
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
        (("--components", "true=0.1,runs=25"), "the variance runs is at most 0.25, not 25"),
        (("--components", "true=0,runs=1e300", "--metric", "cost"), "the variance runs is at most 100"),
        (("--components", "true=0,runs=0"), "leaves nothing to plan for"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    outweigh: Any, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    with chdir(tmp_path):  # a folder without a store that could be meant
        assert expected in refusal(outweigh("plan", *arguments), 2)


@pytest.mark.parametrize(
    ("pilot", "options", "expected"),
    [
        (rows("T0-plain", "+-") + rows("T1-skill", "++"), (), "in both arms: 1"),
        (rows("T0-plain", "++", "++") + rows("T1-skill", "++", "++"), (), "the same amount on every task"),
        (rows("T0-plain", "+-", "++") + rows("T1-skill", "+", "-"), (), "one arm ran every task once"),
        (rows("T0-plain", "+", "+") + rows("T1-skill", "+", "-"), ("--repeats", "3"), "Add 1 to --repeats"),
        (PILOT, ("--metric", "duration"), "duration_seconds differs by the same amount"),
        (PILOT, ("--metric", "cost"), "tasks with a known cost_usd in both arms: 0"),
    ],
)
def test_records_that_cannot_carry_a_plan_are_refused(
    outweigh: Any, collected: Callable[[Rows], str], pilot: Rows, options: tuple[str, ...], expected: str
) -> None:
    assert expected in refusal(outweigh("plan", collected(pilot), *ARMS, *options), 3)


SUITE = str(Path(__file__).resolve().parents[2] / "examples" / "demo")


def test_a_suite_that_has_not_run_is_planned_by_the_variation_of_public_agents_as_a_range(outweigh: Any) -> None:
    plan = outweigh("plan", "-c", SUITE, *SMALL, "--effect", "0.2", "--format", "json").json()

    sizes = {(size["tasks"], size["repeats"]): size["improved"] for size in plan["sizes"]}
    assert {tasks for tasks, _ in sizes} == {12, 20, 40}
    assert sizes[40, 3]["high"] - sizes[40, 3]["low"] > 0.2
    assert any("that of public records of agents" in warning for warning in plan["warnings"])
    assert any("a pilot gives better figures" in warning for warning in plan["warnings"])


def test_stated_variances_of_a_suite_are_not_doubted(outweigh: Any) -> None:
    stated = (*STATED, "--gates", "pass_rate")
    plan = outweigh("plan", "-c", SUITE, *stated, *SMALL, "--format", "json").json()

    assert not any("public" in warning for warning in plan["warnings"])


def test_a_suite_that_goes_by_its_judges_is_planned_by_what_they_say(outweigh: Any, tmp_path: Path) -> None:
    suite = a_judged_suite(tmp_path)

    plan = outweigh("plan", "-c", suite, *SMALL, "--format", "json").json()

    assert (plan["metric"], plan["gates"]) == ("judge_score", ["judge_score"])
    assert {size["tasks"] for size in plan["sizes"]} == {6, 20, 40}, "no verdict rests on its single task"
    assert any("scores of judges" in warning for warning in plan["warnings"])


def test_a_pilot_of_such_a_suite_is_planned_by_what_they_say(outweigh: Any, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert outweigh("run", "-c", a_judged_suite(tmp_path), "-o", store).code == 3

    answer = outweigh("plan", store, *SMALL)

    assert "tasks with a known judge_score in both arms: 0" in refusal(answer, 3), "no judge could be asked"


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


def small_suite(folder: Path, tasks: int = 7, **arm: Any) -> str:
    arms = {"plain": {"agent": "claude-code", **arm}, "new": {"agent": "claude-code", "extra_prompt": "x", **arm}}
    return str(write_suite(folder, arms, tasks=tasks, repeats=5))


def test_a_small_suite_begins_with_what_it_can_see(outweigh: Any, tmp_path: Path) -> None:
    suite = small_suite(tmp_path / "suite", model="claude-sonnet-4-5")

    page = outweigh("plan", "-c", suite, *SMALL)
    seen = outweigh("plan", "-c", suite, *SMALL, "--format", "json").json()["visible"]

    assert page.code == 0, page.err
    first, _, lead, *_ = page.out.splitlines()
    points = ceil(100 * seen["loss"])
    assert first == f"7 tasks × 5 repeats: a difference of {points} points or more, if it is a loss"
    assert lead.startswith("No gain of the pass rate is called improved in 80 % of experiments")
    assert "What more would buy: to call pass rate +5 points improved in 80 %, take " in " ".join(page.out.split())
    assert (seen["tasks"], seen["repeats"], seen["gain"]) == (7, 5, None)


def test_a_suite_that_has_not_run_costs_what_typical_runs_do_at_the_price_list(outweigh: Any, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'name = "mine"\n[models."some-model"]\ninput_usd_per_million = 1.0\noutput_usd_per_million = 10.0\n'
        "cache_read_usd_per_million = 0.1\ncache_write_usd_per_million = 2.0\n"
    )
    suite = small_suite(tmp_path / "suite", model="some-model")
    usage = TYPICAL_USAGE
    run = (usage.input_tokens or 0) * 1e-6 + (usage.output_tokens or 0) * 1e-5
    run += (usage.cache_read_tokens or 0) * 1e-7 + (usage.cache_write_tokens or 0) * 2e-6

    plan = outweigh("plan", "-c", suite, "--prices", str(prices), *SMALL, "--format", "json").json()
    page = outweigh("plan", "-c", suite, "--prices", str(prices), *SMALL).out

    (size,) = [each for each in plan["sizes"] if (each["tasks"], each["repeats"]) == (7, 5)]
    assert size["cost_usd"] == pytest.approx(2 * 7 * 5 * run)
    assert f"Running it costs about {format_dollars(size['cost_usd'])}" in " ".join(page.split())
    assert any("costs are an estimate" in warning for warning in plan["warnings"])


def test_a_suite_that_is_too_small_for_any_verdict_is_told_so(outweigh: Any, tmp_path: Path) -> None:
    page = outweigh("plan", "-c", small_suite(tmp_path / "suite", tasks=2), *SMALL).out

    assert " ".join(page.split()).startswith(
        "2 tasks: no difference, however large; a verdict needs at least 6 tasks, "
        "and a better pass rate alone at least 7 "
    )
