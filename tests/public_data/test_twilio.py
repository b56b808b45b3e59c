"""Real runs of a coding agent with and without an MCP server, with the published figures."""

from typing import Any

import pytest

ARMS = ("--baseline", "control", "--candidate", "mcp")


def test_the_arms_have_the_published_figures(outweigh: Any, collected: Any, twilio: Any) -> None:
    arms = outweigh("compare", collected(twilio), *ARMS, "--format", "json").json()["arms"]

    control, mcp = arms["control"], arms["mcp"]
    assert [(arm["successes"], arm["runs"]) for arm in (control, mcp)] == [(24, 26), (25, 25)]
    assert control["median_duration_seconds"] == pytest.approx(47.579, abs=5e-4)
    assert mcp["median_duration_seconds"] == pytest.approx(55.292, abs=5e-4)
    assert (control["median_non_cache_tokens"], mcp["median_non_cache_tokens"]) == (2071.5, 2265)


def test_the_literal_gates_call_it_mixed(outweigh: Any, collected: Any, twilio: Any) -> None:
    answer = outweigh("verdict", collected(twilio), *ARMS, "--policy", "gates", "--format", "json")

    assert (answer.code, answer.json()["seed_wording"]) == (3, "mixed results - inspect paired deltas")
    assert [gate["state"] for gate in answer.json()["gates"]] == ["holds", "fails", "fails"]


def test_three_tasks_are_too_few_and_the_verdict_says_what_is_needed(
    outweigh: Any, collected: Any, twilio: Any
) -> None:
    answer = outweigh("verdict", collected(twilio), *ARMS, "--format", "json")

    verdict = answer.json()
    assert (answer.code, verdict["decision"], verdict["may_promote"]) == (3, "inconclusive", False)
    assert "3 tasks have counted runs in both arms" in verdict["reasons"][0]
    assert verdict["needs"]["more_tasks"] >= 3
    assert verdict["needs"]["cost_usd"] > 0
