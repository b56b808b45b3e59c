from collections.abc import Sequence
from math import ceil, expm1, log, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.pilot import Pilot, price_pilot, read_pilot
from outweigh.compare.sample_plan import OfferedSizes, PlanGoal, PlannedSize, SamplePlan, plan_sample, state_components
from outweigh.errors import EvidenceError
from outweigh.model.codec import Record
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.stats.power import DesignPrices, power_of_t, tasks_by_normal
from outweigh.testing.builders import a_run, evidence_of, runs_of_arm

SIZES = OfferedSizes(tasks=(10, 80, 200), repeats=(1, 3, 5, 10), fewest_tasks=6)
PRICES = DesignPrices(task_usd=0.0, candidate_run_usd=0.3, baseline_run_usd=0.2)


def a_goal(effect: float = 0.05, *, relative: bool = False, alpha: float = 0.05, power: float = 0.8) -> PlanGoal:
    return PlanGoal(metric="metric", relative=relative, effect=effect, alpha=alpha, power=power)


def stated(
    true: float, runs: float, goal: PlanGoal | None = None, *, prices: DesignPrices | None = PRICES
) -> SamplePlan:
    return plan_sample(goal or a_goal(), SIZES, state_components(true, runs, runs), prices, None, ())


def effects(plan: SamplePlan) -> dict[tuple[int, int], float]:
    return {(cell.tasks, cell.repeats): shown(cell) for cell in plan.detectable}


def shown(cell: PlannedSize) -> float:
    assert cell.effect.value is not None, cell.effect.reason
    return cell.effect.value


def comparison(*records: Sequence[Record]) -> Comparison:
    return compare_arms(evidence_of(*records), "old", "new")


def timed(arm: str, logs: np.ndarray) -> list[Record]:
    return [
        a_run(f"task-{task}", arm, repeat, duration_seconds=float(np.exp(value)))
        for task, repeats in enumerate(logs.tolist())
        for repeat, value in enumerate(repeats, start=1)
    ]


def passes(arm: str, *outcomes: str) -> list[Record]:
    return list(runs_of_arm(arm, [[mark == "+" for mark in task] for task in outcomes]))


def plan_of(pilot: Pilot, sizes: OfferedSizes = SIZES) -> SamplePlan:
    return plan_sample(a_goal(), sizes, pilot.components, None, pilot, ())


@pytest.mark.parametrize(
    ("runs", "repeats", "by_normal", "by_t"), [(0, 1, 969, 971), (1 / 6, 1, 3876, 3878), (1 / 6, 10, 1260, 1262)]
)
def test_three_points_take_two_tasks_more_by_t_than_by_the_normal_formula(
    runs: float, repeats: int, by_normal: int, by_t: int
) -> None:
    variance = 1 / 9 + 2 * runs / repeats

    designs = {design.repeats: design for design in stated(1 / 9, runs, a_goal(0.03)).designs}

    independent = TTestPower().solve_power(0.03 / variance**0.5, power=0.8, alpha=0.05)
    assert designs[repeats].tasks == by_t == ceil(independent)
    assert ceil(tasks_by_normal(0.03, variance)) == by_normal


def test_more_tasks_beat_more_repeats() -> None:
    table = effects(stated(0.115, 0.1335 / 2))

    by_normal = [[15.6, 12.5, 11.8, 11.2], [9.9, 7.9, 7.5, 7.1]]
    by_t = [[100 * table[tasks, repeats] for repeats in SIZES.repeats] for tasks in (80, 200)]
    np.testing.assert_allclose(by_t, by_normal, rtol=0.02)
    assert table[200, 1] < table[80, 10]


@pytest.mark.parametrize(("tasks", "repeats"), [(10, 1), (80, 5), (200, 10)])
def test_a_cell_agrees_with_an_independent_power_function(tasks: int, repeats: int) -> None:
    effect = effects(stated(0.05, 0.1, a_goal(alpha=0.1, power=0.9)))[tasks, repeats]

    deviation = (0.05 + 0.2 / repeats) ** 0.5
    assert TTestPower().power(effect / deviation, tasks, 0.1) == pytest.approx(0.9, abs=1e-6)


def test_a_relative_effect_is_entered_and_shown_as_a_change_and_computed_on_logs() -> None:
    change, points = a_goal(0.05, relative=True), a_goal(log(1.05))

    relative, plain = stated(0.04, 0.1, change), stated(0.04, 0.1, points)

    assert effects(relative)[80, 5] == pytest.approx(expm1(effects(plain)[80, 5]))
    assert [design.tasks for design in relative.designs] == [design.tasks for design in plain.designs]
    assert change.on_scale == log1p(0.05)


@given(
    true=st.floats(0, 0.5),
    runs=st.floats(0.001, 0.25),
    power=st.floats(0.5, 0.95),
    task_usd=st.sampled_from([0.0, 9.0]),
)
@settings(max_examples=25, deadline=None)
def test_a_larger_design_sees_more_and_costs_more(true: float, runs: float, power: float, task_usd: float) -> None:
    prices = DesignPrices(task_usd=task_usd, candidate_run_usd=0.3, baseline_run_usd=0.2)
    # Small variances, so that no effect is too large to exist.
    plan = stated(true / 100, runs / 100, a_goal(power=round(power, 2)), prices=prices)
    cells = {(cell.tasks, cell.repeats): cell for cell in plan.detectable}

    for (tasks, repeats), cell in cells.items():
        for larger in (cells.get((200, repeats)), cells.get((tasks, 10))):
            if larger is not None and larger is not cell:
                assert shown(larger) <= shown(cell)
                assert (larger.cost_usd or 0) > (cell.cost_usd or 0)
    assert shown(plan.step.twice_the_tasks) <= shown(plan.step.twice_the_repeats) <= shown(plan.step.start)


@given(true=st.floats(0, 0.3), runs=st.floats(0.001, 0.25), effect=st.floats(0.02, 0.5))
@settings(max_examples=15, deadline=None)
def test_each_design_sees_the_effect_and_one_task_less_does_not(true: float, runs: float, effect: float) -> None:
    for design in stated(true, runs, a_goal(effect)).designs:
        deviation = (true + 2 * runs / design.repeats) ** 0.5

        assert power_of_t(effect / deviation, design.tasks, 0.05) >= 0.8
        assert design.tasks == SIZES.fewest_tasks or power_of_t(effect / deviation, design.tasks - 1, 0.05) < 0.8


def test_the_target_is_the_cheapest_design() -> None:
    plan = stated(0.05, 0.2)

    assert plan.target is not None
    assert plan.target.cost_usd == min(design.cost_usd for design in plan.designs)
    assert plan.target.cost_usd == pytest.approx(plan.target.tasks * plan.target.repeats * 0.5)


def test_without_prices_the_target_has_the_fewest_runs_and_cells_have_no_cost() -> None:
    plan = stated(0.05, 0.2, prices=None)

    assert plan.target is not None
    assert plan.target.repeats == 1
    assert {cell.cost_usd for cell in plan.detectable} == {None}


def test_repeats_are_advised_only_where_a_task_has_a_price_of_its_own() -> None:
    dear_tasks = DesignPrices(task_usd=50.0, candidate_run_usd=0.1, baseline_run_usd=0.1)

    assert not stated(0.01, 0.25).step.buy_repeats
    assert not stated(0.01, 0.25, prices=None).step.buy_repeats
    assert stated(0.01, 0.25, prices=dear_tasks).step.buy_repeats
    assert stated(0.0, 0.25, prices=dear_tasks).step.buy_repeats
    assert not stated(0.3, 0.0, prices=dear_tasks).step.buy_repeats


def test_an_effect_that_cannot_exist_is_null_with_the_reason() -> None:
    plan = plan_sample(
        a_goal(), OfferedSizes(tasks=(2,), repeats=(1,), fewest_tasks=6), state_components(1, 0, 0), None, None, ()
    )

    assert plan.detectable[0].effect.value is None
    assert any("would miss even an effect of 1" in warning for warning in plan.warnings)


def test_no_design_is_a_target_that_is_null_with_the_reason() -> None:
    plan = stated(0.5, 0.25, a_goal(0.0001))

    assert plan.target is None
    assert any(warning.startswith("target is null") for warning in plan.warnings)


def test_the_variance_of_a_pilot_by_hand() -> None:
    # Pass rates: old ½, ½, 1 and new 1, ½, 1, so the deltas are ½, 0, 0; a task with one pass of two varies by ½.
    old, new = passes("old", "+-", "+-", "++"), passes("new", "++", "-+", "++")

    pilot = read_pilot(comparison(old, new), "passed", logs=False)

    found = pilot.components
    assert (pilot.tasks, pilot.repeats) == (3, 2)
    assert [found.candidate_runs, found.baseline_runs] == pytest.approx([1 / 6, 1 / 3])
    assert found.observed_deltas == pytest.approx(1 / 12)
    assert found.true_deltas == 0
    assert any("look better than they may be" in warning for warning in pilot.warnings)


def test_a_large_pilot_recovers_the_variances_it_was_drawn_from() -> None:
    draw = np.random.default_rng(7)
    shape = (600, 5)
    level, delta = draw.normal(3, 0.5, (600, 1)), draw.normal(0.1, 0.3, (600, 1))
    old, new = level + draw.normal(0, 0.4, shape), level + delta + draw.normal(0, 0.2, shape)

    pilot = read_pilot(comparison(timed("old", old), timed("new", new)), "duration_seconds", logs=True)

    found = pilot.components
    assert found.true_deltas == pytest.approx(0.09, rel=0.15)
    assert found.baseline_runs == pytest.approx(0.16, rel=0.1)
    assert found.candidate_runs == pytest.approx(0.04, rel=0.1)
    assert plan_of(pilot).step.share_between_tasks == pytest.approx(0.09 / 0.13, rel=0.1)
    assert not pilot.warnings


def test_the_effect_that_the_pilot_shows_plays_no_part() -> None:
    draw = np.random.default_rng(3)
    old, new = draw.normal(3, 0.5, (8, 3)), draw.normal(3, 0.5, (8, 3))

    plans = [
        plan_of(read_pilot(comparison(timed("old", old), timed("new", new + shift)), "duration_seconds", logs=True))
        for shift in (0.0, 2.0)
    ]

    assert list(effects(plans[0]).values()) == pytest.approx(list(effects(plans[1]).values()))
    assert [design.tasks for design in plans[0].designs] == [design.tasks for design in plans[1].designs]


def test_repeat_labels_task_order_and_roles_do_not_matter() -> None:
    draw = np.random.default_rng(5)
    old, new = draw.normal(3, 0.5, (8, 3)), draw.normal(3, 0.5, (8, 3))
    order = draw.permutation(8)

    def table(before: np.ndarray, after: np.ndarray) -> list[float]:
        pilot = read_pilot(comparison(timed("old", before), timed("new", after)), "duration_seconds", logs=True)
        return list(effects(plan_of(pilot)).values())

    expected = pytest.approx(table(old, new))
    assert table(old[:, ::-1], new) == expected
    assert table(old[order], new[order]) == expected
    assert table(new, old) == expected


def test_one_repeat_gives_a_table_for_one_repeat_and_nothing_else() -> None:
    old = passes("old", *"+-+-+-+-")
    new = passes("new", *"++++--+-")

    pilot = read_pilot(comparison(old, new), "passed", logs=False)
    plan = plan_of(pilot)

    assert pilot.components.true_deltas is None
    assert plan.step.share_between_tasks is None
    assert {cell.repeats for cell in plan.detectable if cell.effect.value is not None} == {1}
    assert [design.repeats for design in plan.designs] == [1]
    deviation = (pilot.components.observed_deltas or 0) ** 0.5
    assert TTestPower().power(shown(plan.detectable[0]) / deviation, 10, 0.05) == pytest.approx(0.8, abs=1e-6)
    assert any("repeat noise cannot be told from differences between tasks" in warning for warning in plan.warnings)
    assert any("more than 1 repeat are null" in warning for warning in plan.warnings)


def test_one_repeat_cannot_plan_for_others() -> None:
    pilot = read_pilot(comparison(passes("old", *"+-+-"), passes("new", *"++--")), "passed", logs=False)

    with pytest.raises(EvidenceError, match="Add 1 to --repeats"):
        plan_of(pilot, OfferedSizes(tasks=(10,), repeats=(3, 5), fewest_tasks=6))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (passes("old", "+-+"), passes("new", "+++"), "in both arms: 1"),
        (passes("old", "++", "++"), passes("new", "++", "++"), "the same amount on every task"),
        (passes("old", "+", "-"), passes("new", "+", "-"), "the same amount on every task"),
        (passes("old", "+-", "-+"), passes("new", "+", "-"), "one arm ran every task once"),
    ],
)
def test_a_pilot_that_cannot_carry_a_plan_is_refused(old: list[Record], new: list[Record], reason: str) -> None:
    with pytest.raises(EvidenceError, match=reason):
        read_pilot(comparison(old, new), "passed", logs=False)


def test_rounding_dust_in_logs_is_no_variance() -> None:
    old, new = (
        [a_run(f"t{n}", arm, duration_seconds=f * n / 7) for n in (1, 2, 3)] for arm, f in (("old", 1), ("new", 3))
    )

    with pytest.raises(EvidenceError, match="the same amount on every task"):
        read_pilot(comparison(list(old), list(new)), "duration_seconds", logs=True)


def test_a_task_with_a_zero_or_in_one_arm_only_is_left_out_and_told() -> None:
    old, new = (
        [a_run(f"t{n}", arm, duration_seconds=float(n**k)) for n in range(6)] for arm, k in (("old", 1), ("new", 2))
    )

    pilot = read_pilot(comparison(list(old), [*new, a_run("lonely", "new")]), "duration_seconds", logs=True)

    assert pilot.tasks == 5
    assert "2 of 7 tasks are left out: not both arms know the metric there." in pilot.warnings


def test_doubts_about_a_pilot_are_told() -> None:
    old, new = passes("old", "+-", "+-", "-+", "+++"), passes("new", "++", "-+", "++", "+++")
    families = [a_run(f"task-{n}", arm, 9, family="one") for arm in ("old", "new") for n in (1, 2)]

    warnings = " ".join(read_pilot(comparison(old, new, families), "passed", logs=False).warnings)

    assert "4 tasks show their variance roughly: every effect here may be off by about 41 %" in warnings
    assert "tasks have 2 to 3 runs per arm; 3 stands for them" in warnings
    assert "the arms differ on 2 tasks only" in warnings
    assert "the tasks come from 3 families" in warnings


def test_runs_are_priced_by_the_mean_of_their_arm() -> None:
    old = [a_run("t", "old", repeat, cost=reported_cost(0.1 * repeat)) for repeat in (1, 2, 3)]
    new = [a_run("t", "new", 1, cost=reported_cost(0.5)), a_run("t", "new", 2, cost=UNKNOWN_COST)]

    prices, doubts = price_pilot(comparison(old, new), 2.0)

    assert prices is not None
    assert [prices.task_usd, prices.baseline_run_usd, prices.candidate_run_usd] == pytest.approx([2.0, 0.2, 0.5])
    assert doubts == ("1 of 2 runs of new do not know their cost; the others stand for them.",)


def test_an_arm_without_costs_makes_dollars_unknown() -> None:
    prices, doubts = price_pilot(comparison([a_run("t", "old")], [a_run("t", "new", cost=UNKNOWN_COST)]), 2.0)

    assert prices is None
    assert "no run of new knows its cost; --run-cost USD" in doubts[0]


def test_the_share_of_variance_that_repeats_cannot_reduce_is_told_where_there_is_any() -> None:
    assert stated(0.0, 0.0).step.share_between_tasks is None
    mixed = stated(0.3, 0.15).step
    assert mixed.share_between_tasks == pytest.approx(0.3 / (0.3 + 2 * 0.15 / mixed.start.repeats))
