"""Spend by month: every attempt and every judge, unknown costs counted, and nothing twice."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from outweigh.model.codec import Record, record_digest
from outweigh.model.failure import Status
from outweigh.model.run_record import REUSED_LABEL, AgentIdentity, AgentKind, RunRecord
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.report.spend_table import describe_spend, describe_unsummed, spend_payload, spend_rows
from outweigh.score.monthly_spend import SpendTally
from outweigh.testing.builders import a_judgment, a_preference, a_run

MAY, JUNE = datetime(2026, 5, 31, 23, 30, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)


def tally(*records: Record) -> SpendTally:
    found = SpendTally()
    for record in records:
        found.add(record, record_digest(record))
    return found


def simulated(run: RunRecord) -> RunRecord:
    return replace(run, agent=AgentIdentity(kind=AgentKind.SCRIPTED, name=None, version=None, model=None))


def test_a_month_has_its_runs_and_its_judges_by_utc() -> None:
    run = a_run(cost=reported_cost(1.5), started_at=MAY)
    eastern = a_run(repeat=2, cost=reported_cost(2.0), started_at=JUNE.astimezone(timezone(timedelta(hours=-5))))
    judged = a_judgment(run, cost=reported_cost(0.25), judged_at=JUNE)
    compared = a_preference(run, a_run(arm="better"), cost=reported_cost(0.5), judged_at=JUNE)

    may, june = tally(run, eastern, judged, compared).months()

    assert (may.month, may.runs, may.run_usd, may.judge_answers, may.judging_usd) == ("2026-05", 1, 1.5, 0, None)
    assert (june.month, june.runs, june.run_usd, june.judge_answers, june.judging_usd) == ("2026-06", 1, 2.0, 2, 0.75)


@pytest.mark.parametrize("status", [Status.INFRA_ERROR, Status.AGENT_ERROR, Status.TIMEOUT])
def test_attempts_that_do_not_count_were_paid_for_all_the_same(status: Status) -> None:
    failed = a_run(status=status, attempt=1, cost=reported_cost(3.0), started_at=MAY, setup_seconds=1.0)
    again = a_run(attempt=2, cost=reported_cost(1.0), started_at=MAY)

    (month,) = tally(failed, again).months()

    assert (month.runs, month.run_usd) == (2, 4.0)


def test_an_unknown_cost_is_counted_and_is_never_zero() -> None:
    unknown = a_run(cost=UNKNOWN_COST, started_at=MAY)
    known = a_run(repeat=2, cost=reported_cost(1.0), started_at=MAY)

    (only_unknown,), (both,) = tally(unknown).months(), tally(unknown, known).months()

    assert (only_unknown.run_usd, only_unknown.unknown_costs, describe_spend(only_unknown)) == (None, 1, "unknown")
    assert (both.run_usd, both.unknown_costs) == (1.0, 1)
    assert describe_spend(both) == "$1.00 and 1 unknown"
    assert spend_payload(tally(unknown))["months"][0]["run_usd"] is None
    assert list(describe_unsummed(tally(unknown))) == ["1 cost of runs or judges' answers is unknown."]


def test_a_record_that_two_stores_have_is_paid_once() -> None:
    run = a_run(cost=reported_cost(1.0), started_at=MAY)

    together = SpendTally.merged([tally(run), tally(run), tally(replace(run, attempt=2))])

    assert together.total().run_usd == 2.0


def test_reused_runs_were_paid_for_elsewhere_and_simulated_ones_nowhere() -> None:
    reused = a_run(cost=reported_cost(5.0), started_at=MAY, extra={REUSED_LABEL: {"source": "pins/plain"}})
    pretended = simulated(a_run(repeat=2, cost=reported_cost(7.0), started_at=MAY))

    spend = tally(reused, pretended)

    assert spend.months() == ()
    assert spend.simulated_runs == 1


def test_what_has_no_date_is_in_a_row_of_its_own_and_in_the_sum() -> None:
    rows = list(spend_rows(tally(a_run(cost=reported_cost(1.0)), a_run(repeat=2, started_at=MAY))))

    assert [row[0] for row in rows] == ["2026-05", "no date", "all"]
    assert rows[-1][-1] == "$1.10"
