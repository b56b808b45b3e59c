from datetime import UTC, datetime

from msgspec.structs import replace

from outweigh.model.failure import Status
from outweigh.model.run_record import REUSED_LABEL, amount_paid
from outweigh.model.usage import UNKNOWN_COST
from outweigh.testing.builders import a_run


def test_a_run_that_never_got_to_its_agent_cost_nothing() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    broken = a_run(status=Status.INFRA_ERROR, cost=UNKNOWN_COST, started_at=now, setup_seconds=None, position=0)
    asked = a_run(status=Status.INFRA_ERROR, cost=UNKNOWN_COST, started_at=now, setup_seconds=0.1, position=0)
    abandoned = a_run(status=Status.INFRA_ERROR, cost=UNKNOWN_COST, started_at=None, setup_seconds=None, position=0)

    assert amount_paid(broken) == 0.0
    assert (amount_paid(asked), amount_paid(abandoned)) == (None, None)


def test_a_run_that_another_experiment_paid_for_is_not_paid_for_again() -> None:
    assert amount_paid(a_run(extra={REUSED_LABEL: {"run_id": "there"}})) == 0.0


def test_a_run_of_another_harness_that_tells_no_time_of_setting_up_was_paid_for_all_the_same() -> None:
    told = a_run(started_at=datetime(2026, 1, 1, tzinfo=UTC), setup_seconds=None)

    assert (amount_paid(told), amount_paid(replace(told, cost=UNKNOWN_COST))) == (0.1, None)
    assert amount_paid(replace(told, cost=UNKNOWN_COST, status=Status.INFRA_ERROR)) is None
    assert amount_paid(a_run(status=Status.NOT_RUN, cost=UNKNOWN_COST)) == 0.0
