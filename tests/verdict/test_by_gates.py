from typing import Any

import pytest

from outweigh.compare.comparison import compare_arms
from outweigh.model.failure import Status
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.testing.builders import a_run, evidence_of, runs_of_arm
from outweigh.verdict.decision import Decision, GateState, Verdict
from outweigh.verdict.gates_policy import decide_by_gates
from outweigh.verdict.promotion import may_promote


def tokens(number: int) -> Usage:
    return Usage(input_tokens=number, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)


def verdict(passes: int, seconds: float, non_cache: int, repeats: int = 5) -> Verdict:
    """A baseline that passes 3 of `repeats` in 100 s with 1,000 tokens, against a candidate."""
    before = runs_of_arm("old", [[r < 3 for r in range(repeats)]], duration_seconds=100.0, usage=tokens(1000))
    after = runs_of_arm(
        "new", [[r < passes for r in range(repeats)]], duration_seconds=seconds, usage=tokens(non_cache)
    )
    return decide_by_gates(compare_arms(evidence_of(before, after), "old", "new"))


def test_the_candidate_is_preferred_when_no_gate_is_worse() -> None:
    result = verdict(4, 90.0, 1000)

    assert (result.decision, result.seed_wording) == (Decision.IMPROVED, "prefer new")
    assert may_promote(result, result.evidence_sha256)


def test_the_baseline_is_preferred_when_every_gate_is_strictly_worse() -> None:
    result = verdict(2, 101.0, 1001)

    assert (result.decision, result.seed_wording) == (Decision.REGRESSED, "prefer old")


@pytest.mark.parametrize(("passes", "seconds", "non_cache"), [(4, 101.0, 1000), (2, 90.0, 900), (2, 101.0, 1000)])
def test_anything_else_is_mixed(passes: int, seconds: float, non_cache: int) -> None:
    result = verdict(passes, seconds, non_cache)

    assert (result.decision, result.seed_wording) == (Decision.INCONCLUSIVE, "mixed results - inspect paired deltas")


def test_a_tie_is_reported_as_the_seed_does_but_never_promotes() -> None:
    result = verdict(3, 100.0, 1000)

    assert (result.decision, result.seed_wording) == (Decision.IMPROVED, "prefer new")
    assert any("tie" in warning for warning in result.warnings)
    assert not may_promote(result, result.evidence_sha256)


def test_fewer_than_five_repeats_warn_and_refuse_promotion() -> None:
    result = verdict(4, 90.0, 900, repeats=4)

    assert result.decision is Decision.IMPROVED
    assert any("at least 5" in warning for warning in result.warnings)
    assert not may_promote(result, result.evidence_sha256)


def test_repeats_lost_to_infrastructure_do_not_count_towards_the_five() -> None:
    before = runs_of_arm("old", [[True] * 5])
    after = [
        *runs_of_arm("new", [[True] * 4], duration_seconds=50.0),
        a_run("task-1", "new", 5, status=Status.INFRA_ERROR),
    ]

    result = decide_by_gates(compare_arms(evidence_of(before, after), "old", "new"))

    assert any("one task has 4" in blocker for blocker in result.blockers)


def mostly_known(unknown: int, runs: int = 40) -> list[Any]:
    return [
        a_run("task-1", "new", repeat, usage=NO_USAGE if repeat <= unknown else tokens(900))
        for repeat in range(1, runs + 1)
    ]


@pytest.mark.parametrize(("unknown", "state"), [(0, GateState.HOLDS), (2, GateState.HOLDS), (3, GateState.UNKNOWN)])
def test_a_gate_is_unknown_when_more_than_one_run_in_twenty_does_not_know_it(unknown: int, state: GateState) -> None:
    before = runs_of_arm("old", [[True] * 40], usage=tokens(1000))

    result = decide_by_gates(compare_arms(evidence_of(before, mostly_known(unknown)), "old", "new"))

    assert result.gates[2].state is state
    assert (result.decision is Decision.INCONCLUSIVE) == (state is GateState.UNKNOWN)


def test_an_unknown_gate_never_passes_even_when_the_others_fail() -> None:
    before = runs_of_arm("old", [[True] * 5])
    after = runs_of_arm("new", [[False] * 5], duration_seconds=999.0, usage=NO_USAGE)

    result = decide_by_gates(compare_arms(evidence_of(before, after), "old", "new"))

    assert result.decision is Decision.INCONCLUSIVE
    assert result.gates[2].candidate is None


def test_averages_over_different_tasks_never_promote() -> None:
    before = runs_of_arm("old", [[True, False, True, False, True]])
    after = runs_of_arm("new", [[True, False, False, False, True], [True] * 5, [True] * 5], duration_seconds=50.0)

    result = decide_by_gates(compare_arms(evidence_of(before, after), "old", "new"))

    assert result.decision is Decision.IMPROVED
    assert any("only the candidate ran 'task-2', 'task-3'" in blocker for blocker in result.blockers)


@pytest.mark.parametrize("lost", ["old", "new"])
def test_an_arm_without_counted_runs_leaves_every_gate_unknown(lost: str) -> None:
    before, after = (
        a_run(arm=arm, status=Status.INFRA_ERROR if arm == lost else Status.COMPLETED) for arm in ("old", "new")
    )

    result = decide_by_gates(compare_arms(evidence_of(before, after), "old", "new"))

    assert {gate.detail for gate in result.gates} == {"one of the arms has no counted run"}


def test_five_repeats_need_no_warning() -> None:
    assert not any("at least 5" in warning for warning in verdict(4, 90.0, 900, repeats=5).warnings)


@pytest.mark.parametrize("silent", ["old", "new"])
def test_a_gate_is_unknown_where_one_arm_does_not_know_its_metric(silent: str) -> None:
    old, new = (
        runs_of_arm(arm, [[True] * 5], **({"duration_seconds": None} if arm == silent else {}))
        for arm in ("old", "new")
    )

    result = decide_by_gates(compare_arms(evidence_of(old, new), "old", "new"))

    assert result.decision is Decision.INCONCLUSIVE
    assert [gate.state for gate in result.gates if gate.name == "duration"] == [GateState.UNKNOWN]
