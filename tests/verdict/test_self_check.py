from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

from outweigh.compare.comparison import compare_arms
from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE, Usage, reported_cost
from outweigh.testing.builders import a_run, evidence_of, runs_of_arm
from outweigh.verdict.configured_policy import PolicyArguments
from outweigh.verdict.decision import Decision
from outweigh.verdict.policy import POLICIES, decide
from outweigh.verdict.self_check import (
    FALSE_ALARMS,
    HALVES,
    TOLERATED_FALSE_ALARMS,
    SelfCheck,
    SplitCounts,
    ask_all_policies,
    configure_all,
    self_check,
    split_in_halves,
)


def noise(arm: str, tasks: int, repeats: int, seed: int, **fields: Any) -> list[RunRecord]:
    """An arm like any other: tasks differ in difficulty and length, runs scatter around them."""
    dice = np.random.default_rng(seed)
    logits, lengths = dice.normal(0.4, 1.6, tasks), dice.normal(4, 0.5, tasks)
    return [
        a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=bool(dice.random() < 1 / (1 + np.exp(-logits[task]))),
            duration_seconds=float(np.exp(lengths[task] + dice.normal(0, 0.4))),
            usage=some_tokens(float(np.exp(7 + dice.normal(0, 0.4)))),
            cost=reported_cost(float(np.exp(dice.normal(-2, 0.4)))),
            **fields,
        )
        for task in range(tasks)
        for repeat in range(1, repeats + 1)
    ]


def some_tokens(number: float) -> Usage:
    return Usage(input_tokens=round(number), output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)


def checked(evidence: Evidence, splits: int, *arms: str, seed: int = 0) -> SelfCheck:
    return self_check(evidence, arms or sorted(evidence.arms), splits, np.random.default_rng(seed))


def alarm_share(check: SelfCheck, policy: str) -> float:
    return check.tallies[policy].false_alarms().point or 0.0


def test_where_nothing_differs_the_literal_rules_cry_wolf_and_the_evidence_policy_does_not() -> None:
    records = [run for seed in range(4) for run in noise(f"arm-{seed}", tasks=20, repeats=10, seed=seed)]

    check = checked(evidence_of(records), 160)

    assert check.tallies["evidence"].obstructed == 0, "it was able to judge"
    assert alarm_share(check, "evidence") <= TOLERATED_FALSE_ALARMS
    assert 0.15 <= alarm_share(check, "gates") <= 0.45
    assert alarm_share(check, "composite") >= 0.9


def test_what_is_tolerated_is_what_the_evidence_policy_allows_itself() -> None:
    assert pytest.approx(0.10) == TOLERATED_FALSE_ALARMS


def test_the_same_seed_gives_the_same_answer_whatever_the_order_of_the_records() -> None:
    records = noise("arm", tasks=8, repeats=4, seed=1)

    one, again, turned = (checked(evidence_of(rows), 20) for rows in (records, records, records[::-1]))

    assert one == again
    assert one.tallies == turned.tallies


def test_another_seed_draws_other_splits() -> None:
    evidence = evidence_of(noise("arm", tasks=8, repeats=4, seed=1))

    drawn = {tuple(run.run_id for run in halve_of(evidence, seed).arms[HALVES[0]]) for seed in range(5)}

    assert len(drawn) == 5


def halve_of(evidence: Evidence, seed: int) -> Evidence:
    tasks: dict[str, list[Any]] = {}
    for score in evidence.arms["arm"]:
        tasks.setdefault(score.task_id, []).append(score)
    return split_in_halves(list(tasks.values()), np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(10))
def test_every_run_but_the_odd_one_of_a_task_is_dealt_once_and_the_halves_are_equal(seed: int) -> None:
    outcomes = [[True] * repeats for repeats in (2, 3, 3, 4, 5, 7, 3)]
    evidence = evidence_of(runs_of_arm("arm", outcomes))

    halves = halve_of(evidence, seed).arms

    dealt = [run.run_id for name in HALVES for run in halves[name]]
    assert len(dealt) == len(set(dealt)) == sum(len(runs) // 2 * 2 for runs in outcomes)
    assert set(dealt) <= {run.run_id for run in evidence.arms["arm"]}
    counts = [Counter(run.task_id for run in halves[name]) for name in HALVES]
    assert counts[0] == counts[1]


def test_any_run_of_a_task_may_be_the_odd_one_that_is_left_out() -> None:
    evidence = evidence_of(runs_of_arm("arm", [[True] * 3]))
    runs = {run.run_id for run in evidence.arms["arm"]}

    left_out = set()
    for seed in range(30):
        halves = halve_of(evidence, seed).arms
        left_out |= runs - {run.run_id for name in HALVES for run in halves[name]}

    assert left_out == runs


def test_repeats_are_numbered_anew_so_that_the_halves_pair_up() -> None:
    halves = halve_of(evidence_of(runs_of_arm("arm", [[True] * 6])), seed=0)

    assert compare_arms(halves, *HALVES).pairing.pairs == 3


def test_a_task_with_one_run_is_in_no_split_and_said_so() -> None:
    single = a_run("single", "arm", 1)

    check = checked(evidence_of(noise("arm", tasks=6, repeats=4, seed=1), single), 3)

    assert check.warnings == ("arm: tasks with one counted run are in no split (1): 'single'.",)


def test_a_run_lost_to_infrastructure_is_no_repeat() -> None:
    lost = a_run("task-1", "arm", 2, status=Status.INFRA_ERROR)

    with pytest.raises(EvidenceError, match=r"no task of 'arm' has two counted runs.*Run every task at least twice"):
        checked(evidence_of(a_run("task-1", "arm", 1), lost), 3)


def test_splits_are_shared_evenly_among_the_arms() -> None:
    evidence = evidence_of(*(runs_of_arm(name, [[True, False]] * 6) for name in "abc"))

    assert checked(evidence, 8).splits == {"a": 3, "b": 3, "c": 2}
    assert checked(evidence, 8, "b").splits == {"b": 8}


def test_an_arm_that_cannot_be_split_leaves_the_splits_to_the_others() -> None:
    check = checked(evidence_of(runs_of_arm("a", [[True]] * 6), runs_of_arm("b", [[True, False]] * 6)), 8)

    assert check.splits == {"b": 8}
    assert "a is not split: none of its tasks has two counted runs." in check.warnings


@pytest.mark.parametrize("splits", [0, 1])
def test_fewer_splits_than_arms_are_refused(splits: int) -> None:
    evidence = evidence_of(runs_of_arm("a", [[True, False]]), runs_of_arm("b", [[True, False]]))

    with pytest.raises(UsageError, match="too few for 2 arm"):
        checked(evidence, splits)


def test_an_unknown_arm_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'plain'"):
        checked(evidence_of(runs_of_arm("plain", [[True, False]])), 3, "plane")


def test_every_policy_is_asked_and_says_what_its_verdict_says() -> None:
    records = (noise("a", tasks=8, repeats=5, seed=1), noise("b", tasks=8, repeats=5, seed=2))
    comparison = compare_arms(evidence_of(*records), "a", "b")

    said = {policy: opinion.decision for policy, opinion in ask_all_policies(comparison, configure_all()).items()}

    assert said == {policy: decide([comparison], policy, {})[0].decision for policy in POLICIES}


def test_the_named_policy_is_asked_with_its_arguments_and_the_others_with_their_defaults() -> None:
    records = (noise("a", tasks=8, repeats=5, seed=1), noise("b", tasks=8, repeats=5, seed=2))
    comparison = compare_arms(evidence_of(*records), "a", "b")
    arguments = PolicyArguments(gates=["pass_rate"], margins={"pass_rate": 0.2})

    evidence, gates = (configure_all("evidence", arguments)[name] for name in ("evidence", "gates"))

    assert evidence.decide([comparison])[0].settings["margins"] == {"pass_rate": 0.2}
    assert gates.decide([comparison]) == decide([comparison], "gates", {})


def test_a_policy_that_could_not_judge_is_named_with_its_reason() -> None:
    check = checked(evidence_of(noise("arm", tasks=3, repeats=4, seed=1)), 5)

    assert check.tallies["evidence"].counts == {Decision.INCONCLUSIVE: 5}
    assert any(
        "policy evidence could not judge 5 of 5 splits: 3 tasks have counted runs" in note for note in check.warnings
    )


def test_gates_on_unknown_tokens_could_not_judge() -> None:
    check = checked(evidence_of(runs_of_arm("arm", [[True, False] * 2] * 6, usage=NO_USAGE)), 5)

    assert check.tallies["gates"].obstructed == 5
    assert check.tallies["composite"].obstructed == 0


def test_a_random_deal_is_not_taken_for_a_confounded_order() -> None:
    records = noise("arm", tasks=6, repeats=2, seed=1)
    placed = [msgspec.structs.replace(run, position=place) for place, run in enumerate(records)]

    assert checked(evidence_of(placed), 60).tallies["evidence"].obstructed == 0


def test_arms_with_one_fingerprint_are_compared_directly() -> None:
    evidence = evidence_of(
        noise("a", tasks=6, repeats=4, seed=1, arm_fingerprint="x"),
        noise("b", tasks=6, repeats=4, seed=2, arm_fingerprint="y"),
        noise("c", tasks=6, repeats=4, seed=3, arm_fingerprint="x"),
    )

    (pair,) = checked(evidence, 3).natural_pairs

    assert (pair.baseline, pair.candidate) == ("a", "c")
    assert pair.decisions.keys() == set(POLICIES)
    assert checked(evidence, 3, "b").natural_pairs == ()


@pytest.mark.parametrize("fingerprints", [(None, None), ("x", None), ("x", "y")])
def test_arms_without_a_fingerprint_in_common_are_no_natural_pair(fingerprints: tuple[str | None, str | None]) -> None:
    arms = [
        runs_of_arm(name, [[True, False]], arm_fingerprint=mark) for name, mark in zip("ab", fingerprints, strict=True)
    ]

    assert checked(evidence_of(*arms), 2).natural_pairs == ()


def test_an_arm_whose_configuration_changed_on_the_way_is_no_natural_pair() -> None:
    mixed = [a_run("task-1", "a", 1, arm_fingerprint="x"), a_run("task-1", "a", 2, arm_fingerprint="y")]
    twin = runs_of_arm("b", [[True, True]], arm_fingerprint="x")

    assert checked(evidence_of(mixed, twin), 2).natural_pairs == ()


def test_a_run_lost_to_infrastructure_does_not_change_the_configuration_of_its_arm() -> None:
    twins = [runs_of_arm(name, [[True]] * 6, arm_fingerprint="x") for name in "ab"]
    lost = a_run("task-1", "a", 2, arm_fingerprint="y", status=Status.INFRA_ERROR)

    assert len(checked(evidence_of(*twins, lost), 2).natural_pairs) == 1


def test_natural_pairs_are_enough_where_nothing_can_be_split() -> None:
    arms = [runs_of_arm(name, [[True]] * 6, arm_fingerprint="x") for name in "ab"]

    check = checked(evidence_of(*arms), 5)

    assert (check.splits, len(check.natural_pairs)) == ({}, 1)
    assert check.tallies["gates"].share(Decision.IMPROVED) is None


def test_an_alarm_is_an_improvement_a_trade_off_or_a_regression_and_has_an_interval() -> None:
    counts = {Decision.IMPROVED: 3, Decision.REGRESSED: 5, Decision.NEUTRAL: 12, Decision.INCONCLUSIVE: 80}
    alarms = SplitCounts(splits=100, counts=counts, obstructed=0, obstacle=None).false_alarms()

    assert set(FALSE_ALARMS) == {Decision.IMPROVED, Decision.TRADE_OFF, Decision.REGRESSED}
    assert (alarms.point, alarms.n) == (0.08, 100)
    assert alarms.interval is not None
    assert (alarms.interval.low, alarms.interval.high) == pytest.approx((0.0411, 0.1500), abs=5e-4)
