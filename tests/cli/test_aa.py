"""`outweigh suite aa`: how often each policy raises a false alarm on this data."""

import re
from pathlib import Path
from typing import Any

import pytest

from outweigh.model.codec import encode
from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import runs_of_arm

EXAMPLE = str(Path(__file__).parents[2] / "examples/recorded/runs.jsonl")
DECISIONS = ("improved", "trade_off", "neutral", "regressed", "inconclusive")


def stored(folder: Path, *arms: list[RunRecord]) -> str:
    path = folder / "runs.jsonl"
    path.write_bytes(b"".join(encode(run) + b"\n" for arm in arms for run in arm))
    return str(path)


@pytest.fixture
def checked(outweigh: Any) -> dict[str, Any]:
    answer: dict[str, Any] = outweigh("suite", "aa", EXAMPLE, "--splits", "30", "--format", "json").json()
    return answer


def test_the_json_has_every_promised_key(checked: dict[str, Any]) -> None:
    promised = (
        "schema arms splits seed tolerated evidence_sha256 evidence_hash_version policies natural_pairs warnings "
        "deciding policy_from"
    )

    assert checked.keys() == set(promised.split())
    assert (checked["schema"], checked["splits"], checked["seed"]) == ("outweigh.aa/1", 30, 0)
    assert checked["arms"] == ["T0-plain", "T1-skill", "T2-skill-and-tools"]
    assert (checked["natural_pairs"], checked["warnings"]) == ([], [])


def test_every_policy_has_shares_that_add_up_and_an_interval_around_its_false_alarms(checked: dict[str, Any]) -> None:
    assert list(checked["policies"]) == ["evidence", "gates", "composite"]
    for policy in checked["policies"].values():
        assert policy.keys() == {*DECISIONS, "splits", "false_alarms", "false_alarms_interval"}
        assert sum(policy[decision] for decision in DECISIONS) == pytest.approx(1)
        assert policy["false_alarms"] == pytest.approx(policy["improved"] + policy["trade_off"] + policy["regressed"])
        interval = policy["false_alarms_interval"]
        assert interval["low"] <= policy["false_alarms"] <= interval["high"]
        assert (interval["level"], interval["method"]) == (0.95, "Wilson score")


def test_one_arm_gets_all_the_splits(outweigh: Any) -> None:
    answer = outweigh("suite", "aa", EXAMPLE, "--arm", "T1-skill", "--splits", "5", "--format", "json").json()

    assert (answer["arms"], answer["splits"]) == (["T1-skill"], 5)


def test_a_seed_repeats_the_answer_and_another_one_changes_it(outweigh: Any) -> None:
    one, same, other = (
        outweigh("suite", "aa", EXAMPLE, "--splits", "30", "--seed", seed, "--format", "json").json()["policies"]
        for seed in ("1", "1", "2")
    )

    assert one == same
    assert one != other


@pytest.mark.parametrize("style", ["text", "markdown"])
def test_people_see_the_table_and_what_to_conclude(outweigh: Any, style: str) -> None:
    answer = outweigh("suite", "aa", EXAMPLE, "--arm", "T0-plain", "--splits", "60", "--format", style)

    assert answer.code == 0
    for expected in ("do not use as a gate: gates, composite", "false alarms", "(limit: 10 %)"):
        assert expected in answer.out
    assert re.search(r"evidence raises a false alarm in [0-9.]+ % of the splits", answer.out)


def test_too_few_splits_do_not_acquit_a_policy(outweigh: Any) -> None:
    answer = outweigh("suite", "aa", EXAMPLE, "--arm", "T2-skill-and-tools", "--splits", "5")

    assert "5 splits are too few to show that it stays below 10 %; raise --splits" in answer.out


def test_a_policy_that_could_not_judge_is_not_praised_for_its_silence(outweigh: Any, tmp_path: Path) -> None:
    path = stored(tmp_path, runs_of_arm("a", [[True, False, True, False]] * 3))

    answer = outweigh("suite", "aa", path, "--splits", "5")

    assert "evidence could judge none of the splits, so this says nothing about it" in answer.out
    assert "policy evidence could not judge 5 of 5 splits: 3 tasks have counted runs in both arms" in answer.out


def test_the_gates_of_the_evidence_policy_can_be_chosen(outweigh: Any, collected: Any) -> None:
    rows = [
        {"task_id": f"t{task}", "arm": "a", "repeat": repeat, "success": (task * repeat) % 3 > 0}
        for task in range(8)
        for repeat in range(1, 6)
    ]
    path = collected(rows)

    blind, seeing = (outweigh("suite", "aa", path, "--splits", "5", *gates) for gates in ((), ("--gates", "pass_rate")))

    assert "policy evidence could not judge 5 of 5" in blind.out
    assert "policy evidence could not judge" not in seeing.out


def test_arms_with_one_fingerprint_are_shown_as_natural_pairs(outweigh: Any, tmp_path: Path) -> None:
    arms = [runs_of_arm(name, [[True, False]] * 6, arm_fingerprint="same") for name in ("a", "b")]
    path = stored(tmp_path, *arms)

    (pair,) = outweigh("suite", "aa", path, "--splits", "2", "--format", "json").json()["natural_pairs"]
    page = outweigh("suite", "aa", path, "--splits", "2").out

    assert (pair["baseline"], pair["candidate"]) == ("a", "b")
    assert pair["decisions"] == {"evidence": "inconclusive", "gates": "improved", "composite": "neutral"}
    assert "b against a" in page
    assert "false alarms among 1 natural pairs: evidence 0, gates 1, composite 0." in page


def test_natural_pairs_without_splits_leave_the_shares_unknown(outweigh: Any, tmp_path: Path) -> None:
    path = stored(tmp_path, *(runs_of_arm(name, [[True]] * 6, arm_fingerprint="same") for name in "ab"))

    answer, page = outweigh("suite", "aa", path, "--format", "json").json(), outweigh("suite", "aa", path)

    assert (answer["splits"], answer["policies"]["gates"]["improved"]) == (0, None)
    assert answer["policies"]["gates"]["false_alarms_interval"] is None
    assert "the shares of every policy are null: no arm could be split." in answer["warnings"]
    assert page.out.startswith("A/A self-check, 1 natural pairs and no splits")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--arm", "T0-plane"), "Did you mean 'T0-plain'?"),
        (("--arm", "T0-plain", "--arm", "T0-plain"), "--arm names an arm twice"),
        (("--splits", "0"), "'0' is not a number of splits (1 or more)"),
        (("--splits", "many"), "'many' is not a number of splits (1 or more)"),
        (("--splits", "2"), "2 splits are too few for 3 arm(s)"),
        (("--seed=-1",), "'-1' is not a whole number of at least 0"),
        (("--gates", "speed"), "policy evidence has no gate 'speed'"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(outweigh: Any, arguments: tuple[str, ...], expected: str) -> None:
    answer = outweigh("suite", "aa", EXAMPLE, *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert expected in answer.err
    assert answer.err.count("\n") == 1


def test_one_run_per_task_cannot_be_split_and_the_way_out_is_named(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("suite", "aa", stored(tmp_path, runs_of_arm("a", [[True], [False]])))

    assert (answer.code, answer.out) == (3, "")
    assert "no task of 'a' has two counted runs" in answer.err
    assert "Run every task at least twice" in answer.err
