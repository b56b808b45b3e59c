from typing import Any

import numpy as np
import pytest

from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import RuleFinding, apply_rule, examine_gate
from outweigh.verdict.evidence_settings import GATED_METRICS
from outweigh.verdict.gate_sample import GateSample


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
    return apply_rule([[examine_gate(sample) for sample in gates]])[0]


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

    assert apply_rule([lucky])[0].decision is Decision.IMPROVED
    assert apply_rule([lucky, *others])[0].decision is not Decision.IMPROVED


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
    assert apply_rule([slightly_worse])[0].decision is Decision.IMPROVED

    crowd = [
        [examine_gate(gate("pass_rate", around(-0.05, 0.2))), examine_gate(gate("duration", around(0.3, 0.1)))]
    ] * 19

    assert apply_rule([slightly_worse, *crowd])[0].decision is Decision.INCONCLUSIVE
