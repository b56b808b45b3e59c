import pytest

from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.compare.ladder_contenders import CostQuality, pareto_frontier
from outweigh.compare.ladder_levels import uplift
from outweigh.errors import UsageError
from outweigh.model.codec import Record
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.stats.sample import population_variance
from outweigh.testing.builders import a_judgment, a_run, evidence_of, runs_of_arm


def ladder(*scores: float, order: list[str] | None = None, passes: int = 1) -> Ladder:
    records: list[Record] = []
    for tier, score in enumerate(scores):
        run = a_run(arm=f"T{tier}", cost=reported_cost(0.1 * (tier + 1)), passed=tier < passes or passes > 1)
        records += [run, a_judgment(run, score)]
    return compare_tiers(evidence_of(records), order)


def test_uplift_is_the_gain_relative_to_the_first_tier() -> None:
    assert [uplift(score, 0.70).value for score in (0.80, 0.85, 0.90)] == pytest.approx(
        [0.142857, 0.214286, 0.285714], abs=1e-6
    )


def test_the_example_of_the_source_has_its_variances() -> None:
    scores = [0.70, 0.80, 0.85, 0.90]

    assert population_variance(scores).value == pytest.approx(0.00546875)
    assert (population_variance(scores).value or 0) * 4 / 3 == pytest.approx(0.00729167, abs=1e-8)


def test_a_first_tier_of_zero_has_no_uplift() -> None:
    assert uplift(0.5, 0.0).value is None
    assert uplift(None, 0.5).value is None


def test_tiers_climb_on_the_even_composite() -> None:
    tiers = ladder(0.4, 0.6, 0.8, passes=9).tiers

    assert [tier.summary.metrics["composite"].median for tier in tiers] == pytest.approx([0.7, 0.8, 0.9])
    assert [tier.uplift.value for tier in tiers] == pytest.approx([0.0, 1 / 7, 2 / 7])


def test_variance_and_range_are_taken_over_the_tiers() -> None:
    result = ladder(0.5, 0.5, 0.5, passes=1)

    assert result.of_medians.pass_rate_variance.value == pytest.approx(2 / 9)
    assert result.of_medians.cost_range.value == pytest.approx(0.2)
    assert result.of_means.cost_variance.value == pytest.approx(population_variance([0.1, 0.2, 0.3]).value)


def test_best_value_is_the_cheapest_pass_and_never_a_tier_that_never_passes() -> None:
    assert ladder(0.5, 0.5, passes=9).contenders.best_value == "T0"
    assert ladder(0.5, 0.5, order=["T1"], passes=1).contenders.best_value is None


def test_tiers_are_ranked_as_asked_or_by_name_with_numbers_as_numbers() -> None:
    records = [a_run(arm=name) for name in ("T10", "T2", "T0")]

    assert [tier.summary.name for tier in compare_tiers(evidence_of(records), None).tiers] == ["T0", "T2", "T10"]
    assert "ranked by arm name" in compare_tiers(evidence_of(records), None).warnings[0]
    assert [tier.summary.name for tier in compare_tiers(evidence_of(records), ["T2", "T0"]).tiers] == ["T2", "T0"]


def test_a_tier_cannot_stand_on_two_rungs() -> None:
    with pytest.raises(UsageError, match="twice"):
        ladder(0.5, 0.6, order=["T0", "T1", "T0"])


def test_without_any_outcome_the_uplift_and_the_grade_are_of_the_judge_score_alone() -> None:
    runs = [a_run(f"task-{task}", arm, checks=()) for arm in ("a", "b") for task in (1, 2)]
    judged = [a_judgment(run, 0.8 if run.trial.arm == "a" else 0.96) for run in runs]

    ladder = compare_tiers(evidence_of(runs, judged), ["a", "b"])

    assert ladder.quality == "judge_score"
    assert [tier.grade for tier in ladder.levels] == ["C", "A"]
    assert ladder.levels[1].uplift.value == pytest.approx(0.2)
    assert any("judge score alone" in warning for warning in ladder.warnings)


def test_without_judges_the_uplift_is_of_the_pass_rate_and_the_grade_of_passed_alone() -> None:
    outcomes = {"T0": [[True, False], [True, False]], "T1": [[True, True], [True, False]]}
    result = compare_tiers(evidence_of(*(runs_of_arm(arm, runs) for arm, runs in outcomes.items())), None)

    assert result.quality == "passed"
    assert [tier.uplift.value for tier in result.tiers] == [0.0, 0.5]
    assert [tier.grade for tier in result.tiers] == ["F", "C"]
    assert [level.gain_over_first.point for level in result.levels] == [0.0, pytest.approx(0.5)]
    assert any("graded on `passed` alone" in warning for warning in result.warnings)


def test_where_one_tier_is_not_judged_its_uplift_is_unknown_and_says_why() -> None:
    judged, silent = a_run(arm="T0"), a_run(arm="T1")
    result = compare_tiers(evidence_of(judged, a_judgment(judged, 0.5), silent), None)

    assert result.quality == "composite"
    assert result.tiers[1].uplift.reason == "the composite needs a judge score and a pass rate on both tiers"


def test_a_tier_of_unknown_cost_is_not_on_the_frontier() -> None:
    known, unpriced = a_run(arm="T0", cost=reported_cost(0.1)), a_run(arm="T1", cost=UNKNOWN_COST)

    assert compare_tiers(evidence_of(known, unpriced), None).contenders.frontier == ("T0",)


def test_the_frontier_holds_whoever_nobody_beats_on_both_counts() -> None:
    offers = [
        CostQuality("cheap", 1, 0.5),
        CostQuality("good", 3, 0.9),
        CostQuality("bad", 3, 0.4),
        CostQuality("twin", 1, 0.5),
    ]

    assert pareto_frontier(offers) == ("cheap", "twin", "good")


def test_of_equal_quality_only_the_cheapest_is_on_the_frontier() -> None:
    offers = [CostQuality(arm=f"at {cost}", cost=cost, quality=0.8) for cost in (0.1, 0.2)]

    assert pareto_frontier(offers) == ("at 0.1",)


def test_of_equal_cost_only_the_best_is_on_the_frontier() -> None:
    offers = [CostQuality(arm=f"with {quality}", cost=0.1, quality=quality) for quality in (0.8, 0.9)]

    assert pareto_frontier(offers) == ("with 0.9",)


def test_two_offers_that_are_the_same_are_both_on_the_frontier() -> None:
    offers = [CostQuality(arm=name, cost=0.1, quality=0.8) for name in ("one", "other")]

    assert pareto_frontier(offers) == ("one", "other")
