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
