from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from statsmodels.stats.weightstats import ttost_paired

from outweigh.stats.variance import TaskMoments
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import RuleFinding
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1, apply_rule_v1
from outweigh.verdict.evidence_settings import GATED_METRICS
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_test import GateTest, examine_gate


def gate(name: str, benefits: Any, margin: float | None = None, unknown: str | None = None) -> GateSample:
    values = np.asarray(benefits, dtype=np.float64)
    return GateSample(
        gated=GATED_METRICS[name],
        margin=GATED_METRICS[name].margin if margin is None else margin,
        tasks=tuple(f"task-{number}" for number in range(len(values))),
        benefits=values,
        families=None,
        noise=None,
        unknown=unknown,
    )


def around(mean: float, deviation: float, tasks: int = 60) -> np.ndarray:
    """Deltas with exactly this mean and sample deviation."""
    raw = np.random.default_rng(5).normal(size=tasks)
    centred = raw - raw.mean()
    deltas: np.ndarray = mean + centred / centred.std(ddof=1) * deviation
    return deltas


def finding(*gates: GateSample) -> RuleFinding:
    return apply_rule_v1([[examine_gate(sample) for sample in gates]])[0]


SAME = gate("duration", around(0.0, 0.1))


def test_not_worse_anywhere_and_better_somewhere_is_an_improvement() -> None:
    result = finding(gate("pass_rate", around(0.1, 0.2)), SAME)

    assert (result.decision, result.superior, result.alarms) == (Decision.IMPROVED, ("pass_rate",), ())


def test_better_somewhere_is_not_enough_when_another_gate_is_in_doubt() -> None:
    doubtful = gate("duration", around(0.0, 0.6))

    assert finding(gate("pass_rate", around(0.1, 0.2)), doubtful).decision is Decision.INCONCLUSIVE


def test_a_loss_of_passes_is_a_regression_without_any_margin() -> None:
    result = finding(gate("pass_rate", around(-0.03, 0.1)), SAME)

    assert (result.decision, result.alarms) == (Decision.REGRESSED, ("pass_rate",))


def test_a_resource_is_overspent_only_beyond_its_margin() -> None:
    steady = gate("pass_rate", around(0.0, 0.1))

    slightly = finding(steady, gate("cost", around(-np.log(1.03), 0.05)))
    clearly = finding(steady, gate("cost", around(-np.log(1.15), 0.05)))

    assert slightly.alarms == ()
    assert (clearly.decision, clearly.alarms) == (Decision.REGRESSED, ("cost",))


def test_the_same_within_every_margin_is_neutral() -> None:
    assert finding(gate("pass_rate", around(0.0, 0.1)), SAME).decision is Decision.NEUTRAL


def test_too_much_noise_is_inconclusive() -> None:
    assert finding(gate("pass_rate", around(0.02, 0.5)), SAME).decision is Decision.INCONCLUSIVE


def test_an_unknown_gate_never_passes_and_never_alarms() -> None:
    unknown = gate("duration", around(-5.0, 0.1), unknown="nobody measured it")

    result = finding(gate("pass_rate", around(0.1, 0.2)), unknown)

    assert (result.decision, result.alarms) == (Decision.INCONCLUSIVE, ())


def test_passing_everything_in_both_arms_is_neutral_from_59_tasks_on() -> None:
    assert finding(gate("pass_rate", np.zeros(58))).decision is Decision.INCONCLUSIVE
    assert finding(gate("pass_rate", np.zeros(59))).decision is Decision.NEUTRAL


def test_a_lucky_candidate_among_many_is_held_to_a_higher_standard() -> None:
    lucky = [examine_gate(gate("pass_rate", around(0.06, 0.2)))]
    others = [[examine_gate(gate("pass_rate", around(0.0, 0.2)))] for _ in range(9)]

    assert apply_rule_v1([lucky])[0].decision is Decision.IMPROVED
    assert apply_rule_v1([lucky, *others])[0].decision is not Decision.IMPROVED


def test_turning_all_signs_round_turns_an_improvement_into_a_regression() -> None:
    better = around(0.1, 0.2)

    assert finding(gate("pass_rate", better), SAME).decision is Decision.IMPROVED
    assert finding(gate("pass_rate", -better), SAME).decision is Decision.REGRESSED


def test_duplicating_all_tasks_sharpens_and_never_flips_the_direction() -> None:
    benefits = around(0.04, 0.2, 30)
    once, twice = (examine_gate(gate("pass_rate", np.tile(benefits, times))) for times in (1, 2))

    assert once.superior is not None
    assert twice.superior is not None
    assert twice.superior < once.superior


@pytest.mark.parametrize("name", ["duration", "cost", "non_cache_tokens"])
def test_identical_ratios_on_every_task_say_nothing(name: str) -> None:
    assert examine_gate(gate(name, np.full(20, 0.3))).unknown


def test_many_candidates_must_each_show_that_they_are_not_worse_against_all_the_others_luck() -> None:
    slightly_worse = [
        examine_gate(gate("pass_rate", around(-0.01, 0.18))),
        examine_gate(gate("duration", around(0.3, 0.1))),
    ]
    assert apply_rule_v1([slightly_worse])[0].decision is Decision.IMPROVED

    crowd = [
        [examine_gate(gate("pass_rate", around(-0.05, 0.2))), examine_gate(gate("duration", around(0.3, 0.1)))]
    ] * 19

    assert apply_rule_v1([slightly_worse, *crowd])[0].decision is Decision.INCONCLUSIVE


def test_a_loss_of_passes_is_never_made_up_for_by_a_lower_cost() -> None:
    small_loss = gate("pass_rate", around(-0.02, 0.05))
    cheaper = gate("cost", around(0.5, 0.1))

    result = finding(small_loss, cheaper)

    assert examine_gate(small_loss).non_inferior <= ERROR_RATES_V1.non_inferiority  # type: ignore[operator]
    assert (result.superior, result.alarms) == (("cost",), ("pass_rate",))
    assert result.decision is Decision.REGRESSED


def test_beside_one_unknown_gate_nothing_is_decided_and_the_alarm_is_still_named() -> None:
    unknown = gate("duration", around(0.0, 0.1), unknown="nobody measured it")

    result = finding(gate("pass_rate", around(-0.2, 0.1)), unknown)

    assert (result.decision, result.alarms) == (Decision.INCONCLUSIVE, ("pass_rate",))


def test_beside_one_unknown_gate_equal_passes_are_not_called_neutral() -> None:
    unknown = gate("duration", around(0.0, 0.1), unknown="nobody measured it")

    assert finding(gate("pass_rate", around(0.0, 0.1)), unknown).decision is Decision.INCONCLUSIVE


def test_without_any_gate_nothing_is_decided() -> None:
    assert apply_rule_v1([[]])[0].decision is Decision.INCONCLUSIVE
    assert apply_rule_v1([]) == ()


def shown(
    name: str,
    *,
    non_inferior: float = 1.0,
    superior: float = 1.0,
    equivalent: float = 1.0,
    alarm: float = 1.0,
) -> GateTest:
    """A gate with these p-values; those that are left out show nothing."""
    test = examine_gate(gate(name, around(0.0, 0.1)))
    claims = test.typical.stating(non_inferior=non_inferior, superior=superior, equivalent=equivalent, alarm=alarm)
    return replace(test, typical=claims)


BEYOND = 1e-9


@pytest.mark.parametrize(
    ("tests", "reached", "missed"),
    [
        ([("pass_rate", {"alarm": ERROR_RATES_V1.pass_rate_alarm})], Decision.REGRESSED, Decision.INCONCLUSIVE),
        ([("cost", {"alarm": ERROR_RATES_V1.resource_alarm})], Decision.REGRESSED, Decision.INCONCLUSIVE),
        ([("cost", {"equivalent": ERROR_RATES_V1.non_inferiority})], Decision.NEUTRAL, Decision.INCONCLUSIVE),
        (
            [("cost", {"superior": ERROR_RATES_V1.superiority, "non_inferior": 0.0})],
            Decision.IMPROVED,
            Decision.INCONCLUSIVE,
        ),
        (
            [("cost", {"superior": 0.0, "non_inferior": ERROR_RATES_V1.non_inferiority})],
            Decision.IMPROVED,
            Decision.INCONCLUSIVE,
        ),
    ],
)
def test_a_p_value_at_its_error_rate_counts_and_one_above_it_does_not(
    tests: list[tuple[str, dict[str, float]]], reached: Decision, missed: Decision
) -> None:
    beyond = [(name, {question: p + BEYOND for question, p in asked.items()}) for name, asked in tests]

    assert apply_rule_v1([[shown(name, **asked) for name, asked in tests]])[0].decision is reached
    assert apply_rule_v1([[shown(name, **asked) for name, asked in beyond]])[0].decision is missed


def test_all_gates_must_be_equivalent_for_a_neutral_verdict() -> None:
    same, doubtful = shown("pass_rate", equivalent=0.0), shown("cost", equivalent=0.2)

    assert apply_rule_v1([[same, same]])[0].decision is Decision.NEUTRAL
    assert apply_rule_v1([[same, doubtful]])[0].decision is Decision.INCONCLUSIVE


def test_resource_alarms_are_corrected_among_themselves_and_not_for_the_pass_rate() -> None:
    once = ERROR_RATES_V1.resource_alarm

    alone = apply_rule_v1([[shown("cost", alarm=once), shown("pass_rate")]])[0]
    crowded = apply_rule_v1([[shown("cost", alarm=once), shown("duration"), shown("pass_rate")]])[0]

    assert alone.alarms == ("cost",)
    assert crowded.alarms == ()


def test_other_candidates_never_excuse_a_loss() -> None:
    worse = [shown("pass_rate", alarm=ERROR_RATES_V1.pass_rate_alarm)]
    others = [[shown("pass_rate")] for _ in range(9)]

    assert apply_rule_v1([worse, *others])[0].decision is Decision.REGRESSED


FIRST = np.array([4.0, 3.26, 4.14, 3.42, 3.25, 4.34, 4.97, 4.31, 3.11, 3.41, 5.02, 4.21, 4.59, 5.3, 4.32])
SECOND = np.array([3.76, 3.66, 3.65, 3.6, 3.48, 2.87, 3.24, 3.92, 3.99, 4.21, 4.21, 3.31, 3.61, 2.97, 2.73])


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.6, 1.2, 2.0])
def test_equivalence_is_what_two_one_sided_t_tests_say(margin: float) -> None:
    expected, below, _ = ttost_paired(FIRST, SECOND, -margin, margin)

    points = examine_gate(gate("pass_rate", FIRST - SECOND, margin))

    assert points.equivalent == pytest.approx(expected, rel=1e-9)
    assert points.non_inferior == pytest.approx(below[1], rel=1e-9)


@pytest.mark.parametrize("margin", [0.05, 0.25, 1.0])
def test_equivalence_of_a_resource_is_tested_on_its_log_ratio(margin: float) -> None:
    before, after = np.log(FIRST), np.log(SECOND)
    expected, below, _ = ttost_paired(before, after, -np.log1p(margin), np.log1p(margin))

    cheaper = examine_gate(gate("cost", before - after, margin))

    assert cheaper.equivalent == pytest.approx(expected, rel=1e-9)
    assert cheaper.non_inferior == pytest.approx(below[1], rel=1e-9)
    assert cheaper.typical.alarm == pytest.approx(1 - below[1], rel=1e-9)


@pytest.mark.parametrize("tasks", [0, 1])
def test_fewer_than_two_tasks_show_nothing(tasks: int) -> None:
    assert examine_gate(gate("pass_rate", [0.5] * tasks)).unknown
    assert not examine_gate(gate("pass_rate", [0.5, 0.5])).unknown


def test_a_candidate_with_an_unknown_gate_still_counts_as_one_of_the_tries() -> None:
    unknown = examine_gate(gate("duration", around(0.0, 0.1), unknown="nobody measured it"))
    other = [shown("pass_rate", non_inferior=0.0), unknown]
    candidate = [shown("cost", superior=0.0, non_inferior=0.03)]

    assert apply_rule_v1([candidate])[0].decision is Decision.IMPROVED
    assert apply_rule_v1([candidate, other])[0].decision is Decision.INCONCLUSIVE


def test_a_fixed_suite_whose_runs_never_differ_shows_nothing() -> None:
    def noise(variance: float) -> tuple[TaskMoments, TaskMoments]:
        runs = TaskMoments(means=np.zeros(8), variances=np.full(8, variance), counts=np.full(8, 5, dtype=np.int64))
        return runs, runs

    sample = gate("pass_rate", around(0.1, 0.1, 8))

    assert examine_gate(replace(sample, noise=noise(0.0)), fixed_suite=True).unknown
    assert not examine_gate(replace(sample, noise=noise(0.1)), fixed_suite=True).unknown
    assert examine_gate(replace(sample, noise=None), fixed_suite=True).unknown
