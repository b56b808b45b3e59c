"""Claims about a lead and its hosts where something is damaged, late, in disorder or in the way of another lead."""

import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace
from tests.cluster.cluster_in_process import CONTENT, LEASE_SECONDS, PACKAGE, Lead, TestHost, in_process

from outweigh.cluster.lead_state import CANCEL_GRACE_SECONDS, LeadState
from outweigh.cluster.lease import Lease
from outweigh.cluster.messages import PROTOCOL, AttemptOrder, ExchangeReply, HostState, SuitePackage
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord, Trial
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_run

SILENCE = LEASE_SECONDS + CANCEL_GRACE_SECONDS + 1


def stored(lead: Lead) -> list[RunRecord]:
    return [record for runs in lead.store.finished().values() for record in runs]


def finished_offer(lead: Lead, host: TestHost) -> ExchangeReply:
    """The reply of a host that has finished the first attempt, before the lead takes it in."""
    lead.executor.start(lead.plan[0], 1)
    lead.talk_until(host, lambda reply: bool(reply.running))
    host.engine.go.set()
    for _ in range(2000):
        reply = host.ask(lead.executor.request_for(host.address))
        if reply.offers:
            return reply
    raise AssertionError("it did not end")


def keep_finished(host: TestHost, run_id: str, content: bytes) -> None:
    trial = Trial(task_id="task-1", arm="a", repeat=1, seed=1)
    host.engine.spool.begin(run_id, trial, 1)
    artifact = host.engine.spool.keep(content)
    host.engine.spool.append(replace(a_run("task-1", "a", 1, run_id=run_id), artifacts={"stdout.txt": artifact}))


def test_a_host_that_comes_back_at_another_address_has_its_lease_renewed_at_once(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        for _ in range(5):
            lead.talk(host)
        host.address = "tcp://another:1"
        lead.talk(host)
        host.clock.now += LEASE_SECONDS - 1
        lead.talk(host)
        lead.talk(host)

        host.clock.now += 2

        assert host.lease.holds


def test_the_large_artifacts_of_a_late_record_are_wanted(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        host.engine.said = b"x" * 200_000
        reply = finished_offer(lead, host)
        lead.clock.now += SILENCE
        lead.executor.tick()
        [lost] = stored(lead)
        assert lost.status is Status.INFRA_ERROR

        assert not lead.executor.is_stored(reply.offers[0])

        lead.talk(host)
        assert lead.executor.is_stored(reply.offers[0])


def test_a_record_whose_artifact_is_gone_from_the_spool_is_no_result_and_keeps_its_cost(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        reply = finished_offer(lead, host)
        [digest] = reply.offers[0].artifacts
        [artifact] = host.spool.folder.glob(f"experiments/*/*/{digest}")
        artifact.unlink()

        lead.talk(host)
        lead.talk(host)

        [record] = stored(lead)
        assert (record.status, record.cost.usd, record.artifacts) == (Status.INFRA_ERROR, 0.5, {})
        assert "stdout.txt" in (record.status_detail or "")


def test_a_record_whose_artifact_was_edited_in_the_spool_is_no_result_and_is_stored_once(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        reply = finished_offer(lead, host)
        [digest] = reply.offers[0].artifacts
        [artifact] = host.spool.folder.glob(f"experiments/*/*/{digest}")
        artifact.write_bytes(b"something else")
        request = lead.executor.request_for(host.address)
        again = host.ask(request)

        lead.executor.take_reply(host.address, request, again, {})
        lead.executor.take_reply(host.address, request, again, {})

        [record] = stored(lead)
        assert (record.status, record.cost.usd) == (Status.INFRA_ERROR, 0.5)


def test_a_record_that_cannot_be_read_closes_its_attempt(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        reply = finished_offer(lead, host)
        offer = reply.offers[0]
        damaged = replace(reply, offers=(replace(offer, line=offer.line.replace(b"completed", b"complete!")),))

        lead.executor.take_reply(host.address, lead.executor.request_for(host.address), damaged, {})

        [record] = stored(lead)
        assert record.status is Status.INFRA_ERROR
        assert lead.state.given == {}


class InterruptedStore(FolderRunStore):
    """Something happens while it keeps an artifact."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def keep(self, content: bytes) -> str:
        self.meanwhile()
        return super().keep(content)


def test_silence_does_not_close_an_attempt_whose_record_is_being_stored(tmp_path: Path) -> None:
    with in_process(tmp_path) as (first, [host]):
        first.close()
        lead = Lead(first.suite, tmp_path / "another", store=InterruptedStore.open(tmp_path / "another"))
        lead.meet(host)
        finished_offer(lead, host)

        def be_away() -> None:
            lead.clock.now += SILENCE
            lead.executor.tick()

        assert isinstance(lead.store, InterruptedStore)
        lead.store.meanwhile = be_away
        lead.talk(host)

        assert [record.status for record in stored(lead)] == [Status.COMPLETED]
        lead.close()


def test_a_record_of_another_attempt_than_the_offer_says_is_not_stored(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        reply = finished_offer(lead, host)
        wrong = replace(reply, offers=(replace(reply.offers[0], attempt=7),))

        lead.executor.take_reply(host.address, lead.executor.request_for(host.address), wrong, {})

        assert stored(lead) == []


def test_a_second_interrupt_ends_what_its_host_has_not_begun(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        lead.state.cancelled = True

        lead.talk(host)

        assert done.result().record.status is Status.INFRA_ERROR
        assert host.engine.made == []


def test_an_attempt_that_is_to_end_before_it_began_is_ended_although_its_start_is_on_its_way(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lead.executor.start(lead.plan[0], 1)
        earlier = lead.executor.request_for(host.address)
        order = earlier.starts[0]
        before = host.ask(replace(earlier, starts=()))
        lead.state.end(order.key)

        lead.executor.take_reply(host.address, earlier, before, {})

        assert lead.executor.request_for(host.address).unwanted == (order.key,)


def test_an_attempt_whose_marker_is_damaged_is_lost_and_not_made_again(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        order = lead.state.request_for(host.address).starts[0]
        host.spool.of_experiment("experiment").begin(order.run_id, order.trial, order.attempt)
        host.close()
        [marker] = host.spool.folder.glob("experiments/*/*/begun")
        marker.write_bytes(marker.read_bytes().replace(b"task", b"tusk"))

        again = TestHost(tmp_path / "spool", host.address)
        try:
            reply = lead.talk_until(again, lambda _: done.done())

            assert "markers in its spool are damaged" in (reply.detail or "")
            assert done.result().record.status is Status.INFRA_ERROR
            assert done.result().record.cost.usd is None
            lead.talk_until(again, lambda reply: not reply.lost)
            assert again.engines == [] or again.engine.made == []
            assert not marker.parent.exists()
        finally:
            again.close()


def test_a_finished_record_is_offered_although_the_marker_of_its_attempt_is_damaged(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        host.ask(lead.executor.request_for(host.address))
        host.engine.go.set()
        lead_away = host.ask(replace(lead.executor.request_for(host.address), wait_seconds=60.0))
        assert lead_away.offers
        host.close()
        [marker] = host.spool.folder.glob("experiments/*/*/begun")
        marker.write_bytes(b"")

        again = TestHost(tmp_path / "spool", host.address)
        try:
            lead.talk_until(again, lambda _: done.done())
            assert done.result().record.status is Status.COMPLETED
        finally:
            again.close()


def test_a_host_that_cannot_keep_the_suite_says_why_and_takes_it_when_it_can(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        other = b"another suite"
        lead.state.package = SuitePackage(sha256=sha256(other).hexdigest(), size=len(other))
        place = host.spool.packages.path(PACKAGE).parent
        place.rename(place.with_name("away"))
        place.touch()  # a file where a folder should be: as little can be written there as on a full disk

        assert not host.host.receive_package(sha256(other).hexdigest(), 0, other, len(other))

        reply = lead.talk(host)
        assert reply.state is HostState.NEEDS_PACKAGE
        assert "the suite could not be kept" in (reply.detail or "")
        place.unlink()
        assert host.host.receive_package(sha256(other).hexdigest(), 0, other, len(other))
        lead.meet(host)


def test_a_package_that_was_changed_in_the_spool_is_not_opened(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        host.close()
        again = TestHost(tmp_path / "spool", host.address)
        again.spool.packages.path(PACKAGE).write_bytes(b"other code")
        try:
            lead.talk_until(again, lambda reply: reply.state is HostState.NEEDS_PACKAGE)
            assert not again.spool.packages.path(PACKAGE).exists()

            assert again.engines == []
            again.host.receive_package(PACKAGE, 0, CONTENT, len(CONTENT))
            lead.meet(again)
        finally:
            again.close()


def test_a_suite_that_cannot_be_opened_for_a_reason_that_nobody_thought_of_is_said(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        host.close()
        again = TestHost(tmp_path / "spool", host.address)
        again.fault = KeyError("nobody thought of it")
        try:
            reply = lead.talk_until(again, lambda reply: reply.state is HostState.UNFIT)
            assert "nobody thought of it" in (reply.detail or "")
        finally:
            again.close()


def test_records_are_offered_in_answers_of_limited_size(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        for number in range(1, 31):
            keep_finished(host, f"run-{number}", f"{number:02}".encode() * 30_000)

        reply = host.ask(lead.executor.request_for(host.address))

        assert 0 < len(reply.offers) < 30
        assert len(reply.kept) == 30 - len(reply.offers)


def test_a_request_that_the_release_has_overtaken_takes_no_host_on(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lead.talk(host)
        late = lead.executor.request_for(host.address)
        lead.state.released = True
        lead.talk(host)

        host.ask(late)

        assert host.host.is_idle
        assert host.host.is_released


def test_an_echo_of_another_clock_renews_no_lease_and_starts_nothing() -> None:
    lease = Lease(lambda: 100.0)

    lease.renew(5000.0, 10.0)

    assert not lease.holds
    assert not lease.may_start(5000.0, 10.0)


def test_attempts_on_a_host_that_another_lead_has_taken_are_lost_after_a_lease(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        done = lead.executor.start(lead.plan[0], 1)
        assert done is not None
        request = lead.executor.request_for(host.address)
        busy = replace(host.ask(request), state=HostState.BUSY, running=(), slots=0)
        for _ in range(3):
            lead.clock.now += SILENCE / 2
            lead.executor.take_reply(host.address, request, busy, {})

        lead.executor.tick()

        assert done.result().record.status is Status.INFRA_ERROR


def plain_place(state: LeadState) -> str | None:
    free = {
        name: host.slots - sum(each.host == name for each in state.given.values()) for name, host in state.hosts.items()
    }
    best = max(free, key=lambda name: free[name], default=None)
    return best if best is not None and free[best] > 0 else None


def test_an_attempt_goes_where_counting_all_attempts_says(tmp_path: Path) -> None:
    rng = random.Random(5)
    state = LeadState("experiment", 1, LEASE_SECONDS)
    for number in range(5):
        name = f"host-{number}"
        reply = ExchangeReply(
            protocol=PROTOCOL,
            host=name,
            node=name,
            clock=1.0,
            state=HostState.READY,
            detail=None,
            slots=number,
            arms=("a",),
        )
        state.take_reply(name, state.request_for(name), reply, 0.0)
    for number in range(400):
        wanted = plain_place(state)
        trial = Trial(task_id="task", arm="a", repeat=number + 1, seed=number)
        order = AttemptOrder(run_id=f"run-{number}", trial=trial, block=1, position=number, attempt=1)

        state.give(order, 0.0)

        assert state.given[order.key].host == wanted
        for _ in range(rng.randrange(3)):
            state.close(rng.choice(list(state.given) or [order.key]))
        state.place_waiting(0.0)
        held = sum(each.host is None for each in state.given.values())
        assert state.slots == 10 + held == 10 + len(state.waiting)
