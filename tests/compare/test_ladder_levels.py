"""Tiers and configurations: true numbers, the suite's baseline, every tier and every configuration counted once."""

from collections.abc import Mapping

import pytest

from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.compare.ladder_layout import TierPlan
from outweigh.errors import EvidenceError
from outweigh.model.codec import Record
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_judgment, a_run, evidence_of, runs_of_arm

TIERS = {"plain": 0, "prompt": 1, "skill": 1, "all": 2}
SCORES = {"plain": 0.4, "prompt": 0.6, "skill": 0.8, "all": 1.0}


def ladder(
    scores: Mapping[str, float] = SCORES, tiers: Mapping[str, int] = TIERS, baseline: str | None = None
) -> Ladder:
    records: list[Record] = []
    for arm, score in scores.items():
        for task in ("a", "b", "c"):
            run = a_run(task, arm, cost=reported_cost(0.1 * (1 + TIERS.get(arm, 0))), arm_fingerprint=f"of {arm}")
            records += [run, a_judgment(run, score)]
    return compare_tiers(evidence_of(records), None, plan=TierPlan(tiers=tiers, baseline=baseline))


def test_arms_keep_the_numbers_of_their_tiers() -> None:
    result = ladder()

    assert [(tier.summary.name, tier.number) for tier in result.tiers] == list(TIERS.items())
    assert [level.number for level in result.levels] == [0, 1, 2]
    assert [[sub_arm.name for sub_arm in level.sub_arms] for level in result.levels] == [
        ["plain"],
        ["prompt", "skill"],
        ["all"],
    ]


def test_a_spread_over_tiers_counts_tiers_and_not_arms() -> None:
    result = ladder()

    # The costs of the three tiers are .1, .2 and .3; over arms, .2 would count twice.
    assert result.of_means.cost_variance.value == pytest.approx(0.02 / 3)
    assert result.of_medians.cost_variance.value == pytest.approx(0.02 / 3)
    assert result.of_pooled_means.cost_variance.value == pytest.approx(0.02 / 3)


def test_uplift_is_over_the_baseline_of_the_suite() -> None:
    tiers = {"plain": 0, "other": 0, "all": 1}
    result = ladder({"plain": 0.4, "other": 0.8, "all": 1.0}, tiers, baseline="other")

    assert result.baseline == "other"
    assert [tier.uplift.value for tier in result.tiers] == pytest.approx([0.7 / 0.9 - 1, 0.0, 1.0 / 0.9 - 1])
    # The first tier counts both of its configurations once.
    assert [level.gain_over_first.point for level in result.levels] == pytest.approx([0.0, 1.0 / 0.8 - 1])
    assert [level.gain_over_baseline.point for level in result.levels] == pytest.approx([0.8 / 0.9 - 1, 1.0 / 0.9 - 1])


def test_a_tier_counts_each_configuration_once_and_shows_the_pool_beside() -> None:
    many = runs_of_arm("many", [[True] * 8, [True] * 8])
    few = runs_of_arm("few", [[False], [False]])
    result = compare_tiers(evidence_of(many, few), None, plan=TierPlan(tiers={"many": 0, "few": 0}))

    assert result.levels[0].figures["pass_rate"].point == 0.5
    assert result.levels[0].pooled.pass_rate.value == pytest.approx(16 / 18)


def test_arms_of_one_fingerprint_are_one_configuration_with_replicates() -> None:
    runs = [
        *runs_of_arm("one", [[True, True], [True, True]], arm_fingerprint="same"),
        *runs_of_arm("copy", [[False, False], [False, False]], arm_fingerprint="same"),
        *runs_of_arm("other", [[True, True], [True, True]], arm_fingerprint="another"),
    ]
    result = compare_tiers(evidence_of(runs), None, plan=TierPlan(tiers={"one": 0, "copy": 0, "other": 0}))

    (tier,) = result.levels
    assert [(sub_arm.name, sub_arm.arms) for sub_arm in tier.sub_arms] == [
        ("one", ("one", "copy")),
        ("other", ("other",)),
    ]
    # Counted once each: the copies pass half of their runs, the other all.
    assert tier.figures["pass_rate"].point == 0.75
    assert tier.sub_arms[0].summary.runs == 8


def test_arms_without_a_fingerprint_are_never_taken_for_one_configuration() -> None:
    result = compare_tiers(evidence_of(a_run(arm="a"), a_run(arm="b")), None, plan=TierPlan(tiers={"a": 0, "b": 0}))

    assert [sub_arm.arms for sub_arm in result.levels[0].sub_arms] == [("a",), ("b",)]


def test_one_configuration_on_two_tiers_is_named_as_noise() -> None:
    records = [a_run(arm=arm, arm_fingerprint="same") for arm in ("low", "high")]
    result = compare_tiers(evidence_of(records), None, plan=TierPlan(tiers={"low": 0, "high": 3}))

    assert any("low (tier 0) and high (tier 3) have the same fingerprint" in warning for warning in result.warnings)


def test_tiers_go_by_their_names_or_by_their_only_arm() -> None:
    records = [a_run(arm=arm) for arm in ("a", "b", "c", "d")]
    plan = TierPlan(tiers={"a": 0, "b": 1, "c": 2, "d": 2}, names={0: "nothing"})

    assert [tier.name for tier in compare_tiers(evidence_of(records), None, plan=plan).levels] == [
        "nothing",
        "b",
        "tier 2",
    ]


def test_an_arm_without_runs_is_left_out_and_named() -> None:
    plan = TierPlan(tiers={"a": 0, "gone": 1})
    result = compare_tiers(evidence_of(a_run(arm="a")), None, plan=plan)

    assert [level.number for level in result.levels] == [0]
    assert any("'gone'" in warning for warning in result.warnings)
    with pytest.raises(EvidenceError, match="no arm that has a tier has a run"):
        compare_tiers(evidence_of(a_run(arm="b")), None, plan=plan)


@pytest.mark.parametrize(("arms", "said"), [("abc", "is on no tier"), ("ab", "has no run")])
def test_a_suites_baseline_that_is_not_on_the_ladder_is_named(arms: str, said: str) -> None:
    plan = TierPlan(tiers={"a": 0, "b": 1}, baseline="c")
    result = compare_tiers(evidence_of([a_run(arm=arm) for arm in arms]), None, plan=plan)

    assert result.baseline == "a"
    assert f"the suite's baseline 'c' {said}; all arms are compared with 'a'." in result.warnings


def test_every_figure_has_an_interval_or_the_reason_why_not() -> None:
    runs = [
        run
        for arm in ("T0", "T1")
        for run in runs_of_arm(arm, [[True, False], [True, True], [False, False], [True, False]])
    ]
    tier, other = compare_tiers(evidence_of(runs), None).levels
    for figures in (tier.figures, other.figures, tier.sub_arms[0].figures, other.sub_arms[0].figures):
        for name, figure in figures.items():
            assert figure.interval is not None or figure.warnings, name
    assert tier.figures["pass_rate"].interval is not None
    assert tier.figures["pass_rate"].point == 0.5
    assert tier.figures["strategic_drift"].warnings == ("no action carries a goal alignment",)
    assert tier.figures["cfp"].warnings == ("no changes file covers this arm",)


def test_intervals_are_over_families_where_tasks_have_them() -> None:
    families = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z", "f": "z"}
    runs: list[RunRecord] = [
        a_run(task, "T0", family=family, duration_seconds=10.0 * ord(task)) for task, family in families.items()
    ]
    figure = compare_tiers(evidence_of(runs), None).levels[0].figures["duration_seconds"]

    assert (figure.n, figure.unit.value) == (3, "cluster")


def test_a_rate_of_all_or_none_is_only_as_sure_as_its_families_are_many() -> None:
    families = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z", "f": "z"}
    one, alone = (
        compare_tiers(evidence_of([a_run(task, family=named[task]) for task in families]), None).levels[0]
        for named in (families, dict.fromkeys(families))
    )
    clustered, by_task = one.figures["pass_rate"], alone.figures["pass_rate"]

    assert (clustered.point, clustered.n, clustered.unit.value) == (1.0, 3, "cluster")
    assert (by_task.point, by_task.n, by_task.unit.value) == (1.0, 6, "task")
    assert clustered.interval is not None
    assert by_task.interval is not None
    assert clustered.interval.low < by_task.interval.low
