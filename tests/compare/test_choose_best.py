"""Claims about the choice of the arm that another one is built on."""

from collections.abc import Sequence
from typing import Any

import pytest

from outweigh.compare.choose_best import BestArm, choose_best, choosing_runs
from outweigh.model.codec import Record
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.tiers import InheritSpec
from outweigh.model.usage import UNKNOWN_COST, Usage, reported_cost
from outweigh.testing.builders import a_judgment, a_run, evidence_of, runs_of_arm


def tokens(number: int) -> Usage:
    return Usage(input_tokens=number, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)


def chosen(*records: Record | Sequence[Record], **asked: Any) -> BestArm:
    return choose_best(evidence_of(*records).arms, InheritSpec(best_of=[0], **asked))


def arm(name: str, passes: int, tasks: int = 20, **fields: Any) -> list[RunRecord]:
    """Two runs of every task; the first tasks pass."""
    return runs_of_arm(name, [[task < passes] * 2 for task in range(tasks)], **fields)


def judged(name: str, scores: Sequence[float | None], **fields: Any) -> list[Record]:
    """A run of every task and its judgment, none where the score is None."""
    found: list[Record] = []
    for task, score in enumerate(scores, start=1):
        run = a_run(f"task-{task}", name, **fields)
        found += [run] if score is None else [run, a_judgment(run, score)]
    return found


class TestByEvidence:
    def test_the_arm_that_passes_more_often_beyond_chance_is_chosen(self) -> None:
        best = chosen(arm("a", 4), arm("b", 18), by="evidence")
        assert best.chosen == "b"
        assert best.reason == "it has the best pass rate, 90 %"

    def test_of_arms_that_the_tasks_do_not_tell_apart_the_one_with_fewest_tokens_is_chosen(self) -> None:
        best = chosen(arm("a", 12, usage=tokens(50)), arm("b", 14, usage=tokens(900)))
        assert [each.is_close for each in best.candidates] == [True, True]
        assert best.chosen == "a"
        assert (
            best.reason
            == "its pass rate is 60 %; 'b' counts as equal (the best is 70 %), and it uses the fewest tokens"
        )

    def test_a_margin_makes_arms_equal_that_the_tasks_do_tell_apart(self) -> None:
        records = [arm("a", 14, usage=tokens(50)), arm("b", 20, usage=tokens(900))]
        assert chosen(*records, margin=0.05).chosen == "b"
        assert chosen(*records, margin=0.3).chosen == "a"

    def test_one_that_is_better_on_every_task_by_the_same_is_told_apart(self) -> None:
        best = chosen(arm("a", 0, usage=tokens(1)), arm("b", 20, usage=tokens(9)))
        assert best.chosen == "b"

    def test_on_one_task_nothing_is_told_apart(self) -> None:
        best = chosen(arm("a", 0, 1, usage=tokens(1)), arm("b", 1, 1, usage=tokens(9)))
        assert best.chosen == "a"

    @pytest.mark.parametrize(("tie", "expected"), [("first", "a"), ("cheapest", "c"), ("fewest-tokens", "b")])
    def test_a_tie_is_broken_as_the_suite_says(self, tie: str, expected: str) -> None:
        best = chosen(
            arm("a", 10, usage=tokens(500), cost=reported_cost(0.5)),
            arm("b", 10, usage=tokens(100), cost=reported_cost(0.4)),
            arm("c", 10, usage=tokens(200), cost=reported_cost(0.1)),
            tie=tie,
        )
        assert best.chosen == expected

    def test_an_unknown_number_of_tokens_is_not_the_fewest(self) -> None:
        unknown = Usage(input_tokens=None, output_tokens=None, cache_read_tokens=None, cache_write_tokens=None)
        assert chosen(arm("a", 10, usage=unknown), arm("b", 10, usage=tokens(900))).chosen == "b"

    def test_equal_arms_are_chosen_in_their_order(self) -> None:
        assert chosen(arm("b", 10), arm("a", 10)).chosen == "b"

    def test_arms_are_compared_on_the_tasks_that_all_of_them_have_results_for(self) -> None:
        easy = [run for run in arm("a", 10) if int(run.trial.task_id.partition("-")[2]) <= 10]
        best = chosen(easy, arm("b", 14))
        assert [each.value for each in best.candidates] == [1.0, 1.0]

    def test_an_arm_with_few_results_is_left_out_and_said_why(self) -> None:
        few = arm("a", 20)[:6]
        best = chosen(few, arm("b", 10))
        assert best.chosen == "b"
        assert best.candidates[0].problem == "6 of its runs can be used, and 40 of another arm"

    def test_where_no_run_passed_nothing_is_chosen(self) -> None:
        best = chosen(arm("a", 0), arm("b", 0))
        assert best.chosen is None
        assert "no arm can be chosen by pass rate" in best.reason

    def test_where_infrastructure_failed_throughout_nothing_is_chosen(self) -> None:
        best = chosen(arm("a", 5, status=Status.INFRA_ERROR), arm("b", 5, status=Status.INFRA_ERROR))
        assert best.chosen is None
        assert "it has no run with a result" in best.reason

    def test_without_any_arm_nothing_is_chosen(self) -> None:
        assert choose_best({}, InheritSpec(best_of=[0])).chosen is None


class TestByMedianJudge:
    def test_the_arm_with_the_higher_median_is_chosen_whatever_its_mean(self) -> None:
        best = chosen(judged("a", [0.9, 0.9, 0.0]), judged("b", [0.8, 0.8, 0.8]), by="median-judge")
        assert best.chosen == "a"
        assert [each.value for each in best.candidates] == [0.9, 0.8]

    def test_within_the_margin_the_fewest_tokens_decide(self) -> None:
        records = [judged("a", [0.90] * 3, usage=tokens(90)), judged("b", [0.86] * 3, usage=tokens(10))]
        assert chosen(*records, by="median-judge").chosen == "b"
        assert chosen(*records, by="median-judge", margin=0.03).chosen == "a"

    def test_the_margin_itself_still_counts_as_equal(self) -> None:
        records = [judged("a", [0.90] * 3, usage=tokens(90)), judged("b", [0.85] * 3, usage=tokens(10))]
        assert chosen(*records, by="median-judge", margin=0.05).chosen == "b"

    def test_without_judgments_nothing_is_chosen(self) -> None:
        best = chosen(arm("a", 20), arm("b", 10), by="median-judge")
        assert best.chosen is None
        assert "none of its runs has a usable judgment" in best.reason

    def test_unusable_answers_are_no_judgments(self) -> None:
        run = a_run("task-1", "a")
        best = chosen(run, a_judgment(run, 0.9, invalid_reason="no JSON"), judged("b", [0.4]), by="median-judge")
        assert best.chosen == "b"


class TestByCostOfPass:
    def test_the_arm_whose_passes_cost_least_is_chosen(self) -> None:
        best = chosen(arm("a", 5, cost=reported_cost(0.1)), arm("b", 20, cost=reported_cost(0.2)), by="cost-of-pass")
        assert best.chosen == "b"
        assert [each.value for each in best.candidates] == pytest.approx([0.4, 0.2])

    def test_the_margin_is_a_share_of_the_lowest_cost(self) -> None:
        records = [
            arm("a", 20, cost=reported_cost(0.104), usage=tokens(1)),
            arm("b", 20, cost=reported_cost(0.1), usage=tokens(9)),
        ]
        assert chosen(*records, by="cost-of-pass").chosen == "a"
        assert chosen(*records, by="cost-of-pass", margin=0.03).chosen == "b"

    def test_an_arm_without_a_pass_or_without_costs_is_left_out(self) -> None:
        best = chosen(
            arm("a", 0), arm("b", 20, cost=UNKNOWN_COST), arm("c", 1, cost=reported_cost(9.0)), by="cost-of-pass"
        )
        assert best.chosen == "c"
        assert best.candidates[0].problem == "none of its runs passed"
        assert best.candidates[1].problem == "none of its runs has both a known result and a recorded cost"


def test_only_the_repeats_for_choosing_count() -> None:
    runs = [a_run("task-1", "a", repeat, passed=repeat > 2) for repeat in (1, 2, 3, 4)]
    kept = choosing_runs(evidence_of(runs).arms, {"a": 2, "b": 2})
    assert [score.repeat for score in kept["a"]] == [1, 2]
    assert kept["b"] == []
