"""Verdicts over a `collected.jsonl` written to the seed's field list: every outcome of both policies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rows = list[dict[str, Any]]
ARMS = ("--baseline", "without_skelly", "--candidate", "with_skelly")


def rows(arm: str, passes: int, seconds: float, tokens: int, *, tasks: int = 2, **fields: Any) -> Rows:
    return [
        {
            "task_id": f"task-{task}",
            "arm": arm,
            "repeat": repeat,
            "success": repeat <= passes,
            "duration_seconds": seconds + repeat,
            "total_cost_usd": 0.1,
            "input_tokens": tokens,
            "output_tokens": 100,
            "cache_read_tokens": 5000,
            "cache_write_tokens": 100,
            **fields,
        }
        for task in range(1, tasks + 1)
        for repeat in range(1, 6)
    ]


BASELINE = rows("without_skelly", 3, 100, 1000)


@pytest.mark.parametrize(
    ("candidate", "decision", "wording", "code", "promotes"),
    [
        (rows("with_skelly", 4, 90, 900), "improved", "prefer with_skelly", 0, True),
        (rows("with_skelly", 3, 100, 1000), "improved", "prefer with_skelly", 0, False),
        (rows("with_skelly", 2, 110, 1100), "regressed", "prefer without_skelly", 1, False),
        (rows("with_skelly", 4, 110, 900), "inconclusive", "mixed results - inspect paired deltas", 3, False),
    ],
)
def test_gates_gives_the_seeds_answer(
    outweigh: Any,
    collected: Callable[[Rows], str],
    candidate: Rows,
    decision: str,
    wording: str,
    code: int,
    promotes: bool,
) -> None:
    answer = outweigh("verdict", collected(BASELINE + candidate), *ARMS, "--policy", "gates", "--format", "json")

    verdict = answer.json()
    assert (verdict["decision"], verdict["seed_wording"], verdict["may_promote"]) == (decision, wording, promotes)
    assert answer.code == code


@pytest.mark.parametrize(
    ("candidate", "decision", "code", "promotes"),
    [
        (rows("with_skelly", 4, 100, 1000), "improved", 0, True),
        (rows("with_skelly", 3, 100, 1000), "neutral", 1, False),
        (rows("with_skelly", 2, 100, 1000), "regressed", 1, False),
        (rows("with_skelly", 4, 100, 1000, tasks=1), "regressed", 1, False),
        (rows("with_skelly", 4, 100, 1000, success=None), "inconclusive", 3, False),
    ],
)
def test_composite_gives_the_seeds_answer(
    outweigh: Any, collected: Callable[[Rows], str], candidate: Rows, decision: str, code: int, promotes: bool
) -> None:
    answer = outweigh("verdict", collected(BASELINE + candidate), *ARMS, "--policy", "composite", "--format", "json")

    verdict = answer.json()
    assert (verdict["decision"], verdict["seed_wording"], verdict["may_promote"]) == (decision, decision, promotes)
    assert answer.code == code


def test_the_json_has_every_promised_key(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    candidate = rows("with_skelly", 2, 100, 1000)

    verdict = outweigh(
        "verdict", collected(BASELINE + candidate), *ARMS, "--policy", "composite", "--format", "json"
    ).json()

    assert verdict["schema"] == "outweigh.verdict/1"
    promised = "policy decision seed_wording may_promote evidence_sha256 reasons warnings gates regressions needs"
    assert verdict.keys() >= set(promised.split())
    assert verdict["needs"] is None
    assert {"kind", "task_id", "detail"} == verdict["regressions"][0].keys()
    assert {item["task_id"] for item in verdict["regressions"]} == {"task-1", "task-2"}


def test_gates_are_listed_with_both_figures_and_their_state(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    candidate = rows("with_skelly", 4, 110, 900)

    gates = outweigh("verdict", collected(BASELINE + candidate), *ARMS, "--policy", "gates", "--format", "json").json()[
        "gates"
    ]

    assert [(gate["name"], gate["state"]) for gate in gates] == [
        ("pass_rate", "holds"),
        ("duration", "fails"),
        ("non_cache_tokens", "holds"),
    ]
    assert (gates[1]["baseline"], gates[1]["candidate"]) == (103.0, 113.0)


def test_neutral_satisfies_when_only_no_regression_is_required(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    path = collected(BASELINE + rows("with_skelly", 3, 100, 1000))

    assert outweigh("verdict", path, *ARMS, "--policy", "composite").code == 1
    assert outweigh("verdict", path, *ARMS, "--policy", "composite", "--require", "not-regressed").code == 0


def test_missing_tokens_are_inconclusive_under_gates_whatever_is_required(
    outweigh: Any, collected: Callable[[Rows], str]
) -> None:
    path = collected(BASELINE + rows("with_skelly", 4, 90, 900, input_tokens=None))

    answer = outweigh("verdict", path, *ARMS, "--policy", "gates", "--require", "not-regressed", "--format", "json")

    assert (answer.code, answer.json()["gates"][2]["state"]) == (3, "unknown")


@pytest.mark.parametrize("spelling", ["min_composite_gain", "minCompositeGain"])
def test_a_threshold_can_be_set_in_either_spelling(
    outweigh: Any, collected: Callable[[Rows], str], spelling: str
) -> None:
    path = collected(BASELINE + rows("with_skelly", 4, 100, 1000))

    answer = outweigh(
        "verdict", path, *ARMS, "--policy", "composite", "--margin", f"{spelling}=0.9", "--format", "json"
    )

    assert (answer.json()["decision"], answer.json()["settings"]["min_composite_gain"]) == ("neutral", 0.9)


def test_evidence_is_the_default_policy(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    path = collected(BASELINE + rows("with_skelly", 4, 90, 900))

    answer = outweigh("verdict", path, *ARMS, "--format", "json")

    assert (answer.code, answer.json()["policy"], answer.json()["decision"]) == (3, "evidence", "inconclusive")


def test_the_same_records_in_any_order_and_file_give_the_same_verdict(
    outweigh: Any, collected: Callable[[Rows], str]
) -> None:
    everything = BASELINE + rows("with_skelly", 4, 90, 900)
    command = (*ARMS, "--policy", "gates", "--format", "json")

    forward = outweigh("verdict", collected(everything), *command).out
    backward = outweigh("verdict", collected(everything[::-1]), *command).out

    assert forward == backward


def test_skipped_lines_are_told_and_block_promotion(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    path = collected(BASELINE + rows("with_skelly", 4, 90, 900))
    with Path(path).open("ab") as stream:
        stream.write(b'{"task_id": "t')

    answer = outweigh("verdict", path, *ARMS, "--policy", "gates", "--skip-invalid", "--format", "json")

    assert (answer.code, answer.json()["decision"], answer.json()["may_promote"]) == (0, "improved", False)
    assert any("could not be read" in blocker for blocker in answer.json()["blockers"])


def test_a_hard_regression_is_never_exit_code_0(outweigh: Any, collected: Callable[[Rows], str]) -> None:
    baseline = rows("without_skelly", 3, 100, 1000, tasks=40)
    candidate = [row for row in rows("with_skelly", 5, 60, 500, tasks=40) if row["task_id"] != "task-7"]
    for row in baseline + candidate:
        row["duration_seconds"] += int(str(row["task_id"]).removeprefix("task-")) * row["repeat"] / 10
        row["input_tokens"] += int(str(row["task_id"]).removeprefix("task-")) * row["repeat"]
    arguments = (collected(baseline + candidate), *ARMS, "--gates", "pass_rate,duration,non_cache_tokens")

    answer = outweigh("verdict", *arguments, "--format", "json")

    assert (answer.json()["decision"], answer.code) == ("improved", 1)
    assert answer.json()["regressions"][0]["kind"] == "missing_task"
