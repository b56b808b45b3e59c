"""Claims about the order of runs where arms inherit from lower tiers."""

from collections import Counter
from collections.abc import Mapping
from itertools import groupby

import pytest

from outweigh.engine.tier_stages import StagedArms, TierStage, plan_stage_runs, plan_stages
from outweigh.model.tiers import InheritSpec

TASKS = ["x", "y", "z"]


def tiered(
    tiers: Mapping[str, int | None],
    inherits: Mapping[str, InheritSpec],
    repeats: Mapping[str, int] | int = 2,
    **more: str,
) -> StagedArms:
    numbers = dict.fromkeys(tiers, repeats) if isinstance(repeats, int) else repeats
    return StagedArms(tiers=tiers, inherits=inherits, repeats=numbers, baseline=more.get("baseline", next(iter(tiers))))


def best_of(*tiers: int, held_out: bool = True) -> InheritSpec:
    return InheritSpec(best_of=list(tiers), held_out=held_out)


def numbers(stages: tuple[TierStage, ...]) -> list[dict[str, list[int]]]:
    return [{arm: list(repeats) for arm, repeats in stage.repeats.items()} for stage in stages]


def test_an_inheriting_arm_is_run_beside_the_held_out_repeats_of_the_arms_that_it_was_chosen_from() -> None:
    arms = tiered({"base": 0, "one": 1, "two": 2}, {"two": best_of(0, 1)})
    stages = plan_stages(arms)
    assert numbers(stages) == [
        {"base": [1, 2], "one": [1, 2]},
        {"base": [3, 4], "one": [3, 4], "two": [1, 2]},
    ]
    assert [stage.inheriting for stage in stages] == [(), ("two",)]
    assert arms.choosing_repeats == {"base": 2, "one": 2}


def test_a_chain_of_inheriting_tiers_has_a_stage_for_each_and_the_first_tier_in_all_of_them() -> None:
    arms = tiered({"base": 0, "one": 1, "two": 2, "three": 3}, {"two": best_of(1), "three": best_of(2)})
    assert numbers(plan_stages(arms)) == [
        {"base": [1, 2], "one": [1, 2]},
        {"base": [3, 4], "one": [3, 4], "two": [1, 2]},
        {"base": [5, 6], "two": [3, 4], "three": [1, 2]},
    ]
    assert arms.choosing_repeats == {"one": 2, "two": 2}, "the first tier is not chosen from, so all its runs count"


def test_without_held_out_repeats_nothing_but_the_anchor_is_repeated() -> None:
    arms = tiered({"base": 0, "one": 1, "two": 2}, {"two": best_of(0, 1, held_out=False)})
    assert numbers(plan_stages(arms)) == [{"base": [1, 2], "one": [1, 2]}, {"base": [3, 4], "two": [1, 2]}]
    assert arms.choosing_repeats == {}


def test_a_tier_is_held_out_where_one_of_two_inheriting_arms_asks_for_it() -> None:
    inherits = {"two": best_of(1, held_out=False), "two-b": best_of(1)}
    arms = tiered({"base": 0, "one": 1, "two": 2, "two-b": 2}, inherits)
    assert arms.choosing_repeats == {"one": 2}


def test_all_arms_of_a_tier_are_run_in_one_stage_and_no_tier_before_one_below_it() -> None:
    tiers = {"base": 0, "one": 1, "plain": 2, "two": 2, "three": 3, "loose": None}
    first, second = numbers(plan_stages(tiered(tiers, {"two": best_of(0)})))
    assert set(first) == {"base", "one", "loose"}
    assert set(second) == {"base", "plain", "two", "three"}


def test_the_anchor_is_in_every_block_also_where_other_tiers_have_more_repeats() -> None:
    arms = tiered({"base": 0, "one": 1, "two": 2}, {"two": best_of(1)}, {"base": 1, "one": 2, "two": 4})
    planned = plan_stage_runs(TASKS, plan_stages(arms), seed=1)
    for stage in planned:
        for _, block in groupby(stage, key=lambda run: run.block):
            assert sum(run.trial.arm == "base" for run in block) == 1
    assert Counter(run.trial.arm for run in planned[1]) == {"base": 12, "one": 6, "two": 12}


@pytest.mark.parametrize(("baseline", "anchor"), [("b", "b"), ("c", "a")])
def test_the_anchor_is_the_baseline_where_that_is_of_the_first_tier_else_the_first_arm(
    baseline: str, anchor: str
) -> None:
    arms = tiered({"a": 1, "b": 1, "c": 2, "d": 3}, {"d": best_of(2)}, baseline=baseline)
    assert arms.anchor == anchor


def test_no_trial_is_planned_twice_and_positions_go_on_from_stage_to_stage() -> None:
    arms = tiered({"base": 0, "one": 1, "two": 2, "three": 3}, {"two": best_of(0, 1), "three": best_of(0, 1, 2)})
    runs = [run for stage in plan_stage_runs(TASKS, plan_stages(arms), seed=3) for run in stage]
    assert len({run.trial.key for run in runs}) == len(runs)
    assert [run.position for run in runs] == list(range(len(runs)))
    blocks = [run.block for run in runs]
    assert blocks == sorted(blocks)


def test_a_block_holds_one_task_and_every_arm_at_most_once() -> None:
    arms = tiered({"base": 0, "one": 1, "two": 2}, {"two": best_of(0, 1)}, 3)
    for stage in plan_stage_runs(TASKS, plan_stages(arms), seed=5):
        for _, block in groupby(stage, key=lambda run: run.block):
            runs = list(block)
            assert len({run.trial.task_id for run in runs}) == 1
            assert len({run.trial.arm for run in runs}) == len(runs)


def test_the_order_depends_on_the_seed_alone() -> None:
    stages = plan_stages(tiered({"base": 0, "one": 1, "two": 2}, {"two": best_of(0, 1)}, 3))
    first, again, other = (plan_stage_runs(TASKS, stages, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert [run.trial.key for run in first[0]] != [run.trial.key for run in other[0]]


def test_a_suite_in_which_no_arm_inherits_has_one_stage_and_no_anchor() -> None:
    arms = tiered({"base": 0, "one": 1}, {}, {"base": 1, "one": 3})
    assert numbers(plan_stages(arms)) == [{"base": [1], "one": [1, 2, 3]}]
