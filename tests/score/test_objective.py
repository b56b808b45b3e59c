import pytest

from outweigh.model.failure import Status
from outweigh.score.objective import objective, passed
from outweigh.testing.builders import a_check, a_run


def test_a_completed_run_passes_when_every_required_check_does() -> None:
    optional_failure = (a_check(), a_check("lint", passed=False, required=False))

    assert passed(a_run(checks=optional_failure)).value == 1
    assert passed(a_run(passed=False)).value == 0


@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.AGENT_ERROR, Status.BUDGET_EXCEEDED])
def test_an_agents_own_failure_is_a_failure_whatever_the_checks_say(status: Status) -> None:
    assert passed(a_run(status=status)).value == 0
    assert passed(a_run(status=status, checks=None)).value == 0


@pytest.mark.parametrize("status", [Status.INFRA_ERROR, Status.NOT_RUN])
def test_an_infrastructure_failure_is_unknown_not_failed(status: Status) -> None:
    assert passed(a_run(status=status)).value is None
    assert objective(a_run(status=status)).share.value is None


def test_a_task_without_checks_cannot_pass_and_its_objective_is_vacuous() -> None:
    run = a_run(checks=())

    assert passed(run).value is None
    assert objective(run).share.value == 1.0
    assert objective(run).vacuous


def test_a_task_with_only_optional_checks_cannot_pass_either() -> None:
    assert passed(a_run(checks=(a_check(required=False),))).reason == "the task has no required check"


def test_checks_that_were_not_evaluated_are_unknown_not_vacuous() -> None:
    run = a_run(checks=None)

    assert passed(run).value is None
    assert objective(run).share.value is None
    assert not objective(run).vacuous


def test_one_check_that_could_not_be_evaluated_leaves_the_run_unknown() -> None:
    run = a_run(checks=(a_check(), a_check("slow", passed=None)))

    assert passed(run).value is None
    assert objective(run).share.value is None


def test_a_failed_required_check_settles_it_even_beside_an_unknown_one() -> None:
    assert passed(a_run(checks=(a_check(passed=False), a_check("slow", passed=None)))).value == 0


def test_objective_is_the_share_of_checks_and_a_counting_check_earns_its_share_of_cases() -> None:
    run = a_run(checks=(a_check(), a_check("suite", passed=False, cases_passed=1, cases_total=4)))

    assert objective(run).share.value == pytest.approx((1 + 0.25) / 2)
    assert objective(run).passed.value == pytest.approx(1.25)


def test_checks_count_by_their_weight_and_those_of_weight_zero_not_at_all() -> None:
    three_to_one = objective(a_run(checks=(a_check("unit", weight=3.0), a_check("style", passed=False))))
    unscored = objective(a_run(checks=(a_check("unit"), a_check("fired", required=False, passed=None, weight=0.0))))
    only_unscored = objective(a_run(checks=(a_check("fired", required=False, passed=False, weight=0.0),)))

    assert (three_to_one.share.value, three_to_one.passed.value) == (0.75, 1.0)
    assert (unscored.share.value, unscored.vacuous) == (1.0, False)
    assert only_unscored.vacuous, "a check that is not scored asserts nothing"
