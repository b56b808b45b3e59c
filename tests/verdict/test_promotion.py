from itertools import product

import pytest
from msgspec.structs import replace

from outweigh.compare.comparison import compare_arms
from outweigh.model.codec import InvalidLine
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import NO_USAGE, Metering, ReportedUsage
from outweigh.testing.builders import a_run, evidence_of, runs_of_arm
from outweigh.verdict.blockers import literal_blockers
from outweigh.verdict.decision import Decision, Regression, RegressionKind, Verdict
from outweigh.verdict.promotion import may_promote

REGRESSION = Regression(kind=RegressionKind.MISSING_TASK, task_id="t", detail="gone")


def a_verdict(decision: Decision, regressions: tuple[Regression, ...], barriers: tuple[str, ...]) -> Verdict:
    return Verdict(
        policy="gates",
        decision=decision,
        seed_wording="",
        reasons=(),
        warnings=(),
        gates=(),
        regressions=regressions,
        blockers=barriers,
        needs=None,
        settings={},
        evidence_sha256="a",
    )


def test_only_a_clean_improvement_over_unchanged_evidence_promotes() -> None:
    promoted = [
        (decision, regressions, barriers, sha)
        for decision, regressions, barriers, sha in product(
            Decision, ((), (REGRESSION,)), ((), ("too few repeats",)), ("a", "b")
        )
        if may_promote(a_verdict(decision, regressions, barriers), sha)
    ]

    assert promoted == [(Decision.IMPROVED, (), (), "a")]


def blocked(*candidate: object, baseline: list[object] | None = None) -> str:
    before = baseline if baseline is not None else runs_of_arm("old", [[True] * 20])
    return " ".join(literal_blockers(compare_arms(evidence_of(before, list(candidate)), "old", "new")))  # type: ignore[arg-type]


def test_complete_real_evidence_has_nothing_in_its_way() -> None:
    assert blocked(*runs_of_arm("new", [[True] * 20])) == ""


def test_runs_that_were_not_their_arms_stand_in_the_way_with_the_commonest_reason() -> None:
    rare, common = "the model 'm' is declared and 'n' was asked", "the skill 's' is declared and was not loaded"
    lost = [
        a_run("task-1", "new", 20 + place, status=Status.ARM_NOT_APPLIED, status_detail=detail)
        for place, detail in enumerate((rare, common, common, None), start=1)
    ]

    assert f"runs of new (4, such as: {common}) did not have the set-up that their arm declares" in blocked(
        *runs_of_arm("new", [[True] * 20]), *lost
    )


def test_a_single_run_that_used_a_model_past_the_gateway_stands_in_the_way() -> None:
    metering = Metering(requests=1, failed_requests=0, models={}, time_to_first_token_seconds=None, model_seconds=1.0)
    knows_of_more = ReportedUsage(usage=NO_USAGE, cost_usd=None, requests=2)
    *clean, last = runs_of_arm("new", [[True] * 20])

    assert "runs of new (1) called a model past the gateway" in blocked(
        *clean, replace(last, metering=metering, reported=knows_of_more)
    )
    assert blocked(*clean, replace(last, metering=metering, reported=replace(knows_of_more, requests=1))) == ""


@pytest.mark.parametrize("kind", [AgentKind.SCRIPTED, AgentKind.REPLAYED])
def test_scripted_and_replayed_runs_never_promote(kind: AgentKind) -> None:
    agent = AgentIdentity(kind=kind, name=None, version=None, model=None)

    assert kind.value in blocked(*runs_of_arm("new", [[True] * 20], agent=agent))


def test_arms_that_lost_different_shares_to_infrastructure_do_not_promote() -> None:
    lost = [a_run("task-1", "new", repeat, status=Status.INFRA_ERROR) for repeat in (19, 20)]

    assert "different shares" in blocked(*runs_of_arm("new", [[True] * 18]), *lost)


def test_a_difference_of_five_points_in_exclusions_is_tolerated() -> None:
    assert blocked(*runs_of_arm("new", [[True] * 19]), a_run("task-1", "new", 20, status=Status.INFRA_ERROR)) == ""


def test_one_configuration_under_two_names_does_not_promote() -> None:
    before = runs_of_arm("old", [[True] * 20], arm_fingerprint="f")

    assert "the same configuration" in blocked(
        *runs_of_arm("new", [[True] * 20], arm_fingerprint="f"), baseline=list(before)
    )


def test_a_task_that_changed_between_the_arms_does_not_promote() -> None:
    before = runs_of_arm("old", [[True] * 20], task_checksum="1")

    assert "changed between runs" in blocked(
        *runs_of_arm("new", [[True] * 20], task_checksum="2"), baseline=list(before)
    )


def test_a_task_without_checks_does_not_promote() -> None:
    assert "has no checks" in blocked(*runs_of_arm("new", [[True] * 20], checks=()))


def test_exactly_five_points_of_difference_are_five_points() -> None:
    lost_three = [a_run("task-1", "old", repeat, status=Status.INFRA_ERROR) for repeat in (18, 19, 20)]
    lost_four = [a_run("task-1", "new", repeat, status=Status.INFRA_ERROR) for repeat in (17, 18, 19, 20)]

    assert (
        blocked(
            *runs_of_arm("new", [[True] * 16]), *lost_four, baseline=[*runs_of_arm("old", [[True] * 17]), *lost_three]
        )
        == ""
    )


def test_a_task_the_candidate_never_ran_does_not_promote() -> None:
    before = runs_of_arm("old", [[True] * 20, [False] * 20])

    assert "the candidate has no run of task" in blocked(*runs_of_arm("new", [[True] * 20]), baseline=list(before))


def test_a_task_on_which_the_candidate_is_worse_beyond_chance_does_not_promote() -> None:
    before = runs_of_arm("old", [[True] * 20, [True] * 20])

    assert blocked(*runs_of_arm("new", [[True] * 20, [False] * 20]), baseline=list(before)) == (
        "the candidate is worse on task 'task-2', by more than chance explains."
    )


def test_a_task_that_only_a_third_arm_ran_stands_in_no_ones_way() -> None:
    third = [a_run("task-2", "third", repeat) for repeat in range(1, 21)]

    assert blocked(*runs_of_arm("new", [[True] * 20]), *third) == ""


@pytest.mark.parametrize("without_checks", ["old", "new"])
def test_a_task_that_has_no_checks_in_one_arm_does_not_promote(without_checks: str) -> None:
    old, new = (
        runs_of_arm(arm, [[True] * 20], **({"checks": ()} if arm == without_checks else {})) for arm in ("old", "new")
    )

    assert "has no checks" in blocked(*new, baseline=list(old))


def test_a_second_name_for_the_same_task_does_not_promote() -> None:
    old, new = (
        [
            replace(run, task_checksum="same" if run.trial.task_id in ("task-1", "task-3") else run.trial.task_id)
            for run in runs_of_arm(arm, [[True] * 20] * 3)
        ]
        for arm in ("old", "new")
    )

    assert blocked(*new, baseline=list(old)) == (
        "task 'task-3' duplicates another task (equal checksums). Remove one of them."
    )


def test_five_repeats_are_enough_and_four_are_not() -> None:
    for repeats, enough in ((4, False), (5, True)):
        old, new = (runs_of_arm(arm, [[True] * repeats]) for arm in ("old", "new"))
        assert ("at least 5 counted repeats" not in blocked(*new, baseline=list(old))) is enough


def test_the_task_with_the_fewest_repeats_is_what_counts() -> None:
    old, new = (runs_of_arm(arm, [[True] * 20, [True] * 4]) for arm in ("old", "new"))

    assert "one task has 4" in blocked(*new, baseline=list(old))


def test_records_that_the_other_arm_lacks_do_not_promote() -> None:
    assert "that the other arm has a record of (0% and 10%)" in blocked(*runs_of_arm("new", [[True] * 18]))


def test_lines_that_could_not_be_read_do_not_promote() -> None:
    evidence = evidence_of(runs_of_arm("old", [[True] * 20]), runs_of_arm("new", [[True] * 20]))
    line = InvalidLine("runs.jsonl", 7, "not JSON")

    whole, damaged = (
        tuple(literal_blockers(compare_arms(replace(evidence, skipped=lines), "old", "new"))) for lines in ((), (line,))
    )

    assert whole == ()
    assert damaged == ("1 lines of the records could not be read. Fix them and decide again.",)
