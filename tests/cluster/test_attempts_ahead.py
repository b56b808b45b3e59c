"""Claims about short attempts, which wait on their host so that one exchange is about several of them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cluster.cluster_in_process import LEASE_SECONDS, Lead, in_process

from outweigh.cluster.attempt_pace import AHEAD_SECONDS, MOST_AHEAD, AttemptPace
from outweigh.cluster.lead_state import LeadState
from outweigh.cluster.messages import PROTOCOL, AttemptOrder, ExchangeReply, HostState, RunningAttempt
from outweigh.engine.executor import DoneFutures
from outweigh.errors import EvidenceError
from outweigh.model.run_record import RunRecord, Trial
from outweigh.model.usage import UNKNOWN_COST
from outweigh.store.run_store import FolderRunStore


def order(number: int) -> AttemptOrder:
    trial = Trial(task_id="task", arm="a", repeat=number, seed=number)
    return AttemptOrder(run_id=f"run-{number}", trial=trial, block=1, position=number, attempt=1)


def reply(name: str, *, slots: int, ahead: int, running: Sequence[AttemptOrder] = ()) -> ExchangeReply:
    return ExchangeReply(
        protocol=PROTOCOL,
        host=name,
        node=name,
        clock=1.0,
        state=HostState.READY,
        detail=None,
        slots=slots,
        arms=("a",),
        ahead=ahead,
        running=tuple(RunningAttempt(run_id=each.run_id, attempt=1, cost=UNKNOWN_COST) for each in running),
    )


def met(state: LeadState, *replies: ExchangeReply) -> LeadState:
    for each in replies:
        state.take_reply(each.host, state.request_for(each.host), each, 0.0)
    return state


def test_no_attempt_waits_on_a_host_whose_attempts_take_longer_than_it_may_wait() -> None:
    pace = AttemptPace()
    assert pace.ahead(8) == 0

    pace.note(AHEAD_SECONDS * 1.01)

    assert pace.ahead(8) == 0


def test_as_many_short_attempts_wait_as_are_made_in_the_time_that_one_may_wait() -> None:
    pace = AttemptPace()

    pace.note(AHEAD_SECONDS / 5.5)

    assert pace.ahead(2) == 10
    assert pace.ahead(1000) == MOST_AHEAD


def test_one_long_attempt_after_short_ones_ends_the_waiting() -> None:
    pace = AttemptPace()
    for _ in range(10):
        pace.note(0.001)

    pace.note(60.0)

    assert pace.ahead(8) == 0


def test_a_host_gets_as_many_attempts_as_it_makes_and_lets_wait() -> None:
    state = met(LeadState("experiment", 1, LEASE_SECONDS), reply("host", slots=2, ahead=3))

    for number in range(1, 6):
        assert state.has_place("a", 0.0)
        state.give(order(number), 0.0)

    assert not state.has_place("a", 0.0)
    assert state.slots == 5


def test_a_free_slot_elsewhere_comes_before_a_place_to_wait() -> None:
    state = met(
        LeadState("experiment", 1, LEASE_SECONDS),
        reply("quick", slots=1, ahead=50),
        reply("slow", slots=2, ahead=0),
    )

    for number in range(1, 5):
        state.give(order(number), 0.0)

    hosts = [state.given[order(number).key].host for number in range(1, 5)]
    assert sorted(str(host) for host in hosts) == ["quick", "quick", "slow", "slow"]
    assert hosts[3] == "quick"


def test_only_an_attempt_that_has_a_slot_is_worth_an_exchange_of_its_own() -> None:
    state = met(LeadState("experiment", 1, LEASE_SECONDS), reply("host", slots=1, ahead=1))

    told = [state.give(order(number), 0.0) for number in (1, 2)]

    assert told == ["host", None]
    assert len(state.request_for("host").starts) == 2


def test_a_host_that_has_shown_to_know_an_attempt_is_not_told_of_it_again_until_it_no_longer_does() -> None:
    state = met(LeadState("experiment", 1, LEASE_SECONDS), reply("host", slots=2, ahead=0))
    state.give(order(1), 0.0)
    met(state, reply("host", slots=2, ahead=0, running=[order(1)]))
    assert state.request_for("host").starts == ()

    met(state, reply("host", slots=2, ahead=0))

    assert state.request_for("host").starts == (order(1),)


class FullStore(FolderRunStore):
    """A store that can keep nothing more as soon as a test says so."""

    is_full = False

    def begin_all(self, begun: Sequence[tuple[str, Trial, int]]) -> None:
        if self.is_full:
            raise EvidenceError("no space")
        super().begin_all(begun)


def test_no_host_hears_of_an_attempt_that_the_lead_could_not_write_down(tmp_path: Path) -> None:
    with in_process(tmp_path) as (first, [host]):
        store = FullStore.open(tmp_path / "another")
        lead = Lead(first.suite, tmp_path / "another", store=store)
        lead.meet(host)
        store.is_full = True
        lead.executor.start(lead.plan[0], 1)

        request = lead.executor.request_for(host.address)

        assert request.starts == ()
        with pytest.raises(EvidenceError, match="no space"):
            lead.executor.wait(DoneFutures(), 0.0)
        lead.close()


def test_records_that_come_together_are_all_stored_and_done(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        started = [lead.executor.start(planned, 1) for planned in lead.plan[:2]]
        lead.talk_until(host, lambda reply: len(reply.running) == 2)
        host.engine.go.set()

        lead.talk_until(host, lambda _: all(each is not None and each.done() for each in started))

        found: list[RunRecord] = [record for runs in lead.store.finished().values() for record in runs]
        assert len(found) == 2
        assert lead.store.abandoned() == []
