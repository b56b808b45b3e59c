"""Public sets with one run per task: a real difference, and four agents that nobody can tell apart."""

from itertools import permutations
from typing import Any

import pytest

TAU2 = ("--baseline", "gpt-4.1", "--candidate", "gpt-4.1-sft")


def test_the_fine_tuned_model_passes_77_of_100_against_62(outweigh: Any, collected: Any, tau2: Any) -> None:
    comparison = outweigh("compare", collected(tau2), *TAU2, "--format", "json").json()

    assert [comparison["arms"][arm]["successes"] for arm in ("gpt-4.1", "gpt-4.1-sft")] == [62, 77]
    table = comparison["tests"]["mcnemar"]
    assert [table[cell] for cell in ("both", "only_baseline", "only_candidate", "neither")] == [53, 9, 24, 14]
    assert table["unit"] == "task"
    assert table["p_value"] == pytest.approx(0.0135, abs=5e-5)


def test_its_cost_is_unknown_not_free(outweigh: Any, collected: Any, tau2: Any) -> None:
    arm = outweigh("compare", collected(tau2), *TAU2, "--format", "json").json()["arms"]["gpt-4.1-sft"]

    assert arm["total_cost_usd"] is arm["solved_per_dollar"] is arm["cost_of_pass_usd"] is None


def test_the_fine_tuned_model_is_shown_to_pass_more(outweigh: Any, collected: Any, tau2: Any) -> None:
    answer = outweigh("verdict", collected(tau2), *TAU2, "--gates", "pass_rate", "--format", "json")

    verdict = answer.json()
    assert (answer.code, verdict["decision"]) == (0, "improved")
    # A hundred tasks with one repeat are enough for a promotion.
    assert (verdict["may_promote"], verdict["blockers"]) == (True, [])


def test_it_takes_longer_so_that_it_is_a_trade_off_although_tokens_are_unknown(
    outweigh: Any, collected: Any, tau2: Any
) -> None:
    answer = outweigh("verdict", collected(tau2), *TAU2, "--format", "json")

    assert (answer.code, answer.json()["decision"]) == (1, "trade_off")
    assert "--gates pass_rate,duration" in answer.json()["reasons"][0]
    states = {gate["name"]: gate["state"] for gate in answer.json()["gates"]}
    assert states == {"pass_rate": "holds", "duration": "worse", "non_cache_tokens": "unknown", "cost": "unknown"}


def test_four_agents_resolve_73_72_70_70_and_nobody_wins(outweigh: Any, collected: Any, vexp: Any) -> None:
    path = collected(vexp)
    arms = ("vexp", "livesweagent", "openhands", "sonar")
    successes: dict[str, int] = {}

    for baseline, candidate in permutations(arms, 2):
        pair = (path, "--baseline", baseline, "--candidate", candidate)
        compared = outweigh("compare", *pair, "--format", "json").json()["arms"]
        successes |= {arm: compared[arm]["successes"] for arm in (baseline, candidate)}
        verdict = outweigh("verdict", *pair, "--gates", "pass_rate", "--format", "json").json()
        assert verdict["decision"] == "inconclusive"
        assert verdict["needs"]["more_tasks"] > 0

    assert sorted(successes.values(), reverse=True) == [73, 72, 70, 70]
