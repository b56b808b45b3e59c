"""Claims about a lead and its hosts whatever carries their messages: what is made once, lost, late or taken over."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.cluster.cluster_in_process import LEASE_SECONDS, PACKAGE, Lead, TestHost, in_process

from outweigh.cluster.lead_state import CANCEL_GRACE_SECONDS
from outweigh.cluster.messages import HostState
from outweigh.model.failure import Status
from outweigh.model.run_record import amount_paid

SILENCE = LEASE_SECONDS + CANCEL_GRACE_SECONDS + 1


def statuses(lead: Lead) -> dict[str, Status]:
    return {record.run_id: record.status for runs in lead.store.finished().values() for record in runs}


def spent(lead: Lead) -> float:
    return sum(amount_paid(record) or 0.0 for runs in lead.store.finished().values() for record in runs)


def test_an_attempt_is_made_by_a_host_and_its_record_and_artifacts_are_stored_before_it_is_done(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        lead.talk_until(host, lambda reply: bool(reply.running))
        host.engine.go.set()

        lead.talk_until(host, lambda _: done.done())

        record = done.result().record
        assert lead.store.artifact(record.artifacts["stdout.txt"]).startswith(b"what task-")
        assert lead.store.abandoned() == []
        lead.talk_until(host, lambda reply: not reply.offers)
        assert list((host.spool.folder / "experiments" / "experiment").iterdir()) == []


def test_a_host_has_as_many_places_as_it_said(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, _):
        started = [lead.executor.start(planned, 1) for planned in lead.plan[:3]]

        assert lead.executor.slots == 2
        assert [each is None for each in started] == [False, False, True]


def test_an_arm_that_no_host_can_run_has_no_place(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        host.engine.arms = ("b",)
        lead.talk(host)
        of_a, of_b = (next(each for each in lead.plan if each.trial.arm == arm) for arm in "ab")

        assert lead.executor.start(of_a, 1) is None
        assert lead.executor.start(of_b, 1) is not None


def test_a_request_that_is_delivered_twice_or_late_starts_nothing_again(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        request = lead.executor.request_for(host.address)
        host.ask(request)
        host.engine.go.set()
        lead.talk_until(host, lambda reply: done.done() and not reply.offers)

        reply = host.ask(request)

        assert reply.running == ()
        assert len(host.engine.made) == 1


def test_a_start_that_was_held_up_for_half_a_lease_is_not_begun(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lead.executor.start(lead.plan[0], 1)
        request = lead.executor.request_for(host.address)
        host.clock.now += LEASE_SECONDS / 2 + 1

        assert host.ask(request).running == ()
        lead.talk_until(host, lambda reply: bool(reply.running))


def test_what_was_under_way_on_a_silent_host_is_lost_with_the_dollars_that_it_reported(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        lead.talk_until(host, lambda reply: bool(reply.running))
        lead.talk(host)

        lead.clock.now += LEASE_SECONDS
        lead.executor.tick()
        assert not done.done()
        lead.clock.now += CANCEL_GRACE_SECONDS + 1
        lead.executor.tick()

        record = done.result().record
        assert record.status is Status.INFRA_ERROR
        assert record.cost.usd == 0.25
        assert lead.executor.slots == 0


def lose(lead: Lead, host: TestHost) -> None:
    """Start an attempt, and do not hear of its host for a lease; the host, whose clock stands still, goes on."""
    lead.executor.start(lead.plan[0], 1)
    lead.talk_until(host, lambda reply: bool(reply.running))
    lead.clock.now += SILENCE
    lead.executor.tick()


def test_a_late_record_counts_where_nothing_has_settled_its_trial_and_every_dollar_is_counted_once(
    tmp_path: Path,
) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lose(lead, host)
        lead.budget.add_cost(0.25)
        host.engine.go.set()
        lead.talk_until(host, lambda reply: not reply.running and not reply.offers)

        again = lead.executor.start(lead.plan[0], 2)

        assert again is not None
        late = again.result().record
        assert late.status is Status.COMPLETED
        assert late.cost.usd == 0.5
        assert sorted(statuses(lead).values()) == [Status.COMPLETED, Status.INFRA_ERROR]
        assert spent(lead) == 0.5


def test_a_late_record_of_a_settled_trial_is_kept_for_its_cost_alone(tmp_path: Path) -> None:
    with in_process(tmp_path, hosts=2) as (lead, [first, second]):
        lead.executor.start(lead.plan[0], 1)
        lose_by, other = (first, second) if lead.state.request_for(first.address).starts else (second, first)
        lead.talk_until(lose_by, lambda reply: bool(reply.running))
        lead.clock.now += SILENCE
        lead.executor.tick()
        lead.meet(other)
        again = lead.executor.start(lead.plan[0], 2)
        assert again is not None
        other.engine.go.set()
        lead.talk_until(other, lambda reply: again.done() and not reply.offers)

        lose_by.engine.go.set()
        lead.talk_until(lose_by, lambda reply: not reply.running and not reply.offers)

        run_id = again.result().record.run_id
        found = statuses(lead)
        assert found[run_id] is Status.COMPLETED
        assert found[f"{run_id[:-1]}1-late"] is Status.INFRA_ERROR
        assert len(found) == 3
        assert spent(lead) == 1.0


def test_no_two_records_of_a_trial_have_one_number_whatever_came_late(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lose(lead, host)
        host.clock.now += SILENCE
        lead.talk_until(host, lambda reply: not reply.running and not reply.offers)
        host.engine.go.set()

        again = lead.executor.start(lead.plan[0], 2)
        assert again is not None
        lead.talk_until(host, lambda _: again.done())

        [records] = lead.store.finished().values()
        assert [(record.attempt, record.status) for record in records] == [
            (1, Status.INFRA_ERROR),
            (2, Status.INFRA_ERROR),
            (3, Status.COMPLETED),
        ]


def test_silence_says_that_an_attempt_may_still_be_heard_of_and_a_host_that_lost_it_does_not(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        silent = lead.executor.start(lead.plan[0], 1)
        lead.talk_until(host, lambda reply: bool(reply.running))
        lead.clock.now += SILENCE
        lead.executor.tick()
        lead.talk(host)
        cancelled = lead.executor.start(lead.plan[1], 1)
        lead.state.cancelled = True
        lead.talk(host)

        assert silent is not None
        assert cancelled is not None
        assert (silent.result().may_come_late, cancelled.result().may_come_late) == (True, False)


def test_the_retry_of_a_trial_is_ended_when_its_late_record_counts(tmp_path: Path) -> None:
    with in_process(tmp_path, hosts=2) as (lead, [first, second]):
        lead.executor.start(lead.plan[0], 1)
        lose_by, other = (first, second) if lead.state.request_for(first.address).starts else (second, first)
        lead.talk_until(lose_by, lambda reply: bool(reply.running))
        lead.clock.now += SILENCE
        lead.executor.tick()
        lead.meet(other)
        again = lead.executor.start(lead.plan[0], 2)
        assert again is not None
        lead.talk_until(other, lambda reply: bool(reply.running))

        lose_by.engine.go.set()
        lead.talk_until(lose_by, lambda reply: not reply.running and not reply.offers)
        lead.talk_until(other, lambda reply: not reply.running and not reply.offers)

        assert again.result().record.status is Status.COMPLETED
        found = statuses(lead)
        assert sorted(found.values()) == [Status.COMPLETED, Status.INFRA_ERROR, Status.INFRA_ERROR]
        assert lead.store.abandoned() == []


def test_a_host_ends_its_attempts_when_its_lease_has_run_out(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        lead.talk_until(host, lambda reply: bool(reply.running))

        host.clock.now += LEASE_SECONDS + 1

        lead.talk_until(host, lambda _: done.done())
        assert done.result().record.status is Status.INFRA_ERROR


def test_a_lead_that_is_started_again_takes_over_what_hosts_still_make(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lead.executor.start(lead.plan[0], 1)
        lead.talk_until(host, lambda reply: bool(reply.running))
        lead.close()

        second = Lead(lead.suite, tmp_path / "store", session=2)
        try:
            [open_attempt] = second.store.abandoned()
            second.meet(host)
            assert second.executor.recover([open_attempt]) == []
            done = second.executor.start(second.plan[0], 1)
            assert done is not None
            host.engine.go.set()
            second.talk_until(host, lambda _: done.done())
            assert done.result().record.status is Status.COMPLETED
            assert len(host.engine.made) == 1
        finally:
            second.close()


def test_a_lead_that_is_started_again_stores_what_hosts_finished_meanwhile(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lead.executor.start(lead.plan[0], 1)
        lead.talk_until(host, lambda reply: bool(reply.running))
        lead.close()
        host.engine.go.set()

        second = Lead(lead.suite, tmp_path / "store", session=2)
        try:
            second.talk_until(host, lambda reply: bool(reply.offers))
            assert second.executor.recover(second.store.abandoned()) == []
            assert list(statuses(second).values()) == [Status.COMPLETED]
        finally:
            second.close()


def test_a_host_that_is_started_again_says_which_attempts_it_lost(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        order = lead.state.request_for(host.address).starts[0]
        host.spool.of_experiment("experiment").begin(order.run_id, order.trial, order.attempt)
        host.close()

        again = TestHost(tmp_path / "spool", host.address)
        try:
            assert again.spool.host == host.spool.host
            lead.talk_until(again, lambda _: done.done())
            assert done.result().record.status is Status.INFRA_ERROR
            lead.talk_until(again, lambda reply: not reply.lost)
        finally:
            again.close()


def test_a_host_that_is_started_again_offers_what_it_finished(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        host.ask(lead.executor.request_for(host.address))
        host.close()

        again = TestHost(tmp_path / "spool", host.address)
        try:
            lead.talk_until(again, lambda _: done.done())
            assert again.engines == [] or again.engine.made == []
        finally:
            again.close()


def test_a_host_works_for_one_lead_at_a_time(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lead.talk(host)
        other = replace(lead.executor.request_for(host.address), experiment="another", number=1, echo=None)

        assert host.ask(other).state is HostState.BUSY

        host.clock.now += LEASE_SECONDS + 1
        assert host.ask(replace(other, number=2)).state is not HostState.BUSY


def test_a_package_that_does_not_match_its_hash_is_not_taken(tmp_path: Path) -> None:
    with in_process(tmp_path) as (_, [host]):
        digest = "1" * 64

        assert not host.host.receive_package(digest, 0, b"something else", 14)
        assert not host.spool.packages.path(digest).exists()
        assert host.spool.packages.path(PACKAGE).exists()


@pytest.mark.parametrize("size", [10, 200_000])
def test_artifacts_of_any_size_come_back(tmp_path: Path, size: int) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        content = b"x" * size
        host.engine.said = content
        host.engine.go.set()

        lead.talk_until(host, lambda _: done.done())

        assert lead.store.artifact(done.result().record.artifacts["stdout.txt"]) == content
