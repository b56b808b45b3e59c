"""What `outweigh ladder` says about how sure it is, as a script reads it."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store

from outweigh.model.codec import encode
from outweigh.model.profile import ProfileSpec
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.testing.builders import a_judgment, a_run

EXAMPLE = "examples/recorded/runs.jsonl"


def test_the_json_has_tests_standings_and_contenders(outweigh: Any) -> None:
    ladder = outweigh("ladder", EXAMPLE, "--format", "json").json()

    assert ladder["omnibus"]["friedman"]["n"] >= 2
    assert [step["reference"] for step in ladder["steps"]] == [0, 1]
    assert [contrast["reference"] for contrast in ladder["against_first"]] == [0, 0]
    step = ladder["steps"][0]
    assert step["simultaneous_interval"]["low"] < step["difference"] < step["simultaneous_interval"]["high"]
    assert step.keys() >= {"adjusted_p_value", "holm_p_value", "wilcoxon", "price_of_one_more_pass_usd"}
    assert ladder["best_value"] == ladder["best_values"][0]
    assert set(ladder["frontier"]) <= set(ladder["possible_frontier"])
    for level in ladder["levels"]:
        assert level["standing"]["rank_interval"][0] >= 1
        assert abs(sum(level["standing"]["chance_of_grade"].values()) - 1) < 1e-9
        for figure in level["figures"].values():
            assert figure["interval"] is not None or figure["notes"]
    assert ladder["levels"][1]["sub_arms"][0]["difference_to_baseline"]["interval"] is not None


def test_a_difference_between_tiers_that_share_no_task_is_null_and_shown_as_unknown(
    outweigh: Any, tmp_path: Path
) -> None:
    runs = [a_run(task, arm) for arm, tasks in (("T0", "ab"), ("T1", "cd")) for task in tasks]
    records = tmp_path / "runs.jsonl"
    records.write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    ladder = outweigh("ladder", str(records), "--format", "json").json()

    for difference in (ladder["steps"][0], ladder["levels"][1]["sub_arms"][0]["difference_to_baseline"]):
        assert difference["difference"] is None
        assert difference["notes"] == ["no task has a known score on both"]
    shown = outweigh("ladder", str(records), "--verbose").out.splitlines()
    assert any(line.split()[:4] == ["T1", "over", "T0", "unknown"] for line in shown)


@pytest.mark.parametrize(("tasks", "method"), [(6, "by Bonferroni's intervals"), (12, "by max-t from 2,000 bootstrap")])
def test_the_methods_name_the_correction_that_was_made(outweigh: Any, tmp_path: Path, tasks: int, method: str) -> None:
    nobody = AgentIdentity(kind=AgentKind.REAL, name=None, version=None, model="a-model")
    runs = [
        a_run(f"task-{task}", f"T{tier}", repeat, passed=(task + repeat) % 3 < tier, agent=nobody, family=f"f{task}")
        for tier in (1, 2)
        for task in range(tasks)
        for repeat in (1, 2)
    ]
    records = tmp_path / "runs.jsonl"
    records.write_bytes(b"".join(encode(run) + b"\n" for run in runs))

    shown = " ".join(outweigh("ladder", str(records), "--verbose").out.split())

    assert f"1 contrast of tiers was tested together {method}" in shown
    assert f"run on {tasks} tasks with 2 repeats each" in shown, "a family of each task groups nothing"
    assert "The recorded agents are an agent without a name with a-model" in shown


def test_weights_and_profiles_change_the_composite(outweigh: Any) -> None:
    def composite(*told: str) -> float:
        ladder = outweigh("ladder", EXAMPLE, *told, "--format", "json").json()
        first = next(tier for tier in ladder["tiers"] if tier["arm"] == "T0-plain")
        return float(first["composite_mean"])

    even = composite()
    passed, judged = composite("--weights", "passed=1"), composite("--weights", "judge_score=1")
    assert even == pytest.approx((passed + judged) / 2)
    assert composite("--profile", "even") == composite("--weights", "passed=.5,judge_score=.5") == even
    assert composite("--weights", "passed=3,judge_score=1") == pytest.approx((3 * passed + judged) / 4)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (("--weights", "speed=1"), "'speed=1' is not a weight"),
        (("--weights", "passed=x"), "'passed=x' is not a weight"),
        (("--weights", "passed=0"), "not all 0"),
        (("--weights", "passed=-1,judge_score=2"), "at least 0"),
        (("--weights", "passed=nan"), "at least 0"),
        (("--profile", "mine"), "must be objective_first or even"),
        (("--baseline", "T9"), "no arm 'T9'"),
    ],
)
def test_a_wrong_weight_profile_or_baseline_is_refused(outweigh: Any, told: tuple[str, ...], said: str) -> None:
    answer = outweigh("ladder", EXAMPLE, *told)

    assert answer.code == 2
    assert said in answer.err


def test_changes_give_a_ladder_its_rates_of_failed_and_reverted_changes(outweigh: Any, tmp_path: Path) -> None:
    changes = tmp_path / "changes.jsonl"
    changes.write_text(
        '{"id": "1", "arm": "T0-plain", "failed": true, "reverted": false}\n'
        '{"id": "2", "arm": "T0-plain", "failed": false, "reverted": false}\n'
    )
    levels = outweigh("ladder", EXAMPLE, "--changes", str(changes), "--format", "json").json()["levels"]

    assert (levels[0]["figures"]["cfp"]["value"], levels[0]["figures"]["pr_revert_rate"]["value"]) == (0.5, 0.0)
    assert levels[0]["figures"]["cfp"]["interval"]["high"] < 1
    assert levels[1]["figures"]["cfp"]["notes"] == ["no changes file covers this arm"]


def test_the_baseline_can_be_named(outweigh: Any) -> None:
    ladder = outweigh(
        "ladder", EXAMPLE, "--order", "T0-plain,T1-skill", "--baseline", "T1-skill", "--format", "json"
    ).json()

    assert (ladder["baseline"], ladder["first_tier"]) == ("T1-skill", "T0-plain")
    assert [tier["uplift"] for tier in ladder["tiers"]][1] == 0


def test_a_named_baseline_that_is_on_no_tier_is_refused(outweigh: Any) -> None:
    answer = outweigh("ladder", EXAMPLE, "--order", "T0-plain,T1-skill", "--baseline", "T2-skill-and-tools")

    assert answer.code == 2
    assert "--baseline 'T2-skill-and-tools' is on no tier" in answer.err


SUITE_PROFILE = {"mine": ProfileSpec(weights={"passed": 1.0, "judge_score": 3.0})}


def test_a_profile_of_the_suites_own_weighs_its_ladder_and_its_comparisons(outweigh: Any, tmp_path: Path) -> None:
    runs = [a_run(task, arm, passed=arm == "new") for task in ("a", "b") for arm in ("old", "new")]
    judged = b"".join(encode(a_judgment(run, 0.4)) + b"\n" for run in runs)
    store = write_store(tmp_path / "s", runs, ("old", "new"), profile="mine", profiles=SUITE_PROFILE)
    (tmp_path / "s" / "judgments-test.jsonl").write_bytes(judged)

    ladder = outweigh("ladder", store, "--format", "json").json()
    assert ladder["weights"] == {"passed": 1.0, "judge_score": 3.0}
    assert [tier["composite_mean"] for tier in ladder["tiers"]] == pytest.approx([0.3, 0.55])
    assert outweigh("ladder", store, "--profile", "even", "--format", "json").json()["profile"] == "even"
    assert outweigh("compare", store, "--format", "json").json()["profile"] == "mine"


def test_the_frontier_is_told_apart_from_those_that_may_be_on_it(outweigh: Any) -> None:
    ladder = outweigh("ladder", EXAMPLE, "--format", "json").json()
    others = [name for name in ladder["possible_frontier"] if name not in ladder["frontier"]]

    text = " ".join(outweigh("ladder", EXAMPLE).out.split())

    shown = " and ".join(ladder["frontier"])
    assert f"Frontier {shown}; perhaps also {' and '.join(others)}" in text
