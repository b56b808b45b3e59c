from collections.abc import Iterator, Sequence
from math import inf, nan
from typing import Any

import pytest
from msgspec.structs import replace

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.task_comparison import ComparedTasks, TaskComparison
from outweigh.errors import UsageError
from outweigh.model.failure import Status
from outweigh.model.usage import NO_USAGE
from outweigh.score.composite import EVEN
from outweigh.stats.estimate import known
from outweigh.testing.builders import a_check, a_judgment, a_run, evidence_of
from outweigh.verdict.composite_policy import CompositeThresholds, decide_by_composite
from outweigh.verdict.decision import Decision, RegressionKind, Verdict
from outweigh.verdict.policy import decide
from outweigh.verdict.promotion import may_promote

# Without cost signals a composite is 0.6·objective + 0.4·judge, so the judge alone moves it by exact steps.
SILENT: dict[str, Any] = {"usage": NO_USAGE, "duration_seconds": None, "step_count": None, "tool_call_count": None}


def judged(deltas: Sequence[float], repeats: int = 5) -> Comparison:
    """Two arms whose composites differ by exactly these amounts, task by task."""
    records: list[Any] = []
    for task, delta in enumerate(deltas, start=1):
        for repeat in range(1, repeats + 1):
            before = a_run(f"task-{task}", "old", repeat, **SILENT)
            after = a_run(f"task-{task}", "new", repeat, **SILENT)
            records += [before, after, a_judgment(before, 0.5), a_judgment(after, 0.5 + delta / 0.4)]
    return compare_arms(evidence_of(records), "old", "new")


def plain(before: list[Any], after: list[Any]) -> Verdict:
    return decide_by_composite(compare_arms(evidence_of(before, after), "old", "new"), CompositeThresholds())


def test_a_net_gain_without_regressions_is_an_improvement_and_may_be_promoted() -> None:
    result = decide_by_composite(judged([0.06, -0.02]), CompositeThresholds())

    assert (result.decision, result.seed_wording, result.regressions) == (Decision.IMPROVED, "improved", ())
    assert may_promote(result, result.evidence_sha256)


def test_a_net_gain_must_exceed_its_threshold_strictly() -> None:
    result = decide_by_composite(judged([0.06, -0.05]), CompositeThresholds())

    assert (result.decision, result.regressions) == (Decision.NEUTRAL, ())
    assert "+0.01 does not exceed 0.01" in result.reasons[0]


def test_a_task_that_drops_by_more_than_the_threshold_is_a_hard_regression() -> None:
    result = decide_by_composite(judged([0.2, -0.0501]), CompositeThresholds())

    assert result.decision is Decision.REGRESSED
    assert [(item.kind, item.task_id) for item in result.regressions] == [(RegressionKind.COMPOSITE_DROP, "task-2")]


def test_a_lost_check_is_a_hard_regression_whatever_is_gained_elsewhere() -> None:
    before = [a_run("a", "old", passed=False), a_run("b", "old")]
    after = [a_run("a", "new"), a_run("b", "new", passed=False)]

    result = plain(before, after)

    assert result.decision is Decision.REGRESSED
    assert RegressionKind.OBJECTIVE_DROP in {item.kind for item in result.regressions}


def test_the_objective_rule_can_be_switched_off() -> None:
    many = tuple(a_check(f"c{number}") for number in range(40))
    one_lost = (*many[:-1], a_check("c39", passed=False))
    comparison = compare_arms(
        evidence_of(a_run("a", "old", checks=many), a_run("a", "new", checks=one_lost)), "old", "new"
    )

    assert decide_by_composite(comparison, CompositeThresholds()).decision is Decision.REGRESSED
    assert decide([comparison], "composite", {"objective_drop_is_regression": 0})[0].decision is Decision.NEUTRAL


def test_a_task_the_candidate_never_ran_is_a_hard_regression() -> None:
    result = plain([a_run("a", "old"), a_run("b", "old")], [a_run("a", "new")])

    assert [(item.kind, item.task_id) for item in result.regressions] == [(RegressionKind.MISSING_TASK, "b")]


@pytest.mark.parametrize("score", [inf, -inf, nan])
def test_a_composite_that_is_not_a_finite_number_is_a_hard_regression(score: float) -> None:
    sound = judged([0.2, 0.2])

    class WithABrokenScore(ComparedTasks):
        """The tasks of the comparison, the last of them with this score of the candidate."""

        def __iter__(self) -> Iterator[TaskComparison]:
            first, last = super().__iter__()
            return iter((first, replace(last, candidate=replace(last.candidate, composite=known(score)))))

    broken = WithABrokenScore(sound.tasks.names, sound.tasks.baseline, sound.tasks.candidate)

    result = decide_by_composite(replace(sound, tasks=broken), CompositeThresholds())

    assert result.decision is Decision.REGRESSED
    assert [(item.kind, item.task_id) for item in result.regressions] == [(RegressionKind.NON_FINITE_SCORE, "task-2")]


def test_a_task_the_candidate_lost_to_infrastructure_is_unknown_not_missing() -> None:
    result = plain(
        [a_run("a", "old"), a_run("b", "old")], [a_run("a", "new"), a_run("b", "new", status=Status.INFRA_ERROR)]
    )

    assert (result.decision, result.regressions) == (Decision.INCONCLUSIVE, ())
    assert "task 'b': the candidate's score is unknown" in result.reasons[1]


def test_an_unknown_score_is_inconclusive_but_does_not_hide_a_regression() -> None:
    unknown = a_run("a", "new", checks=None)

    assert plain([a_run("a", "old")], [unknown]).decision is Decision.INCONCLUSIVE
    worse = plain([a_run("a", "old"), a_run("b", "old")], [unknown, a_run("b", "new", passed=False)])
    assert worse.decision is Decision.REGRESSED


def test_a_task_only_the_candidate_has_is_reported_and_left_out_of_the_gain() -> None:
    result = plain([a_run("a", "old")], [a_run("a", "new"), a_run("b", "new")])

    assert result.decision is Decision.NEUTRAL
    assert any("only the candidate has 'b'" in warning for warning in result.warnings)


def test_a_task_without_checks_cannot_support_an_improvement() -> None:
    before, after = a_run("a", "old", checks=()), a_run("a", "new", checks=())
    records: list[Any] = [before, after, a_judgment(before, 0.1), a_judgment(after, 0.9)]

    result = decide_by_composite(compare_arms(evidence_of(records), "old", "new"), CompositeThresholds())

    assert result.decision is Decision.INCONCLUSIVE
    assert "comes from tasks without checks" in result.reasons[0]
    assert any("has no checks" in blocker for blocker in result.blockers)


def test_rounding_hides_dust_but_not_a_difference() -> None:
    assert decide_by_composite(judged([0.0100004]), CompositeThresholds()).decision is Decision.NEUTRAL
    assert decide_by_composite(judged([0.010001]), CompositeThresholds()).decision is Decision.IMPROVED


@pytest.mark.parametrize("value", [-0.01, nan, inf])
@pytest.mark.parametrize("name", ["min_composite_gain", "regression_composite_drop"])
def test_a_threshold_that_is_negative_or_no_number_is_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=name):
        decide([judged([0.1])], "composite", {name: value})


def test_a_misspelt_threshold_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"Did you mean min_composite_gain\?"):
        decide([judged([0.1])], "composite", {"min_composit_gain": 0.1})


@pytest.mark.parametrize(
    ("policy", "margins"),
    [("vibes", {}), ("gates", {"x": 1.0}), ("evidence", {"x": 1.0}), ("evidence", {"duration": 0.0})],
)
def test_a_policy_that_is_not_there_or_takes_no_margins_is_refused(policy: str, margins: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        decide([judged([0.1])], policy, margins)


def test_an_unknown_objective_is_inconclusive_even_where_the_profile_does_not_weigh_it() -> None:
    unknown = (a_check(), a_check("lint", passed=None, required=False))
    before, after = a_run("a", "old", passed=False), a_run("a", "new", checks=unknown)
    records: list[Any] = [before, after, a_judgment(before, 0.5), a_judgment(after, 0.5)]

    comparison = compare_arms(evidence_of(records), "old", "new", EVEN)

    assert decide_by_composite(comparison, CompositeThresholds()).decision is Decision.INCONCLUSIVE
